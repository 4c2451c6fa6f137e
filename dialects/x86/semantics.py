"""Meanings of `x86` (Intel 64 and IA-32 Architectures Manual, volume 2: VPERMPS, VSCALEFPS, VCVTNEPS2BF16)."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ...compiler.semantics import semantics
from ...compiler.weights import Array

MOST = 1000.0  # beyond it a power of two takes every f32 to 0 or infinity; in float64 it still is one


@semantics("x86.permutexvar")
def permutexvar(table: Array, index: Array) -> Array:
    """The low bits of an index count."""
    return table[index & (len(table) - 1)]


@semantics("x86.scalef")
def scalef(value: Array, exponent: Array) -> Array:
    """Exact in float64 and rounded once; 0 · 2^inf and inf · 2^-inf are NaN, NaN · 2^inf and NaN · 2^-inf are not."""
    with np.errstate(all="ignore"):
        floor = np.floor(exponent.astype(np.float64))
        power = np.exp2(np.where(np.isinf(floor), floor, np.clip(floor, -MOST, MOST)))
        result = np.where(np.isnan(value) & np.isinf(floor), power, value.astype(np.float64) * power)
        return result.astype(value.dtype)


@semantics("x86.cvtneps_pbh")
def cvtneps_pbh(value: Array) -> Array:
    """To nearest, ties to even; what is subnormal is a zero of its sign, before the rounding and after."""
    narrow = np.finfo(np.float32).tiny
    with np.errstate(all="ignore"):
        rounded = np.where(np.abs(value) < narrow, np.copysign(np.float32(0), value), value).astype(ml_dtypes.bfloat16)
    return rounded
