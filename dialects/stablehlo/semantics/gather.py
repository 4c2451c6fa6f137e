"""`gather` and `scatter` in full generality: index arithmetic on whole arrays, then one NumPy access."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.semantics import Call, Region, Spec, semantics
from ....compiler.weights import Array
from .regions import single_op
from .shape import checked_sizes


def _index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """`indices` as [batch..., vector]; a missing vector dimension has one element."""
    if index_vector_dim == indices.ndim:
        indices = indices[..., None]
    return np.moveaxis(indices, index_vector_dim, -1).astype(np.int64)


def _positions(
    rank: int,
    window_dims: Sequence[int],
    window_sizes: Sequence[int],
    vectors: Array,
    index_map: Sequence[int],
    skipped: Sequence[int],
    batching: Sequence[tuple[int, int]],
) -> list[Array]:
    """For each dimension of the operand, the index of every element, shaped to broadcast to `rank` dims.

    `window_dims` are the dimensions of the result (or updates) that run over the window; the others, in
    order, are the batch dimensions of `vectors`. `skipped` operand dimensions have no window dimension.
    """
    batch_dims = [d for d in range(rank) if d not in window_dims]
    windowed = iter(sorted(window_dims))

    def over_batch(values: Array) -> Array:
        shape = [1] * rank
        for dim, size in zip(batch_dims, values.shape, strict=True):
            shape[dim] = size
        return values.reshape(shape)

    positions: list[Array] = []
    for dim, size in enumerate(window_sizes):
        position = np.zeros((1,) * rank, np.int64)
        if dim in index_map:
            position = position + over_batch(vectors[..., list(index_map).index(dim)])
        for operand_dim, batch_dim in batching:
            if operand_dim == dim:
                shape = [1] * len(batch_dims)
                shape[batch_dim] = -1
                count = vectors.shape[batch_dim]
                position = position + over_batch(np.broadcast_to(np.arange(count).reshape(shape), vectors.shape[:-1]))
        if dim not in skipped:
            axis = next(windowed)
            position = position + np.arange(size).reshape([-1 if d == axis else 1 for d in range(rank)])
        positions.append(position)
    return positions


def _batching(operand_dims: Sequence[int], index_dims: Sequence[int], vector_dim: int) -> list[tuple[int, int]]:
    """Pairs (operand dim, batch dim of the index vectors): the vector dimension is not counted."""
    pairs = zip(operand_dims, index_dims, strict=True)
    return [(operand_dim, dim - (dim > vector_dim)) for operand_dim, dim in pairs]


@semantics("stablehlo.gather", "stablehlo.dynamic_gather")
def gather(
    operand: Array,
    start_indices: Array,
    *dynamic_sizes: Array,
    dimension_numbers: Any,
    slice_sizes: Sequence[int] = (),
    result: Spec,
    call: Call,
) -> Array:
    """Window starts are clamped so that every window lies inside the operand."""
    d = dimension_numbers
    sizes = [int(size) for size in dynamic_sizes[0]] if dynamic_sizes else list(slice_sizes)
    if not all(0 <= size <= n for size, n in zip(sizes, operand.shape, strict=True)):
        raise LaminaError(f"slices of {sizes} from {list(operand.shape)}", where=call.op)
    vectors = _index_vectors(start_indices, d.index_vector_dim)
    limits = [operand.shape[dim] - sizes[dim] for dim in d.start_index_map]
    vectors = np.clip(vectors, 0, np.array(limits, np.int64))
    skipped = [*d.collapsed_slice_dims, *d.operand_batching_dims]
    batching = _batching(d.operand_batching_dims, d.start_indices_batching_dims, d.index_vector_dim)
    windowed = iter(size for dim, size in enumerate(sizes) if dim not in skipped)
    batch = iter(vectors.shape[:-1])
    rank = len(d.offset_dims) + vectors.ndim - 1
    shape = [next(windowed) if dim in d.offset_dims else next(batch) for dim in range(rank)]
    checked_sizes(shape, result, call)
    positions = _positions(rank, d.offset_dims, sizes, vectors, d.start_index_map, skipped, batching)
    if prod(shape) == 0:
        return np.zeros(shape, operand.dtype)
    return np.broadcast_to(operand[tuple(positions)], shape)


@semantics("stablehlo.torch_index_select")
def torch_index_select(operand: Array, index: Array, *, dim: int, batch_dims: int = 0) -> Array:
    if batch_dims == 0:
        return np.take(operand, np.clip(index, 0, operand.shape[dim] - 1), dim)
    rows = zip(operand, index, strict=True)
    return np.stack([torch_index_select(x, i, dim=dim - 1, batch_dims=batch_dims - 1) for x, i in rows])


def combine_at(targets: list[Array], flat: Array, updates: list[Array], body: Region, call: Call, at: int) -> None:
    """`targets[flat] = body(targets[flat], updates)` for each element in order; indices may repeat.

    Elements with one index are combined in the order given: the k-th of each index in the k-th round.
    """
    kind = single_op(call.op.regions[at])
    if kind == "stablehlo.add" and targets[0].dtype.kind in "iufc" and len(targets) == 1:
        np.add.at(targets[0], flat, updates[0])
        return
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    first = np.searchsorted(ordered, ordered, "left")
    rounds = np.arange(len(ordered)) - first
    for k in range(int(rounds.max()) + 1 if len(rounds) else 0):
        chosen = order[rounds == k]
        places = flat[chosen]
        values = body.lifted(*(t[places] for t in targets), *(u[chosen] for u in updates))
        for target, value in zip(targets, values, strict=True):
            target[places] = value


@semantics("stablehlo.scatter")
def scatter(*args: Array, scatter_dimension_numbers: Any, regions: list[Region], call: Call) -> list[Array]:
    """Update elements whose place is outside the input are dropped."""
    d = scatter_dimension_numbers
    count = len(args) // 2
    inputs, indices, updates = args[:count], args[count], args[count + 1 :]
    shape, rank = inputs[0].shape, updates[0].ndim
    skipped = [*d.inserted_window_dims, *d.input_batching_dims]
    window = iter(sorted(d.update_window_dims))
    sizes = [1 if dim in skipped else updates[0].shape[next(window)] for dim in range(len(shape))]
    vectors = _index_vectors(indices, d.index_vector_dim)
    batching = _batching(d.input_batching_dims, d.scatter_indices_batching_dims, d.index_vector_dim)
    positions = _positions(
        rank, d.update_window_dims, sizes, vectors, d.scatter_dims_to_operand_dims, skipped, batching
    )
    inside, flat = np.ones((1,) * rank, bool), np.zeros((1,) * rank, np.int64)
    for position, size in zip(positions, shape, strict=True):
        inside = inside & (position >= 0) & (position < size)
        flat = flat * size + position
    inside = np.broadcast_to(inside, updates[0].shape).reshape(-1)
    flat = np.broadcast_to(flat, updates[0].shape).reshape(-1)[inside]
    targets = [x.reshape(-1).copy() for x in inputs]
    combine_at(targets, flat, [u.reshape(-1)[inside] for u in updates], regions[0], call, 0)
    return [target.reshape(shape) for target in targets]
