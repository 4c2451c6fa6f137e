"""What math ops mean. Precision: computed in the operand's type, except where NumPy has only a wider function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.semantics import semantics
from ...compiler.weights import Array
from ..arith.semantics import unsigned


def _in_double(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A scalar function of Python applied in float64 and rounded once."""
    vectorised: Any = np.vectorize(function, otypes=[np.float64])

    def apply(x: Array) -> Array:
        x = np.asarray(x)
        return np.asarray(vectorised(x.astype(np.float64)) if x.size else x).astype(x.dtype)

    return apply


def _rounded_once(function: Callable[..., Any]) -> Callable[..., Array]:
    """Narrow floats (f16, bf16) are computed in f32 and rounded once; others in their own type."""

    def apply(*args: Array) -> Array:
        dtype = np.asarray(args[0]).dtype
        if dtype.itemsize < 4:
            return np.asarray(function(*(np.asarray(a).astype(np.float32) for a in args))).astype(dtype)
        return function(*args)

    return apply


_UNARY: dict[str, Callable[..., Any]] = {
    "absf": np.absolute,
    "absi": np.absolute,
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "atan2": np.arctan2,
    "powf": np.power,
    "copysign": np.copysign,
}
for _name, _function in _UNARY.items():
    semantics(f"math.{_name}")(_function if _name == "absi" else _rounded_once(_function))

semantics("math.erf")(_in_double(math.erf))
semantics("math.erfc")(_in_double(math.erfc))


@semantics("math.rsqrt")
def rsqrt(x: Array) -> Array:
    x = np.asarray(x)
    wide = x.astype(np.float64)
    return (1 / np.sqrt(wide)).astype(x.dtype)


@semantics("math.round")
def round_half_away(x: Array) -> Array:
    x = np.asarray(x)
    size = np.abs(x)
    whole = np.floor(size)
    return np.copysign(np.where(size - whole >= 0.5, whole + whole.dtype.type(1), whole), x).astype(x.dtype)


@semantics("math.fma")
def fma(a: Array, b: Array, c: Array) -> Array:
    """Rounded once: narrower floats through float64, float64 with the rounding errors of product and sum added."""
    x, y, z = (np.asarray(v) for v in (a, b, c))
    dtype = x.dtype
    x, y, z = x.astype(np.float64), y.astype(np.float64), z.astype(np.float64)
    product = x * y
    total = product + z
    part = total - product
    lost = (product - (total - part)) + (z - part) + _product_error(x, y, product)
    return np.where(np.isfinite(lost), total + lost, total).astype(dtype)


def _product_error(x: Array, y: Array, product: Array) -> Array:
    """`x * y - product` exactly (Dekker), by halves of 26 bits."""

    def halves(v: Array) -> tuple[Array, Array]:
        scaled = v * 134217729.0
        high = scaled - (scaled - v)
        return high, v - high

    (xh, xl), (yh, yl) = halves(x), halves(y)
    return ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


@semantics("math.fpowi")
def fpowi(x: Array, y: Array) -> Array:
    x = np.asarray(x)
    return np.power(x.astype(np.float64), np.asarray(y).astype(np.float64)).astype(x.dtype)


@semantics("math.ipowi")
def ipowi(x: Array, y: Array) -> Array:
    """Wraps; a negative exponent gives 0 except for bases 1 and -1."""
    x, y = np.asarray(x), np.asarray(y)
    power = np.power(x, np.where(y < 0, 0, y).astype(y.dtype))
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0)).astype(x.dtype)
    return np.where(y < 0, inverse, power)


@semantics("math.ctpop")
def ctpop(x: Array) -> Array:
    x = np.asarray(x)
    return _bits(x).sum(axis=-1).astype(x.dtype)


@semantics("math.ctlz")
def ctlz(x: Array) -> Array:
    x = np.asarray(x)
    bits = _bits(x)[..., ::-1]
    return np.where(bits.any(axis=-1), bits.argmax(axis=-1), bits.shape[-1]).astype(x.dtype)


@semantics("math.cttz")
def cttz(x: Array) -> Array:
    x = np.asarray(x)
    bits = _bits(x)
    return np.where(bits.any(axis=-1), bits.argmax(axis=-1), bits.shape[-1]).astype(x.dtype)


def _bits(x: Array) -> Array:
    """The bits of each integer along a new last dimension, lowest first."""
    if x.dtype == np.bool_:
        return x[..., None].astype(np.uint8)
    width = np.arange(x.dtype.itemsize * 8, dtype=f"u{x.dtype.itemsize}")
    return (unsigned(x)[..., None] >> width & 1).astype(np.uint8)
