"""How sums become bytes, bit by bit: the arithmetic that hardware and simulators share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FACTOR_EXPONENT = 127 + 64  # exponent fields from here on are refused: nothing overflows, and there is no NaN
_FAR = np.float32(1 << 20)  # beyond any byte and zero point

Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]


def usable(bits: npt.NDArray[np.uint32]) -> bool:
    """Whether all of these f32, given by their bits, are factors: finite, below 2^64."""
    return bool((((bits >> 23) & 0xFF) < FACTOR_EXPONENT).all())


def to_bytes(values: Floats, zero: int, lo: int, hi: int) -> Bytes:
    """Rounds to nearest even, adds the zero point and limits.

    >>> to_bytes(np.float32([0.5, 1.5, -300]), 1, -128, 127)
    array([   1,    3, -128], dtype=int8)
    """
    near = np.rint(np.clip(values, -_FAR, _FAR)).astype(np.int32)
    return np.clip(near + zero, lo, hi).astype(np.int8)


def requantize(sums: Ints, bias: Ints, scale: Floats, zero: int, lo: int, hi: int) -> Bytes:
    """q(f32(sum + bias) * scale): the sum is modulo 2^32, conversion and product round to f32 to nearest even.

    >>> requantize(np.int32([[100, -7]]), np.int32([0, 1]), np.float32([0.25, 0.5]), 0, -128, 127)
    array([[25, -3]], dtype=int8)
    """
    return to_bytes((sums + bias).astype(np.float32) * scale, zero, lo, hi)


def add(a: Bytes, b: Bytes, factors: Floats, zero: int, lo: int, hi: int) -> Bytes:
    """q(a * ra + (b * rb + offset)) with `factors` ra, rb, offset; every operation rounds to f32.

    >>> add(np.int8([3]), np.int8([4]), np.float32([0.5, 0.25, 1]), 0, -128, 127)
    array([4], dtype=int8)
    """
    ra, rb, offset = factors
    return to_bytes(a.astype(np.float32) * ra + (b.astype(np.float32) * rb + offset), zero, lo, hi)
