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


@pytest.mark.parametrize("picked", [16, 37])
def test_places_that_data_tell(kernel: Callable[..., None], picked: int):
    text = f"""
    func.func public @kernel(%places: memref<{picked}xindex>, %x: memref<5x250xf32>, %y: memref<5x{picked}xf32>) {{
      affine.parallel (%i) = (0) to (5) {{
        affine.for %j = 0 to {picked} {{
          %place = affine.load %places[%j] : memref<{picked}xindex>
          %a = memref.load %x[%i, %place] : memref<5x250xf32>
          affine.store %a, %y[%i, %j] : memref<5x{picked}xf32>
        }}
      }}
      func.return
    }}"""
    rng = np.random.default_rng(0)
    x, places = rng.standard_normal((5, 250)).astype(np.float32), rng.integers(0, 250, picked)
    y = np.empty((5, picked), np.float32)
    kernel(text, "affine-prefetch-rows{bytes=64}", [places, x, y])
    np.testing.assert_array_equal(y, x[:, places])
