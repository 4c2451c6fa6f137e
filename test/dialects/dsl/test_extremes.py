"""Programs that would take long to check, or break what checks them, are told quickly."""

from pathlib import Path

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
        ("fn f(x: f32) -> f32 = sum[_k] x", "E404"),
        ("fn f[..B, H, G, M](x: f32[..B, H, M], y: f32[..B, G, M]) = [..b, i, j] => x[..b, i] * y[..b, j]", "E403"),
    ],
    ids=["dimension", "power", "array", "tower", "shift", "unused", "pack"],
)
def test_told(program: str, code: str) -> None:
    assert [problem.code for problem in check(load_file(program)).errors] == [code]


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    file = tmp_path / "program.lam"
    file.write_text(f'import "{"a" * 5000}.lam"')
    assert [problem.code for problem in check(load_file(file)).errors] == ["E702"]
