"""ATen's operators that make tensors from nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute

from ....compiler.dtypes import dtype_of
from .builder import AtenBuilder, Number, Operand, Value, element_of, element_of_number, rank_of, shape_of
from .table import lowers

_LARGEST_CONSTANT = 4096  # longer counts are computed


@lowers("full")
def full(b: AtenBuilder, size: Sequence[int], fill_value: Number, *, dtype: Attribute | None = None) -> Value:
    return b.broadcast_to(b.typed(fill_value, dtype or element_of_number(fill_value)), size)


@lowers("empty.memory_format", "zeros")
def zeros(b: AtenBuilder, size: Sequence[int], *, dtype: Attribute | None = None) -> Value:
    return full(b, size, 0, dtype=dtype or f32)


@lowers("ones")
def ones(b: AtenBuilder, size: Sequence[int], *, dtype: Attribute | None = None) -> Value:
    return full(b, size, 1, dtype=dtype or f32)


@lowers("empty_strided")
def empty_strided(
    b: AtenBuilder, size: Sequence[int], stride: Sequence[int], *, dtype: Attribute | None = None
) -> Value:
    return zeros(b, size, dtype=dtype)


@lowers("empty_permuted")
def empty_permuted(
    b: AtenBuilder, size: Sequence[int], physical_layout: Sequence[int], *, dtype: Attribute | None = None
) -> Value:
    return zeros(b, size, dtype=dtype)


@lowers("full_like")
def full_like(b: AtenBuilder, x: Value, fill_value: Number, *, dtype: Attribute | None = None) -> Value:
    return b.broadcast_to(b.typed(fill_value, dtype or element_of(x)), shape_of(x))


@lowers("zeros_like", "empty_like")
def zeros_like(b: AtenBuilder, x: Value, *, dtype: Attribute | None = None) -> Value:
    return full_like(b, x, 0, dtype=dtype)


@lowers("ones_like")
def ones_like(b: AtenBuilder, x: Value, *, dtype: Attribute | None = None) -> Value:
    return full_like(b, x, 1, dtype=dtype)


@lowers("new_full")
def new_full(
    b: AtenBuilder, x: Value, size: Sequence[int], fill_value: Number, *, dtype: Attribute | None = None
) -> Value:
    return full(b, size, fill_value, dtype=dtype or element_of(x))


@lowers("new_zeros", "new_empty")
def new_zeros(b: AtenBuilder, x: Value, size: Sequence[int], *, dtype: Attribute | None = None) -> Value:
    return full(b, size, 0, dtype=dtype or element_of(x))


@lowers("new_ones")
def new_ones(b: AtenBuilder, x: Value, size: Sequence[int], *, dtype: Attribute | None = None) -> Value:
    return full(b, size, 1, dtype=dtype or element_of(x))


@lowers("new_empty_strided")
def new_empty_strided(
    b: AtenBuilder, x: Value, size: Sequence[int], stride: Sequence[int], *, dtype: Attribute | None = None
) -> Value:
    return full(b, size, 0, dtype=dtype or element_of(x))


@lowers("fill.Scalar", "fill.Tensor")
def fill(b: AtenBuilder, x: Value, value: Operand) -> Value:
    return b.broadcast_to(b.typed(value, element_of(x)), shape_of(x))


@lowers("scalar_tensor")
def scalar_tensor(b: AtenBuilder, s: Number, *, dtype: Attribute | None = None) -> Value:
    return b.typed(s, dtype or f32)


@lowers("arange.start_step")
def arange_step(
    b: AtenBuilder, start: Number, end: Number, step: Number = 1, *, dtype: Attribute | None = None
) -> Value:
    whole = all(isinstance(n, int) for n in (start, end, step))
    element = dtype or (i64 if whole else f32)
    count = max(math.ceil((end - start) / step), 0)
    if count <= _LARGEST_CONSTANT or not whole:
        return b.constant((start + np.arange(count) * step).astype(dtype_of(element)))
    places = b.iota([count], 0, i64)
    if step != 1:
        places = b.multiply(places, int(step))
    return b.convert(b.add(places, int(start)) if start else places, element)


@lowers("arange")
def arange(b: AtenBuilder, end: Number, *, dtype: Attribute | None = None) -> Value:
    return arange_step(b, 0, end, 1, dtype=dtype)


@lowers("arange.start")
def arange_start(b: AtenBuilder, start: Number, end: Number, *, dtype: Attribute | None = None) -> Value:
    return arange_step(b, start, end, 1, dtype=dtype)


@lowers("prims.iota")
def iota(b: AtenBuilder, length: int, *, start: int, step: int, dtype: Attribute) -> Value:
    return arange_step(b, start, start + length * step, step, dtype=dtype)


@lowers("linspace")
def linspace(b: AtenBuilder, start: Number, end: Number, steps: int, *, dtype: Attribute | None = None) -> Value:
    return b.constant(np.linspace(start, end, steps).astype(dtype_of(dtype or f32)))


@lowers("eye", "eye.m")
def eye(b: AtenBuilder, n: int, m: int | None = None, *, dtype: Attribute | None = None) -> Value:
    return b.constant(np.eye(n, m, dtype=dtype_of(dtype or f32)))


@lowers("tril_indices")
def tril_indices(b: AtenBuilder, row: int, col: int, offset: int = 0, *, dtype: Attribute | None = None) -> Value:
    return b.constant(np.stack(np.tril_indices(row, offset, col)).astype(dtype_of(dtype or i64)))


@lowers("triu_indices")
def triu_indices(b: AtenBuilder, row: int, col: int, offset: int = 0, *, dtype: Attribute | None = None) -> Value:
    return b.constant(np.stack(np.triu_indices(row, offset, col)).astype(dtype_of(dtype or i64)))


@lowers("tril")
def tril(b: AtenBuilder, x: Value, diagonal: int = 0) -> Value:
    return _triangle(b, x, diagonal, "LE")


@lowers("triu")
def triu(b: AtenBuilder, x: Value, diagonal: int = 0) -> Value:
    return _triangle(b, x, diagonal, "GE")


def _triangle(b: AtenBuilder, x: Value, diagonal: int, direction: str) -> Value:
    rank, shape = rank_of(x), shape_of(x)
    row, column = (b.iota(shape[-2:], axis, i64) for axis in (0, 1))
    kept = b.compare(column, b.add(row, diagonal) if diagonal else row, direction)
    return b.select(b.broadcast_to(kept, shape) if rank > 2 else kept, x, b.scalar(0, element_of(x)))
