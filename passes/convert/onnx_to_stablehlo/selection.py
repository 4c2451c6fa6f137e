"""ONNX's operators whose result is as large as the data say: the largest there can be, and how much of it counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i64

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, is_bool, is_float, rank_of, shape_of
from .elementwise import cumulative
from .loops import while_loop
from .regions import compare_region, replace_region
from .table import lowers

_MOST_COMPARISONS = 1 << 28  # of elements, when rows are compared with each other


def _put(b: GraphBuilder, into: Value, places: Value, values: Value, how: str = "set") -> Value:
    """`into` [n, ...] with rows of `values` [m, ...] at `places` [m]; places outside are left out."""
    return b(
        hlo.ScatterOp(
            [into],
            b.expand_dims(places, [1]),
            [values],
            update_computation=replace_region(element_of(into)) if how == "set" else how,
            update_window_dims=list(range(1, rank_of(values))),
            inserted_window_dims=[0],
            scatter_dims_to_operand_dims=[0],
            index_vector_dim=1,
        )
    )


def _rows(b: GraphBuilder, x: Value, places: Value, axis: int = 0) -> Value:
    """The slices of `x` along `axis` at `places` [m]."""
    shape = shape_of(x)
    return b(
        hlo.GatherOp(
            x,
            places,
            offset_dims=[i for i in range(len(shape)) if i != axis],
            collapsed_slice_dims=[axis],
            start_index_map=[axis],
            index_vector_dim=1,
            slice_sizes=[1 if i == axis else n for i, n in enumerate(shape)],
        )
    )


def _filled(b: GraphBuilder, number: int, n: int) -> Value:
    return b.broadcast_to(b.scalar(number, i64), [n])


def _ranks(b: GraphBuilder, mask: Value) -> tuple[Value, Value]:
    """For each true element of `mask` [n] how many are before it, n for the others; and how many there are."""
    n = shape_of(mask)[0]
    ones = b.convert(mask, i64)
    before = b.subtract(cumulative(b, ones, 0, "add"), 1)
    return b.select(mask, before, b.scalar(n, i64)), b.reduce("add", ones, [0])


def _chosen(b: GraphBuilder, mask: Value) -> tuple[Value, Value]:
    """The places of the true elements of `mask` [n] in order, then zeros; and how many there are."""
    n = shape_of(mask)[0]
    places, count = _ranks(b, mask)
    return _put(b, _filled(b, 0, n), places, b.iota([n], 0, i64)), count


@lowers("NonZero")
def non_zero(b: GraphBuilder, x: Value) -> Value:
    shape = shape_of(x)
    total = math.prod(shape)
    if not total or not shape:
        if not total:
            return b.constant(np.zeros((len(shape), 0), np.int64))
        shape = ()
    mask = b.reshape(x if is_bool(x) else b.compare(x, 0, "NE"), [total])
    places, count = _chosen(b, mask)
    columns: list[Value] = []
    for axis, size in enumerate(shape):
        inner = math.prod(shape[axis + 1 :])
        column = b.divide(places, inner) if inner > 1 else places
        columns.append(b.expand_dims(b(hlo.RemainderOp(*b.broadcast(column, size))) if axis else column, [0]))
    if not columns:
        return b.constant(np.zeros((0, 1), np.int64))
    return b.bounded(b.concatenate(columns, 0), 1, count)


@lowers("Compress")
def compress(b: GraphBuilder, x: Value, condition: Value, *, axis: int | None = None) -> Value:
    if rank_of(condition) != 1:
        raise b.fail(f"condition of Compress must have one dimension, got {list(shape_of(condition))}")
    if axis is None:
        x, axis = b.reshape(x, [math.prod(shape_of(x))]), 0
    along = b.axis(axis, rank_of(x))
    n = min(shape_of(condition)[0], shape_of(x)[along])
    places, count = _chosen(b, b.slice_axis(condition, 0, 0, n))
    return b.bounded(_rows(b, x, places, along), along, count)


@lowers("Unique")
def unique(b: GraphBuilder, x: Value, *, axis: int | None = None, sorted: int = 1) -> list[Value]:
    if axis is None:
        flat = b.reshape(x, [math.prod(shape_of(x))])
        along, group, first = 0, *_groups_of_numbers(b, flat)
        x = flat
    else:
        along = b.axis(axis, rank_of(x))
        group, first = _groups_of_rows(b, x, along)
    n = shape_of(group)[0]
    if n == 0:
        raise b.fail("Unique of nothing is not supported")
    # group: [n], which group each row is in, in ascending order of rows; first: [n], whether it is the group's first
    counts = _put(b, _filled(b, 0, n), group, _filled(b, 1, n), "add")
    rows = b.iota([n], 0, i64)
    number = b.reduce("add", b.convert(first, i64), [0])
    if not sorted:  # groups in the order in which they turn up
        order, _ = _ranks(b, first)
        place = _put(b, _filled(b, 0, n), b.select(first, group, b.scalar(n, i64)), order)
        counts = _put(b, _filled(b, 0, n), b.select(b.compare(rows, number, "LT"), place, b.scalar(n, i64)), counts)
        group = _rows(b, place, group)
    heads = _put(b, _filled(b, 0, n), b.select(first, group, b.scalar(n, i64)), rows)
    values = _rows(b, x, heads, along)
    return [
        b.bounded(values, along, number),
        b.bounded(heads, 0, number),
        group,
        b.bounded(counts, 0, number),
    ]


def _groups_of_numbers(b: GraphBuilder, x: Value) -> tuple[Value, Value]:
    """By sorting: equal numbers are neighbours then. NaN are equal, and the largest."""
    n = shape_of(x)[0]
    if n == 0:
        return _filled(b, 0, 0), b.constant(np.zeros(0, np.bool_))
    rows = b.iota([n], 0, i64)
    values, places = b.all(
        hlo.SortOp([x, rows], compare_region([element_of(x), i64], "LT"), dimension=0, is_stable=True)
    )
    before, after = b.slice_axis(values, 0, 0, n - 1), b.slice_axis(values, 0, 1, n)
    differs = b.compare(before, after, "NE")
    if is_float(x):
        both = b.logical_and(b.compare(before, before, "NE"), b.compare(after, after, "NE"))
        differs = b.logical_and(differs, b(hlo.NotOp(both)))
    starts = b.concatenate([b.constant(np.ones(1, np.bool_)), differs], 0)
    number = b.subtract(cumulative(b, b.convert(starts, i64), 0, "add"), 1)
    group = _put(b, _filled(b, 0, n), places, number)
    first = _put(b, b.constant(np.zeros(n, np.bool_)), places, starts)
    return group, first


def _groups_of_rows(b: GraphBuilder, x: Value, axis: int) -> tuple[Value, Value]:
    """By comparing all slices along `axis` with each other: the first element that differs decides."""
    shape = shape_of(x)
    n = shape[axis]
    m = math.prod(shape) // n if n else 0
    if n * n * m > _MOST_COMPARISONS:
        raise b.fail(f"Unique of {n} slices of {m} elements is too large")
    rows = b.reshape(b.transpose(x, [axis, *(i for i in range(len(shape)) if i != axis)]), [n, m])
    left, right = b.reshape(rows, [n, 1, m]), b.reshape(rows, [1, n, m])
    less, equal = b.compare(left, right, "LT"), b.compare(left, right, "EQ")
    if is_float(x):
        alone = [b.compare(side, side, "NE") for side in (left, right)]
        equal = b.binary(hlo.OrOp, equal, b.logical_and(*alone))
        less = b.binary(hlo.OrOp, less, b.logical_and(b.compare(left, left, "EQ"), alone[1]))
    columns = b.iota([1, 1, m], 2, i64)
    decides = b.reduce("minimum", b.select(equal, b.scalar(m, i64), columns), [2], keepdims=True)
    before = b.reduce("or", b.logical_and(less, b.compare(columns, decides, "EQ")), [2])  # [i, j]: row i before row j
    same = b.compare(b.reshape(decides, [n, n]), m, "EQ")
    earlier = b.compare(b.iota([n, 1], 0, i64), b.iota([1, n], 1, i64), "LT")
    first = b(hlo.NotOp(b.reduce("or", b.logical_and(same, earlier), [0])))
    leads = b.convert(b.logical_and(before, b.expand_dims(first, [1])), i64)
    return b.reduce("add", leads, [0]), first


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
    """Step by step the best box left of every class is taken, and those that overlap it too much are dropped."""
    if rank_of(scores) != 3 or shape_of(boxes) != (shape_of(scores)[0], shape_of(scores)[2], 4):
        raise b.fail(
            f"NonMaxSuppression takes boxes [batches, n, 4] and scores [batches, classes, n], "
            f"got {list(shape_of(boxes))} and {list(shape_of(scores))}"
        )
    batch, classes, n = shape_of(scores)
    most = n
    if max_output_boxes_per_class is None or batch * classes * n == 0:
        return b.constant(np.zeros((0, 3), np.int64))
    known = b.constant_value(max_output_boxes_per_class)
    if known is not None:
        most = min(max(int(known.reshape(-1)[0]), 0), n)
    if most == 0:
        return b.constant(np.zeros((0, 3), np.int64))
    edges = _edges(b, boxes, bool(center_point_box))
    wanted = b.minimum(b.reshape(max_output_boxes_per_class, []), most)
    overlap = b.scalar(0.0, f32) if iou_threshold is None else b.reshape(iou_threshold, [])
    alive = b.constant(np.ones((batch, classes, n), np.bool_), name="alive")
    if score_threshold is not None:
        alive = b.compare(scores, b.reshape(score_threshold, []), "GT")
    picked = b.broadcast_to(b.scalar(-1, i64), [batch, classes, most])

    def goes_on(c: GraphBuilder, state: Sequence[Value]) -> Value:
        step, alive, _ = state
        return c.logical_and(c.compare(step, wanted, "LT"), c.reduce("or", alive, [0, 1, 2]))

    def step(c: GraphBuilder, state: Sequence[Value]) -> list[Value]:
        count, alive, picked = state
        places = c.iota([1, 1, n], 2, i64)
        left = c.select(alive, scores, c.scalar(-math.inf, f32))
        top = c.reduce("maximum", left, [2], keepdims=True)
        best = c.logical_and(alive, c.compare(left, top, "GE"))
        place = c.reduce("minimum", c.select(best, places, c.scalar(n, i64)), [2], keepdims=True)
        found = c.compare(place, n, "LT")
        it = c.compare(places, place, "EQ")
        mine = [c.reduce("add", c.select(it, edge, c.scalar(0.0, f32)), [2], keepdims=True) for edge in edges]
        dropped = c.binary(hlo.OrOp, it, c.compare(_overlap(c, mine, edges), overlap, "GT"))
        slot = c.compare(c.iota([1, 1, most], 2, i64), count, "EQ")
        taken = c.logical_and(slot, found)
        return [
            c.add(count, 1),
            c.logical_and(alive, c(hlo.NotOp(dropped))),
            c.select(taken, place, picked),
        ]

    _, _, picked = while_loop(b, [b.scalar(0, i64), alive, picked], goes_on, step)
    total = batch * classes * most
    flat = b.reshape(picked, [total])
    places, count = _chosen(b, b.compare(flat, 0, "GE"))
    batches = b.divide(places, classes * most)
    numbers = b(hlo.RemainderOp(*b.broadcast(b.divide(places, most), classes)))
    columns = [b.expand_dims(column, [1]) for column in (batches, numbers, _rows(b, flat, places))]
    return b.bounded(b.concatenate(columns, 1), 0, count)


def _edges(b: GraphBuilder, boxes: Value, centred: bool) -> list[Value]:
    """top, left, bottom, right of each box, each [batch, 1, n]."""
    batch, n, _ = shape_of(boxes)
    parts = [b.reshape(b.slice_axis(boxes, 2, i, i + 1), [batch, 1, n]) for i in range(4)]
    if centred:
        x, y, width, height = parts
        half_width, half_height = b.multiply(width, 0.5), b.multiply(height, 0.5)
        return [
            b.subtract(y, half_height),
            b.subtract(x, half_width),
            b.add(y, half_height),
            b.add(x, half_width),
        ]
    y1, x1, y2, x2 = parts
    return [b.minimum(y1, y2), b.minimum(x1, x2), b.maximum(y1, y2), b.maximum(x1, x2)]


def _overlap(b: GraphBuilder, one: Sequence[Value], others: Sequence[Value]) -> Value:
    """Intersection over union; below any threshold where boxes do not meet."""

    def area(top: Value, left: Value, bottom: Value, right: Value) -> Value:
        return b.multiply(b.subtract(bottom, top), b.subtract(right, left))

    height = b.subtract(b.minimum(one[2], others[2]), b.maximum(one[0], others[0]))
    width = b.subtract(b.minimum(one[3], others[3]), b.maximum(one[1], others[1]))
    common = b.multiply(height, width)
    first, second = area(*one), area(*others)
    union = b.subtract(b.add(first, second), common)
    meets = b.logical_and(b.compare(height, 0.0, "GT"), b.compare(width, 0.0, "GT"))
    for size in (common, first, second, union):
        meets = b.logical_and(meets, b.compare(size, 0.0, "GT"))
    return b.select(meets, b.divide(common, union), -math.inf)
