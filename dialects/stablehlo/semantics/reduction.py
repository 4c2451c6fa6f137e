"""Reductions, windows and sorting: ops whose region combines or orders elements.

Sums of floats are accumulated in float64 and rounded once: the specification leaves the order open, and a
reference should be nearer to the true value than what it judges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from math import prod
from typing import Any

import numpy as np

from ....compiler.dtypes import dtype_of
from ....compiler.semantics import Call, Region, holds_stored, plain, semantics
from ....compiler.weights import Array
from .contraction import windows
from .conversion import converted
from .elementwise import is_float, total_order, widened
from .gather import combine_at
from .regions import is_elementwise, single_op
from .shape import padded

Combine = Callable[[Sequence[Array], Sequence[Array]], list[Array]]

_REDUCERS: dict[str, Callable[..., Any]] = {
    "stablehlo.add": np.add.reduce,
    "stablehlo.multiply": np.multiply.reduce,
    "stablehlo.maximum": np.maximum.reduce,
    "stablehlo.minimum": np.minimum.reduce,
    "stablehlo.and": np.bitwise_and.reduce,
    "stablehlo.or": np.bitwise_or.reduce,
    "stablehlo.xor": np.bitwise_xor.reduce,
}


def _combine(body: Region, elementwise: bool) -> Combine:
    """`body` on whole arrays: at once if it is elementwise, else element by element."""

    def one_by_one(left: Sequence[Array], right: Sequence[Array]) -> list[Array]:
        results = [np.empty(x.shape, x.dtype) for x in left]
        for index in np.ndindex(*left[0].shape):
            scalars = [np.asarray(x[index]) for x in (*left, *right)]
            for result, value in zip(results, body(*scalars), strict=True):
                result[index] = value
        return results

    return (lambda left, right: body.lifted(*left, *right)) if elementwise else one_by_one


def _fold_last(inputs: Sequence[Array], inits: Sequence[Array], combine: Combine) -> list[Array]:
    """Combines neighbours along the last axis until one is left, then the initial value in front of it."""
    inputs = list(inputs)
    while (n := inputs[0].shape[-1]) > 1:
        pairs = combine([x[..., 0 : n - 1 : 2] for x in inputs], [x[..., 1:n:2] for x in inputs])
        inputs = [np.concatenate([p, x[..., n - n % 2 :]], -1) for p, x in zip(pairs, inputs, strict=True)]
    kept = inputs[0].shape[:-1]
    starts = [np.broadcast_to(init, kept).astype(x.dtype) for init, x in zip(inits, inputs, strict=True)]
    return combine(starts, [x[..., 0] for x in inputs]) if n else starts


def fold(inputs: Sequence[Array], inits: Sequence[Array], axes: Sequence[int], body: Region, call: Call) -> list[Array]:
    """Reduces `axes` of all `inputs` together by the body of the op's first region."""
    kind = single_op(call.op.regions[0])
    if len(inputs) == 1 and kind in _REDUCERS:
        [x], [init] = inputs, inits
        x, start = widened(x), widened(init)
        if kind == "stablehlo.add" and is_float(x.dtype):
            x = x.astype(np.float64)
        if x.dtype.kind in "iu" and kind in ("stablehlo.add", "stablehlo.multiply"):
            total = _REDUCERS[kind](x, axis=tuple(axes), dtype=x.dtype, initial=start.item())
        else:
            total = _REDUCERS[kind](x, axis=tuple(axes), initial=x.dtype.type(start))
        return [np.asarray(total).astype(inputs[0].dtype)]
    kept = [d for d in range(inputs[0].ndim) if d not in axes]
    shape = [inputs[0].shape[d] for d in kept]
    count = prod(inputs[0].shape[d] for d in axes)
    flat = [x.transpose(*kept, *axes).reshape(*shape, count) for x in inputs]
    return _fold_last(flat, inits, _combine(body, is_elementwise(call.op.regions[0])))


@semantics("stablehlo.reduce")
def reduce(*args: Array, dimensions: Sequence[int], regions: list[Region], call: Call) -> list[Array]:
    half = len(args) // 2
    return fold(args[:half], args[half:], sorted(dimensions), regions[0], call)


def _spaces(padding: Array | None, rank: int) -> tuple[list[int], list[int]]:
    return ([0] * rank, [0] * rank) if padding is None else (padding[:, 0].tolist(), padding[:, 1].tolist())


@semantics("stablehlo.reduce_window")
def reduce_window(
    *args: Array,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Array | None = None,
    regions: list[Region],
    call: Call,
) -> list[Array]:
    half, rank = len(args) // 2, len(window_dimensions)
    ones = [1] * rank
    low, high = _spaces(padding, rank)
    gaps = [dilation - 1 for dilation in base_dilations or ones]
    views = [
        windows(padded(x, init, low, high, gaps), window_dimensions, window_strides or ones, window_dilations or ones)
        for x, init in zip(args[:half], args[half:], strict=True)
    ]
    return fold(views, args[half:], range(rank, 2 * rank), regions[0], call)


