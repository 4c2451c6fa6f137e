"""Programs that would take long to check, or break what checks them, are told quickly."""

import pytest

from lamina.dialects.dsl.load import check, load_file

NAMES = [f"M{i}" for i in range(20)]
SUM = f"({' + '.join(NAMES)})"


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (f"fn f[{', '.join(NAMES)}](x: f32[{' * '.join([SUM] * 8)}]) = x", "E303"),
        (f"fn f[{', '.join(NAMES)}](x: f32[3]) = x * ({SUM} ** 8)", "E203"),
        (f"fn f() = {'[' * 150}1{']' * 150}", "E308"),
        ("const A = 9 ** 9 ** 9 ** 9", "E203"),
        ("const A = 1 << 99999999999", "E203"),
    ],
    ids=["dimension", "power", "array", "tower", "shift"],
)
def test_told(program: str, code: str) -> None:
    assert [problem.code for problem in check(load_file(program)).errors] == [code]
