"""ONNX's NonMaxSuppression: one loop over the candidates of all classes, the best of a class first.

Scores are integers in their order here, which are computed where they are looked at. Beside them is the largest of each
block that is left, so that finding the best reads those of a row and one block. As the best comes first, all that comes
behind the last one is left: nothing is marked. A candidate is compared with those of its class that were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i1, i32, i64

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Operand, Value, rank_of, shape_of
from .loops import while_loop
from .sorting import keys_of
from .table import lowers

_GONE = -(1 << 31)  # the key of what is no candidate, or none any more; below those of all numbers
_BITS = 32  # of a place, below the key that is there
_FIRST = ((1 << 31) - 1) << _BITS  # the largest key, of which no place was seen
_LEAST_BLOCK = 64
_STEPS = (16, 4)  # of the sizes of blocks that fill a row: vectors, or else quarters of them
MANY = 1 << 17  # scores; the keys of fewer stay in a second cache, where a block is read sooner than computed
_AT_ONCE = 256  # boxes that a candidate is compared with, before it is seen whether there are more


@lowers("NonMaxSuppression", since=10)
def non_max_suppression(
    b: GraphBuilder,
    boxes: Value,
    scores: Value,
    max_output_boxes_per_class: Value | None = None,
    iou_threshold: Value | None = None,
    score_threshold: Value | None = None,
    *,
    center_point_box: int = 0,
) -> Value:
    if rank_of(scores) != 3 or shape_of(boxes) != (shape_of(scores)[0], shape_of(scores)[2], 4):
        raise b.fail(
            f"NonMaxSuppression takes boxes [batches, n, 4] and scores [batches, classes, n], "
            f"got {list(shape_of(boxes))} and {list(shape_of(scores))}"
        )
    limits = (max_output_boxes_per_class, iou_threshold, score_threshold)
    return suppressed(b, boxes, scores, *limits, centred=bool(center_point_box))


def suppressed(
    b: GraphBuilder,
    boxes: Value,
    scores: Value,
    limit: Value | None,
    iou_threshold: Value | None,
    score_threshold: Value | None,
    *,
    centred: bool,
    valid: Value | None = None,
) -> Value:
    """What is kept of `boxes` [batches, n, 4] by `scores` [batches, classes, n]: rows of batch, class and box.

    `valid` are truth values that broadcast to the scores: which of them count. The number of rows is bounded.
    """
    batch, classes, n = shape_of(scores)
    most = n
    if limit is None or batch * classes * n == 0:
        return b.constant(np.zeros((0, 3), np.int64))
    known = b.constant_value(limit)
    if known is not None:
        most = min(max(int(known.reshape(-1)[0]), 0), n)
    if most == 0:
        return b.constant(np.zeros((0, 3), np.int64))
    wanted = b.minimum(b.reshape(limit, []), most)
    overlap = b.scalar(0.0, f32) if iou_threshold is None else b.reshape(iou_threshold, [])
    rows = batch * classes
    size, keys_at, heads = _in_blocks(b, scores, score_threshold, valid)
    count = shape_of(heads)[1]

    def goes_on(c: GraphBuilder, state: Sequence[Value]) -> Value:
        return c.logical_and(c.compare(state[0], rows, "LT"), c.compare(wanted, 0, "GT"))

    def step(c: GraphBuilder, state: Sequence[Value]) -> list[Value]:
        row, kept, total, last, heads, chosen, picked = state
        zero = c.scalar(0, i64)
        tops = _part(c, heads, [row, zero], [1, count])
        top = c.reduce("maximum", tops, [0, 1])
        block = _first(c, tops, top)
        start = c.multiply(block, size)
        keys = keys_at(c, row, start)
        places = c.add(c.iota([1, size], 1, i32), c.convert(start, i32))
        equal = c.compare(keys, top, "EQ")
        before = c.convert(c.binary(hlo.ShiftRightArithmeticOp, last, c.scalar(_BITS, i64)), i32)
        end = c.convert(c.binary(hlo.AndOp, last, c.scalar((1 << _BITS) - 1, i64)), i32)
        end = c.select(c.compare(top, before, "LT"), c.scalar(0, i32), end)  # of its equals that were the best before
        unseen = c.logical_and(equal, c.compare(places, end, "GE"))
        place = c.reduce("minimum", c.select(unseen, places, c.scalar(n - 1, i32)), [0, 1])
        index = c.convert(place, i64)
        image = c.divide(row, classes)
        box = _edges(c, _part(c, boxes, [image, index, zero], [1, 1, 4]), centred)
        hidden = _hidden(c, box, chosen, kept, overlap)
        found = c.compare(top, _GONE, "GT")
        keeps = c.logical_and(found, c(hlo.NotOp(hidden)))
        # what is not kept is written as well, behind what counts
        numbers = [image, c(hlo.RemainderOp(*c.broadcast(row, classes))), index]
        told = c.concatenate([c.reshape(value, [1, 1]) for value in numbers], 1)
        equal_left = c.logical_and(equal, c.compare(places, place, "GT"))
        left = c.select(c.binary(hlo.OrOp, c.compare(keys, top, "LT"), equal_left), keys, c.scalar(_GONE, i32))
        key_above = c.binary(hlo.ShiftLeftOp, c.convert(top, i64), c.scalar(_BITS, i64))
        one = c.convert(keeps, i64)
        kept_now = c.add(kept, one)
        done = c.binary(hlo.OrOp, c(hlo.NotOp(found)), c.compare(kept_now, wanted, "GE"))
        return [
            c.add(row, c.convert(done, i64)),
            c.select(done, zero, kept_now),
            c.add(total, one),
            c.select(done, c.scalar(_FIRST, i64), c.binary(hlo.OrOp, key_above, c.add(index, 1))),
            c(hlo.DynamicUpdateSliceOp(heads, c.reshape(c.reduce("maximum", left, [1]), [1, 1]), [row, block])),
            c(hlo.DynamicUpdateSliceOp(chosen, box, [zero, zero, kept])),
            c(hlo.DynamicUpdateSliceOp(picked, told, [total, zero])),
        ]

    zero, first = b.scalar(0, i64), b.scalar(_FIRST, i64)
    chosen = b.broadcast_to(b.scalar(0.0, f32), [1, 5, most if most <= _AT_ONCE else -(-most // _AT_ONCE) * _AT_ONCE])
    picked = b.broadcast_to(zero, [rows * most, 3])
    _, _, total, *_, picked = while_loop(b, [zero, zero, zero, first, heads, chosen, picked], goes_on, step)
    return b.bounded(picked, 0, total)


def _hidden(b: GraphBuilder, box: Value, chosen: Value, kept: Value, overlap: Value) -> Value:
    """Whether a box [1, 5, 1] overlaps one of the first `kept` of `chosen` [1, 5, most] too much."""
    most = shape_of(chosen)[2]

    def others(c: GraphBuilder, first: Value | None) -> list[Value]:
        if first is None:
            return _columns(c, chosen)
        zero, rows = c.scalar(0, i64), [c.scalar(i, i64) for i in range(5)]
        return [c.reshape(_part(c, chosen, [zero, row, first], [1, 1, _AT_ONCE]), [_AT_ONCE]) for row in rows]

    def meets(c: GraphBuilder, first: Value | None) -> Value:
        left = kept if first is None else c.subtract(kept, first)
        counts = c.compare(c.iota([min(most, _AT_ONCE)], 0, i32), c.convert(left, i32), "LT")
        too_much = _overlap_more(c, _columns(c, box), others(c, first), overlap)
        return c.reduce("or", c.logical_and(counts, too_much), [0])

    if most <= _AT_ONCE:
        return meets(b, None)

    def goes_on(c: GraphBuilder, state: Sequence[Value]) -> Value:
        return c.logical_and(c.compare(state[0], kept, "LT"), c(hlo.NotOp(state[1])))

    def step(c: GraphBuilder, state: Sequence[Value]) -> list[Value]:
        return [c.add(state[0], _AT_ONCE), meets(c, state[0])]

    return while_loop(b, [b.scalar(0, i64), b.scalar(False, i1)], goes_on, step)[1]


def _candidates(b: GraphBuilder, scores: Value, threshold: Value | None, valid: Value | None) -> Value:
    """The keys of the scores that count and are above the threshold, all of those where there is none."""
    keys = keys_of(b, scores, largest=True)
    if threshold is not None:
        keys = b.select(b.compare(scores, b.reshape(threshold, []), "GT"), keys, b.scalar(_GONE, i32))
    return keys if valid is None else b.select(valid, keys, b.scalar(_GONE, i32))


def _in_blocks(
    b: GraphBuilder, scores: Value, threshold: Value | None, valid: Value | None
) -> tuple[int, Callable[[GraphBuilder, Value, Value], Value], Value]:
    """Rows of keys in blocks: the size of one, what gives one [1, size] of a row by its start, and the largest of each.

    Where blocks fill the rows of many scores, keys are computed where they are looked at, and never written.
    """
    batch, classes, n = shape_of(scores)
    rows, width = batch * classes, max(_LEAST_BLOCK, 1 << ((n - 1).bit_length() + 1) // 2)
    flat = b.reshape(scores, [rows, n])
    fitting = [size for size in range(max(width // 2, _LEAST_BLOCK), 2 * width, _STEPS[1]) if n % size == 0]
    even = min(fitting, key=lambda size: (size % _STEPS[0] != 0, abs(size - width)), default=None)
    if even is not None and valid is None and rows * n >= MANY:
        heads = b.reduce("maximum", _candidates(b, b.reshape(flat, [rows, n // even, even]), threshold, None), [2])
        return even, lambda c, row, at: _candidates(c, _part(c, flat, [row, at], [1, even]), threshold, None), heads
    keys = b.reshape(_candidates(b, scores, threshold, valid), [rows, n])
    count = -(-n // width)
    if count * width > n:
        keys = b.concatenate([keys, b.broadcast_to(b.scalar(_GONE, i32), [rows, count * width - n])], 1)
    heads = b.reduce("maximum", b.reshape(keys, [rows, count, width]), [2])
    return width, lambda c, row, at: _part(c, keys, [row, at], [1, width]), heads


def _part(b: GraphBuilder, x: Value, at: Sequence[Value], sizes: Sequence[int]) -> Value:
    return b(hlo.DynamicSliceOp(x, at, slice_sizes=sizes))


def _first(b: GraphBuilder, x: Value, number: Value) -> Value:
    """The first place along the last axis of `x` [1, ..., n] that holds `number`."""
    shape = shape_of(x)
    last = len(shape) - 1
    places = b.select(b.compare(x, number, "EQ"), b.iota(shape, last, i32), b.scalar(shape[last] - 1, i32))
    return b.convert(b.reduce("minimum", places, list(range(last + 1))), i64)


def _columns(b: GraphBuilder, edges: Value) -> list[Value]:
    """Edges and areas [1, 5, n] as five of [n]."""
    n = shape_of(edges)[2]
    return [b.reshape(b.slice_axis(edges, 1, i, i + 1), [n]) for i in range(5)]


def _edges(b: GraphBuilder, boxes: Value, centred: bool) -> Value:
    """top, left, bottom, right and area of each box: [batch, 5, n]."""
    batch, n, _ = shape_of(boxes)
    parts = [b.reshape(b.slice_axis(boxes, 2, i, i + 1), [batch, 1, n]) for i in range(4)]
    if centred:
        x, y, width, height = parts
        half_width, half_height = b.multiply(width, 0.5), b.multiply(height, 0.5)
        edges = [
            b.subtract(y, half_height),
            b.subtract(x, half_width),
            b.add(y, half_height),
            b.add(x, half_width),
        ]
    else:
        y1, x1, y2, x2 = parts
        edges = [b.minimum(y1, y2), b.minimum(x1, x2), b.maximum(y1, y2), b.maximum(x1, x2)]
    area = b.multiply(b.subtract(edges[2], edges[0]), b.subtract(edges[3], edges[1]))
    return b.concatenate([*edges, area], 1)


def _overlap_more(b: GraphBuilder, one: Sequence[Value], others: Sequence[Value], limit: Value) -> Value:
    """Whether intersection over union is more than `limit`; where boxes do not meet, nothing or 0 / 0 is none more."""

    def smaller(x: Value, y: Value) -> Value:
        return b.select(b.compare(x, y, "LT"), x, y)  # an instruction, as what passes NaN on is not

    def larger(x: Value, y: Operand) -> Value:
        return b.select(b.compare(x, y, "GT"), x, y)

    height = larger(b.subtract(smaller(one[2], others[2]), larger(one[0], others[0])), 0.0)
    width = larger(b.subtract(smaller(one[3], others[3]), larger(one[1], others[1])), 0.0)
    common = b.multiply(height, width)
    return b.compare(b.divide(common, b.subtract(b.add(one[4], others[4]), common)), limit, "GT")