@semantics("stablehlo.select_and_scatter")
def select_and_scatter(
    operand: Array,
    source: Array,
    init: Array,
    *,
    window_dimensions: Sequence[int] | None = None,
    window_strides: Sequence[int] | None = None,
    padding: Array | None = None,
    regions: list[Region],
    call: Call,
) -> Array:
    """Padding is never selected; each source element goes to the selected place of its window."""
    rank, ones = operand.ndim, [1] * operand.ndim
    sizes, strides = window_dimensions or ones, window_strides or ones
    low, high = _spaces(padding, rank)
    places = np.arange(operand.size).reshape(operand.shape)
    values = windows(padded(operand, init, low, high), sizes, strides, ones)
    indices = windows(padded(places, np.array(-1), low, high), sizes, strides, ones)
    shape = values.shape[:rank]
    flat = (*shape, prod(sizes))
    values, indices = values.reshape(flat), indices.reshape(flat)
    chosen, best = indices[..., 0], values[..., 0]
    for tap in range(1, values.shape[-1]):
        [keep] = regions[0].lifted(best, values[..., tap])
        keep = (keep & (chosen >= 0)) | (indices[..., tap] < 0)
        chosen, best = np.where(keep, chosen, indices[..., tap]), np.where(keep, best, values[..., tap])
    dtype = dtype_of(call.op.results[0].type)
    target = np.full(operand.size, converted(init, dtype), dtype)
    inside = chosen.reshape(-1) >= 0
    updates = [converted(source, dtype).reshape(-1)[inside]]
    combine_at([target], chosen.reshape(-1)[inside], updates, regions[1], call, 1)
    return target.reshape(operand.shape)


@semantics("stablehlo.sort")
def sort(
    *inputs: Array, dimension: int = -1, is_stable: bool = False, regions: list[Region], call: Call
) -> list[Array]:
    """Always stable. One comparison of one input sorts by key; other comparators are called on pairs."""
    moved = [np.moveaxis(x, dimension, -1) for x in inputs]
    order = _order_by_key(moved, call)
    if order is None:
        order = _order_by_comparator(moved, regions[0], is_elementwise(call.op.regions[0]))
    return [np.moveaxis(np.take_along_axis(x, order, -1), -1, dimension) for x in moved]


def _order_by_key(inputs: Sequence[Array], call: Call) -> Array | None:
    """The order if the comparator is one `compare LT` or `GT` of two elements of one input, without NaN."""
    block = call.op.regions[0].first_block
    assert block is not None
    op = block.first_op
    if op is None or op.name != "stablehlo.compare" or op.next_op is not block.last_op or holds_stored(op):
        return None
    end = block.last_op
    args = [block.args.index(x) if x in block.args else -1 for x in op.operands]
    if end is None or list(end.operands) != list(op.results) or args[0] // 2 != args[1] // 2 or -1 in args:
        return None
    kind = op.properties.get("compare_type")
    total, direction = kind is not None and plain(kind) == "TOTALORDER", plain(op.properties["comparison_direction"])
    if args[0] == args[1] or direction not in ("LT", "GT"):
        return None
    key = inputs[args[0] // 2]
    if is_float(key.dtype):
        if not total and np.isnan(widened(key)).any():
            return None
        key = total_order(np.ascontiguousarray(key) if total else widened(key) + np.float32(0))
    elif key.dtype.kind not in "iub":
        return None
    ascending = (direction == "LT") == (args[0] < args[1])
    return np.argsort(key if ascending else np.invert(key), axis=-1, kind="stable")


def _order_by_comparator(inputs: Sequence[Array], before: Region, elementwise: bool) -> Array:
    """By counting how many precede each element, or, for a body that is not elementwise, by a merge sort."""
    shape, n = inputs[0].shape[:-1], inputs[0].shape[-1]
    order = np.empty((*shape, n), np.int64)
    for index in np.ndindex(*shape):
        rows = [x[index] for x in inputs]
        if elementwise and n <= 4096:
            pairs = [side for row in rows for side in (row[:, None], row[None, :])]
            [less] = before.lifted(*pairs)  # less[i, j]: i goes before j
            tied = ~less & ~less.T & np.triu(np.ones((n, n), bool), 1)
            order[index] = np.argsort((less | tied).sum(0), kind="stable")
        else:

            def compare(i: int, j: int, rows: list[Array] = rows) -> int:
                sides = [np.asarray(row[k]) for row in rows for k in (i, j)]
                swapped = [np.asarray(row[k]) for row in rows for k in (j, i)]
                return -1 if before(*sides)[0] else int(bool(before(*swapped)[0]))

            order[index] = sorted(range(n), key=cmp_to_key(compare))
    return order
