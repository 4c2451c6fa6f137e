"""ATen's sorting and choosing of the largest."""

from __future__ import annotations

from xdsl.dialects.builtin import i64

from ....dialects import stablehlo as hlo
from ..onnx_to_stablehlo.regions import compare_region
from ..onnx_to_stablehlo.sorting import top
from .builder import AtenBuilder, Value, element_of, rank_of, shape_of
from .table import lowers


@lowers("sort")
def sort(b: AtenBuilder, x: Value, dim: int = -1, descending: bool = False) -> list[Value]:
    """Values in order and where they came from; equal ones stay in order."""
    if not rank_of(x):
        return [x, b.zeros([], i64)]
    axis = b.axis(dim, rank_of(x))
    places = b.iota(shape_of(x), axis, i64)
    comparator = compare_region([element_of(x), i64], "GT" if descending else "LT")
    return b.all(hlo.SortOp([x, places], comparator, dimension=axis, is_stable=True))


@lowers("sort.stable")
def sort_stable(
    b: AtenBuilder, x: Value, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> list[Value]:
    return sort(b, x, dim, descending)


@lowers("argsort")
def argsort(b: AtenBuilder, x: Value, dim: int = -1, descending: bool = False) -> Value:
    return sort(b, x, dim, descending)[1]


@lowers("argsort.stable")
def argsort_stable(b: AtenBuilder, x: Value, *, stable: bool, dim: int = -1, descending: bool = False) -> Value:
    return sort(b, x, dim, descending)[1]


@lowers("topk")
def topk(b: AtenBuilder, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> list[Value]:
    if not rank_of(x):
        return [x, b.zeros([], i64)]
    return top(b, x, k, dim, largest)
