"""Elementwise meanings. Integers wrap; f32 is computed in f32, narrower floats in f32 and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import DType
from ....compiler.semantics import Spec, semantics
from ....compiler.weights import Array


def is_float(dtype: DType) -> bool:
    """Whether `dtype` is a real floating-point type, those of ml_dtypes included."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def widened(x: Array) -> Array:
    """`x` in a type NumPy computes in: floats narrower than 32 bits as f32, sub-byte integers as 8 bits."""
    if is_float(x.dtype) and x.dtype.itemsize < 4:
        return x.astype(np.float32)
    if x.dtype.kind == "V":
        return x.astype(np.uint8 if x.dtype.name.startswith("uint") else np.int8)
    return x


def _elementwise(function: Callable[..., Any]) -> Callable[..., Array]:
    def meaning(*args: Array) -> Array:
        return np.asarray(function(*map(widened, args))).astype(args[0].dtype, copy=False)

    return meaning


def _cbrt(x: Array) -> Array:
    return np.cbrt(x) if x.dtype.kind == "f" else np.power(x, 1 / 3)


def _logistic(x: Array) -> Array:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


def _round_half_away(x: Array) -> Array:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(x.dtype.type(1), x), whole)


def _sign(x: Array) -> Array:
    if x.dtype.kind == "f":
        return np.where((x == 0) | np.isnan(x), x, np.copysign(x.dtype.type(1), x))
    return np.where(x == 0, x, x / np.abs(x)) if x.dtype.kind == "c" else np.sign(x)


def _log_plus_one(x: Array) -> Array:
    if x.dtype.kind != "c":
        return np.log1p(x)
    a, b = np.real(x), np.imag(x)
    whole = np.empty_like(x)
    whole.real, whole.imag = a + 1, b  # the sign of a zero stays, which says on which side of the cut it is
    logarithm = np.log(whole)
    small = np.maximum(np.abs(a), np.abs(b)) < 0.5
    whole.real = np.where(small, np.log1p(a * (a + 2) + b * b) / 2, np.real(logarithm))
    whole.imag = np.imag(logarithm)
    return whole


