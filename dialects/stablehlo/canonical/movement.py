"""Simplest forms of ops that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from .. import (
    BroadcastInDimOp,
    ConcatenateOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    GatherOp,
    GetDimensionSizeOp,
    IotaOp,
    PadOp,
    ReshapeOp,
    ReverseOp,
    SliceOp,
    TransposeOp,
)
from ..attributes import ints
from .rules import Builder, Replacement, defining, is_identity, shape_of, simplifies


@simplifies(TransposeOp)
def transpose(op: TransposeOp, b: Builder) -> Replacement:
    permutation, shape = ints(op.permutation), shape_of(op.result)
    if is_identity(permutation):
        return op.operand
    if moves_only_units(shape_of(op.operand), permutation):
        return b.reshape(op.operand, shape)
    if inner := defining(op.operand, TransposeOp):
        first = ints(inner.permutation)
        return b.transpose(inner.operand, [first[p] for p in permutation])
    if inner := defining(op.operand, BroadcastInDimOp):
        dims = [permutation.index(d) for d in ints(inner.broadcast_dimensions)]
        return b.broadcast(inner.operand, shape, dims)
    if inner := defining(op.operand, IotaOp):
        return b.value(IotaOp(op.result.type, permutation.index(inner.iota_dimension.value.data)))
    return None


def moves_only_units(shape: Sequence[int], permutation: Sequence[int]) -> bool:
    """Whether a transpose keeps the order of all dimensions larger than 1: then it is a reshape."""
    kept = [p for p in permutation if shape[p] != 1]
    return kept == sorted(kept) or 0 in shape


@simplifies(ReshapeOp)
def reshape(op: ReshapeOp, b: Builder) -> Replacement:
    shape = shape_of(op.result)
    if shape_of(op.operand) == shape:
        return op.operand
    if inner := defining(op.operand, ReshapeOp):
        return b.reshape(inner.operand, shape)
    inner = defining(op.operand, BroadcastInDimOp)
    if inner and prod(shape_of(inner.operand)) == 1:
        return b.broadcast(b.reshape(inner.operand, ()), shape, ())
    return _unit_dims_of_broadcast(inner, shape, b) if inner else None


def _unit_dims_of_broadcast(inner: BroadcastInDimOp, shape: Sequence[int], b: Builder) -> Replacement:
    """A reshape that only adds or drops dimensions of size 1 goes into the broadcast before it."""
    old = shape_of(inner.result)
    if [n for n in old if n != 1] != [n for n in shape if n != 1] or 0 in shape:
        return None
    places = iter([i for i, n in enumerate(shape) if n != 1])
    moved = {d: next(places) for d, n in enumerate(old) if n != 1}
    pairs = [
        (n, moved[d])
        for n, d in zip(shape_of(inner.operand), ints(inner.broadcast_dimensions), strict=True)
        if d in moved
    ]
    return b.broadcast(b.reshape(inner.operand, [n for n, _ in pairs]), shape, [d for _, d in pairs])


@simplifies(BroadcastInDimOp)
def broadcast(op: BroadcastInDimOp, b: Builder) -> Replacement:
    shape, dims = shape_of(op.result), ints(op.broadcast_dimensions)
    source = shape_of(op.operand)
    if source == shape and is_identity(dims):
        return op.operand
    if inner := defining(op.operand, BroadcastInDimOp):
        return b.broadcast(inner.operand, shape, [dims[d] for d in ints(inner.broadcast_dimensions)])
    if inner := defining(op.operand, TransposeOp):
        permutation = ints(inner.permutation)
        return b.broadcast(inner.operand, shape, [dims[permutation.index(d)] for d in range(len(dims))])
    if prod(source) == prod(shape) and list(dims) == sorted(dims):
        return b.reshape(op.operand, shape)
    if 1 in source:  # only dimensions that hold something are named
        pairs = [(n, d) for n, d in zip(source, dims, strict=True) if n != 1]
        return b.broadcast(b.reshape(op.operand, [n for n, _ in pairs]), shape, [d for _, d in pairs])
    return None


@simplifies(SliceOp)
def slice_(op: SliceOp, b: Builder) -> Replacement:
    start, limit, step = ints(op.start_indices), ints(op.limit_indices), ints(op.strides)
    shape = shape_of(op.result)
    if shape == shape_of(op.operand):
        return op.operand
    if inner := defining(op.operand, SliceOp):
        first, stride = ints(inner.start_indices), ints(inner.strides)
        starts = [f + s * t for f, s, t in zip(first, start, stride, strict=True)]
        steps = [s * t for s, t in zip(step, stride, strict=True)]
        limits = [s + (n - 1) * t + 1 if n else s for s, n, t in zip(starts, shape, steps, strict=True)]
        return b.slice(inner.operand, starts, limits, steps)
    if inner := defining(op.operand, BroadcastInDimOp):
        sizes = dict(zip(ints(inner.broadcast_dimensions), shape_of(inner.operand), strict=True))
        if all(n == shape[d] or (n == 1 and shape[d]) for d, n in sizes.items()):
            return b.broadcast(inner.operand, shape, list(sizes))
    if inner := defining(op.operand, ConcatenateOp):
        dim, offset = inner.dimension.value.data, 0
        for part in inner.inputs:
            size = shape_of(part)[dim]
            if offset <= start[dim] and limit[dim] <= offset + size:
                starts = [s - offset * (d == dim) for d, s in enumerate(start)]
                return b.slice(part, starts, [n - offset * (d == dim) for d, n in enumerate(limit)], step)
            offset += size
    return None


@simplifies(PadOp)
def pad(op: PadOp, b: Builder) -> Replacement:
    low, high, gap = ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding)
    if not any((*low, *high, *gap)):
        return op.operand
    inner = defining(op.operand, PadOp)
    if not inner or inner.padding_value is not op.padding_value or any(gap):
        return None
    edges = [ints(e) for e in (inner.edge_padding_low, inner.edge_padding_high)]
    if min((*low, *high, *edges[0], *edges[1]), default=0) < 0:
        return None
    return b.value(
        PadOp(
            inner.operand,
            op.padding_value,
            edge_padding_low=[x + y for x, y in zip(low, edges[0], strict=True)],
            edge_padding_high=[x + y for x, y in zip(high, edges[1], strict=True)],
            interior_padding=ints(inner.interior_padding),
        )
    )


@simplifies(ConcatenateOp)
def concatenate(op: ConcatenateOp, b: Builder) -> Replacement:
    """Without empty inputs, and without a concatenation inside one along the same dimension."""
    dim = op.dimension.value.data
    parts: list[SSAValue] = []
    for part in op.inputs:
        inner = defining(part, ConcatenateOp)
        if inner and inner.dimension.value.data == dim:
            parts += inner.inputs
        elif shape_of(part)[dim]:
            parts.append(part)
    if len(parts) == 1:
        return parts[0]
    if len(parts) == len(op.inputs) or not parts:
        return None
    return b.value(ConcatenateOp(parts, dimension=dim))


@simplifies(ReverseOp)
def reverse(op: ReverseOp, b: Builder) -> Replacement:
    shape, dims = shape_of(op.operand), ints(op.dimensions)
    if all(shape[d] <= 1 for d in dims):
        return op.operand
    inner = defining(op.operand, ReverseOp)
    if inner is None:
        return None
    rest = sorted(set(dims) ^ set(ints(inner.dimensions)))
    return b.value(ReverseOp(inner.operand, dimensions=rest)) if rest else inner.operand


@simplifies(GetDimensionSizeOp)
def dimension_size(op: GetDimensionSizeOp, b: Builder) -> Replacement:
    size = shape_of(op.operand)[op.dimension.value.data]
    return b.constant(np.array(size, np.int32)) if 0 <= size < 1 << 31 else None  # not known yet, or no i32


def _known_starts(
    b: Builder, values: Sequence[SSAValue], shape: Sequence[int], sizes: Sequence[int]
) -> list[int] | None:
    """Constant start indices, moved so that the window lies inside."""
    known = [b.splat_of(value) for value in values]
    if any(start is None for start in known):
        return None
    return [min(max(int(s), 0), n - size) for s, n, size in zip(known, shape, sizes, strict=True)]


@simplifies(DynamicSliceOp)
def dynamic_slice_at_constant(op: DynamicSliceOp, b: Builder) -> Replacement:
    sizes = ints(op.slice_sizes)
    starts = _known_starts(b, op.start_indices, shape_of(op.operand), sizes)
    if starts is None:
        return None
    return b.slice(op.operand, starts, [s + n for s, n in zip(starts, sizes, strict=True)], [1] * len(starts))


@simplifies(DynamicUpdateSliceOp)
def update_of_everything(op: DynamicUpdateSliceOp, b: Builder) -> Replacement:
    if shape_of(op.update) == shape_of(op.operand):
        return op.update
    return op.operand if 0 in shape_of(op.update) else None


@simplifies(GatherOp)
def gather_one_window(op: GatherOp, b: Builder) -> Replacement:
    """One window at a constant place is a slice."""
    indices = b.constant_of(op.start_indices)
    d, sizes, shape = op.dimension_numbers.data, ints(op.slice_sizes), shape_of(op.operand)
    if indices is None or indices.size != len(d.start_index_map) or d.operand_batching_dims:
        return None
    starts = [0] * len(shape)
    for dim, start in zip(d.start_index_map, indices.reshape(-1).tolist(), strict=True):
        starts[dim] = min(max(int(start), 0), shape[dim] - sizes[dim])
    window = b.slice(op.operand, starts, [s + n for s, n in zip(starts, sizes, strict=True)], [1] * len(shape))
    return b.reshape(window, shape_of(op.result))
