"""Sorting by ranks: each element counts those that come before it, then goes to the place of that number.

Two structured ops, parallel over everything but the count, without control flow that depends on data. The work grows
with the square of the sorted dimension, which suits the lengths that models sort.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ....compiler.conversion import RuleBuilder
from ....dialects import stablehlo as hlo
from ....dialects.linalg import IndexOp
from .rules import PARALLEL, REDUCTION, RULES, Scalars, d, filled, generic, result_type, scalar_constant, tensor_type
from .scalars import scalar_region


@RULES.lowers(hlo.SortOp)
def sort(op: hlo.SortOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    """Stable, whether or not that is asked for. What the comparator leaves unordered keeps its order."""
    count = len(operands)
    shape = tensor_type(operands[0]).get_shape()
    rank = len(shape)
    axis = rank - 1 if op.dimension is None else op.dimension.value.data % max(rank, 1)
    if rank == 0 or shape[axis] < 2 or 0 in shape:
        return operands
    comparator = op.regions[0].block
    here = AffineMap(rank + 1, 0, tuple(d(i) for i in range(rank)))
    there = AffineMap(rank + 1, 0, tuple(d(rank) if i == axis else d(i) for i in range(rank)))
    iterators = [PARALLEL] * rank + [REDUCTION]

    def precedes(s: Scalars, left: Sequence[SSAValue], right: Sequence[SSAValue]) -> SSAValue:
        pairs = [v for pair in zip(left, right, strict=True) for v in pair]
        return scalar_region(s, comparator, pairs)[0]

    def count_before(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        mine, others, total = args[:count], args[count : 2 * count], args[-1]
        earlier = s(arith.CmpiOp(s(IndexOp(rank)), s(IndexOp(axis)), "ult"))
        not_after = s(arith.XOrIOp(precedes(s, mine, others), s.constant(1, i1)))
        before = s(arith.OrIOp(precedes(s, others, mine), s(arith.AndIOp(earlier, not_after))))
        return [s(arith.AddiOp(total, s(arith.ExtUIOp(before, i64))))]

    zeros = filled(b, b(scalar_constant(0, i64)).result, TensorType(i64, shape))
    maps = [*[here] * count, *[there] * count, here]
    places = generic(b, [*operands, *operands], [zeros], maps, iterators, count_before)[0]

    def collect(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        place, values, found = args[0], args[1 : count + 1], args[count + 1 :]
        wanted = s(arith.IndexCastOp(s(IndexOp(axis)), i64))
        is_here = s(arith.CmpiOp(place, wanted, "eq"))
        return [s(arith.SelectOp(is_here, v, f)) for v, f in zip(values, found, strict=True)]

    types = [result_type(op, i) for i in range(count)]
    starts = [filled(b, b(scalar_constant(0, t.element_type)).result, t) for t in types]
    maps = [there, *[there] * count, *[here] * count]
    return generic(b, [places, *operands], starts, maps, iterators, collect)
