"""Files of a kind that a package reads: everywhere that models are read, with errors that name the package."""

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.compiler.diagnostics import LaminaError
from lamina.tools.main import main

EXAMPLE = Path(__file__).parents[1] / "plugin_example"


def install(isolated: Path, package: str, points: str) -> None:
    """As pip leaves it: metadata, with entry points for frontends."""
    info = isolated / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[lamina.frontends]\n{points}\n")


def fake(isolated: Path, body: str, suffix: str = "fake") -> Path:
    """A file whose frontend does what `body` says."""
    (isolated / "fake_frontend.py").write_text(f"def read(path, context):\n    {body}\n")
    install(isolated, "faker", f"{suffix} = fake_frontend:read")
    path = isolated / f"model.{suffix}"
    path.write_text("")
    return path


@pytest.fixture
def poly(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    install(isolated, "lamina-example", "poly = lamina_example.frontend:read")
    path = isolated / "square.poly"
    path.write_text("4\n2 0 -1\n")
    return path


def test_a_program_is_compiled_and_imported(poly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (y,) = lamina.compile(poly)(np.arange(4, dtype=np.float32))
    assert y.tolist() == [-1.0, 1.0, 7.0, 17.0]
    assert main(["run", str(poly), "--check"]) == 0
    assert "ok    " in capsys.readouterr().out
    assert main(["import", str(poly), "--to", "linalg"]) == 0
    assert "linalg.generic" in capsys.readouterr().out


def test_its_errors_are_told_as_they_are(poly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    poly.write_text("4\n2 x -1\n")
    assert main(["run", str(poly)]) == 2
    assert capsys.readouterr().err == f"lamina run: {poly}:2:3: error: expected a number, got 'x'\n"


def test_other_kinds_are_refused_with_those_that_are_known(poly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = poly.with_suffix(".other")
    other.write_text("")
    assert main(["run", str(other)]) == 2
    err = capsys.readouterr().err
    assert "files of kind '.other' are not programs (expected .onnx, .lam, .pt2, .mlir, .mlirbc, .jax or .poly)" in err


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return 3", "frontend 'fake' of package 'faker' gives a int, expected a ModuleOp"),
        ("return {}[1]", "frontend 'fake' of package 'faker' fails: KeyError: 1"),
        ("open(path / 'x')", "cannot read: [Errno 20] Not a directory"),
        ("import nowhere", "frontend 'fake' of package 'faker' fails: ModuleNotFoundError: No module named 'nowhere'"),
    ],
)
def test_what_goes_wrong_in_one_names_its_package(
    isolated: Path, body: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = fake(isolated, body)
    assert main(["run", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"lamina run: {path}: error: {told}") and err.count("\n") == 1


def test_one_that_does_not_load_is_told(isolated: Path) -> None:
    path = fake(isolated, "pass")
    (isolated / "fake_frontend.py").write_text("import nowhere")
    with pytest.raises(LaminaError, match="plug-in 'fake' of package 'faker' does not load: ModuleNotFoundError"):
        lamina.compile(path)


def test_a_module_that_does_not_verify_is_refused(isolated: Path) -> None:
    text = "func.func public @main(%x: tensor<4xf32>) -> tensor<2xf32> { func.return %x : tensor<4xf32> }"
    path = fake(isolated, f"from xdsl.parser import Parser; return Parser(context, {text!r}).parse_module()")
    with pytest.raises(LaminaError, match=r"func\.return"):
        lamina.compile(path)


def test_our_own_kinds_cannot_be_taken(isolated: Path) -> None:
    path = fake(isolated, "return 3", "lam").with_suffix(".other")
    path.write_text("")
    with pytest.raises(LaminaError, match="packages 'lamina' and 'faker' both have a frontend 'lam'"):
        lamina.compile(path)


def test_two_packages_cannot_have_one_kind(poly: Path) -> None:
    install(poly.parent, "another", "poly = fake_frontend:read")
    with pytest.raises(LaminaError, match="packages 'another' and 'lamina-example' both have"):
        lamina.compile(poly)
