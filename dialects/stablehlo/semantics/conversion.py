"""Changes of element type: by value, by bits, by precision."""

from __future__ import annotations

import numpy as np

from ....compiler.dtypes import DType
from ....compiler.semantics import Spec, semantics
from ....compiler.weights import Array
from .elementwise import is_float, widened


def converted(x: Array, dtype: DType) -> Array:
    """`x` by value. Floats to integers truncate and saturate, NaN gives 0; integers wrap; bool is `!= 0`."""
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = np.real(x)
    x = widened(x)
    if dtype == np.bool_:
        return x != 0
    if not is_float(x.dtype) or is_float(dtype) or dtype.kind == "c":
        return x.astype(dtype)
    native = np.dtype({"int4": "i1", "uint4": "u1", "int2": "i1", "uint2": "u1"}.get(dtype.name, dtype))
    bits = int(dtype.name.lstrip("uint"))
    low, high = (0, 2**bits - 1) if dtype.name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    whole = np.trunc(x.astype(np.float64))
    inside = (whole > low) & (whole < float(high))
    value = np.where(inside, whole, 0).astype(native)
    value = np.where(whole >= float(high), native.type(high), value)
    value = np.where(whole <= low, native.type(low), value)
    return value.astype(dtype)


@semantics("stablehlo.convert")
def convert(x: Array, *, result: Spec) -> Array:
    assert result.dtype is not None
    return converted(x, result.dtype)


@semantics("stablehlo.bitcast_convert")
def bitcast_convert(x: Array, *, result: Spec) -> Array:
    assert result.dtype is not None and result.shape is not None
    x = np.ascontiguousarray(x).reshape(x.shape)
    narrow, wide = x.dtype.itemsize, result.dtype.itemsize
    if narrow == wide:
        return x.view(result.dtype)
    flat = x.reshape(-1).view(np.uint8)
    return flat.view(result.dtype).reshape(result.shape)


@semantics("stablehlo.reduce_precision")
def reduce_precision(x: Array, *, exponent_bits: int, mantissa_bits: int) -> Array:
    """Rounds to a float of the given bits (to nearest even; overflow to infinity, underflow to zero)."""
    wide = widened(x)
    integer, mantissa = (np.uint32, 23) if wide.dtype == np.float32 else (np.uint64, 52)
    width = 8 * wide.dtype.itemsize
    bits = np.ascontiguousarray(wide).view(integer).reshape(wide.shape)
    sign = bits & integer(1 << (width - 1))
    if mantissa_bits < mantissa:
        drop = mantissa - mantissa_bits
        last = (bits >> integer(drop)) & integer(1)
        bits = bits + (last + integer((1 << (drop - 1)) - 1))
        bits = bits & integer(((1 << width) - 1) ^ ((1 << drop) - 1))
    exponent_width = width - 1 - mantissa
    if exponent_bits < exponent_width:
        bias, small = (1 << (exponent_width - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        exponent = bits & integer(((1 << exponent_width) - 1) << mantissa)
        infinity = integer(((1 << exponent_width) - 1) << mantissa)
        bits = np.where(exponent > integer((bias + small) << mantissa), sign | infinity, bits)
        bits = np.where(exponent <= integer((bias - small) << mantissa), sign, bits)
    rounded = bits.view(wide.dtype)
    return np.where(np.isfinite(wide), rounded, wide).astype(x.dtype)
