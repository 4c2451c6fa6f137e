"""`precision="bf16"`: weights in half the memory, sums in float32, and not taken for what was compiled without."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.backends import Options, meaning
from lamina.backends.buffers import constants_of
from lamina.backends.cpu.target import CpuTarget
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.machine import Machine
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.compiler.signature import dtype_named
from lamina.tools.sources import new_context, read_program, whole
from lamina.tools.tiny_models import write

NAMES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64"}


def product(m: int, k: int, n: int) -> tuple[Program, np.ndarray]:
    """x @ w with a constant w."""
    w = np.random.default_rng(7).standard_normal((k, n)).astype(np.float32)
    context = new_context()
    key = context.weights.add(w, "w")
    text = f"""
    func.func public @main(%x: tensor<{m}x{k}xf32>) -> tensor<{m}x{n}xf32> {{
      %w = stablehlo.constant dense_resource<{key}> : tensor<{k}x{n}xf32>
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
          : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
      func.return %y : tensor<{m}x{n}xf32>
    }}"""
    return Program(parse_module(text, "product.mlir", context), context), w


def rounded(x: np.ndarray) -> np.ndarray:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


@pytest.mark.parametrize(("m", "k", "n"), [(1, 700, 513), (7, 513, 700)])
def test_operands_are_rounded_and_nothing_else(m: int, k: int, n: int):
    program, w = product(m, k, n)
    x = np.random.default_rng(m).standard_normal((m, k)).astype(np.float32)
    model = lamina.compile(program, cache=False, precision="bf16")
    a = rounded(x) if Machine.host().multiplies_bf16 else x
    (y,) = model(x)
    np.testing.assert_allclose(y, a @ rounded(w), rtol=2e-5, atol=2e-5 * k**0.5)
    assert np.abs(y - x @ w).max() > 1e-3  # and they are


# rows of one tile and of more, whole panels and what is left of one, sums in blocks of k; for each kind of processor
SHAPES = [(33, 40, 50), (64, 2112, 32), (5, 64, 3), (1, 96, 64)]
TYPES = [
    ("bf16", "f32", "bf16"),
    ("f32", "f32", "f16"),
    ("f64", "f64", "f32"),
]  # of what is multiplied, sums, roundings


ODD = [((64,), 197, 64), ((2, 3, 33), 77, 40), ((197,), 51, 197), ((31,), 197, 64), ((0,), 197, 64), ((64,), 0, 64)]


@pytest.mark.parametrize(("rows", "summed", "columns"), [*ODD, ((64,), 197, 0), ((16, 211), 197, 64)])
def test_sums_of_odd_numbers_are_those_of_rounded_operands(rows: tuple[int, ...], summed: int, columns: int):
    """Where tiles multiply, zeros fill them up; x[..., m, k] @ y[..., k, n]."""
    shapes = [(*rows, summed), (*rows[:-1], summed, columns), (*rows, columns)]
    x, y, z = ("x".join(map(str, (*shape, "f32"))) for shape in shapes)
    batch = list(range(len(rows) - 1))
    text = f"""
    func.func public @main(%x: tensor<{x}>, %y: tensor<{y}>) -> tensor<{z}> {{
      %z = stablehlo.dot_general %x, %y, batching_dims = {batch} x {batch},
          contracting_dims = [{len(rows)}] x [{len(rows) - 1}] : (tensor<{x}>, tensor<{y}>) -> tensor<{z}>
      func.return %z : tensor<{z}>
    }}"""
    context = new_context()
    rng = np.random.default_rng(summed)
    given = [rng.standard_normal(shape).astype(np.float32) for shape in shapes[:2]]
    program = Program(parse_module(text, "odd.mlir", context), context)
    model = lamina.compile(program, cache=False, precision="bf16")
    [got] = model(*given)
    rounded = [array.astype(ml_dtypes.bfloat16).astype(np.float64) for array in given]
    exact = [array.astype(np.float64) for array in given]
    errors = [np.abs(got - a @ b).max(initial=0) for a, b in (rounded, exact)]
    assert got.shape == shapes[2] and min(errors) <= 1e-5 * np.sqrt(summed)


@pytest.mark.parametrize("machine", ["x86-64", "x86-64-avx2", "x86-64-avx512", "x86-64-amx"])
@pytest.mark.parametrize(("shape", "types"), [*((s, TYPES[0]) for s in SHAPES), *((SHAPES[0], t) for t in TYPES[1:])])
def test_what_is_rounded_for_one_and_read_as_it_is_by_another_is_written_once(
    machine: str, shape: tuple[int, int, int], types: tuple[str, str, str]
):
    (m, k, n), (given, wide, narrow) = shape, types
    text = f"""
    func.func public @main(%x: tensor<{m}x{k}x{given}>, %w: tensor<{k}x{n}x{given}>, %b: tensor<{m}x{n}x{wide}>)
        -> (tensor<{m}x{n}x{wide}>, tensor<{m}x{n}x{narrow}>) {{
      %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
          : (tensor<{m}x{k}x{given}>, tensor<{k}x{n}x{given}>) -> tensor<{m}x{n}x{wide}>
      %s = stablehlo.add %p, %b : tensor<{m}x{n}x{wide}>
      %r = stablehlo.convert %s : (tensor<{m}x{n}x{wide}>) -> tensor<{m}x{n}x{narrow}>
      func.return %s, %r : tensor<{m}x{n}x{wide}>, tensor<{m}x{n}x{narrow}>
    }}"""
    context = new_context()
    program = Program(parse_module(text, "both.mlir", context), context)
    kernels = [
        op for op in CpuTarget(machine).buffers(program, Options()).module.ops if "lamina.kernel" in op.attributes
    ]
    assert len(kernels) == 1
    if not set(Machine.preset(machine).features) <= set(Machine.host().features):
        return
    rng = np.random.default_rng(n)
    x, w = (rng.integers(-4, 5, each).astype(dtype_named(NAMES[given])) for each in ((m, k), (k, n)))
    b = rng.standard_normal((m, n)).astype(dtype_named(NAMES[wide]))
    s, r = lamina.compile(program, f"cpu:{machine}", cache=False)(x, w, b)
    want = (x.astype(np.int64) @ w.astype(np.int64)).astype(b.dtype) + b
    np.testing.assert_array_equal(s, want)
    np.testing.assert_array_equal(r, want.astype(dtype_named(NAMES[narrow])))


def test_weights_take_half_the_memory():
    program, w = product(1, 1024, 1024)
    buffers = CpuTarget("x86-64-avx2").buffers(program, Options(precision="bf16"))
    assert constants_of(buffers).nbytes == w.nbytes // 2


def test_the_cache_tells_precisions_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    program, w = product(3, 640, 640)
    x = np.random.default_rng(3).standard_normal((3, 640)).astype(np.float32)
    wide, narrow = lamina.compile(program)(x)[0], lamina.compile(program, precision="bf16")(x)[0]
    assert np.abs(wide - x @ w).max() < 1e-3 < np.abs(narrow - x @ w).max()


def test_an_unknown_precision_is_an_error():
    with pytest.raises(LaminaError, match="unknown precision 'bf8'"):
        lamina.compile(product(1, 4, 4)[0], precision="bf8", cache=False)


@pytest.mark.parametrize("name", ["autoencoder", pytest.param("resnet8", marks=pytest.mark.slow)])
def test_integers_are_those_of_the_integer_model(tmp_path: Path, name: str):
    path = write(name, tmp_path)
    program = whole(read_program(path))
    x = np.random.default_rng(3).standard_normal([int(n) for n in program.signature.inputs[0].shape]).astype(np.float32)
    options = Options(precision="int8")
    integers = meaning("cpu", program, options)
    names = {op.name for op in integers.module.walk()}
    assert not names & {"onnx.Conv", "onnx.Gemm", "onnx.MatMul"}
    assert np.array_equal(lamina.compile(path, precision="int8")(x), lamina.compile(integers, "interpret")(x))
    with pytest.raises(LaminaError, match="integers are made of ONNX operators, got level 'stablehlo'"):
        meaning("cpu", product(2, 3, 4)[0], options)


def test_layers_of_quantised_models_are_tiled(tmp_path: Path):
    program = CpuTarget().lower(whole(read_program(write("resnet8", tmp_path))), "vector", Options(precision="int8"))
    tiled = [op for op in program.module.ops if "lamina.schedule" in op.attributes]
    assert len(tiled) >= 9 and not [op for op in program.module.ops if "lamina.not_tiled" in op.attributes]
