"""ONNX's elementwise mathematics in hub ops."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i1, i32
from xdsl.ir import Attribute

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from ....dialects.onnx.types import element_code, element_type
from ....dialects.stablehlo import chlo
from .builder import (
    GraphBuilder,
    Value,
    element_of,
    is_float,
    is_unsigned,
    shape_of,
)
from .table import lowers


@lowers("Identity")
def identity(b: GraphBuilder, x: Value) -> Value:
    return x


@lowers("Abs")
def absolute(b: GraphBuilder, x: Value) -> Value:
    return b.abs(x)


@lowers("Neg")
def negate(b: GraphBuilder, x: Value) -> Value:
    return b.negate(x)


@lowers("Exp")
def exponential(b: GraphBuilder, x: Value) -> Value:
    return b.exponential(x)


@lowers("Log")
def log(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.LogOp(x))


@lowers("Sqrt")
def sqrt(b: GraphBuilder, x: Value) -> Value:
    return b.sqrt(x)


@lowers("Reciprocal")
def reciprocal(b: GraphBuilder, x: Value) -> Value:
    return b.divide(1.0, x)


@lowers("Floor")
def floor(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.FloorOp(x))


@lowers("Ceil")
def ceil(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.CeilOp(x))


@lowers("Round")
def round_to_even(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.RoundNearestEvenOp(x))


@lowers("Sign")
def sign(b: GraphBuilder, x: Value) -> Value:
    return b.minimum(x, 1) if is_unsigned(x) else b(hlo.SignOp(x))


@lowers("Sin")
def sin(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.SineOp(x))


@lowers("Cos")
def cos(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.CosineOp(x))


@lowers("Tan")
def tan(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.TanOp(x))


@lowers("Atan")
def atan(b: GraphBuilder, x: Value) -> Value:
    return b(chlo.AtanOp(x))


@lowers("Asin")
def asin(b: GraphBuilder, x: Value) -> Value:
    return b(chlo.AsinOp(x))


@lowers("Acos")
def acos(b: GraphBuilder, x: Value) -> Value:
    return b(chlo.AcosOp(x))


@lowers("Sinh")
def sinh(b: GraphBuilder, x: Value) -> Value:
    grown = b(hlo.ExponentialMinusOneOp(x))  # (e + e / (e + 1)) / 2 with e = exp(x) - 1
    finite = b.multiply(0.5, b.add(grown, b.divide(grown, b.add(grown, 1.0))))
    return b.select(b.compare(grown, math.inf, "EQ"), grown, finite)


@lowers("Cosh")
def cosh(b: GraphBuilder, x: Value) -> Value:
    return b.multiply(0.5, b.add(b.exponential(x), b.exponential(b.negate(x))))


@lowers("Asinh")
def asinh(b: GraphBuilder, x: Value) -> Value:
    size = b.abs(x)
    root = b.sqrt(b.add(b.multiply(x, x), 1.0))
    # log(|x| + sqrt(x^2+1)) = log1p(|x| + x^2 / (1 + sqrt(x^2+1))), exact near 0
    grown = b.add(size, b.divide(b.multiply(x, x), b.add(root, 1.0)))
    # log(2 |x|) is as near where x^2 could overflow
    far = b.compare(size, 128.0 if element_of(x).name == "f16" else 1e9, "GT")
    result = b.select(far, b.add(b(hlo.LogOp(size)), math.log(2)), b(hlo.LogPlusOneOp(grown)))
    return b.multiply(b(hlo.SignOp(x)), result)


@lowers("Acosh")
def acosh(b: GraphBuilder, x: Value) -> Value:
    root = b.multiply(b.sqrt(b.subtract(x, 1.0)), b.sqrt(b.add(x, 1.0)))
    return b(hlo.LogOp(b.add(x, root)))


@lowers("Atanh")
def atanh(b: GraphBuilder, x: Value) -> Value:
    up, down = b(hlo.LogPlusOneOp(x)), b(hlo.LogPlusOneOp(b.negate(x)))
    return b.multiply(0.5, b.subtract(up, down))


@lowers("Erf")
def erf(b: GraphBuilder, x: Value) -> Value:
    return b(chlo.ErfOp(x))


@lowers("Add")
def add(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.add(x, y)


@lowers("Sub")
def subtract(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.subtract(x, y)


@lowers("Mul")
def multiply(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.multiply(x, y)


@lowers("Div")
def divide(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.divide(x, y)


@lowers("Pow")
def power(b: GraphBuilder, x: Value, exponent: Value) -> Value:
    known = b.constant_value(exponent)
    if known is not None and known.size == 1 and is_float(x):
        shape = b.broadcast_shape(shape_of(x), shape_of(exponent))
        return b.broadcast_to(b.power(x, float(known.reshape(())[()])), shape)
    if is_float(exponent) and not is_float(x):  # computed as floats, then truncated, as the reference does
        return b.convert(b.binary(hlo.PowerOp, b.convert(x, element_of(exponent)), exponent), element_of(x))
    return b.binary(hlo.PowerOp, x, b.convert(exponent, element_of(x)))


@lowers("Mod")
def mod(b: GraphBuilder, x: Value, y: Value, *, fmod: int = 0) -> Value:
    x, y = b.broadcast(x, y)
    rest = b(hlo.RemainderOp(x, y))
    if fmod or is_unsigned(x):
        return rest
    # the remainder has the sign of x, the modulus that of y
    zero = b.constant(0, like=x)
    differs = b.compare(b.compare(rest, zero, "LT"), b.compare(y, zero, "LT"), "NE")
    wrong = b.logical_and(b.compare(rest, zero, "NE"), differs)
    return b.select(wrong, b.add(rest, y), rest)


@lowers("Max")
def maximum(b: GraphBuilder, *values: Value) -> Value:
    result = values[0]
    for value in values[1:]:
        result = b.maximum(result, value)
    return result


@lowers("Min")
def minimum(b: GraphBuilder, *values: Value) -> Value:
    result = values[0]
    for value in values[1:]:
        result = b.minimum(result, value)
    return result


@lowers("Sum")
def total(b: GraphBuilder, *values: Value) -> Value:
    result = values[0]
    for value in values[1:]:
        result = b.add(result, value)
    return result


@lowers("Mean")
def mean(b: GraphBuilder, *values: Value) -> Value:
    return b.divide(total(b, *values), float(len(values)))


@lowers("Clip", since=11)
def clip(b: GraphBuilder, x: Value, low: Value | None = None, high: Value | None = None) -> Value:
    if low is not None and high is not None:
        return b.minimum(b.maximum(x, low), high)
    if low is not None:
        return b.maximum(x, low)
    return x if high is None else b.minimum(x, high)


@lowers("Clip", since=1)
def clip_1(
    b: GraphBuilder, x: Value, *, min: float = -3.4028234663852886e38, max: float = 3.4028234663852886e38
) -> Value:
    return b.minimum(b.maximum(x, min), max)


@lowers("Cast")
def cast(b: GraphBuilder, x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Value:
    element = element_type(to)
    if element is None or element.name == "onnx.string":
        raise b.fail(f"cannot cast to data type {to}")
    if isinstance(element, IntegerType) and 1 < element.width.data < 8 and is_float(x):
        return b.convert(b.convert(x, i32), element)  # what is too large loses its upper bits
    if "E8M0" in element.name:
        return _to_powers(b, x, element, bool(saturate), round_mode)
    if element.name.startswith(("f8", "f4")) and saturate and is_float(x):
        largest = float(ml_dtypes.finfo(dtype_of(element)).max)
        x = b.minimum(b.maximum(x, -largest), largest)
    return b.convert(x, element)


def _to_powers(b: GraphBuilder, x: Value, element: Attribute, saturate: bool, mode: str) -> Value:
    """The exponents alone, rounded up, down, or to the nearest power; the sign is lost, infinities become NaN."""
    bits = b(hlo.BitcastConvertOp(b.convert(x, f32), i32))
    exponent = b.binary(hlo.AndOp, b.binary(hlo.ShiftRightLogicalOp, bits, 23), 255)
    fraction = b.binary(hlo.AndOp, bits, (1 << 23) - 1)
    match mode:
        case "up":
            more = b.compare(fraction, 0, "GT")
        case "down":
            more = b.constant(np.zeros((), np.bool_))
        case "nearest":
            half = b.select(b.compare(exponent, 0, "GT"), b.scalar((1 << 22) - 1, i32), 1 << 22)
            more = b.compare(fraction, half, "GT")
        case _:
            raise b.fail(f"round_mode '{mode}' is none of up, down, nearest")
    more = b.logical_and(more, b.compare(exponent, 254 if saturate else 255, "LT"))
    code = b.convert(b.add(exponent, b.convert(more, i32)), IntegerType(8, Signedness.UNSIGNED))
    return b(hlo.BitcastConvertOp(code, element))


@lowers("CastLike")
def cast_like(b: GraphBuilder, x: Value, like: Value, *, saturate: int = 1, round_mode: str = "up") -> Value:
    return cast(b, x, to=element_code(element_of(like)), saturate=saturate, round_mode=round_mode)


@lowers("IsNaN")
def is_nan(b: GraphBuilder, x: Value) -> Value:
    return b.compare(x, x, "NE")


@lowers("IsInf")
def is_inf(b: GraphBuilder, x: Value, *, detect_negative: int = 1, detect_positive: int = 1) -> Value:
    up, down = b.compare(x, math.inf, "EQ"), b.compare(x, -math.inf, "EQ")
    if detect_negative and detect_positive:
        return b.logical_or(up, down)
    return up if detect_positive else down if detect_negative else b.logical_and(up, down)


@lowers("BitShift")
def bit_shift(b: GraphBuilder, x: Value, y: Value, *, direction: str) -> Value:
    right = hlo.ShiftRightLogicalOp if is_unsigned(x) else hlo.ShiftRightArithmeticOp
    return b.binary(hlo.ShiftLeftOp if direction == "LEFT" else right, x, y)


@lowers("CumSum")
def cumulative_sum(b: GraphBuilder, x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    return cumulative(b, x, int(b.number(axis, "axis")), "add", bool(exclusive), bool(reverse))


@lowers("CumProd")
def cumulative_product(b: GraphBuilder, x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    return cumulative(b, x, int(b.number(axis, "axis")), "multiply", bool(exclusive), bool(reverse))


def cumulative(
    b: GraphBuilder, x: Value, axis: int, kind: str, exclusive: bool = False, reverse: bool = False
) -> Value:
    """Each element combined by add or multiply with all before it (after it, when reversed)."""
    shape = shape_of(x)
    along = b.axis(axis, len(shape))
    n = shape[along]
    if n == 0:
        return x
    start = b.scalar(0 if kind == "add" else 1, element_of(x))
    if exclusive:  # shifted by one, the neutral element at the open end
        low, high = [0] * len(shape), [0] * len(shape)
        low[along], high[along] = (-1, 1) if reverse else (1, -1)
        x = b.pad(x, start, low, high)
    window, padding = [1] * len(shape), [[0, 0] for _ in shape]
    window[along], padding[along] = n, [0, n - 1] if reverse else [n - 1, 0]
    return b(hlo.ReduceWindowOp([x], [start], window_dimensions=window, padding=padding, body=kind))


@lowers("Det")
def determinant(b: GraphBuilder, x: Value) -> Value:
    shape = shape_of(x)
    if shape[-1] != shape[-2] or shape[-1] > 3:
        raise b.fail(f"determinants of matrices larger than 3 are not supported, got {list(shape)}")
    rank, n = len(shape), shape[-1]

    def at(i: int, j: int) -> Value:
        cell = b.slice_axis(b.slice_axis(x, rank - 2, i, i + 1), rank - 1, j, j + 1)
        return b.reshape(cell, shape[:-2])

    def minor(i: int, j: int, k: int, m: int) -> Value:
        return b.subtract(b.multiply(at(i, k), at(j, m)), b.multiply(at(i, m), at(j, k)))

    if n == 1:
        return at(0, 0)
    if n == 2:
        return minor(0, 1, 0, 1)
    first = b.multiply(at(0, 0), minor(1, 2, 1, 2))
    second = b.multiply(at(0, 1), minor(1, 2, 0, 2))
    return b.add(b.subtract(first, second), b.multiply(at(0, 2), minor(1, 2, 0, 1)))


@lowers("BitCast")
def bit_cast(b: GraphBuilder, x: Value, *, to: int) -> Value:
    element = element_type(to)
    if element is None:
        raise b.fail(f"cannot cast to data type {to}")
    if i1 in (element, element_of(x)):  # a truth value is a byte of 0 or 1 in ONNX
        return b.convert(x, element)
    return b(hlo.BitcastConvertOp(x, element))
