"""`@` by the rules of NumPy's matmul."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import stablehlo as hlo
from ..language import tree
from ..language.problems import Label
from . import promotion
from .dims import Extent, Pack
from .types import TensorType, is_a
from .values import Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator


def matmul(e: Elaborator, left: Value, right: Value, node: tree.Node) -> Value:
    """The last axis of the left with the last but one (the only one) of the right; those in front broadcast."""
    for side in (left, right):
        if not side.type.shape:
            message = f"'@' takes tensors of rank 1 or more, got {side.type}"
            return e.error("E304", message, side.node or node, hint="multiply by a single value with *")
    dtype = promotion.common_dtype(e, (left, right), node)
    if dtype is None:
        return unknown(node)
    if not is_a(dtype, "number"):
        hint = "" if isinstance(dtype, str) else f"narrow the type parameter: [{dtype}: number]"
        return e.error("E202", f"'@' does not take {dtype}", node, hint=hint)
    left, right = (e.coerce(side, dtype, side.node or node) for side in (left, right))
    if left.unknown or right.unknown:
        return unknown(node)
    one, two = left.type.shape, right.type.shape
    inner, outer = one[-1], two[-2] if len(two) > 1 else two[-1]
    if isinstance(inner, Pack) or isinstance(outer, Pack):
        return e.error("E304", f"the axes that '@' joins are hidden in a pack: {left.type} @ {right.type}", node)
    if e.may_differ(inner, outer):
        labels = [
            Label(side.node.span, f"{what} axis has {size}: {side.type}")
            for side, what, size in ((left, "last", inner), (right, "first" if len(two) < 3 else "last but one", outer))
            if side.node is not None
        ]
        return e.error("E310", f"'@' joins axes of {inner} and {outer} elements", node, *labels)
    batch = _batch(e, left, right, node)
    if batch is None:
        return unknown(node)
    shape: list[Extent] = list(batch)
    if len(one) > 1:
        shape.append(one[-2])
    if len(two) > 1:
        shape.append(two[-1])
    return e.emit(lambda: _dot(e, left, right, batch, node), TensorType(dtype, tuple(shape)), node)


def _batch(e: Elaborator, left: Value, right: Value, node: tree.Node) -> tuple[Extent, ...] | None:
    """The axes in front of the matrices."""
    parts = [Value(side.type.with_shape(side.type.shape[:-2]), node=side.node) for side in (left, right)]
    return promotion.common_shape(e, parts[0], parts[1], node)


def _dot(e: Elaborator, left: Value, right: Value, batch: tuple[Extent, ...], node: tree.Node) -> hlo.DotGeneralOp:
    """Only what both have is a batch axis; where the right is one matrix, the left's axes are free ones."""
    if len(right.type.shape) > 2:
        right = e.broadcast(right, (*batch, *right.type.shape[-2:]), node)
        left = e.broadcast(left, (*batch, *left.type.shape[-2:]), node) if len(left.type.shape) > 1 else left
    elif len(left.type.shape) > 1:
        left = e.broadcast(left, (*batch, *left.type.shape[-2:]), node)
    both = len(batch) if len(right.type.shape) > 2 and len(left.type.shape) > 1 else 0
    contracted = len(right.type.shape) - 2 if len(right.type.shape) > 1 else 0
    assert left.ssa is not None and right.ssa is not None
    return hlo.DotGeneralOp(
        left.ssa,
        right.ssa,
        lhs_batching_dimensions=range(both),
        rhs_batching_dimensions=range(both),
        lhs_contracting_dimensions=[len(left.type.shape) - 1],
        rhs_contracting_dimensions=[contracted],
    )
