"""What is done element by element to a concatenation is done to its parts.

before: %c = tensor.concat dim(1) %a, %b
        %y = linalg.generic {id, (i, j) -> (j), id} ins(%c, %scale) ... { arith.mulf }
after:  %p = linalg.generic {id, (i, j) -> (j), id} ins(%a, %scale) ... { arith.mulf }
        %q = linalg.generic {id, (i, j) -> (j + 16), id} ins(%b, %scale) ... { arith.mulf }
        %y = tensor.concat dim(1) %p, %q

The parts are then computed straight into their places, and what was concatenated need not exist.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.linalg import GenericOp, IndexOp
from ...dialects.tensor import ConcatOp, EmptyOp, ExtractSliceOp
from .grouping import is_elementwise

LARGEST_BODY = 32  # ops: they are written once per part


def distribute_over_parts(op: GenericOp) -> list[GenericOp]:
    """`op` on each part of the concatenation that it alone reads, instead of on the whole; none if it may not be."""
    concat = _concatenation(op)
    return [] if concat is None else _distribute(op, concat)


def _concatenation(op: GenericOp) -> ConcatOp | None:
    """What `op` reads element by element, if it is a concatenation that nothing else reads."""
    if not is_elementwise(op) or len(op.res) != 1 or op.body.block.args[-1].first_use:
        return None
    if sum(1 for _ in op.body.walk()) > LARGEST_BODY:
        return None
    for value, map_ in zip(op.inputs, op.maps, strict=False):
        owner = value.owner
        if not isinstance(owner, ConcatOp) or not value.has_one_use() or owner.parent is not op.parent:
            continue
        if map_ == AffineMap.identity(map_.num_dims) and _others_divide(op, owner):
            return owner
    return None


def _others_divide(op: GenericOp, concat: ConcatOp) -> bool:
    """Whether parts of the other operands can be read: by subscripts that begin behind 0, or sliced off constants."""
    axis = AffineExpr.dimension(concat.dim.value.data)
    return all(
        value is concat.result or axis not in map_.results or isinstance(value.owner, arith.ConstantOp)
        for value, map_ in zip(op.inputs, op.maps, strict=False)
    )


def _distribute(op: GenericOp, concat: ConcatOp) -> list[GenericOp]:
    axis = concat.dim.value.data
    target = cast("TensorType[Any]", op.res[0].type)
    offset = 0
    parts: list[GenericOp] = []
    for part in concat.inputs:
        extent = cast("TensorType[Any]", part.type).get_shape()[axis]
        shape = [extent if i == axis else n for i, n in enumerate(target.get_shape())]
        empty = EmptyOp([], TensorType(target.element_type, shape))
        Rewriter.insert_op(empty, InsertPoint.before(op))
        parts.append(_shifted(op, concat, part, empty.tensor, offset))
        Rewriter.insert_op(parts[-1], InsertPoint.before(op))
        offset += extent
    whole = ConcatOp([part.res[0] for part in parts], axis, target)
    Rewriter.insert_op(whole, InsertPoint.before(op))
    op.res[0].replace_all_uses_with(whole.result)
    for new in (whole, *parts, *(part.outputs[0].owner for part in parts)):
        assert isinstance(new, Operation)
        new.location = op.location
    for old in (op, concat):
        old.detach()
        old.erase()
    return parts


def _shifted(op: GenericOp, concat: ConcatOp, part: SSAValue, out: SSAValue, offset: int) -> GenericOp:
    """`op` on one part, which begins at `offset` along the axis."""
    axis, rank = concat.dim.value.data, len(op.iterators)
    moved = [AffineExpr.dimension(i) + offset if i == axis and offset else AffineExpr.dimension(i) for i in range(rank)]
    extent = cast("TensorType[Any]", part.type).get_shape()[axis]
    inputs: list[SSAValue] = []
    maps: list[AffineMap] = []
    for value, map_ in zip(op.inputs, op.maps, strict=False):
        if value is concat.result:
            inputs.append(part)
            maps.append(map_)
            continue
        if not offset and moved[axis] in map_.results:
            value = _beginning(value, map_, axis, extent, op)
        inputs.append(value)
        maps.append(AffineMap(rank, 0, tuple(expr.replace_dims_and_symbols(moved, []) for expr in map_.results)))
    body = op.body.clone()
    for inner, original in zip(body.walk(), op.body.walk(), strict=True):
        inner.location = original.location
    for inner in list(body.walk()):
        if isinstance(inner, IndexOp) and inner.dim.value.data == axis and offset:
            _add(inner, offset)
    return GenericOp.of(inputs, [out], [*maps, op.maps[-1]], list(op.iterator_types), body)


def _beginning(value: SSAValue, map_: AffineMap, axis: int, extent: int, at: Operation) -> SSAValue:
    """What of a constant the first part reads: a subscript that is a loop alone must run over all of its dimension."""
    shape = cast("TensorType[Any]", value.type).get_shape()
    here = AffineExpr.dimension(axis)
    sizes = [extent if expr == here else n for expr, n in zip(map_.results, shape, strict=True)]
    slice_op = ExtractSliceOp.from_static_parameters(value, [0] * len(shape), sizes)
    slice_op.location = at.location
    Rewriter.insert_op(slice_op, InsertPoint.before(at))
    return slice_op.result


def _add(index: IndexOp, offset: int) -> None:
    amount = arith.ConstantOp(IntegerAttr(offset, IndexType()))
    total = arith.AddiOp(index.result, amount)
    index.result.replace_uses_with_if(total.result, lambda use: use.operation is not total)
    for new in (amount, total):
        new.location = index.location
    Rewriter.insert_op([amount, total], InsertPoint.after(index))
