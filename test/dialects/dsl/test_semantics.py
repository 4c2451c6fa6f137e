"""What index notation means, against NumPy: bodies called at once and one by one give the same."""

from __future__ import annotations

import numpy as np
import pytest

from lamina.compiler.context import LaminaContext
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.parsing import parse_module
from lamina.dialects import all_dialects
from lamina.dialects.dsl import semantics
from lamina.dialects.dsl.neutral import neutral
from lamina.dialects.dsl.ops import ReduceKind


@pytest.fixture(params=["at once", "one by one", "mixed"], autouse=True)
def size(request, monkeypatch):
    """How large a body may be to be called with whole arrays."""
    monkeypatch.setattr(semantics, "AT_ONCE", {"at once": 1 << 22, "one by one": 0, "mixed": 4}[request.param])


def run(text, *inputs):
    ctx = LaminaContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    return Interpreter(ctx).run(parse_module(text, "test.mlir", ctx), inputs)[0]


def test_matmul_with_guard():
    text = """
    func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %n: tensor<i64>) -> tensor<2x3xf32> {
      %y = dsl.comprehension [2, 3] {
      ^bb0(%i: tensor<i64>, %j: tensor<i64>):
        %s = dsl.reduce sum [4] {
        ^bb0(%k: tensor<i64>):
          %a = dsl.access %x[%i, %k] : tensor<2x4xf32>
          %b = dsl.access %w[%k, %j] : tensor<4x3xf32>
          %p = stablehlo.multiply %a, %b : tensor<f32>
          %g = stablehlo.compare LT, %k, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
          dsl.yield %p, %g : tensor<f32>, tensor<i1>
        } : tensor<f32>
        dsl.yield %s : tensor<f32>
      } : tensor<2x3xf32>
      func.return %y : tensor<2x3xf32>
    }"""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 4), np.float32), rng.standard_normal((4, 3), np.float32)
    for n in (4, 2, 0):
        np.testing.assert_allclose(run(text, x, w, np.int64(n)), x[:, :n] @ w[:n], rtol=1e-6)


def test_access():
    text = """
    func.func @main(%x: tensor<3xi32>, %at: tensor<5xi64>, %out: tensor<i32>) -> tensor<5xi32> {
      %y = dsl.comprehension [5] {
      ^bb0(%i: tensor<i64>):
        %k = dsl.access %at[%i] : tensor<5xi64>
        %a = dsl.access %x[%k] OUTSIDE : tensor<3xi32>
        dsl.yield %a : tensor<i32>
      } : tensor<5xi32>
      func.return %y : tensor<5xi32>
    }"""
    inputs = np.array([10, 20, 30], np.int32), np.array([-1, 0, 2, 3, 1]), np.int32(-5)
    assert run(text.replace("OUTSIDE", ""), *inputs).tolist() == [10, 10, 30, 30, 20]
    assert run(text.replace("OUTSIDE", "outside %out"), *inputs).tolist() == [-5, 10, 30, -5, 20]
    empty = (np.zeros(0, np.int32), *inputs[1:])
    assert run(text.replace("OUTSIDE", "").replace("<3x", "<0x"), *empty).tolist() == [0] * 5
    assert run(text.replace("OUTSIDE", "outside %out").replace("<3x", "<0x"), *empty).tolist() == [-5] * 5


KINDS = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "argmax": np.argmax,
    "argmin": np.argmin,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [[3.0, np.nan, 5.0, 5.0], [2.0, 7.0, -1.0, 7.0], [-np.inf] * 4])
def test_reduce(kind, values):
    text = f"""
    func.func @main(%x: tensor<4xf32>) -> tensor<RESULT> {{
      %y = dsl.reduce {kind} [4] {{
      ^bb0(%i: tensor<i64>):
        %a = dsl.access %x[%i] : tensor<4xf32>
        dsl.yield %a : tensor<f32>
      }} : tensor<RESULT>
      func.return %y : tensor<RESULT>
    }}""".replace("RESULT", "i64" if kind.startswith("arg") else "f32")
    x = np.array(values, np.float32)
    np.testing.assert_array_equal(run(text, x), KINDS[kind](x))


@pytest.mark.parametrize("kind", ["any", "all"])
@pytest.mark.parametrize("values", [[0, 0, 0], [0, 1, 0], [1, 1, 1]])
def test_any_and_all(kind, values):
    text = f"""
    func.func @main(%x: tensor<3xi1>) -> tensor<i1> {{
      %y = dsl.reduce {kind} [3] {{
      ^bb0(%i: tensor<i64>):
        %a = dsl.access %x[%i] : tensor<3xi1>
        dsl.yield %a : tensor<i1>
      }} : tensor<i1>
      func.return %y : tensor<i1>
    }}"""
    assert run(text, np.array(values, bool)) == getattr(np, kind)(values)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("element", ["f32", "i8", "bf16", "f8E4M3FN", "ui16"])
def test_reduce_of_nothing(kind, element):
    result = "i64" if kind.startswith("arg") else element
    text = f"""
    func.func @main(%v: tensor<{element}>) -> tensor<{result}> {{
      %y = dsl.reduce {kind} [0] {{
      ^bb0(%i: tensor<i64>):
        dsl.yield %v : tensor<{element}>
      }} : tensor<{result}>
      func.return %y : tensor<{result}>
    }}"""
    start = neutral(ReduceKind(kind), dtype(element))
    assert run(text, np.zeros((), start.dtype)) == (0 if kind.startswith("arg") else start)


def dtype(element):
    import ml_dtypes

    names = {"f32": np.float32, "i8": np.int8, "bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn}
    return np.dtype(names.get(element, np.uint16))
