import numpy as np
import pytest

from lamina.tools.compare import compare

ONE = np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("got", "expected", "good"),
    [
        (ONE, ONE, True),
        (ONE * np.float32(1.0005), ONE, True),
        (ONE * np.float32(1.01), ONE, False),
        (ONE, ONE[:2], False),
        (ONE, ONE.astype(np.float64), False),
        (ONE * np.nan, ONE * np.nan, True),
        (ONE * np.nan, ONE, False),
        (ONE, ONE * np.nan, False),
        (ONE * np.inf, -ONE * np.inf, False),
        (np.float32([1000, 1]), np.float32([1000, 1.1]), False),
        (np.float32([1000, 0.001]), np.float32([1000, 0]), True),
        (ONE * 0, ONE * 0, True),
        (ONE, ONE * 0, False),
        (np.arange(3), np.arange(3), True),
        (np.arange(3), np.arange(3) + 1, False),
        (ONE[:0], ONE[:0], True),
    ],
)
def test_compare(got, expected, good):
    assert compare("y", got, expected).good is good
