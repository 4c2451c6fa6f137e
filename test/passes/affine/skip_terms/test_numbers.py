"""Leaving out rows of terms changes no bit of a result, -0, infinities and NaN included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Kernel = Callable[..., None]
ENDS = {"addf": "0.0", "maximumf": "0xFF800000", "minimumf": "0x7F800000", "mulf": "1.0"}


def text(operation: str, rows: int, columns: int, start: str) -> str:
    """What `operation` makes of the rows that a mask names, weighted, from `start` on."""
    x = f"memref<{rows}x{columns}xf32>"
    return f"""
    func.func public @kernel(%m: memref<{rows}xi8>, %x: {x}, %y: memref<{columns}xf32>) {{
      %start = arith.constant {start} : f32
      %neutral = arith.constant {ENDS[operation]} : f32
      %none = arith.constant 0 : i8
      affine.for %c = 0 to {columns} {{
        affine.store %start, %y[%c] : memref<{columns}xf32>
      }}
      affine.for %i = 0 to {rows} {{
        %bit = affine.load %m[%i] : memref<{rows}xi8>
        %some = arith.cmpi ne, %bit, %none : i8
        affine.for %c = 0 to {columns} {{
          %before = affine.load %y[%c] : memref<{columns}xf32>
          %a = affine.load %x[%i, %c] : {x}
          %p = arith.mulf %a, %a : f32
          %d = arith.subf %p, %a : f32
          %term = arith.select %some, %d, %neutral : f32
          %after = arith.{operation} %before, %term : f32
          affine.store %after, %y[%c] : memref<{columns}xf32>
        }}
      }}
      func.return
    }}"""


@pytest.mark.parametrize("operation", list(ENDS))
@pytest.mark.parametrize("start", ["0.0", "-0.0", "1.5"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 16), (9, 64), (5, 77), (20, 17)])
def test_numbers(kernel: Kernel, operation: str, start: str, rows: int, columns: int) -> None:
    numbers = np.random.default_rng(rows)
    x = numbers.standard_normal((rows, columns)).astype(np.float32)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], np.float32)
    x.flat[numbers.integers(0, x.size, 6)] = special
    for mask in (numbers.integers(0, 2, rows), np.zeros(rows), np.ones(rows)):
        plain, skipped = np.empty(columns, np.float32), np.empty(columns, np.float32)
        kernel(text(operation, rows, columns, start), "affine-vectorize", [mask.astype(np.int8), x, plain])
        passes = "affine-skip-terms,affine-vectorize"
        kernel(text(operation, rows, columns, start), passes, [mask.astype(np.int8), x, skipped])
        np.testing.assert_array_equal(np.signbit(plain), np.signbit(skipped))
        np.testing.assert_array_equal(plain, skipped)
