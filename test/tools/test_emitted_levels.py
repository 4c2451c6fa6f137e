"""Programs that are written on a level, weights beside them or in the text, and read again."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper as h
from onnx import numpy_helper as nh

import lamina
from lamina.tools.main import main
from lamina.tools.opt import driver

LEVELS = ("linalg", "buffers", "affine", "vector", "llvm")
X = np.random.default_rng(0).standard_normal((3, 100)).astype(np.float32)


def write(path: Path, weight: np.ndarray) -> Path:
    """x times a weight."""
    value = [h.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3, 100]) for name in "xy"]
    graph = h.make_graph(
        [h.make_node("Mul", ["x", "w"], ["y"])], "g", value[:1], value[1:], [nh.from_array(weight, "w")]
    )
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9), path)
    return path


def emitted(folder: Path, level: str, weight: np.ndarray) -> Path:
    """The program on a level."""
    folder.mkdir()
    found = folder / "model.mlir"
    assert main(["compile", str(write(folder / "model.onnx", weight)), "--emit", level, "-o", str(found)]) == 0
    return found


def result(path: Path) -> np.ndarray:
    """What the program computes, compiled by the command."""
    code = path.with_suffix(".lamx")
    assert main(["compile", str(path), "-o", str(code)]) == 0
    [found] = lamina.load(code)(X)
    return found


def without_weights(text: str) -> str:
    """The text of a module that names no file of weights."""
    named = 'lamina.weights = "model.weights"'
    assert named in text
    return text.replace(named, 'other = "none"')


@pytest.mark.parametrize("level", LEVELS)
def test_weights_come_along(level: str, tmp_path: Path) -> None:
    """Also where another program with the same code, but for the weights, was compiled before."""
    for factor in (1, 2):
        weight = np.arange(factor, 100 + factor, dtype=np.float32)
        np.testing.assert_array_equal(result(emitted(tmp_path / str(factor), level, weight)), X * weight)


@pytest.mark.parametrize("level", LEVELS)
def test_weights_in_the_text(level: str, tmp_path: Path) -> None:
    weight = np.arange(100, dtype=np.float32)
    source = emitted(tmp_path / "level", level, weight)
    printed = StringIO()
    assert driver().run([str(source), "--print-large-constants"], StringIO(), printed, StringIO()) == 0
    text = tmp_path / "whole.mlir"
    text.write_text(without_weights(printed.getvalue()))
    np.testing.assert_array_equal(result(text), X * weight)


@pytest.mark.parametrize("level", LEVELS)
def test_weights_that_are_missing(level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = emitted(tmp_path / "level", level, np.ones(100, np.float32))
    source.write_text(without_weights(source.read_text()))
    capsys.readouterr()
    assert main(["compile", str(source), "-o", str(tmp_path / "m.lamx")]) == 2
    assert "' is not there (weights lie in a file beside the module" in capsys.readouterr().err
    assert not (tmp_path / "m.lamx").exists()


@pytest.mark.parametrize("output", [[], ["-o", "-"]])
@pytest.mark.parametrize(
    "emit, target, expected",
    [("linalg", "cpu", "linalg.generic"), ("s", "cpu", "lamina_main"), ("ptx", "cuda", ".visible .entry")],
)
def test_standard_output_takes_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], emit: str, target: str, expected: str, output: list[str]
) -> None:
    """What is printed is what a file would hold."""
    model = str(write(tmp_path / "model.onnx", X))
    assert main(["compile", model, "--emit", emit, "--target", target, *output]) == 0
    shown = capsys.readouterr().out
    assert expected in shown
    kind = "mlir" if emit == "linalg" else emit
    file, level = tmp_path / f"model.{kind}", ["--emit", emit] if kind == "mlir" else []
    assert main(["compile", model, *level, "--target", target, "-o", str(file)]) == 0
    written = file.read_text()
    if kind == "mlir":  # its head names the weights beside it
        shown, written = (text.partition("\n")[2] for text in (shown, written))
    assert shown == written


def test_standard_output_wants_to_be_told_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(tmp_path / "there-is-none.onnx")]) == 2
    assert "-o FILE, as model.lamx, or --emit LEVEL" in capsys.readouterr().err
