# ruff: noqa: E501
"""Whole small programs through every level, and their kernels in the emulator, against the reference."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import lamina
from lamina.backends import Options
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.program import Program
from lamina.compiler.signature import dtype_named
from lamina.tools.main import main
from lamina.tools.sources import read_program

SOFTMAX = """
func.func public @main(%x: tensor<5x20xf32>, %w: tensor<20x33xf32>, %b: tensor<33xf32>) -> tensor<5x33xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<5x20xf32>, tensor<20x33xf32>) -> tensor<5x33xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<33xf32>) -> tensor<5x33xf32>
  %e = stablehlo.add %d, %bb : tensor<5x33xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%e init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<5x33xf32>, tensor<f32>) -> tensor<5xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<5xf32>) -> tensor<5x33xf32>
  %s = stablehlo.subtract %e, %mb : tensor<5x33xf32>
  %p = stablehlo.exponential %s : tensor<5x33xf32>
  %t = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x33xf32>, tensor<f32>) -> tensor<5xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<5xf32>) -> tensor<5x33xf32>
  %r = stablehlo.divide %p, %tb : tensor<5x33xf32>
  return %r : tensor<5x33xf32>
}
"""
MIXED = """
func.func public @main(%x: tensor<3x7xi32>, %h: tensor<7x4xf16>, %i: tensor<5xi64>) -> (tensor<7x3xi32>, tensor<i32>, tensor<5x4xf16>, tensor<7x4xi1>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x7xi32>) -> tensor<7x3xi32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x7xi32>, tensor<i32>) -> tensor<i32>
  %g = "stablehlo.gather"(%h, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>} : (tensor<7x4xf16>, tensor<5xi64>) -> tensor<5x4xf16>
  %c = stablehlo.compare GT, %h, %h : (tensor<7x4xf16>, tensor<7x4xf16>) -> tensor<7x4xi1>
  return %t, %s, %g, %c : tensor<7x3xi32>, tensor<i32>, tensor<5x4xf16>, tensor<7x4xi1>
}
"""


SCALED = """
func.func public @main(%x: tensor<6x50xf32>, %y: tensor<6x50xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.constant dense<0.25> : tensor<6x50xf32>
  %b = stablehlo.constant dense<0.75> : tensor<6x50xf32>
  %p = stablehlo.multiply %x, %a : tensor<6x50xf32>
  %q = stablehlo.multiply %y, %b : tensor<6x50xf32>
  %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6x50xf32>, tensor<f32>) -> tensor<6xf32>
  %t = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6x50xf32>, tensor<f32>) -> tensor<6xf32>
  return %s, %t : tensor<6xf32>, tensor<6xf32>
}
"""


def program_of(text: str, folder: Path) -> Program:
    path = folder / "program.mlir"
    path.write_text(text)
    program = read_program(str(path))
    assert isinstance(program, Program)
    return program


def inputs_of(program: Program, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for spec in program.signature.inputs:
        dtype, shape = dtype_named(spec.dtype), tuple(int(n) for n in spec.shape)
        drawn = rng.integers(0, 7, shape) if dtype.kind == "i" else rng.standard_normal(shape)
        found.append(np.asarray(drawn).astype(dtype))
    return found


def agree(left: Sequence[Any], right: Sequence[Any]) -> None:
    for a, b in zip(left, right, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        wide = [x.astype(np.float64) for x in (a, b)]
        assert np.allclose(*wide, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", [SOFTMAX, MIXED], ids=["softmax", "mixed"])
def test_kernels_compute_what_the_reference_does(text: str, tmp_path: Path) -> None:
    program = program_of(text, tmp_path)
    inputs = inputs_of(program)
    expected = lamina.interpret(program, inputs)
    for name in ("sm_80", "sm_90a"):
        compiled = CudaTarget(name).compile(program, Options(cache=False, emulate=True))
        assert isinstance(compiled, EmulatedProgram)
        agree(compiled.run(inputs), expected)
        for seed in range(5):
            compiled.late, compiled.seed = True, seed
            agree(compiled.run(inputs), expected)
        assert all(k.resources is None or k.resources.spill_bytes == 0 for k in compiled.built.kernels.values())


def test_every_level_means_the_same(tmp_path: Path) -> None:
    program = program_of(SOFTMAX, tmp_path)
    inputs = inputs_of(program)
    [expected] = lamina.interpret(program, inputs)
    lowered = CudaTarget("sm_80").lower(program, "gpu", Options())
    names = {op.name.partition(".")[0] for op in lowered.module.walk()}
    assert names <= {"builtin", "func", "gpu", "affine", "memref", "arith", "math", "scf", "vector", "nvgpu"}
    result = np.zeros_like(expected)
    types = [arg.type.get_shape()[0] for arg in lowered.module.body.block.first_op.body.block.args[4:]]  # pyright: ignore
    Interpreter(lowered.context).run(lowered.module, [*inputs, result, *(np.zeros(n, np.int8) for n in types)])
    agree([result], [expected])
    device = CudaTarget("sm_80").lower(program, "llvm", Options())
    assert {op.name.partition(".")[0] for op in device.module.walk()} == {"builtin", "llvm", "nvvm"}


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "m.mlir"
    path.write_text(SOFTMAX)
    assert main(["run", str(path), "--target", "cuda:sm_80", "--emulate", "--check", "--quiet"]) == 0
    assert "ok    output0 against the reference" in capsys.readouterr().out
    assert main(["compile", str(path), "--target", "cuda:sm_90a", "-o", str(tmp_path / "m.ptx")]) == 0
    assert ".target sm_90a" in (tmp_path / "m.ptx").read_text()
    assert main(["compile", str(path), "--target", "cuda", "--emit", "gpu", "-o", str(tmp_path / "g.mlir")]) == 0
    assert "gpu.launch_func" in (tmp_path / "g.mlir").read_text()
    capsys.readouterr()
    assert main(["run", str(path), "--target", "cuda:sm_70", "--emulate"]) == 2
    assert "unknown architecture 'sm_70'" in capsys.readouterr().err
    assert main(["compile", str(path), "-o", str(tmp_path / "m.ptx")]) == 2
    assert "is for target cuda, not 'cpu'" in capsys.readouterr().err
    assert main(["compile", str(path), "--precision", "tf32", "-o", str(tmp_path / "m.o")]) == 2
    assert "multiplies no tf32" in capsys.readouterr().err
    assert main(["run", str(path), "--emulate"]) == 2
    assert "target 'cpu' has no emulator" in capsys.readouterr().err
    assert main(["run", str(path), "--target", "cuda", "--engine", "functional"]) == 2
    assert "target 'cuda' has no engines to choose from" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "g.mlir"), "--target", "cuda", "--emulate", "--quiet"]) == 0
    assert "output0: float32[5, 33]" in capsys.readouterr().out


def test_random_numbers_have_a_key_of_their_own() -> None:
    nodes = [helper.make_node("RandomNormal", [], ["r"], shape=[40]), helper.make_node("Add", ["x", "r"], ["y"])]
    given, made = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, [40])] for name in ("x", "y"))
    model = helper.make_model(helper.make_graph(nodes, "g", given, made), opset_imports=[helper.make_opsetid("", 17)])
    compiled = CudaTarget("sm_80").compile(lamina.import_onnx(model), Options(cache=False, emulate=True))
    [first], [second] = (compiled.run([np.zeros(40, np.float32)]) for _ in range(2))
    assert not np.array_equal(first, second) and 0.3 < first.std() < 3


def test_kernels_that_differ_in_numbers_alone_are_one(tmp_path: Path) -> None:
    program = program_of(SCALED, tmp_path)
    model = lamina.compile(program.clone(), "cuda", options=Options(emulate=True, cache=False))
    inputs = inputs_of(program)
    agree(model(*inputs), [x.sum(1) * scale for x, scale in zip(inputs, (0.25, 0.75), strict=True)])
    linalg = str(lamina.lower(program, "linalg", target="cuda"))
    assert linalg.count("lamina.kernel") == 1 and linalg.count("call @") == 2
