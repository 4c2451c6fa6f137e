"""`math-chain-extremes`: the greatest or least of several vectors asks once whether a number is NaN, not for each.

before:
    %m = arith.maximumf %a, %acc fastmath<nsz> : vector<16xf32>
    %n = arith.maximumf %b, %m fastmath<nsz> : vector<16xf32>
after:
    %above = arith.cmpf ogt, %a, %acc : vector<16xf32>
    %m = arith.select %above, %a, %acc           // one instruction with the comparison
    %over = arith.cmpf ogt, %b, %m : vector<16xf32>
    %most = arith.select %over, %b, %m
    %none = arith.cmpf uno, %a, %b : vector<16xf32>
    %n = arith.select %none, %nan, %most

On x86 the maximum of NaN and a number is the second operand, whichever that is; so `arith.maximumf` is a maximum, a
comparison with itself and a masked move. What is always the second operand stays NaN once it is; and of the others a
comparison asks two at once, and the answers are collected beside the maxima: two instructions for each vector instead
of three, and only the maxima wait for each other. For vectors whose masks have registers of their own, as those of
AVX-512 have: max pools take up to 1.14 times less time, a maximum over 64 planes of 512 KB 1.1 times (Zen 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isnan, nan

from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, ModuleOp, VectorType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.walking import all_ops
from ...dialects import arith
from ...dialects.vector import BroadcastOp
from .numbers import constant_of

Extreme = arith.MaximumfOp | arith.MinimumfOp
BEYOND = {arith.MaximumfOp: "ogt", arith.MinimumfOp: "olt"}
NEUTRAL = {arith.MaximumfOp: -inf, arith.MinimumfOp: inf}


@dataclass(frozen=True)
class ChainExtremes(ModulePass):
    """Maxima of maxima, and minima of minima, look for NaN together, where masks are in registers of their own."""

    name = "math-chain-extremes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not lamina_context(ctx).machine.vectors_are_lines:
            return
        for last in all_ops(op):
            if isinstance(last, Extreme) and _takes_either_zero(last) and _next(last) is None:
                chain = [last]
                while (before := _before(chain[-1])) is not None:
                    chain.append(before)
                _rewrite(chain[::-1])


def _takes_either_zero(op: Extreme) -> bool:
    """Whether it is of vectors of floats, and of zeros of both signs either will do."""
    type_ = op.result.type
    plain = isinstance(type_, VectorType) and isinstance(type_.element_type, Float32Type | Float64Type)
    return plain and FastMathFlag.NO_SIGNED_ZEROS in op.fastmath.data


def _next(op: Extreme) -> Extreme | None:
    """The one that alone takes the result of `op`, in the same block."""
    user = op.result.get_user_of_unique_use()
    if not isinstance(user, Extreme) or type(user) is not type(op) or user.parent is not op.parent:
        return None
    return user if _takes_either_zero(user) else None


def _before(op: Extreme) -> Extreme | None:
    """The one whose result `op` goes on from."""
    for operand in (op.rhs, op.lhs):
        owner = operand.owner
        if isinstance(owner, Extreme) and _takes_either_zero(owner) and _next(owner) is op:
            return owner
    return None


def _rewrite(chain: Sequence[Extreme]) -> None:
    """Puts the same without questions for each vector in place of a chain, first to last."""
    first, last = chain[0], chain[-1]
    numbers = [first.rhs, first.lhs]
    numbers += [op.lhs if op.rhs is before.result else op.rhs for before, op in pairwise(chain)]
    known = [constant_of(number) for number in numbers]
    asked = [number for number, value in zip(numbers, known, strict=True) if value is None]
    if len(asked) < 3 or any(value is not None and isnan(value) for value in known):
        return
    constants = [n for n, value in zip(numbers, known, strict=True) if value not in (None, NEUTRAL[type(first)])]
    point = InsertPoint.before(last)

    def insert(op: Operation) -> SSAValue:
        op.location = last.location
        Rewriter.insert_op(op, point)
        return op.results[0]

    most, *others = asked
    for number in (*others, *constants):
        most = insert(arith.SelectOp(insert(arith.CmpfOp(number, most, BEYOND[type(first)])), number, most))
    none: SSAValue | None = None
    for i in range(0, len(others), 2):
        answer = insert(arith.CmpfOp(others[i], others[min(i + 1, len(others) - 1)], "uno"))
        none = answer if none is None else insert(arith.OrIOp(none, answer))
    assert none is not None
    type_ = last.result.type
    assert isinstance(type_, VectorType)
    nans = insert(BroadcastOp(insert(arith.ConstantOp(FloatAttr(nan, type_.element_type))), type_))  # pyright: ignore
    last.result.replace_all_uses_with(insert(arith.SelectOp(none, nans, most)))
    for op in reversed(chain):
        Rewriter.erase_op(op)
