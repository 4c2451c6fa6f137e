"""ATen's elementwise mathematics, comparisons and conversions in hub ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, SSAValue

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo import chlo
from ..onnx_to_stablehlo import elementwise as onnx
from .builder import (
    AtenBuilder,
    Number,
    Operand,
    Value,
    element_of,
    is_bool,
    is_complex,
    is_float,
    is_unsigned,
    shape_of,
)
from .complex_numbers import INVERSES
from .table import lowers


@lowers("clone", "alias", "detach", "lift_fresh_copy", "contiguous", "positive", "alias_copy", "lift")
def same(b: AtenBuilder, x: Value) -> Value:
    return x


@lowers("_to_copy", "to.dtype")
def to_copy(b: AtenBuilder, x: Value, dtype: Attribute | None = None) -> Value:
    return x if dtype is None else b.convert(x, dtype)


@lowers("prims.convert_element_type", "prims.convert_element_type.default")
def convert_element_type(b: AtenBuilder, x: Value, dtype: Attribute) -> Value:
    return b.convert(x, dtype)


@lowers("copy")
def copied(b: AtenBuilder, x: Value, src: Value) -> Value:
    return b.broadcast_to(b.convert(src, element_of(x)), shape_of(x))


# functions of one tensor whose result is floating-point whatever comes in

_FLOATING: dict[str, Callable[[AtenBuilder, Value], Value]] = {
    "exp": lambda b, x: b.exponential(x),
    "exp2": lambda b, x: b.binary(hlo.PowerOp, b.scalar(2.0, element_of(x)), x),
    "expm1": lambda b, x: b(hlo.ExponentialMinusOneOp(x)),
    "log": lambda b, x: b(hlo.LogOp(x)),
    "log1p": lambda b, x: b(hlo.LogPlusOneOp(x)),
    "log2": lambda b, x: b.divide(b(hlo.LogOp(x)), math.log(2)),
    "log10": lambda b, x: b.divide(b(hlo.LogOp(x)), math.log(10)),
    "sqrt": lambda b, x: b.sqrt(x),
    "rsqrt": lambda b, x: b.rsqrt(x),
    "reciprocal": lambda b, x: b.divide(b.scalar(1.0, element_of(x)), x),
    "sin": lambda b, x: b(hlo.SineOp(x)),
    "cos": lambda b, x: b(hlo.CosineOp(x)),
    "tan": lambda b, x: b(hlo.TanOp(x)),
    "asin": onnx.asin,
    "acos": onnx.acos,
    "atan": onnx.atan,
    "sinh": onnx.sinh,
    "cosh": onnx.cosh,
    "tanh": lambda b, x: b(hlo.TanhOp(x)),
    "asinh": onnx.asinh,
    "acosh": onnx.acosh,
    "atanh": onnx.atanh,
    "erf": lambda b, x: b(chlo.ErfOp(x)),
    "erfc": lambda b, x: b.subtract(b.scalar(1.0, element_of(x)), b(chlo.ErfOp(x))),
    "sigmoid": lambda b, x: b(hlo.LogisticOp(x)),
}


def _register_floating(name: str, function: Callable[[AtenBuilder, Value], Value]) -> None:
    @lowers(name)
    def lowering(b: AtenBuilder, x: Value) -> Value:
        x = b.floating(x)
        return (INVERSES.get(name, function) if is_complex(x) else function)(b, x)

    _: Any = lowering


for _name, _function in _FLOATING.items():
    _register_floating(_name, _function)


# functions of one tensor that keep its element type; integers are round already


@lowers("abs")
def absolute(b: AtenBuilder, x: Value) -> Value:
    return x if is_bool(x) else b.abs(x)


@lowers("neg")
def negate(b: AtenBuilder, x: Value) -> Value:
    return b.negate(x)


@lowers("sign", "sgn")
def sign(b: AtenBuilder, x: Value) -> Value:
    if is_bool(x):
        return x
    found = onnx.sign(b, x)
    return b.select(b.compare(x, x, "NE"), 0.0, found) if is_float(x) else found  # of NaN it is 0


@lowers("floor")
def floor(b: AtenBuilder, x: Value) -> Value:
    return b(hlo.FloorOp(x)) if is_float(x) else x


@lowers("ceil")
def ceil(b: AtenBuilder, x: Value) -> Value:
    return b(hlo.CeilOp(x)) if is_float(x) else x


@lowers("trunc", "fix")
def trunc(b: AtenBuilder, x: Value) -> Value:
    if not is_float(x):
        return x
    return b.select(b.compare(x, 0.0, "LT"), b(hlo.CeilOp(x)), b(hlo.FloorOp(x)))


@lowers("frac")
def frac(b: AtenBuilder, x: Value) -> Value:
    return b.subtract(x, trunc(b, x))


@lowers("round")
def round_to_even(b: AtenBuilder, x: Value) -> Value:
    return b(hlo.RoundNearestEvenOp(x)) if is_float(x) else x


@lowers("round.decimals")
def round_decimals(b: AtenBuilder, x: Value, *, decimals: int = 0) -> Value:
    if not is_float(x) or decimals == 0:
        return round_to_even(b, x)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return b.divide(b(hlo.RoundNearestEvenOp(b.multiply(x, scale))), scale)
    return b.multiply(b(hlo.RoundNearestEvenOp(b.divide(x, scale))), scale)


@lowers("bitwise_not")
def bitwise_not(b: AtenBuilder, x: Value) -> Value:
    return b(hlo.NotOp(x))


@lowers("logical_not")
def logical_not(b: AtenBuilder, x: Value) -> Value:
    return b(hlo.NotOp(b.truth(x)))


@lowers("isnan")
def is_nan(b: AtenBuilder, x: Value) -> Value:
    return b.compare(x, x, "NE")


@lowers("isinf")
def is_inf(b: AtenBuilder, x: Value) -> Value:
    return onnx.is_inf(b, x) if is_float(x) else b.zeros(shape_of(x), i1)


@lowers("isfinite")
def is_finite(b: AtenBuilder, x: Value) -> Value:
    return b(hlo.IsFiniteOp(x)) if is_float(x) else b.broadcast_to(b.scalar(True, i1), shape_of(x))


@lowers("nan_to_num")
def nan_to_num(
    b: AtenBuilder, x: Value, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Value:
    if not is_float(x):
        return x
    found = ml_dtypes.finfo(dtype_of(element_of(x)))
    limits = float(found.min), float(found.max)
    result = b.select(b.compare(x, x, "NE"), nan or 0.0, x)
    result = b.select(b.compare(x, math.inf, "EQ"), limits[1] if posinf is None else posinf, result)
    return b.select(b.compare(x, -math.inf, "EQ"), limits[0] if neginf is None else neginf, result)


# functions of two


@lowers("add.Tensor", "add.Scalar")
def add(b: AtenBuilder, x: Operand, other: Operand, alpha: Number = 1) -> Value:
    x, other = b.promote(x, other)
    if is_bool(x):
        return b.either(x, other)
    return b.add(x, other if alpha == 1 else b.multiply(other, b.typed(alpha, element_of(x))))


@lowers("sub.Tensor", "sub.Scalar")
def subtract(b: AtenBuilder, x: Operand, other: Operand, alpha: Number = 1) -> Value:
    x, other = b.promote(x, other)
    return b.subtract(x, other if alpha == 1 else b.multiply(other, b.typed(alpha, element_of(x))))


@lowers("rsub.Tensor", "rsub.Scalar")
def reverse_subtract(b: AtenBuilder, x: Operand, other: Operand, alpha: Number = 1) -> Value:
    x, other = b.promote(x, other)
    return b.subtract(other, x if alpha == 1 else b.multiply(x, b.typed(alpha, element_of(x))))


@lowers("mul.Tensor", "mul.Scalar")
def multiply(b: AtenBuilder, x: Operand, other: Operand) -> Value:
    x, other = b.promote(x, other)
    return b.binary(hlo.AndOp, x, other) if is_bool(x) else b.multiply(x, other)


@lowers("div.Tensor", "div.Scalar", "true_divide.Tensor")
def divide(b: AtenBuilder, x: Operand, other: Operand) -> Value:
    x, other = b.promote(x, other)
    return b.divide(b.floating(x), b.floating(other))


@lowers("div.Tensor_mode", "div.Scalar_mode")
def divide_mode(b: AtenBuilder, x: Operand, other: Operand, rounding_mode: str | None = None) -> Value:
    match rounding_mode:
        case "floor":
            return floor_divide(b, x, other)
        case "trunc":
            x, other = b.promote(x, other)
            return trunc(b, b.divide(x, other))
        case _:
            return divide(b, x, other)


@lowers("floor_divide")
def floor_divide(b: AtenBuilder, x: Operand, other: Operand) -> Value:
    """The quotient rounded down as Python does it, from the remainder, so that no rounding can lift it."""
    x, y = b.broadcast(*b.promote(x, other))
    if is_unsigned(x):
        return b.divide(x, y)
    rest = b(hlo.RemainderOp(x, y))
    one = 1.0 if is_float(x) else 1
    differs = b.compare(b.compare(rest, one * 0, "LT"), b.compare(y, one * 0, "LT"), "NE")
    lower = b.logical_and(b.compare(rest, one * 0, "NE"), differs)
    if not is_float(x):
        quotient = b.divide(x, y)
        return b.select(lower, b.subtract(quotient, one), quotient)
    quotient = b.divide(b.subtract(x, rest), y)
    quotient = b.select(lower, b.subtract(quotient, one), quotient)
    rounded = b(hlo.FloorOp(quotient))
    rounded = b.select(b.compare(b.subtract(quotient, rounded), 0.5, "GT"), b.add(rounded, 1.0), rounded)
    return b.select(b.compare(y, 0.0, "EQ"), b.divide(x, y), rounded)


@lowers("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(b: AtenBuilder, x: Operand, other: Operand) -> Value:
    return onnx.mod(b, *b.promote(x, other))


@lowers("fmod.Tensor", "fmod.Scalar")
def fmod(b: AtenBuilder, x: Operand, other: Operand) -> Value:
    return b.binary(hlo.RemainderOp, *b.promote(x, other))


@lowers("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(b: AtenBuilder, x: Operand, exponent: Operand) -> Value:
    base, raised = b.promote(x, exponent)
    if not isinstance(exponent, SSAValue | complex):
        whole = float(exponent).is_integer() and 1 <= exponent <= 3
        if is_float(base) or whole:
            return b.power(base, float(exponent))
        if exponent == 0:
            return b.broadcast_to(b.scalar(1, element_of(base)), shape_of(base))
    return b.binary(hlo.PowerOp, base, raised)


@lowers("atan2")
def atan2(b: AtenBuilder, x: Value, other: Value) -> Value:
    x, other = b.promote(x, other)
    return b.binary(hlo.Atan2Op, b.floating(x), b.floating(other))


@lowers("maximum")
def maximum(b: AtenBuilder, x: Value, other: Value) -> Value:
    return b.maximum(*b.promote(x, other))


@lowers("minimum")
def minimum(b: AtenBuilder, x: Value, other: Value) -> Value:
    return b.minimum(*b.promote(x, other))


@lowers("fmax")
def fmax(b: AtenBuilder, x: Value, other: Value) -> Value:
    return _number_of(b, x, other, b.maximum)


@lowers("fmin")
def fmin(b: AtenBuilder, x: Value, other: Value) -> Value:
    return _number_of(b, x, other, b.minimum)


def _number_of(b: AtenBuilder, x: Value, other: Value, choose: Callable[[Operand, Operand], Value]) -> Value:
    """What `choose` takes of two numbers; of a number and NaN the number."""
    x, y = b.promote(x, other)
    chosen = choose(x, y)
    if not is_float(x):
        return chosen
    return b.select(b.compare(x, x, "NE"), y, b.select(b.compare(y, y, "NE"), x, chosen))


_BITWISE: dict[str, type[hlo.BinaryOp]] = {
    "bitwise_and": hlo.AndOp,
    "bitwise_or": hlo.OrOp,
    "bitwise_xor": hlo.XorOp,
    "bitwise_left_shift": hlo.ShiftLeftOp,
    "bitwise_right_shift": hlo.ShiftRightArithmeticOp,
}
_LOGICAL: dict[str, type[hlo.BinaryOp]] = {
    "logical_and": hlo.AndOp,
    "logical_or": hlo.OrOp,
    "logical_xor": hlo.XorOp,
}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _register_binary() -> None:
    def bitwise(op: type[hlo.BinaryOp]) -> Callable[[AtenBuilder, Operand, Operand], Value]:
        def lowering(b: AtenBuilder, x: Operand, other: Operand) -> Value:
            x, other = b.promote(x, other)
            shifts_in_zeros = op is hlo.ShiftRightArithmeticOp and is_unsigned(x)
            return b.binary(hlo.ShiftRightLogicalOp if shifts_in_zeros else op, x, other)

        return lowering

    def logical(op: type[hlo.BinaryOp]) -> Callable[[AtenBuilder, Operand, Operand], Value]:
        return lambda b, x, other: b.binary(op, b.truth(x), b.truth(other))

    def comparison(direction: str) -> Callable[[AtenBuilder, Operand, Operand], Value]:
        def lowering(b: AtenBuilder, x: Operand, other: Operand) -> Value:
            left, right = b.promote(x, other)
            return b.compare(left, right, direction)

        return lowering

    for name, op in _BITWISE.items():
        lowers(f"{name}.Tensor", f"{name}.Scalar", f"{name}.Scalar_Tensor", f"{name}.Tensor_Scalar")(bitwise(op))
    lowers("__lshift__.Tensor", "__lshift__.Scalar")(bitwise(hlo.ShiftLeftOp))
    lowers("__rshift__.Tensor", "__rshift__.Scalar")(bitwise(hlo.ShiftRightArithmeticOp))
    for name, op in _LOGICAL.items():
        lowers(name)(logical(op))
    for name in _COMPARISONS:
        lowers(f"{name}.Tensor", f"{name}.Scalar")(comparison(name.upper()))


_register_binary()


# choices


@lowers("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(b: AtenBuilder, condition: Value, x: Operand, other: Operand) -> Value:
    x, other = b.promote(x, other)
    return b.select(b.truth(condition), x, other)


@lowers("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(b: AtenBuilder, x: Value, mask: Value, value: Operand) -> Value:
    return b.select(mask, b.typed(value, element_of(x)), x)


@lowers("clamp", "clamp.Tensor")
def clamp(b: AtenBuilder, x: Value, min: Operand | None = None, max: Operand | None = None) -> Value:
    given = [bound for bound in (min, max) if bound is not None]
    element = b.promoted(x, *given)
    result = b.typed(x, element)
    if min is not None:
        result = b.maximum(result, b.typed(min, element))
    return result if max is None else b.minimum(result, b.typed(max, element))


@lowers("clamp_min", "clamp_min.Tensor")
def clamp_min(b: AtenBuilder, x: Value, min: Operand) -> Value:
    return clamp(b, x, min)


@lowers("clamp_max", "clamp_max.Tensor")
def clamp_max(b: AtenBuilder, x: Value, max: Operand) -> Value:
    return clamp(b, x, None, max)


@lowers("lerp.Scalar", "lerp.Tensor")
def lerp(b: AtenBuilder, x: Value, end: Value, weight: Operand) -> Value:
    return b.add(x, b.multiply(b.typed(weight, element_of(x)), b.subtract(end, x)))


@lowers("addcmul")
def addcmul(b: AtenBuilder, x: Value, one: Value, two: Value, *, value: Number = 1) -> Value:
    x, one, two = b.promote(x, one, two)
    product = b.multiply(one, two)
    return b.add(x, product if value == 1 else b.multiply(product, b.typed(value, element_of(x))))


@lowers("addcdiv")
def addcdiv(b: AtenBuilder, x: Value, one: Value, two: Value, *, value: Number = 1) -> Value:
    x, one, two = b.promote(x, one, two)
    quotient = b.divide(one, two)
    return b.add(x, quotient if value == 1 else b.multiply(quotient, b.typed(value, element_of(x))))


@lowers("view.dtype")
def view_as_type(b: AtenBuilder, x: Value, dtype: Attribute) -> Value:
    old, new = element_of(x), dtype
    if i1 in (old, new) or (isinstance(new, IntegerType) and new.width.data < 8):
        raise b.fail(f"the bits of {old} as {new} are not supported")
    return b(hlo.BitcastConvertOp(x, new))
