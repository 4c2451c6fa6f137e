"""Stores past the caches write what others do, wherever a buffer begins, and leave its surroundings alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("columns", [256, 391, 1000])
@pytest.mark.parametrize("machine", ["", "x86-64-avx2"])
def test_numbers(kernel: Callable[..., None], rows: int, columns: int, machine: str):
    shape = f"memref<{rows}x{columns}xf32>"
    text = f"""
    func.func public @kernel(%x: {shape}, %y: {shape}) {{
      affine.parallel (%i) = (0) to ({rows}) {{
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%i, %j] : {shape}
          %b = arith.addf %a, %a : f32
          affine.store %b, %y[%i, %j] : {shape}
        }}
      }}
      func.return
    }}"""
    x = np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)
    for start in (0, 1, 8, 16):
        room = np.full(x.size + 64, -7, np.float32)
        first = -(room.ctypes.data // 4) % 16 + start
        y = room[first : first + x.size].reshape(x.shape)
        kernel(text, "affine-vectorize,affine-stream-stores{bytes=64}", [x, y], machine=machine)
        np.testing.assert_array_equal(y, x + x)
        assert (room[:first] == -7).all() and (room[first + x.size :] == -7).all()
