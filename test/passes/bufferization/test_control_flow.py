"""Loops and branches over tensors, compiled: state that changes places, a branch that yields what it was given."""

from pathlib import Path

import numpy as np
import pytest

from lamina.tools.api import compile, interpret

PROGRAM = """
func.func public @main(%x: tensor<8x16xf32>, %n: tensor<i64>)
    -> (tensor<8x16xf32>, tensor<i64>, tensor<8x16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %a, %b, %i = "stablehlo.while"(%x, %x, %zero) ({
  ^bb0(%p: tensor<8x16xf32>, %q: tensor<8x16xf32>, %k: tensor<i64>):
    %c = stablehlo.compare LT, %k, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%p: tensor<8x16xf32>, %q: tensor<8x16xf32>, %k: tensor<i64>):
    %s = stablehlo.add %p, %q : tensor<8x16xf32>
    %j = stablehlo.add %k, %one : tensor<i64>
    stablehlo.return %q, %s, %j : tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>
  }) : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>)
  %t = stablehlo.compare GT, %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = "stablehlo.if"(%t) ({
    %y = stablehlo.exponential %a : tensor<8x16xf32>
    stablehlo.return %y : tensor<8x16xf32>
  }, {
    stablehlo.return %b : tensor<8x16xf32>
  }) : (tensor<i1>) -> tensor<8x16xf32>
  return %r, %i, %b : tensor<8x16xf32>, tensor<i64>, tensor<8x16xf32>
}
"""


@pytest.mark.parametrize("count", [0, 1, 5])
def test_while_and_if(tmp_path: Path, count: int) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    inputs = [np.random.default_rng(0).uniform(-1, 1, (8, 16)).astype(np.float32), np.array(count, np.int64)]
    expected = interpret(path, inputs)
    actual = compile(path, cache=False, threads=1)(*inputs)
    for got, want in zip(actual, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
