"""Asking for lines that will be written changes no result, nor does asking behind the end of an array."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest


def text(rows: int, columns: int, width: int) -> str:
    """y = 2 x, of arrays of rows x columns, in columns of `width`, as a loop over strips does."""
    shape = f"memref<{rows}x{columns}xf32>"
    return f"""
    func.func public @kernel(%x: {shape}, %y: {shape}) {{
      affine.for %s = 0 to {columns // width} {{
        affine.for %i = 0 to {rows} {{
          affine.for %j = 0 to {width} {{
            %a = affine.load %x[%i, %s * {width} + %j] : {shape}
            %b = arith.addf %a, %a : f32
            affine.store %b, %y[%i, %s * {width} + %j] : {shape}
          }}
        }}
      }}
      func.return
    }}"""


@pytest.mark.parametrize(
    ("rows", "columns", "width"), [(1, 5000, 5000), (7, 64, 64), (7, 96, 48), (3, 1001, 1001), (5, 1001, 77), (1, 1, 1)]
)
@pytest.mark.parametrize("machine", ["", "x86-64-avx2", "x86-64"])
def test_numbers(kernel: Callable[..., None], rows: int, columns: int, width: int, machine: str) -> None:
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    y = np.empty_like(x)
    passes = "affine-vectorize,affine-prefetch-results{bytes=1}"
    kernel(text(rows, columns, width), passes, [x, y], machine=machine)
    np.testing.assert_array_equal(y, 2 * x)
