"""Views: making them, and moving them out of the way of fusion."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.linalg import GenericOp
from ...dialects.tensor import CollapseShapeOp, EmptyOp, ExpandShapeOp


def tensor_shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor value."""
    return cast("TensorType[Attribute]", value.type).get_shape()


def element_type(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return cast("TensorType[Attribute]", value.type).element_type


def reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    """`[[0, 1], [2]]` as the attribute of collapse_shape and expand_shape."""
    return ArrayAttr([ArrayAttr([IntegerAttr(i, i64) for i in group]) for group in groups])


def expand(value: SSAValue, groups: Sequence[Sequence[int]], before: Operation) -> SSAValue:
    """Splits dimension i into the sizes `groups[i]`."""
    shape = [n for group in groups for n in group]
    numbers = iter(range(len(shape)))
    attr = reassociation([[next(numbers) for _ in group] for group in groups])
    op = ExpandShapeOp(value, [], attr, shape, TensorType(element_type(value), shape))
    op.location = before.location
    Rewriter.insert_op(op, InsertPoint.before(before))
    return op.result


def collapse(value: SSAValue, groups: Sequence[Sequence[int]], before: Operation) -> SSAValue:
    """Merges the dimensions of each group into one."""
    shape = tensor_shape(value)
    op = CollapseShapeOp.build(
        operands=[value],
        result_types=[TensorType(element_type(value), [prod(shape[i] for i in group) for group in groups])],
        properties={"reassociation": reassociation(groups)},
    )
    op.location = before.location
    Rewriter.insert_op(op, InsertPoint.before(before))
    return op.result


def reshape(value: SSAValue, shape: Sequence[int], before: Operation) -> SSAValue:
    """`value`, which has dimensions and keeps some, with those of one element added or dropped."""
    source = tensor_shape(value)
    if source == tuple(shape):
        return value
    live = [i for i, n in enumerate(source) if n != 1] or [0]
    if len(live) != len(source):
        groups: list[list[int]] = [[] for _ in live]
        for i in range(len(source)):
            groups[max(0, sum(1 for k in live if k <= i) - 1)].append(i)
        value = collapse(value, groups, before)
    if len(live) == len(shape):
        return value
    split: list[list[int]] = [[] for _ in live]
    at = -1
    for n in shape:
        at += n != 1
        split[max(at, 0)].append(n)
    return expand(value, split, before)


def hoist_expand(op: ExpandShapeOp, movement: GenericOp) -> bool:
    """Turns `expand(move(x))` into `move(expand(x))`, so that the movement meets its readers; whether it did.

    before: %s = move %x (i, j) -> (i, 2, j) ; %v = expand %s : 4x6 into 4x3x2
    after:  %e = expand %x : 4x3x6 into 4x3x3x2 ; %v = move %e (i, j, k) -> (i, 2, j, k)
    """
    source = movement.inputs[0]
    read = movement.maps[0]
    if not all(isinstance(e, AffineDimExpr | AffineConstantExpr) for e in read.results):
        return False
    sizes = tensor_shape(op.result)
    parts = [[int(i.value.data) for i in group] for group in op.reassociation]
    shape = tensor_shape(source)
    groups: list[list[int]] = []
    exprs: list[AffineExpr] = []
    for n, expr in zip(shape, read.results, strict=True):
        if isinstance(expr, AffineDimExpr):
            groups.append([sizes[i] for i in parts[expr.position]])
            exprs += [AffineExpr.dimension(i) for i in parts[expr.position]]
        else:
            groups.append([n])
            exprs.append(expr)
    expanded = expand(source, groups, op)
    rank = len(sizes)
    empty = EmptyOp([], op.result.type)
    maps = [AffineMap(rank, 0, tuple(exprs)), AffineMap.identity(rank)]
    new = GenericOp.of([expanded], [empty.tensor], maps, ["parallel"] * rank, movement.body.clone())
    for inserted in (empty, new):
        inserted.location = op.location
        Rewriter.insert_op(inserted, InsertPoint.before(op))
    new.res[0].name_hint = op.result.name_hint
    op.result.replace_all_uses_with(new.res[0])
    op.detach()
    op.erase()
    return True