def _bits(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def _popcnt(x: Array) -> Array:
    bits = _bits(x)
    return sum(((bits >> i) & 1 for i in range(8 * x.dtype.itemsize)), np.zeros_like(bits))


def _count_leading_zeros(x: Array) -> Array:
    width = 8 * x.dtype.itemsize
    lengths = np.zeros_like(_bits(x))
    for i in range(width):
        lengths[(_bits(x) >> i) & 1 != 0] = i + 1
    return width - lengths


def _divide(x: Array, y: Array) -> Array:
    """Integers: the quotient rounded towards zero; by zero all bits set; the lowest by -1 wraps."""
    if x.dtype.kind not in "iu":
        return x / y
    divisor = np.where(y == 0, 1, y).astype(y.dtype)
    quotient = x // divisor
    if x.dtype.kind == "i":
        inexact = (x - quotient * divisor) != 0
        quotient = quotient + (inexact & ((x < 0) != (divisor < 0)))
    return np.where(y == 0, np.invert(np.zeros_like(x)), quotient)


def _remainder(x: Array, y: Array) -> Array:
    """The sign is the dividend's; integers by zero give the dividend."""
    if x.dtype.kind == "c":
        raise LaminaError("the specification does not say what the remainder of complex numbers is")
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    minus_one = (y == -1) if x.dtype.kind == "i" else np.zeros_like(y, bool)
    rest = np.fmod(x, np.where((y == 0) | minus_one, 1, y).astype(y.dtype))
    return np.where(y == 0, x, rest)


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        wide = np.complex128 if x.dtype.kind == "c" else x.dtype  # an error of the logarithm is multiplied
        return np.power(x.astype(wide, copy=False), y)
    result, base, exponent = np.ones_like(x * y), x * np.ones_like(y), np.where(y < 0, 0, y)
    while exponent.any():
        result = np.where(exponent & 1, result * base, result)
        base, exponent = base * base, exponent >> 1
    if x.dtype.kind == "u":
        return result
    inverse = np.where(np.abs(x) == 1, np.where(y & 1, x, 1), 0)
    return np.where(y < 0, inverse, result)


def _atan2(y: Array, x: Array) -> Array:
    """Of complex numbers: -i log((x + iy) / sqrt(x^2 + y^2))."""
    if y.dtype.kind != "c":
        return np.arctan2(y, x)
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def _lexicographic(pick: Callable[[Array, Array], Array], first: Callable[[Array, Array], Array]) -> Any:
    def choose(x: Array, y: Array) -> Array:
        if x.dtype.kind != "c":
            return pick(x, y)
        return np.where(
            first(np.real(x), np.real(y)) | ((np.real(x) == np.real(y)) & first(np.imag(x), np.imag(y))), x, y
        )

    return choose


def _shift(x: Array, y: Array, kind: str) -> Array:
    """Amounts count as unsigned; from the width on, all bits are shifted out."""
    width = 8 * x.dtype.itemsize
    beyond = _bits(y) >= width
    amount = np.where(beyond, 0, y).astype(x.dtype)
    match kind:
        case "left":
            return np.where(beyond, 0, x << amount)
        case "logical":
            return np.where(beyond, 0, _bits(x) >> _bits(amount))
        case _:
            signed = x.view(f"i{x.dtype.itemsize}")
            return np.where(beyond, signed >> (width - 1), signed >> amount.view(signed.dtype))


_UNARY: dict[str, Callable[..., Any]] = {
    "cbrt": _cbrt,
    "ceil": np.ceil,
    "cosine": np.cos,
    "count_leading_zeros": _count_leading_zeros,
    "exponential": np.exp,
    "exponential_minus_one": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log_plus_one": _log_plus_one,
    "logistic": _logistic,
    "negate": np.negative,
    "not": np.invert,
    "popcnt": _popcnt,
    "round_nearest_afz": _round_half_away,
    "round_nearest_even": np.rint,
    "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "sign": _sign,
    "sine": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "atan2": _atan2,
    "divide": _divide,
    "maximum": _lexicographic(np.maximum, np.greater),
    "minimum": _lexicographic(np.minimum, np.less),
    "multiply": np.multiply,
    "or": np.bitwise_or,
    "power": _power,
    "remainder": _remainder,
    "shift_left": lambda x, y: _shift(x, y, "left"),
    "shift_right_arithmetic": lambda x, y: _shift(x, y, "arithmetic"),
    "shift_right_logical": lambda x, y: _shift(x, y, "logical"),
    "subtract": np.subtract,
    "xor": np.bitwise_xor,
}
for _name, _function in (_UNARY | _BINARY).items():
    semantics(f"stablehlo.{_name}")(_elementwise(_function))


@semantics("stablehlo.abs")
def absolute(x: Array) -> Array:
    return np.abs(x) if x.dtype.kind == "c" else _elementwise(np.abs)(x)


@semantics("stablehlo.is_finite")
def is_finite(x: Array) -> Array:
    return np.isfinite(widened(x))


@semantics("stablehlo.real")
def real(x: Array) -> Array:
    return np.real(x)


@semantics("stablehlo.imag")
def imag(x: Array) -> Array:
    return np.imag(x) if x.dtype.kind == "c" else np.zeros_like(x)


@semantics("stablehlo.complex")
def make_complex(x: Array, y: Array, *, result: Spec) -> Array:
    value = np.empty(x.shape, result.dtype)
    value.real, value.imag = x, y
    return value


@semantics("stablehlo.clamp")
def clamp(low: Array, x: Array, high: Array) -> Array:
    clamped = np.minimum(np.maximum(widened(x), widened(low)), widened(high))
    return clamped.astype(x.dtype, copy=False)


@semantics("stablehlo.select")
def select(pred: Array, on_true: Array, on_false: Array) -> Array:
    return np.where(pred, on_true, on_false)


def total_order(x: Array) -> Array:
    """Integers in the order of IEEE-754 totalOrder: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN."""
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).min - bits - 1, bits).astype(bits.dtype)


@semantics("stablehlo.compare")
def compare(x: Array, y: Array, *, comparison_direction: str, compare_type: str = "NOTYPE") -> Array:
    if compare_type == "TOTALORDER" and is_float(x.dtype):
        x, y = total_order(x), total_order(y)
    ordered = {"EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater}
    ordered |= {"LE": np.less_equal, "LT": np.less}
    return np.asarray(ordered[comparison_direction](widened(x), widened(y)))
