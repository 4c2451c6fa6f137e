"""The k largest of many numbers: only those are put in order that can be among them.

Numbers of at most 32 bits become integers whose order is the one that is asked for, above their places, in 64 bits: so
no two are equal. Of blocks of them, the `k` with the first ones hold all that is looked for: these blocks are found in
the same way, by the first one of each, and only what is in them is put in order, by counting for each how many come
before it. Nothing depends on data but subscripts and selections. So it is done on GPUs, and for a few of short rows;
processors have `stablehlo-sort-by-digits`, which takes a half to a third of the time for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerType, TensorType, i64

from ...compiler.dtypes import dense_attribute, dtype_of
from ...dialects import stablehlo as hlo
from .elements import Elements, choose

_BLOCK = 8  # numbers of which the first one stands for all
_SPREAD = 2  # blocks for each of the `k` at least
_COUNTED = 512  # numbers up to which each is compared with all others; more are sorted by merging
_BITS = 32  # of a place
_MOST = 2**63 - 1


def is_served(x: Elements, k: int) -> bool:
    """Whether there is something to find, of a type whose order integers of 32 bits have."""
    kind = x.element_type
    narrow = isinstance(kind, IntegerType) and kind.width.data <= _BITS
    return bool(k and prod(x.shape)) and (narrow or isinstance(kind, Float32Type | Float16Type | BFloat16Type))


def top_k(x: Elements, k: int) -> tuple[Elements, Elements]:
    """The `k` largest along the last dimension, the largest first, of equals the first, and where they are, in i64.

    NaN is larger than all if it has no sign, -0 smaller than 0.
    """
    *outer, n = x.shape
    rows = x.reshape(prod(outer), n)
    packed = (~_keys(rows) << _BITS) | _iota(rows, rows.shape, 1)
    places = _places(_first(packed, k, ()), ())
    return _at(rows, places).reshape(*outer, k), places.reshape(*outer, k)


def _keys(x: Elements) -> Elements:
    """Integers of at most 32 bits, in i64, in the order of the elements."""
    kind = x.element_type
    if not isinstance(kind, IntegerType):
        bits = 8 * dtype_of(kind).itemsize
        plain = x.of(hlo.BitcastConvertOp(x.value, IntegerType(bits))).convert(i64)
        return choose(plain < 0, plain ^ (2 ** (bits - 1) - 1), plain)
    keys = x.convert(i64)
    return keys - 2 ** (_BITS - 1) if dtype_of(kind).kind == "u" else keys


def _first(x: Elements, k: int, sizes: Sequence[int]) -> Elements:
    """The `k` lowest of each row, in order; `sizes`: by what places were divided so far, and what is left counts."""
    rows, n = x.shape
    side = min(_BLOCK, n // (_SPREAD * k))
    if side < 2 or n <= _BLOCK * _BLOCK:
        return _in_order(x, k)
    blocks = -(-n // side)
    none, missing = _scalar(x, _MOST), [0, side * blocks - n]
    padded = x.of(hlo.PadOp(x.value, none.value, edge_padding_low=[0, 0], edge_padding_high=missing))
    view = padded.reshape(rows, side, blocks)  # a block is a column
    now = (*sizes, blocks)
    chosen = _places(_first(_reduced(view, "minimum", none, 1), k, now), now)
    return _in_order(_columns(view, chosen).reshape(rows, side * k), k)


def _places(x: Elements, sizes: Sequence[int]) -> Elements:
    """Where numbers came from, and in which column of which column that is."""
    places = x & (2**_BITS - 1)
    for size in sizes:
        places = places.of(hlo.RemainderOp(places.value, places.like(size).value))
    return places


def _in_order(x: Elements, k: int) -> Elements:
    """The `k` lowest of each row, in order, all of them different."""
    if x.shape[1] > _COUNTED:
        region, block = hlo.single_block([TensorType(i64, [])] * 2)
        compare = hlo.CompareOp(block.args[0], block.args[1], comparison_direction="LT")
        block.add_ops([compare, hlo.ReturnOp([compare.result])])
        return x.of(hlo.SortOp([x.value], region, dimension=1)).part(1, 0, k)
    return counted(x, k)


def counted(x: Elements, k: int | None = None) -> Elements:
    """The `k` lowest of each row, or all, in order: for each of them is counted how many come before it."""
    rows, n = x.shape
    k = n if k is None else k
    square = (rows, n, n)
    before = (x.broadcast(square, (0, 1)) < x.broadcast(square, (0, 2))).convert(i64)
    zero = _scalar(x, 0)
    number = _reduced(before, "add", zero, 1)  # how many come before each
    wide = (rows, k, n)
    here = number.broadcast(wide, (0, 2)).equals(_iota(x, wide, 1))
    each = x.broadcast(wide, (0, 2))
    return _reduced(choose(here, each, 0), "add", zero, 2)


def _scalar(x: Elements, number: int) -> Elements:
    """A number in i64, without dimensions."""
    return x.of(hlo.ConstantOp(dense_attribute(np.array(number, np.int64))))


def _reduced(x: Elements, kind: str, start: Elements, dimension: int) -> Elements:
    return x.of(hlo.ReduceOp([x.value], [start.value], dimensions=[dimension], body=kind))


def _iota(x: Elements, shape: Sequence[int], dimension: int) -> Elements:
    return x.of(hlo.IotaOp(TensorType(i64, list(shape)), dimension))


def _at(x: Elements, places: Elements) -> Elements:
    """From each row of a matrix what lies at its places."""
    return _gathered(x, (_iota(places, places.shape, 0), places))


def _columns(x: Elements, places: Elements) -> Elements:
    """From each matrix its columns at some places."""
    rows, side, _ = x.shape
    shape = (rows, side, places.shape[1])
    return _gathered(x, (_iota(places, shape, 0), _iota(places, shape, 1), places.broadcast(shape, (0, 2))))


def _gathered(x: Elements, coordinates: Sequence[Elements]) -> Elements:
    rank = len(coordinates)
    parts = [each.reshape(*each.shape, 1).value for each in coordinates]
    start = x.insert(hlo.ConcatenateOp(parts, dimension=rank)).results[0]
    dimensions = list(range(rank))
    return x.of(
        hlo.GatherOp(
            x.value,
            start,
            collapsed_slice_dims=dimensions,
            start_index_map=dimensions,
            index_vector_dim=rank,
            slice_sizes=[1] * rank,
        )
    )
