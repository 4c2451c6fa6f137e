"""ONNX's TopK: that of the hub, of numbers whose order is the one asked for.

Numbers of at most 32 bits become integers that are in the order of ONNX, where NaN is larger than all and both zeros
are equal, or in the opposite one. Of wider numbers a few are found one after the other, more by sorting all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from xdsl.dialects.builtin import f32, i32, i64

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo.chlo_structured import TopKOp
from ....dialects.stablehlo.composites import MOST_PLACES, TOP_K
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .composite import composite
from .indexing import gather_elements
from .limits import extreme
from .regions import best_of_pairs, compare_region, is_first
from .table import lowers

_FEW = 8  # that are found one after the other, where numbers are wide, or others lie beside each
_BESIDE = 8
_TOGETHER = 16  # up to which a target may find all in one pass


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
    narrow = dtype_of(element_of(x)).itemsize <= 4
    beside = math.prod(shape[along + 1 :])
    together = 1 < k <= _TOGETHER and shape[along] <= MOST_PLACES and beside >= _BESIDE
    if narrow and together and math.prod(shape) and b.constant_value(x) is None:
        said = {"k": k, "axis": along, "largest": int(largest)}
        return composite(b, TOP_K, [x], said, _one_by_one)
    return _top(b, x, k, along, largest)


def _one_by_one(b: GraphBuilder, said: Mapping[str, int], x: Value) -> list[Value]:
    """What TOP_K means."""
    return _top(b, x, said["k"], said["axis"], bool(said["largest"]))


def _top(b: GraphBuilder, x: Value, k: int, along: int, largest: bool) -> list[Value]:
    shape = shape_of(x)
    narrow = dtype_of(element_of(x)).itemsize <= 4
    few = 0 < k <= _FEW and _FEW * k <= shape[along]
    if k == 1 or (few and (not narrow or math.prod(shape[along + 1 :]) >= _BESIDE)):
        return _best(b, x, k, along, largest)
    if narrow and k and math.prod(shape):
        return _by_keys(b, x, k, along, largest)
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


def _by_keys(b: GraphBuilder, x: Value, k: int, along: int, largest: bool) -> list[Value]:
    """The first `k` along an axis, and their places."""
    shape = shape_of(x)
    order = [*(i for i in range(len(shape)) if i != along), along]
    inverse = sorted(range(len(shape)), key=order.__getitem__)
    _, places = b.all(TopKOp(b.transpose(keys_of(b, x, largest), order), k))
    where = b.convert(b.transpose(places, inverse), i64)
    return [gather_elements(b, x, where, axis=along), where]


def keys_of(b: GraphBuilder, x: Value, largest: bool) -> Value:
    """Integers of at most 32 bits, the first one the largest; NaN is above all numbers."""
    if is_float(x):
        wide = b.convert(x, f32)
        zero = b.scalar(0.0, f32)
        bits = b(hlo.BitcastConvertOp(b.select(b.compare(wide, zero, "EQ"), zero, wide), i32))
        sign = b.binary(hlo.ShiftRightArithmeticOp, bits, b.scalar(31, i32))
        ordered = b.binary(hlo.XorOp, bits, b.binary(hlo.AndOp, sign, b.scalar(2**31 - 1, i32)))
        keys = b.select(b.compare(wide, wide, "EQ"), ordered, b.scalar(2**31 - 1, i32))
    else:
        keys = x
    return keys if largest else b.unary(hlo.NotOp, keys)
