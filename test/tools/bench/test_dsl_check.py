"""Reading programs takes time in proportion to their lines, and not much of it."""

import pytest

from lamina.tools.bench.dsl_check import measure


def test_reading_is_linear() -> None:
    measure(100)
    small, large = (min(sum(measure(size).values()) for _ in range(2)) / size for size in (500, 2_000))
    assert large < 2 * small


@pytest.mark.slow
def test_five_thousand_lines() -> None:
    measure(100)
    seconds = measure(5_000)
    assert seconds["tree"] + seconds["checks"] < 2
