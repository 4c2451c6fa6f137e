"""Sorting by merging, bottom up: runs of 1, 2, 4, … become runs of twice the length.

One round is a structured op that walks along the sorted dimension once and is parallel over all others:

    ^bb0(%i, %j, %old):                      // how far the left and the right run have been taken
      ... at the start of two runs, %i and %j begin there
      %a, %b = tensor.extract %x[%i], %x[%j]
      %left = (the left run is not over) and (the right one is, or not %b before %a)
      linalg.yield %i + %left, %j + not %left, %x[%left ? %i : %j]

Nothing depends on data but subscripts and selections. The order is stable: of equals the left one is taken first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, TensorType, i1, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ....compiler.conversion import RuleBuilder
from ....dialects import stablehlo as hlo
from ....dialects.linalg import IndexOp
from ....dialects.tensor import ExtractOp
from ...stablehlo.sort_by_digits import BITS
from .digits import by_digits
from .rules import (
    PARALLEL,
    REDUCTION,
    RULES,
    Scalars,
    d,
    empty,
    filled,
    generic,
    result_type,
    scalar_constant,
    tensor_type,
)
from .scalars import scalar_region


@RULES.lowers(hlo.SortOp)
def sort(op: hlo.SortOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    """Stable, whether or not that is asked for. What the comparator leaves unordered keeps its order."""
    shape = tensor_type(operands[0]).get_shape()
    rank = len(shape)
    axis = rank - 1 if op.dimension is None else op.dimension.value.data % max(rank, 1)
    if rank == 0 or shape[axis] < 2 or 0 in shape:
        return operands
    if BITS in op.attributes:
        low, high = cast(Any, op.attributes[BITS]).get_values()
        return by_digits(operands, int(low), int(high), b)
    values = operands
    run = 1
    while run < shape[axis]:
        values = _merged(op, values, axis, run, b)
        run *= 2
    return values


def _merged(op: hlo.SortOp, operands: Sequence[SSAValue], axis: int, run: int, b: RuleBuilder) -> Sequence[SSAValue]:
    """Neighbouring sorted runs of length `run` merged; the last ones may be shorter."""
    shape = tensor_type(operands[0]).get_shape()
    rank, n = len(shape), shape[axis]
    comparator = op.regions[0].block
    state = TensorType(i64, [size for i, size in enumerate(shape) if i != axis])
    others = AffineMap(rank, 0, tuple(d(i) for i in range(rank) if i != axis))
    iterators = [REDUCTION if i == axis else PARALLEL for i in range(rank)]

    def body(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        here = s(arith.IndexCastOp(s(IndexOp(axis)), i64))
        first = s(arith.AndIOp(here, s.constant(-2 * run, i64)))
        middle = s(arith.MinSIOp(s(arith.AddiOp(first, s.constant(run, i64))), s.constant(n, i64)))
        end = s(arith.MinSIOp(s(arith.AddiOp(first, s.constant(2 * run, i64))), s.constant(n, i64)))
        begins = s(arith.CmpiOp(here, first, "eq"))
        left = s(arith.SelectOp(begins, first, args[0]))
        right = s(arith.SelectOp(begins, middle, args[1]))
        mine, theirs = (_read(s, operands, axis, place, n) for place in (left, right))
        pairs = [v for pair in zip(theirs, mine, strict=True) for v in pair]
        precedes = scalar_region(s, comparator, pairs)[0]
        not_before = s(arith.XOrIOp(precedes, s.constant(1, i1)))
        free = s(arith.OrIOp(s(arith.CmpiOp(right, end, "sge")), not_before))
        taken = s(arith.AndIOp(s(arith.CmpiOp(left, middle, "slt")), free))
        step = s(arith.ExtUIOp(taken, i64))
        # arithmetic, not a selection: that may become a branch, and nobody can foretell where it goes
        place = s(arith.AddiOp(right, s(arith.MuliOp(s(arith.SubiOp(left, right)), step))))
        chosen = _read(s, operands, axis, place, n)
        after = s(arith.SubiOp(s(arith.AddiOp(right, s.constant(1, i64))), step))
        return [s(arith.AddiOp(left, step)), after, *chosen]

    starts = [filled(b, b(scalar_constant(0, i64)).result, state) for _ in range(2)]
    outputs = [*starts, *(empty(b, result_type(op, i)) for i in range(len(operands)))]
    maps = [others, others, *[AffineMap.identity(rank)] * len(operands)]
    return generic(b, [], outputs, maps, iterators, body)[2:]


def _read(s: Scalars, tensors: Sequence[SSAValue], axis: int, place: SSAValue, n: int) -> list[SSAValue]:
    """The elements at `place` along the axis, or at the last one if that is beyond: then they do not count."""
    bounded = s(arith.IndexCastOp(s(arith.MinSIOp(place, s.constant(n - 1, i64))), IndexType()))
    rank = tensor_type(tensors[0]).get_num_dims()
    indices = [bounded if i == axis else s(IndexOp(i)) for i in range(rank)]
    return [s(ExtractOp(tensor, indices, tensor_type(tensor).element_type)) for tensor in tensors]
