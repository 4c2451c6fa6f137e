"""Meanings of the ops that only move elements. Results may be views of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import DenseResourceAttr

from ....compiler.diagnostics import LaminaError
from ....compiler.semantics import Call, Spec, plain, semantics
from ....compiler.weights import Array


@semantics("stablehlo.constant")
def constant(*, call: Call) -> Array:
    value = call.op.properties["value"]
    if isinstance(value, DenseResourceAttr):
        return call.weights.get(value.resource_handle.data)
    return plain(value)


def _sizes(shape: Sequence[Array], result: Spec, call: Call) -> tuple[int, ...]:
    """The shape that the last operand of a dynamic op holds, else that of the result type."""
    if not shape:
        assert result.shape is not None
        return result.shape
    sizes = tuple(int(size) for size in shape[0])
    return checked_sizes(sizes, result, call)


def checked_sizes(sizes: Sequence[int], result: Spec, call: Call) -> tuple[int, ...]:
    """Sizes that values say. Raises LaminaError for a negative one, and for others than the result's type has."""
    if any(size < 0 for size in sizes):
        raise LaminaError(f"a shape cannot be {list(sizes)}", where=call.op)
    assert result.shape is not None
    if any(told not in (-1, size) for told, size in zip(result.shape, sizes, strict=True)):
        raise LaminaError(f"a shape {list(sizes)} where the result has {list(result.shape)}", where=call.op)
    return tuple(sizes)


@semantics("stablehlo.iota", "stablehlo.dynamic_iota")
def iota(*shape: Array, iota_dimension: int, result: Spec, call: Call) -> Array:
    sizes = _sizes(shape, result, call)
    along = np.arange(sizes[iota_dimension]).astype(result.dtype)
    trailing = (1,) * (len(sizes) - iota_dimension - 1)
    return np.broadcast_to(along.reshape(-1, *trailing), sizes)


@semantics("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")
def broadcast_in_dim(x: Array, *shape: Array, broadcast_dimensions: Sequence[int], result: Spec, call: Call) -> Array:
    sizes = _sizes(shape, result, call)
    order = np.argsort(broadcast_dimensions)
    placed = [1] * len(sizes)
    for size, dim in zip(x.shape, broadcast_dimensions, strict=True):
        if size not in (1, sizes[dim]):
            raise LaminaError(f"a dimension of size {size} cannot be broadcast to {sizes[dim]}", where=call.op)
        placed[dim] = size
    return np.broadcast_to(x.transpose(order).reshape(placed), sizes)


@semantics("stablehlo.reshape", "stablehlo.dynamic_reshape")
def reshape(x: Array, *shape: Array, result: Spec, call: Call) -> Array:
    sizes = _sizes(shape, result, call)
    if prod(sizes) != x.size:
        raise LaminaError(f"{x.size} elements cannot have the shape {list(sizes)}", where=call.op)
    return x.reshape(sizes)


@semantics("stablehlo.broadcast")
def broadcast(x: Array, *, broadcast_sizes: Sequence[int]) -> Array:
    return np.broadcast_to(x, (*broadcast_sizes, *x.shape))


@semantics("stablehlo.real_dynamic_slice")
def real_dynamic_slice(x: Array, start: Array, limit: Array, strides: Array, *, result: Spec, call: Call) -> Array:
    ranges = [(int(a), int(b), int(c)) for a, b, c in zip(start, limit, strides, strict=True)]
    for (low, high, step), size in zip(ranges, x.shape, strict=True):
        if not 0 <= low <= high <= size or step <= 0:
            raise LaminaError(f"slice [{low}:{high}:{step}] of a dimension of size {size}", where=call.op)
    checked_sizes([len(range(*range_)) for range_ in ranges], result, call)
    return x[tuple(slice(*range_) for range_ in ranges)]


@semantics("stablehlo.set_dimension_size")
def set_dimension_size(x: Array, size: Array, *, dimension: int, call: Call) -> Array:
    if not 0 <= int(size) <= x.shape[dimension]:
        raise LaminaError(f"a dimension of size {x.shape[dimension]} cannot have {int(size)}", where=call.op)
    return x[(slice(None),) * dimension + (slice(int(size)),)]


@semantics("stablehlo.transpose")
def transpose(x: Array, *, permutation: Sequence[int]) -> Array:
    return x.transpose(permutation)


@semantics("stablehlo.reverse")
def reverse(x: Array, *, dimensions: Sequence[int]) -> Array:
    return np.flip(x, tuple(dimensions))


@semantics("stablehlo.concatenate")
def concatenate(*inputs: Array, dimension: int = 0) -> Array:
    return np.concatenate(inputs, dimension)


@semantics("stablehlo.slice")
def slice_(x: Array, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int]) -> Array:
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


def _window(x: Array, starts: Sequence[Array], sizes: Sequence[int]) -> tuple[slice, ...]:
    """The window of `sizes` at `starts`, moved inside `x` where it would stick out."""
    clamped = [max(0, min(int(s), dim - size)) for s, dim, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(s, s + size) for s, size in zip(clamped, sizes, strict=True))


@semantics("stablehlo.dynamic_slice")
def dynamic_slice(x: Array, *starts: Array, slice_sizes: Sequence[int]) -> Array:
    return x[_window(x, starts, slice_sizes)]


@semantics("stablehlo.dynamic_update_slice")
def dynamic_update_slice(x: Array, update: Array, *starts: Array) -> Array:
    result = x.copy()
    result[_window(x, starts, update.shape)] = update
    return result


def padded(
    x: Array, value: Array, low: Sequence[int], high: Sequence[int], interior: Sequence[int] | None = None
) -> Array:
    """`x` with `interior` elements between its elements and `low`/`high` around; negative edges crop."""
    interior = interior or [0] * x.ndim
    spread = [size + max(size - 1, 0) * gap for size, gap in zip(x.shape, interior, strict=True)]
    full = [max(lo, 0) + size + max(hi, 0) for lo, size, hi in zip(low, spread, high, strict=True)]
    result = np.full(full, value, x.dtype)
    places = zip(low, spread, interior, strict=True)
    result[tuple(slice(max(lo, 0), max(lo, 0) + size, gap + 1) for lo, size, gap in places)] = x
    edges = zip(low, full, high, strict=True)
    return result[tuple(slice(max(-lo, 0), max(size + min(hi, 0), 0)) for lo, size, hi in edges)]


@semantics("stablehlo.pad")
def pad(
    x: Array,
    value: Array,
    *,
    edge_padding_low: Sequence[int],
    edge_padding_high: Sequence[int],
    interior_padding: Sequence[int],
) -> Array:
    return padded(x, value, edge_padding_low, edge_padding_high, interior_padding)


@semantics("stablehlo.dynamic_pad")
def dynamic_pad(x: Array, value: Array, low: Array, high: Array, interior: Array, *, result: Spec, call: Call) -> Array:
    before, after, gaps = low.tolist(), high.tolist(), interior.tolist()
    if any(gap < 0 for gap in gaps):
        raise LaminaError(f"interior padding cannot be {gaps}", where=call.op)
    spread = [n + max(n - 1, 0) * gap for n, gap in zip(x.shape, gaps, strict=True)]
    checked_sizes([lo + n + hi for lo, n, hi in zip(before, spread, after, strict=True)], result, call)
    return padded(x, value, before, after, gaps)


@semantics("stablehlo.get_dimension_size")
def get_dimension_size(x: Array, *, dimension: int) -> Array:
    return np.array(x.shape[dimension], np.int32)
