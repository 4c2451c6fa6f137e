"""What the ops mean, by the values that Intel's manual states."""

from __future__ import annotations

import numpy as np
import pytest

from lamina.compiler.interpreter import Interpreter
from lamina.compiler.parsing import parse_module
from lamina.tools.sources import new_context

INF, NAN = np.float32(np.inf), np.float32(np.nan)
LANES = 32
SCALED = f"""
func.func public @main(%x: memref<{LANES}xf32>, %e: memref<{LANES}xf32>, %y: memref<{LANES}xf32>) {{
  %a = affine.vector_load %x[0] : memref<{LANES}xf32>, vector<{LANES}xf32>
  %b = affine.vector_load %e[0] : memref<{LANES}xf32>, vector<{LANES}xf32>
  %c = "x86.scalef"(%a, %b) : (vector<{LANES}xf32>, vector<{LANES}xf32>) -> vector<{LANES}xf32>
  affine.vector_store %c, %y[0] : memref<{LANES}xf32>, vector<{LANES}xf32>
  func.return
}}"""
# value, exponent, result
CASES = [
    (1.5, 2.0, 6.0),
    (1.5, 2.9, 6.0),  # the floor counts
    (1.5, -0.1, 0.75),
    (-1.0, -149.0, -(2.0**-149)),
    (1.0, -150.0, 0.0),  # halfway: to even
    (1.5, -150.0, 2.0**-149),
    (2.0**-149, 276.0, 2.0**127),
    (1.0, 128.0, INF),
    (-1.0, 1e30, -INF),
    (-1.0, -1e30, -0.0),
    (1.0, -INF, 0.0),
    (1.0, INF, INF),
    (0.0, INF, NAN),
    (0.0, 1e30, 0.0),
    (INF, -INF, NAN),
    (INF, -1e30, INF),
    (NAN, 1.0, NAN),
    (NAN, INF, INF),
    (NAN, -INF, 0.0),
    (1.0, NAN, NAN),
]


def columns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = np.array(CASES, np.float32)
    value, exponent, result = np.resize(rows, (LANES, 3)).T.copy()
    return value, exponent, result


def same(got: np.ndarray, want: np.ndarray) -> bool:
    numbers = ~np.isnan(want)
    return bool((np.isnan(got) == ~numbers).all()) and got[numbers].tobytes() == want[numbers].tobytes()


def test_scaling():
    value, exponent, want = columns()
    context, got = new_context(), np.zeros(LANES, np.float32)
    Interpreter(context).run(parse_module(SCALED, "scale.mlir", context), [value, exponent, got])
    assert same(got, want)


@pytest.mark.parametrize(("lanes", "want"), [(16, [3, 0, 15, 15]), (8, [3, 0, 7, 7])])
def test_indices_count_modulo_the_table(lanes: int, want: list[int]):
    text = f"""
    func.func public @main(%t: vector<{lanes}xf32>, %i: vector<4xi32>) -> vector<4xf32> {{
      %r = "x86.permutexvar"(%t, %i) : (vector<{lanes}xf32>, vector<4xi32>) -> vector<4xf32>
      func.return %r : vector<4xf32>
    }}"""
    context = new_context()
    table, index = np.arange(lanes, dtype=np.float32), np.array([3, 16, -1, 255], np.int32)
    (got,) = Interpreter(context).run(parse_module(text, "table.mlir", context), [table, index])
    assert [*got] == want
