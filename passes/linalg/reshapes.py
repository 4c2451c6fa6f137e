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


def merged_dimensions(view: CollapseShapeOp | ExpandShapeOp) -> list[list[int]]:
    """Which dimensions of the larger shape are one of the smaller shape."""
    return [[int(i.value.data) for i in group] for group in view.reassociation]


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
    sizes = tensor_shape(op.result)
    parts = merged_dimensions(op)
    if not _can_split(movement.inputs[0], movement.maps[0], parts, sizes):
        return False
    new = _with_loops_split(movement, [_split(movement.inputs[0], movement.maps[0], parts, sizes, op)], sizes, op)
    new.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(new)
    op.detach()
    op.erase()
    return True


def sink_collapse(op: CollapseShapeOp) -> CollapseShapeOp | None:
    """Turns `f(collapse(x), y)` into `collapse(f(x, expand(y)))`, so that an elementwise op meets what computes `x`.

    before: %c = collapse %x : 2x4x6 into 8x6 ; %s = f %c, %y (i, j) -> (i, j), (i)
    after:  %e = expand %y : 8 into 2x4 ; %t = f %x, %e (g, i, j) -> (g, i, j), (g, i)
            %s = collapse %t : 2x4x6 into 8x6

    The op must be the only one to read the view, of one result, and not read what that was before. The view of the
    result; None where another operand is not read by loops.
    """
    [use] = op.result.uses
    user = use.operation
    assert isinstance(user, GenericOp)
    parts, sizes = merged_dimensions(op), tensor_shape(op.src)
    operands = list(zip(user.inputs, user.maps, strict=False))
    if not all(_can_split(value, read, parts, sizes) for value, read in operands if value is not op.result):
        return None
    source = op.src, AffineMap.identity(len(sizes))
    split = [source if v is op.result else _split(v, read, parts, sizes, user) for v, read in operands]
    view = collapse(_with_loops_split(user, split, sizes, user), parts, user)
    view.name_hint = user.res[0].name_hint
    user.res[0].replace_all_uses_with(view)
    for old in (user, op):
        old.detach()
        old.erase()
    assert isinstance(view.owner, CollapseShapeOp)
    return view.owner


def _can_split(value: SSAValue, read: AffineMap, parts: Sequence[Sequence[int]], sizes: Sequence[int]) -> bool:
    """Whether each dimension of an operand is read at one place, or all of it by a loop of as many rounds."""
    shape = tensor_shape(value) if isinstance(value.type, TensorType) else ()
    whole = [prod(sizes[i] for i in group) for group in parts]
    return all(
        isinstance(expr, AffineConstantExpr) or (isinstance(expr, AffineDimExpr) and whole[expr.position] == n)
        for n, expr in zip(shape, read.results, strict=True)
    )


def _with_loops_split(
    op: GenericOp, inputs: Sequence[tuple[SSAValue, AffineMap]], sizes: Sequence[int], before: Operation
) -> SSAValue:
    """What an elementwise op of one result yields with loops of other `sizes`, given how these read its inputs."""
    rank = len(sizes)
    empty = EmptyOp([], TensorType(element_type(op.res[0]), sizes))
    maps = [*(read for _, read in inputs), AffineMap.identity(rank)]
    new = GenericOp.of([v for v, _ in inputs], [empty.tensor], maps, ["parallel"] * rank, op.body.clone())
    for inserted in (empty, new):
        inserted.location = before.location
        Rewriter.insert_op(inserted, InsertPoint.before(before))
    return new.res[0]


def _split(
    value: SSAValue, read: AffineMap, parts: Sequence[Sequence[int]], sizes: Sequence[int], before: Operation
) -> tuple[SSAValue, AffineMap]:
    """A view of an operand with its dimensions split as the loops that read them, and how these read it then."""
    if not isinstance(value.type, TensorType):
        return value, AffineMap(len(sizes), 0, ())
    groups: list[list[int]] = []
    exprs: list[AffineExpr] = []
    for n, expr in zip(tensor_shape(value), read.results, strict=True):
        loops = parts[expr.position] if isinstance(expr, AffineDimExpr) else ()
        groups.append([sizes[i] for i in loops] or [n])
        exprs += [AffineExpr.dimension(i) for i in loops] or [expr]
    view = expand(value, groups, before) if any(len(group) > 1 for group in groups) else value
    return view, AffineMap(len(sizes), 0, tuple(exprs))
