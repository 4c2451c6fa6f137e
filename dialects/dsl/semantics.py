"""What index notation means: the body for each index, one after the other or, where it can be, all at once.

A body of elementwise hub ops is called once with whole arrays of indices: those of an op stand on the leading axes of
everything inside it, so that the axes of the ops around it are the trailing ones and line up by broadcasting.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ...compiler.dtypes import dtype_of
from ...compiler.semantics import Call, Region, Spec, semantics
from ...compiler.weights import Array
from ..stablehlo.semantics.elementwise import is_float, widened
from ..stablehlo.semantics.regions import ELEMENTWISE
from .neutral import neutral
from .ops import ARG_KINDS, AccessOp, IndexedOp, ReduceKind, ReduceOp, YieldOp

AT_ONCE = 1 << 22
"""The largest number of index values, nested ones multiplied, for which a body is called with whole arrays."""


def _fits(op: IndexedOp) -> bool:
    """Whether the body of `op` means the same on whole arrays, and is small enough for them."""
    return _points(op) <= AT_ONCE and all(_is_scalar(inner) for inner in op.block.walk())


def _points(op: IndexedOp) -> int:
    inside = [_points(inner) for inner in op.block.ops if isinstance(inner, IndexedOp)]
    return prod(op.sizes) * max([1, *inside])


def _is_scalar(op: Operation) -> bool:
    if isinstance(op, YieldOp | AccessOp | IndexedOp):
        return not isinstance(op, IndexedOp) or op.name == "dsl.reduce"
    return (op.name in ELEMENTWISE or op.dialect_name() == "chlo") and op.results[0].type.get_num_dims() == 0  # pyright: ignore


def _axes_around(op: IndexedOp) -> int:
    """How many axes the values that `op` captures may have: the indices of the ops that are at work on arrays."""
    count, parent = 0, op.parent_op()
    while isinstance(parent, IndexedOp):
        count += len(parent.sizes) if _fits(parent) else 0
        parent = parent.parent_op()
    return count


def _elements(op: Operation, body: Region) -> list[Array]:
    """What the body yields, each with the indices of `op` on the leading axes."""
    assert isinstance(op, IndexedOp)
    sizes = op.sizes
    if _fits(op):
        rank = len(sizes) + _axes_around(op)
        grids = [np.arange(n).reshape([n if d == axis else 1 for d in range(rank)]) for axis, n in enumerate(sizes)]
        shape = (*sizes, *[1] * (rank - len(sizes)))
        return [np.broadcast_to(v, np.broadcast_shapes(v.shape, shape)) for v in body.lifted(*grids)]
    results: list[Array] = []
    for index in np.ndindex(*sizes):
        values = body(*(np.asarray(i) for i in index))
        results = results or [np.empty((*sizes, *v.shape), v.dtype) for v in values]
        for result, value in zip(results, values, strict=True):
            result[index] = value
    return results


@semantics("dsl.comprehension")
def comprehension(*, regions: list[Region], call: Call, result: Spec) -> Array:
    elements = _elements(call.op, regions[0])
    return elements[0] if elements else np.empty(result.shape or (), result.dtype)


@semantics("dsl.reduce")
def reduce(*, kind: str, regions: list[Region], call: Call, result: Spec) -> Array:
    op = call.op
    assert isinstance(op, ReduceOp) and result.dtype is not None
    kind, element = ReduceKind(kind), dtype_of(op.yielded[0].type)
    elements = _elements(op, regions[0]) or [np.empty(op.sizes, element)]
    start = widened(neutral(kind, element))
    values = widened(elements[0])
    if len(elements) == 2:
        values = np.where(elements[1], values, start)
    if kind in ARG_KINDS:
        pick = np.argmax if kind is ReduceKind.ARGMAX else np.argmin
        return np.asarray(pick(values, axis=0)) if len(values) else np.zeros(values.shape[1:], np.int64)
    exact = np.float64 if kind in (ReduceKind.SUM, ReduceKind.PROD) and is_float(values.dtype) else values.dtype
    axes = tuple(range(len(op.sizes)))
    total = _COMBINE[kind](values, axis=axes, dtype=exact, initial=start.astype(exact)[()])
    return np.asarray(total).astype(result.dtype)


_COMBINE: dict[ReduceKind, Any] = {
    ReduceKind.SUM: np.add.reduce,
    ReduceKind.PROD: np.multiply.reduce,
    ReduceKind.MAX: np.maximum.reduce,
    ReduceKind.MIN: np.minimum.reduce,
    ReduceKind.ANY: np.logical_or.reduce,
    ReduceKind.ALL: np.logical_and.reduce,
}


@semantics("dsl.access")
def access(source: Array, *rest: Array) -> Array:
    subscripts: Sequence[Array] = rest[: source.ndim]
    outside = rest[source.ndim] if len(rest) > source.ndim else None
    within = np.asarray(True)
    for subscript, size in zip(subscripts, source.shape, strict=True):
        within = within & (subscript >= 0) & (subscript < size)
    if not source.size:
        element = np.zeros((), source.dtype)
        element = element if outside is None else outside
        return np.broadcast_to(element, np.broadcast_shapes(within.shape, element.shape))
    clamped = tuple(np.clip(s, 0, size - 1) for s, size in zip(subscripts, source.shape, strict=True))
    found = np.asarray(source[clamped])
    return found if outside is None else np.where(within, found, outside)
