"""ONNX's TopK: a few are found one after the other, many by sorting."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i32, i64

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .limits import extreme
from .regions import best_of_pairs, compare_region, is_first
from .table import lowers

_FEW = 8


@lowers("TopK", since=11)
def top_k(b: GraphBuilder, x: Value, k: Value, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> list[Value]:
    return top(b, x, int(b.number(k, "k of TopK")), axis, bool(largest))


@lowers("TopK", since=10)
def top_k_10(b: GraphBuilder, x: Value, k: Value, *, axis: int = -1) -> list[Value]:
    return top(b, x, int(b.number(k, "k of TopK")), axis, True)


@lowers("TopK", since=1)
def top_k_1(b: GraphBuilder, x: Value, *, k: int, axis: int = -1) -> list[Value]:
    return top(b, x, k, axis, True)


def top(b: GraphBuilder, x: Value, k: int, axis: int, largest: bool) -> list[Value]:
    along = b.axis(axis, rank_of(x))
    shape = shape_of(x)
    if not 0 <= k <= shape[along]:
        raise b.fail(f"k is {k}, axis {along} has {shape[along]} elements")
    if 0 < k <= _FEW and _FEW * k <= shape[along]:
        return _best(b, x, k, along, largest)
    places = b.iota(shape, along, i64)
    comparator = compare_region([element_of(x), i64], "GT" if largest else "LT")
    ordered = b.all(hlo.SortOp([x, places], comparator, dimension=along, is_stable=True))
    return [b.slice_axis(value, along, 0, k) for value in ordered]


def _best(b: GraphBuilder, x: Value, k: int, along: int, largest: bool) -> list[Value]:
    """One reduction per place: the best of all that come after the one found before."""
    shape, element = shape_of(x), element_of(x)
    direction = "GT" if largest else "LT"
    lowest = math.nan if is_float(x) and not largest else extreme(element, largest=not largest)
    start, outside = b.scalar(lowest, element), b.scalar(2**31 - 1, i32)
    column = [1 if i == along else n for i, n in enumerate(shape)]
    places = b.iota(shape, along, i32)
    values, indices = x, places
    found: list[tuple[Value, Value]] = []
    for _ in range(k):
        body = best_of_pairs(element, i32, direction, nan_first=largest)
        best = b.all(hlo.ReduceOp([values, indices], [start, outside], dimensions=[along], body=body))
        value, index = (b.reshape(v, column) for v in best)
        found.append((value, index))
        before = (b.broadcast_to(value, shape), b.broadcast_to(index, shape))
        after = is_first(b, before, (x, places), direction, nan_first=largest)
        values, indices = b.select(after, x, start), b.select(after, places, outside)
    return [b.concatenate([v for v, _ in found], along), b.convert(b.concatenate([i for _, i in found], along), i64)]
