"""What older processors have no instruction for: fused multiply-adds, and rounding to integers.

LLVM would call the math library for each lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import math, vector
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from ...compiler.conversion import Rule, RuleBuilder, Rules
from ...dialects import arith
from .numbers import Numbers, in_f32

FUSED = Rules("math-expand")
ROUNDING = Rules("math-expand")
_CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])


@FUSED.lowers(math.FmaOp)
def substitute_fma(op: math.FmaOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """One rounding where one was asked for, else two."""
    loose = FastMathFlag.ALLOW_CONTRACT in op.fastmath.data
    return in_f32(b, operands, lambda e, values: _in_two_steps(e, *values) if loose else _fused(e, *values))


@FUSED.lowers(vector.FMAOp)
def substitute_vector_fma(op: vector.FMAOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """The step of a long sum, which is as good with two roundings."""
    product = b(arith.MulfOp(operands[0], operands[1], _CONTRACT)).result
    return b(arith.AddfOp(product, operands[2], _CONTRACT)).result


def _in_two_steps(e: Numbers, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    return e.add(e.mul(x, y), z)


def _fused(e: Numbers, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    if e.double:
        return _fused_in_halves(e, x, y, z)
    wide = e.wide()  # holds the product of two f32
    return e.narrow(wide.add(wide.mul(e.widen(x), e.widen(y)), e.widen(z)))


def _fused_in_halves(e: Numbers, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    """x * y + z in f64: the product and the sum with what their roundings left out (Dekker 1971, Knuth 1969)."""

    def halves(value: SSAValue) -> tuple[SSAValue, SSAValue]:
        nearest = e.int(arith.AddiOp, e.bits(value), e.n(1 << 26))  # so that the rest has 26 bits and a sign
        upper = e.from_bits(e.both(nearest, e.n(-1 << 27)))
        return upper, e.sub(value, upper)

    (x1, x2), (y1, y2) = halves(x), halves(y)
    product = e.mul(x, y)
    lost = e.sub(e.mul(x1, y1), product)
    lost = e.add(e.add(lost, e.mul(x1, y2)), e.mul(x2, y1))
    lost = e.add(lost, e.mul(x2, y2))
    total = e.add(product, z)
    part = e.sub(total, product)
    lost_too = e.add(e.sub(product, e.sub(total, part)), e.sub(z, part))
    exact = e.add(total, e.add(lost, lost_too))
    return e.select(e.cmp("oeq", e.sub(exact, exact), e.c(0.0)), exact, total)  # infinite and NaN stay so


def _round_even(e: Numbers, x: SSAValue) -> SSAValue:
    """Adding 2^mantissa leaves no room for a fraction; larger numbers have none."""
    limit = e.c(2.0**e.mantissa_bits)
    magnitude = e.abs(x)
    rounded = e.sub(e.add(magnitude, limit), limit)
    return e.copysign(e.select(e.cmp("olt", magnitude, limit), rounded, magnitude), x)


def _truncate(e: Numbers, x: SSAValue) -> SSAValue:
    magnitude = e.abs(x)
    return e.copysign(_step(e, _round_even(e, magnitude), "ogt", magnitude, -1.0), x)


def _step(e: Numbers, rounded: SSAValue, predicate: str, x: SSAValue, by: float) -> SSAValue:
    """`rounded`, one further where it lies on the wrong side of x."""
    return e.select(e.cmp(predicate, rounded, x), e.add(rounded, e.c(by)), rounded)


def _floor(e: Numbers, x: SSAValue) -> SSAValue:
    return e.copysign(_step(e, _round_even(e, x), "ogt", x, -1.0), x)


def _ceil(e: Numbers, x: SSAValue) -> SSAValue:
    return e.copysign(_step(e, _round_even(e, x), "olt", x, 1.0), x)


def _round_away(e: Numbers, x: SSAValue) -> SSAValue:
    """To nearest, halves away from zero."""
    magnitude = e.abs(x)
    whole = _truncate(e, magnitude)
    up = e.cmp("oge", e.sub(magnitude, whole), e.c(0.5))
    return e.copysign(e.select(up, e.add(whole, e.c(1.0)), whole), x)


def _rule(function: Callable[[Numbers, SSAValue], SSAValue]) -> Rule:
    return lambda op, operands, b: in_f32(b, operands, lambda e, values: function(e, values[0]))


_ROUNDINGS: dict[type[Operation], Callable[[Numbers, SSAValue], SSAValue]] = {
    math.RoundEvenOp: _round_even,
    math.TruncOp: _truncate,
    math.FloorOp: _floor,
    math.CeilOp: _ceil,
    math.RoundOp: _round_away,
}
for _op, _function in _ROUNDINGS.items():
    ROUNDING.lowers(_op)(_rule(_function))
