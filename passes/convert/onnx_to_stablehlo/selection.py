"""ONNX's operators whose result is as large as the data say: the largest there can be, and how much of it counts."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import i64

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, is_bool, is_float, rank_of, shape_of
from .elementwise import cumulative
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
def places(b: GraphBuilder, x: Value) -> Value:
    if x not in b.places:
        b.places[x] = non_zero(b, x)
    return b.places[x]


def non_zero(b: GraphBuilder, x: Value) -> Value:
    """The places of what is not zero, a column for each."""
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
        equal = b.logical_or(equal, b.logical_and(*alone))
        less = b.logical_or(less, b.logical_and(b.compare(left, left, "EQ"), alone[1]))
    columns = b.iota([1, 1, m], 2, i64)
    decides = b.reduce("minimum", b.select(equal, b.scalar(m, i64), columns), [2], keepdims=True)
    before = b.reduce("or", b.logical_and(less, b.compare(columns, decides, "EQ")), [2])  # [i, j]: row i before row j
    same = b.compare(b.reshape(decides, [n, n]), m, "EQ")
    earlier = b.compare(b.iota([n, 1], 0, i64), b.iota([1, n], 1, i64), "LT")
    first = b(hlo.NotOp(b.reduce("or", b.logical_and(same, earlier), [0])))
    leads = b.convert(b.logical_and(before, b.expand_dims(first, [1])), i64)
    return b.reduce("add", leads, [0]), first
