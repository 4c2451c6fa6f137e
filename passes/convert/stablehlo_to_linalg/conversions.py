"""One element changing its type: by value, by bits, by precision."""

from __future__ import annotations

from math import inf, isnan, nan
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from ....compiler.diagnostics import LaminaError
from ....dialects import stablehlo as hlo
from .rules import Scalars, signless

_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)


def convert_scalar(
    s: Scalars, x: SSAValue, from_unsigned: bool, to: Attribute, bounds: tuple[float, float] = (-inf, inf)
) -> SSAValue:
    """By value. `to` may be an unsigned integer type; the result is signless. `bounds`: between which a float is.

    Floats to integers truncate and saturate, NaN gives 0; integers wrap; booleans are `!= 0`.
    """
    source, target = x.type, signless(to)
    to_unsigned = target != to
    if isinstance(source, AnyFloat):
        if isinstance(target, IntegerType):
            return _float_to_integer(s, x, target, to_unsigned, bounds)
        return _float_to_float(s, x, cast(AnyFloat, target))
    if not isinstance(source, IntegerType):
        raise LaminaError(f"no conversion from {source} to {target}")
    if isinstance(target, IntegerType):
        return _integer_to_integer(s, x, source, target, from_unsigned)
    _require_float(target)
    unsigned = from_unsigned or source.width.data == 1
    return s((arith.UIToFPOp if unsigned else arith.SIToFPOp)(x, cast(Any, target)))


def _require_float(type_: Attribute) -> None:
    if not isinstance(type_, _FLOATS):
        raise LaminaError(f"arithmetic on {type_} is not lowered to linalg")


def _float_to_float(s: Scalars, x: SSAValue, target: AnyFloat) -> SSAValue:
    source = cast(AnyFloat, x.type)
    if source == target:
        return x
    _require_float(source)
    _require_float(target)
    if source.bitwidth == target.bitwidth:
        x = s(arith.ExtFOp(x, f32))
    widens = cast(AnyFloat, x.type).bitwidth < target.bitwidth
    return s(arith.ExtFOp(x, target) if widens else arith.TruncFOp(x, target))


def _integer_to_integer(
    s: Scalars, x: SSAValue, source: IntegerType, target: IntegerType, from_unsigned: bool
) -> SSAValue:
    old, new = source.width.data, target.width.data
    if new == 1 and old != 1:
        return s(arith.CmpiOp(x, s.constant(0, source), "ne"))
    if old == new:
        return x
    if new < old:
        return s(arith.TruncIOp(x, target))
    return s((arith.ExtUIOp if from_unsigned or old == 1 else arith.ExtSIOp)(x, target))


def bounds_of(value: SSAValue) -> tuple[float, float]:
    """Numbers between which the elements of a tensor of floats were clamped; those that are NaN stay so."""
    match value.owner:
        case hlo.MaximumOp() as op:
            return _clamped(op.lhs, _number(op.rhs), inf)
        case hlo.MinimumOp() as op:
            return _clamped(op.lhs, -inf, _number(op.rhs))
        case hlo.ClampOp() as op:
            return _clamped(op.operand, _number(op.min), _number(op.max))
        case _:
            return -inf, inf


def _clamped(value: SSAValue, least: float, most: float) -> tuple[float, float]:
    low, high = bounds_of(value)
    return (-inf, inf) if isnan(least) or isnan(most) else (min(max(low, least), most), min(max(high, least), most))


def _number(value: SSAValue) -> float:
    """What all elements of a tensor are, NaN if that is not known."""
    op = value.owner
    if isinstance(op, hlo.BroadcastInDimOp):
        return _number(op.operand)
    constant = op.value if isinstance(op, hlo.ConstantOp) else None
    if not isinstance(constant, DenseIntOrFPElementsAttr) or not constant.is_splat():
        return nan
    return cast(float, constant.get_values()[0])


def _float_to_integer(
    s: Scalars, x: SSAValue, target: IntegerType, unsigned: bool, bounds: tuple[float, float]
) -> SSAValue:
    if cast(AnyFloat, x.type).bitwidth < 32:
        _require_float(x.type)
        x = s(arith.ExtFOp(x, f32))
    float_type, bits = x.type, target.width.data
    zero = s.constant(0.0, float_type)
    if bits == 1:
        return s(arith.CmpfOp(x, zero, "une"))
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    # Each bound by a comparison and a choice, which are one instruction; `most` is the last float that is not above.
    inside, most = x, _float_below(high, cast(AnyFloat, float_type))
    if bounds[1] > high:
        limit = s.constant(most, float_type)
        inside = s(arith.SelectOp(s(arith.CmpfOp(inside, limit, "olt")), inside, limit))
    if bounds[0] < low:
        limit = s.constant(float(low), float_type)
        inside = s(arith.SelectOp(s(arith.CmpfOp(inside, limit, "ogt")), inside, limit))
    is_nan = s(arith.CmpfOp(x, x, "uno"))
    if inside is x:
        inside = s(arith.SelectOp(is_nan, zero, x))
    if unsigned and bits == 64:
        whole = s(arith.FPToUIOp(inside, target))
    else:
        wide = i32 if bits < 32 or (bits == 32 and not unsigned) else i64
        whole = s(arith.FPToSIOp(inside, wide))
        whole = whole if wide.width.data == bits else s(arith.TruncIOp(whole, target))
    if bounds[1] > high and most < high:
        above = s(arith.CmpfOp(x, s.constant(float(high + 1), float_type), "oge"))
        whole = s(arith.SelectOp(above, s.constant(high, target), whole))
    clamped = bounds[0] < low or bounds[1] > high
    return s(arith.SelectOp(is_nan, s.constant(0, target), whole)) if clamped else whole


