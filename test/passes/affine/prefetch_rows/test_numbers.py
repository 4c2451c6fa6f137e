"""Asking for the next row changes no result, whatever the rows' length, and at the last row asks for nothing beyond."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest


@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("columns", [64, 391, 1000])
@pytest.mark.parametrize("machine", ["", "x86-64-avx2"])
def test_numbers(kernel: Callable[..., None], rows: int, columns: int, machine: str):
    shape = f"memref<{rows}x{columns}xf32>"
    text = f"""
    func.func public @kernel(%x: {shape}, %y: {shape}) {{
      %zero = arith.constant 0.0 : f32
      affine.parallel (%i) = (0) to ({rows}) {{
        %sum = affine.for %j = 0 to {columns} iter_args(%s = %zero) -> (f32) {{
          %a = affine.load %x[%i, %j] : {shape}
          %t = arith.addf %s, %a fastmath<reassoc> : f32
          affine.yield %t : f32
        }}
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%i, %j] : {shape}
          %b = arith.addf %a, %sum : f32
          affine.store %b, %y[%i, %j] : {shape}
        }}
      }}
      func.return
    }}"""
    x = np.random.default_rng(0).integers(-9, 9, (rows, columns)).astype(np.float32)
    y = np.empty_like(x)
    kernel(text, "affine-vectorize,affine-prefetch-rows{bytes=64}", [x, y], machine=machine)
    np.testing.assert_array_equal(y, x + x.sum(axis=1, keepdims=True))
