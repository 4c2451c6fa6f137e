"""`x86` on hardware: what the interpreter says, to the bit, in vectors of all lengths."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from lamina.compiler.machine import Machine
from lamina.dialects.x86.semantics import cvtneps_pbh, permutexvar, scalef

HERE = pytest.mark.skipif("avx512f" not in Machine.host().features, reason="this machine has no AVX-512")
ROWS = 96


def text(lanes: int) -> str:
    """Scales, and looks up, `lanes` numbers at a time."""
    return f"""
    func.func public @kernel(%t: memref<16xf32>, %x: memref<{ROWS}x{lanes}xf32>, %e: memref<{ROWS}x{lanes}xf32>,
        %i: memref<{ROWS}x{lanes}xi32>, %y: memref<{ROWS}x{lanes}xf32>, %z: memref<{ROWS}x{lanes}xf32>) {{
      %table = affine.vector_load %t[0] : memref<16xf32>, vector<16xf32>
      affine.for %r = 0 to {ROWS} {{
        %a = affine.vector_load %x[%r, 0] : memref<{ROWS}x{lanes}xf32>, vector<{lanes}xf32>
        %b = affine.vector_load %e[%r, 0] : memref<{ROWS}x{lanes}xf32>, vector<{lanes}xf32>
        %c = "x86.scalef"(%a, %b) : (vector<{lanes}xf32>, vector<{lanes}xf32>) -> vector<{lanes}xf32>
        affine.vector_store %c, %y[%r, 0] : memref<{ROWS}x{lanes}xf32>, vector<{lanes}xf32>
        %j = affine.vector_load %i[%r, 0] : memref<{ROWS}x{lanes}xi32>, vector<{lanes}xi32>
        %p = "x86.permutexvar"(%table, %j) : (vector<16xf32>, vector<{lanes}xi32>) -> vector<{lanes}xf32>
        affine.vector_store %p, %z[%r, 0] : memref<{ROWS}x{lanes}xf32>, vector<{lanes}xf32>
      }}
      func.return
    }}"""


@HERE
@pytest.mark.parametrize("lanes", [1, 4, 16, 32, 40, 64])
def test_hardware_agrees_with_the_semantics(lanes: int, kernel: Callable[..., None]):
    rng = np.random.default_rng(lanes)
    edges = np.array([0, -0.0, 1, -1.5, 2.0**-149, 3e38, np.inf, -np.inf, np.nan], np.float32)
    powers = np.array([0, 1, -1, 0.9, -0.1, 126, 127, 128, -126, -149, -150, 300, -300, 1e30, -1e30, np.inf, -np.inf])
    shape = (ROWS, lanes)
    value = np.where(rng.random(shape) < 0.5, rng.choice(edges, shape), rng.standard_normal(shape)).astype(np.float32)
    exponent = np.where(rng.random(shape) < 0.5, rng.choice(powers, shape), 100 * rng.standard_normal(shape))
    exponent = exponent.astype(np.float32)
    table, index = rng.standard_normal(16).astype(np.float32), rng.integers(-(2**31), 2**31, shape, dtype=np.int32)
    scaled, found = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    kernel(text(lanes), "canonicalize", [table, value, exponent, index, scaled, found])
    want = scalef(value, exponent)
    assert (np.isnan(scaled) == np.isnan(want)).all()
    assert scaled[~np.isnan(want)].tobytes() == want[~np.isnan(want)].tobytes()
    assert found.tobytes() == permutexvar(table, index).tobytes()


@pytest.mark.skipif("avx2" not in Machine.host().features, reason="this machine has no AVX2")
@pytest.mark.parametrize("lanes", [1, 4, 8, 20, 32])
def test_hardware_looks_eight_numbers_up(lanes: int, kernel: Callable[..., None]):
    rng = np.random.default_rng(lanes)
    body = f"""
    func.func public @kernel(%t: memref<8xf32>, %i: memref<{ROWS}x{lanes}xi32>, %z: memref<{ROWS}x{lanes}xf32>) {{
      %table = affine.vector_load %t[0] : memref<8xf32>, vector<8xf32>
      affine.for %r = 0 to {ROWS} {{
        %j = affine.vector_load %i[%r, 0] : memref<{ROWS}x{lanes}xi32>, vector<{lanes}xi32>
        %p = "x86.permutexvar"(%table, %j) : (vector<8xf32>, vector<{lanes}xi32>) -> vector<{lanes}xf32>
        affine.vector_store %p, %z[%r, 0] : memref<{ROWS}x{lanes}xf32>, vector<{lanes}xf32>
      }}
      func.return
    }}"""
    table = rng.standard_normal(8).astype(np.float32)
    index = rng.integers(-(2**31), 2**31, (ROWS, lanes), dtype=np.int32)
    found = np.zeros((ROWS, lanes), np.float32)
    kernel(body, "canonicalize", [table, index, found], machine="x86-64-avx2")
    assert found.tobytes() == permutexvar(table, index).tobytes()


@pytest.mark.skipif("avx512bf16" not in Machine.host().features, reason="this machine has no AVX-512 BF16")
@pytest.mark.parametrize("lanes", [1, 16, 32, 40, 64])
def test_hardware_rounds_as_the_semantics(lanes: int, kernel: Callable[..., None]):
    rng = np.random.default_rng(lanes)
    bits = rng.integers(0, 2**32, (ROWS, lanes), dtype=np.uint64).astype(np.uint32)  # subnormals, infinities, NaN too
    bits[0] = rng.choice([0, 1 << 31, 1, 0x7FFFFF, 0x800000, 0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7F800000], lanes)
    value, found = bits.view(np.float32), np.zeros((ROWS, lanes), ml_dtypes.bfloat16)
    body = f"""
    func.func public @kernel(%x: memref<{ROWS}x{lanes}xf32>, %y: memref<{ROWS}x{lanes}xbf16>) {{
      affine.for %r = 0 to {ROWS} {{
        %a = affine.vector_load %x[%r, 0] : memref<{ROWS}x{lanes}xf32>, vector<{lanes}xf32>
        %b = "x86.cvtneps_pbh"(%a) : (vector<{lanes}xf32>) -> vector<{lanes}xbf16>
        affine.vector_store %b, %y[%r, 0] : memref<{ROWS}x{lanes}xbf16>, vector<{lanes}xbf16>
      }}
      func.return
    }}"""
    kernel(body, "canonicalize", [value, found])
    want = cvtneps_pbh(value)
    numbers = ~np.isnan(value)
    assert np.isnan(found[~numbers].astype(np.float32)).all()
    assert found[numbers].tobytes() == want[numbers].tobytes()
