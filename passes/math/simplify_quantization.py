"""`math-simplify-quantization`: rounding to the integers of a few bits takes no division and asks once for NaN.

before:
    %q = arith.divf %x, %scale : vector<16xf32>                         // a constant in every lane
    %r = math.roundeven %q
    %s = arith.addf %r, %zero_point                                     // or without
    %t = arith.minimumf (arith.maximumf %s, %least), %most
    %i = arith.fptosi (arith.select (arith.cmpf uno, %t, %t), 0, %t) : vector<16xi32>
after:
    %q = math.fma %x, %high, (arith.mulf %x, %low)                      // 1 / scale in two parts
    %t = the nearer of %q and the two bounds, NaN among the bounds
    %i = arith.subi (arith.bitcast (arith.addf %t, 1.5 * 2^23)), ...    // the sum has no room for a fraction

The quotient is within an ulp of the division's, so that both round to one integer but where they are near the middle
between two. There every number is tried when the kernel is compiled, and the division stays if one comes out wrong.
What such an integer is after having been stored in bits that hold it is not computed again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, IntegerType, ModuleOp, i32
from xdsl.dialects.math import RoundEvenOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.conversion import RuleBuilder, Rules, convert
from ...compiler.walking import all_ops
from ...dialects import arith
from ...dialects.arith.shaped import element_type
from .numbers import MAGIC, PREDICATES, Numbers, constant_of, quotient, reciprocal

_FARTHEST = 1 << 20  # from 0 to any number that is rounded
_MOST_STEPS = 1 << 12  # between integers that are tried when a kernel is compiled
_SCALES = (2.0**-60, 2.0**60)  # so that nothing on the way is subnormal or too large
_NEAR = 8  # ulps: farther from the middle between two integers any quotient rounds as the right one does

RULES = Rules("math-simplify-quantization")


@dataclass(frozen=True)
class SimplifyQuantization(ModulePass):
    """Roundings to integers of few bits become fewer operations, where multiply-adds are fused."""

    name = "math-simplify-quantization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if lamina_context(ctx).machine.fuses and any(isinstance(inner, arith.FPToSIOp) for inner in all_ops(op)):
            convert(op, RULES, illegal=set())


@dataclass(frozen=True)
class Rounded:
    """The nearest integer of `value`, even ones first, plus `shift`, from `least` to `most`; NaN is 0."""

    value: SSAValue
    shift: int
    least: int
    most: int


def match_rounded(value: SSAValue) -> Rounded | None:
    """What the f32 that an integer is made of was, if that is a number that was rounded and clamped."""
    number = _without_nan(value)
    if number is None or not isinstance(clamped := number.owner, arith.MinimumfOp):
        return None
    inner, most = clamped.lhs.owner, constant_of(clamped.rhs)
    if not isinstance(inner, arith.MaximumfOp):
        return None
    least, moved = constant_of(inner.rhs), inner.lhs
    shift = 0.0
    if isinstance(moved.owner, arith.AddfOp) and (known := constant_of(moved.owner.rhs)) is not None:
        shift, moved = known, moved.owner.lhs
    if least is None or most is None or not isinstance(moved.owner, RoundEvenOp):
        return None
    bounds = (shift, least - shift, most - shift)
    whole = all(n == n and abs(n) <= _FARTHEST and n == round(n) for n in bounds)
    if not whole or not least <= 0 <= most:
        return None
    return Rounded(moved.owner.operand, int(shift), int(least), int(most))


def _without_nan(value: SSAValue) -> SSAValue | None:
    """`x` of `x` that is 0 where it is NaN."""
    chosen = value.owner
    if not isinstance(chosen, arith.SelectOp) or constant_of(chosen.lhs) != 0.0:
        return None
    asked, number = chosen.cond.owner, chosen.rhs
    if not isinstance(asked, arith.CmpfOp) or asked.predicate.value.data != PREDICATES["uno"]:
        return None
    return number if asked.lhs is number and asked.rhs is number else None


@RULES.lowers(arith.FPToSIOp)
def simplify(op: arith.FPToSIOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    [value] = operands
    target = op.result.type
    single = isinstance(element_type(value.type), Float32Type) and element_type(target) == i32
    found = match_rounded(value) if single else None
    if found is None:
        return b(arith.FPToSIOp(value, target)).result
    integer = _integer(Numbers(b, value.type), found)
    _keep(integer, op.result, found)
    return integer


def _integer(e: Numbers, found: Rounded) -> SSAValue:
    """The number by a sum with what leaves no room for a fraction; an even shift leaves the middles where they are."""
    least, most = found.least - found.shift, found.most - found.shift
    number = _divided(e, found.value, least, most)
    if found.least != 0 and not _is_number(found.value):
        number = e.select(e.cmp("uno", number, number), e.c(float(-found.shift)), number)
    for bound, beyond in ((least, "ogt"), (most, "olt")):  # the first one takes NaN, as 0 is the least there
        limit = e.c(float(bound))
        number = e.select(e.cmp(beyond, number, limit), number, limit)
    inside = found.shift if found.shift % 2 == 0 else 0
    moved = e.add(number, e.c(MAGIC + inside))
    return e.int(arith.SubiOp, e.bits(moved), e.n(int(np.float32(MAGIC).view(np.int32)) + inside - found.shift))


def _divided(e: Numbers, value: SSAValue, least: int, most: int) -> SSAValue:
    """What is rounded: of a quotient by a constant one that rounds alike."""
    op = value.owner
    divisor = constant_of(op.rhs) if isinstance(op, arith.DivfOp) else None
    if not isinstance(op, arith.DivfOp) or divisor is None or not rounds_alike(divisor, least, most):
        return value
    return quotient(e, op.lhs, divisor)


def _is_number(value: SSAValue) -> bool:
    """Whether a value cannot be NaN: an integer, or one by a finite constant."""
    op = value.owner
    if isinstance(op, arith.MulfOp):
        factor = constant_of(op.rhs)
        return factor is not None and math.isfinite(factor) and _is_number(op.lhs)
    return isinstance(op, arith.SIToFPOp | arith.UIToFPOp)


def _keep(integer: SSAValue, old: SSAValue, found: Rounded) -> None:
    """What is widened again after having been narrowed is the integer, if it was held."""
    for use in list(old.uses):
        narrow = use.operation
        if not isinstance(narrow, arith.TruncIOp):
            continue
        bits = _width(narrow.result)
        for again in [use.operation for use in narrow.result.uses]:
            if not isinstance(again, arith.ExtUIOp | arith.ExtSIOp) or again.result.type != integer.type:
                continue
            half = 0 if isinstance(again, arith.ExtUIOp) else 1 << bits - 1
            if -half <= found.least and found.most < (1 << bits) - half:
                again.result.replace_all_uses_with(integer)


def _width(value: SSAValue) -> int:
    element = element_type(value.type)
    assert isinstance(element, IntegerType)
    return element.width.data


@lru_cache(maxsize=1 << 10)
def rounds_alike(divisor: float, least: int, most: int) -> bool:
    """Whether x / divisor and `quotient`, in f32, are nearest to the same integers from `least` to `most`, for all x.

    >>> rounds_alike(0.02, -128, 127)
    True
    """
    if not _SCALES[0] <= divisor <= _SCALES[1] or most - least > _MOST_STEPS:
        return False
    by = np.float32(divisor)
    middles = (np.arange(least, most, dtype=np.float64) + 0.5) * np.float64(by)
    near = np.arange(-_NEAR, _NEAR + 1, dtype=np.int32)
    x = (middles.astype(np.float32).view(np.int32)[:, None] + near).view(np.float32)
    high, low = (np.float32(part) for part in reciprocal(float(by)))
    total = x.astype(np.float64) * np.float64(high) + (x * low).astype(np.float64)  # exact, as 53 bits hold it
    return bool((np.rint(x / by) == np.rint(total.astype(np.float32))).all())