def _float_below(limit: int, kind: AnyFloat) -> float:
    """The largest number of a type that is at most `limit`.

    >>> _float_below(127, f32), _float_below(2**31 - 1, f32)
    (127.0, 2147483520.0)
    """
    dtype = np.float32 if kind.bitwidth == 32 else np.float64
    nearest = dtype(limit)
    return float(nearest if int(nearest) <= limit else np.nextafter(nearest, dtype(0)))


def round_to_precision(s: Scalars, x: SSAValue, exponent_bits: int, mantissa_bits: int) -> SSAValue:
    """Rounds to a float of the given bits, to nearest even; overflow gives infinity, underflow zero."""
    original = cast(AnyFloat, x.type)
    wide = s(arith.ExtFOp(x, f32)) if original.bitwidth < 32 else x
    integer, mantissa = (i32, 23) if wide.type == f32 else (i64, 52)
    width = integer.width.data
    exponent_width = width - 1 - mantissa
    bits = s(arith.BitcastOp(wide, integer))

    def constant(value: int) -> SSAValue:
        return s.constant(value, integer)

    sign = s(arith.AndIOp(bits, constant(1 << (width - 1))))
    if mantissa_bits < mantissa:
        drop = mantissa - mantissa_bits
        last = s(arith.AndIOp(s(arith.ShRUIOp(bits, constant(drop))), constant(1)))
        bits = s(arith.AddiOp(bits, s(arith.AddiOp(last, constant((1 << (drop - 1)) - 1)))))
        bits = s(arith.AndIOp(bits, constant(-(1 << drop))))
    if exponent_bits < exponent_width:
        bias, small = (1 << (exponent_width - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        infinity = ((1 << exponent_width) - 1) << mantissa
        exponent = s(arith.AndIOp(bits, constant(infinity)))
        over = s(arith.CmpiOp(exponent, constant((bias + small) << mantissa), "ugt"))
        under = s(arith.CmpiOp(exponent, constant((bias - small) << mantissa), "ule"))
        bits = s(arith.SelectOp(over, s(arith.OrIOp(sign, constant(infinity))), bits))
        bits = s(arith.SelectOp(under, sign, bits))
    rounded = s(arith.BitcastOp(bits, wide.type))
    rounded = s(arith.SelectOp(s(arith.CmpfOp(wide, wide, "uno")), wide, rounded))
    return rounded if wide is x else s(arith.TruncFOp(rounded, original))


def float_remainder(s: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """`fmod`, exactly, in float64: each step takes off a multiple of the divisor with one fused multiply-add.

    The divisor is scaled by a power of two so that the step's quotient has at most 52 bits: its truncation is then
    off by one at most, and the rest exact. NaN for a NaN operand, an infinite dividend or a zero divisor.
    """
    type_ = x.type
    x, y = (s(arith.ExtFOp(v, f64)) if type_ != f64 else v for v in (x, y))
    size, divisor = s(math.AbsFOp(x)), s(math.AbsFOp(y))
    infinity, zero = s.constant(float("inf"), f64), s.constant(0.0, f64)
    proper = s(arith.AndIOp(s(arith.CmpfOp(divisor, zero, "ogt")), s(arith.CmpfOp(size, infinity, "olt"))))
    before = Block(arg_types=[f64])
    t = Scalars(before)
    larger = t(arith.CmpfOp(before.args[0], divisor, "oge"))
    before.add_op(scf.ConditionOp(t(arith.AndIOp(larger, proper)), before.args[0]))
    after = Block(arg_types=[f64])
    t = Scalars(after)
    rest = after.args[0]
    base = divisor
    for _ in range(2):  # the quotient may overflow, for the smallest divisors even so
        overflows = t(arith.CmpfOp(t(arith.DivfOp(rest, base)), infinity, "oeq"))
        base = t(arith.SelectOp(overflows, t(arith.MulfOp(base, t.constant(2.0**1000, f64))), base))
    quotient = t(arith.DivfOp(rest, base))
    exponent = t(arith.AndIOp(t(arith.BitcastOp(quotient, i64)), t.constant(0x7FF << 52, i64)))
    scale = t(arith.MulfOp(t(arith.BitcastOp(exponent, f64)), t.constant(2.0**-40, f64)))
    is_large = t(arith.CmpfOp(quotient, t.constant(2.0**52, f64), "oge"))
    by = t(arith.SelectOp(is_large, t(arith.MulfOp(base, scale)), base))
    times = t(math.TruncOp(t(arith.DivfOp(rest, by))))
    rest = t(math.FmaOp(t(arith.NegfOp(times)), by, rest))
    short = t(arith.CmpfOp(rest, t.constant(0.0, f64), "olt"))
    after.add_op(scf.YieldOp(t(arith.SelectOp(short, t(arith.AddfOp(rest, by)), rest))))
    rest = s(scf.WhileOp([size], [f64], Region(before), Region(after)))
    result = s(arith.SelectOp(proper, s(math.CopySignOp(rest, x)), s.constant(nan, f64)))
    return result if type_ == f64 else s(arith.TruncFOp(result, type_))
