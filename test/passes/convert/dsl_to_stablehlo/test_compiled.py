"""Reductions of every kind and dtype, with NaN and infinities, by their meaning, lowered, and as machine code."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.compiler.dtypes import dtype_of
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.tools.sources import new_context

NUMBERS = ["f32", "bf16", "i8", "ui16"]
KINDS = ["sum", "prod", "max", "min", "argmax", "argmin"]


def three_ways(text: str, *cases: tuple[np.ndarray, ...]) -> list[list[np.ndarray]]:
    """For each of `cases`, the result by the meaning of the text, of its hub ops, and of the machine code."""
    context = new_context()
    program = Program(parse_module(text, "test.mlir", context), context)
    models = [lamina.compile(program, target, cache=False) for target in ("interpret", "cpu")]
    return [
        [Interpreter(context).run(program.module, inputs)[0], *(model(*inputs)[0] for model in models)]
        for inputs in cases
    ]


def reduction(kind: str, element: str, shape: str, size: int) -> str:
    result = "i64" if kind.startswith("arg") else element
    return f"""
    func.func public @main(%x: tensor<{shape}x{element}>, %n: tensor<i64>) -> tensor<3x{result}> {{
      %y = dsl.comprehension [3] {{
      ^bb0(%i: tensor<i64>):
        %s = dsl.reduce {kind} [{size}] {{
        ^bb0(%k: tensor<i64>):
          %a = dsl.access %x[%i, %k] : tensor<{shape}x{element}>
          %g = stablehlo.compare LT, %k, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
          dsl.yield %a, %g : tensor<{element}>, tensor<i1>
        }} : tensor<{result}>
        dsl.yield %s : tensor<{result}>
      }} : tensor<3x{result}>
      func.return %y : tensor<3x{result}>
    }}"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("element", NUMBERS)
def test_dtypes(kind, element):
    text = reduction(kind, element, "3x7", 7)
    context = new_context()
    argument = next(iter(parse_module(text, "", context).ops)).body.block.args[0]
    dtype = dtype_of(argument.type)
    x = np.random.default_rng(0).integers(0 if "u" in dtype.name else -2, 4, (3, 7)).astype(dtype)
    for meant, lowered, compiled in three_ways(text, *((x, np.asarray(n)) for n in (7, 4, 0))):
        assert meant.dtype == lowered.dtype == compiled.dtype
        np.testing.assert_array_equal(lowered, meant)
        np.testing.assert_array_equal(compiled, meant)


@pytest.mark.parametrize("kind", ["max", "min", "argmax", "argmin"])
def test_not_a_number(kind):
    x = np.array([[1, np.nan, 5, np.nan, 9], [np.inf, -np.inf, 0, np.inf, 1], [np.nan] * 5], np.float32)
    [[meant, lowered, compiled]] = three_ways(reduction(kind, "f32", "3x5", 5), (x, np.asarray(5)))
    np.testing.assert_array_equal(meant, getattr(np, kind)(x, axis=1))
    np.testing.assert_array_equal(lowered, meant)
    np.testing.assert_array_equal(compiled, meant)


@pytest.mark.parametrize("infinite", [False, True])
def test_guard_beside_infinities(infinite):
    """A guarded product with an infinity is 0, not NaN."""
    text = """
    func.func public @main(%p: tensor<5x5xf32>, %v: tensor<5x3xf32>) -> tensor<5x3xf32> {
      %y = dsl.comprehension [5, 3] {
      ^bb0(%i: tensor<i64>, %d: tensor<i64>):
        %s = dsl.reduce sum [5] {
        ^bb0(%j: tensor<i64>):
          %a = dsl.access %p[%i, %j] : tensor<5x5xf32>
          %b = dsl.access %v[%j, %d] : tensor<5x3xf32>
          %m = stablehlo.multiply %a, %b : tensor<f32>
          %g = stablehlo.compare LE, %j, %i : (tensor<i64>, tensor<i64>) -> tensor<i1>
          dsl.yield %m, %g : tensor<f32>, tensor<i1>
        } : tensor<f32>
        dsl.yield %s : tensor<f32>
      } : tensor<5x3xf32>
      func.return %y : tensor<5x3xf32>
    }"""
    rng = np.random.default_rng(0)
    p, v = rng.integers(-3, 4, (5, 5)).astype(np.float32), rng.integers(-3, 4, (5, 3)).astype(np.float32)
    if infinite:
        v[3, 1] = np.inf
    with np.errstate(invalid="ignore"):
        [[meant, lowered, compiled]] = three_ways(text, (p, v))
    assert np.isfinite(meant[:3]).all()
    np.testing.assert_array_equal(lowered, meant)
    np.testing.assert_array_equal(compiled, meant)
