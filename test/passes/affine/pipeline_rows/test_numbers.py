"""Rows that are gone through side by side come to what they do one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

ROWS = [32, 33, 97, 300]
COLUMNS = [5, 77, 128, 391]
PASSES = "affine-pipeline-rows,affine-vectorize,affine-prefetch-rows{bytes=64},affine-stream-stores{bytes=64}"


def parallel(rows: int, body: str) -> str:
    return f"affine.parallel (%r) = (0) to ({rows}) {{ {body} }} func.return"


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("machine", ["", "x86-64-avx2"])
def test_three_stages(kernel: Callable[..., None], rows: int, columns: int, machine: str):
    """A softmax; its results lie between others, on lines and off them."""
    shape = f"memref<{rows}x{columns}xf32>"
    text = f"""
    func.func public @kernel(%x: {shape}, %y: {shape}) {{
      %low = arith.constant 0xff800000 : f32
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      {
        parallel(
            rows,
            f'''
        %m = affine.for %j = 0 to {columns} iter_args(%c = %low) -> (f32) {{
          %a = affine.load %x[%r, %j] : {shape}
          %b = arith.maximumf %c, %a : f32
          affine.yield %b : f32
        }}
        %s = affine.for %j = 0 to {columns} iter_args(%c = %zero) -> (f32) {{
          %a = affine.load %x[%r, %j] : {shape}
          %d = arith.subf %a, %m : f32
          %e = math.exp %d : f32
          affine.store %e, %y[%r, %j] : {shape}
          %b = arith.addf %c, %e fastmath<reassoc> : f32
          affine.yield %b : f32
        }}
        %i = arith.divf %one, %s : f32
        affine.for %j = 0 to {columns} {{
          %a = affine.load %y[%r, %j] : {shape}
          %b = arith.mulf %a, %i : f32
          affine.store %b, %y[%r, %j] : {shape}
        }}''',
        )
    }
    }}"""
    x = np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)
    x[rows // 2, columns // 2] = np.nan
    x[1, 0] = -np.inf
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    for start in (0, 1, 8):
        room = np.full(x.size + 64, -7, np.float32)
        first = -(room.ctypes.data // 4) % 16 + start
        y = room[first : first + x.size].reshape(x.shape)
        kernel(text, f"{PASSES},math-expand", [x, y], machine=machine)
        np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=2e-6, atol=1e-30)
        assert (room[:first] == -7).all() and (room[first + x.size :] == -7).all()


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("machine", ["", "x86-64-avx2"])
def test_what_later_stages_need_of_earlier_ones(kernel: Callable[..., None], rows: int, columns: int, machine: str):
    """Four stages over whole numbers; sums of the first are needed one, two and three rows later, a store is early."""
    shape = f"memref<2x{rows}x{columns}xf32>"
    text = f"""
    func.func public @kernel(%x: {shape}, %y: {shape}, %z: {shape}, %others: memref<{rows}xf32>) {{
      %zero = arith.constant 0.0 : f32
      affine.parallel (%p, %r) = (0, 0) to (2, {rows}) {{
        %n = affine.load %others[%r] : memref<{rows}xf32>
        %s = affine.for %j = 0 to {columns} iter_args(%c = %zero) -> (f32) {{
          %a = affine.load %x[%p, %r, %j] : {shape}
          %b = arith.addf %c, %a fastmath<reassoc> : f32
          affine.yield %b : f32
        }}
        %t = affine.for %j = 0 to {columns} iter_args(%c = %s) -> (f32) {{
          %a = affine.load %x[%p, %r, %j] : {shape}
          %d = arith.subf %a, %s : f32
          affine.store %d, %z[%p, %r, %j] : {shape}
          %b = arith.addf %c, %d fastmath<reassoc> : f32
          affine.yield %b : f32
        }}
        %u = arith.addf %s, %n : f32
        %v = affine.for %j = 0 to {columns} iter_args(%c = %t) -> (f32) {{
          %a = affine.load %x[%p, %r, %j] : {shape}
          %d = arith.addf %a, %u : f32
          %b = arith.maximumf %c, %d : f32
          affine.yield %b : f32
        }}
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%p, %r, %j] : {shape}
          %b = arith.subf %a, %s : f32
          %d = arith.addf %b, %v : f32
          %e = arith.addf %d, %t : f32
          affine.store %e, %y[%p, %r, %j] : {shape}
        }}
      }}
      func.return
    }}"""
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (2, rows, columns)).astype(np.float32)
    n = rng.integers(-9, 9, rows).astype(np.float32)
    y, z = np.empty_like(x), np.empty_like(x)
    kernel(text, PASSES, [x, y, z, n], machine=machine)
    s = x.sum(axis=2, keepdims=True)
    t = s + (x - s).sum(axis=2, keepdims=True)
    v = np.maximum(t, (x + s + n[:, None]).max(axis=2, keepdims=True))
    np.testing.assert_array_equal(z, x - s)
    np.testing.assert_array_equal(y, x - s + v + t)
