"""ONNX's TopK by sorting."""

from __future__ import annotations

from xdsl.dialects.builtin import i64

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .regions import compare_region
from .table import lowers


@lowers("TopK", since=11)
def top_k(b: GraphBuilder, x: Value, k: Value, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> list[Value]:
    return _top(b, x, int(b.number(k, "k of TopK")), axis, bool(largest))


@lowers("TopK", since=10)
def top_k_10(b: GraphBuilder, x: Value, k: Value, *, axis: int = -1) -> list[Value]:
    return _top(b, x, int(b.number(k, "k of TopK")), axis, True)


@lowers("TopK", since=1)
def top_k_1(b: GraphBuilder, x: Value, *, k: int, axis: int = -1) -> list[Value]:
    return _top(b, x, k, axis, True)


def _top(b: GraphBuilder, x: Value, k: int, axis: int, largest: bool) -> list[Value]:
    along = b.axis(axis, rank_of(x))
    shape = shape_of(x)
    if not 0 <= k <= shape[along]:
        raise b.fail(f"k is {k}, axis {along} has {shape[along]} elements")
    places = b.iota(shape, along, i64)
    comparator = compare_region([element_of(x), i64], "GT" if largest else "LT")
    ordered = b.all(hlo.SortOp([x, places], comparator, dimension=along, is_stable=True))
    return [b.slice_axis(value, along, 0, k) for value in ordered]
