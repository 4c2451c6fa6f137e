"""Elements at places along an axis: slices where the places are known and run on, else a gather."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, rank_of, shape_of

_MOST_SLICES = 16  # of one `take`: each is an op, and a loop of its own in the end


def take(b: GraphBuilder, x: Value, positions: Array, axis: int) -> Value:
    """The elements at known `positions` along `axis`: few runs of neighbours become slices, which fuse."""
    runs: list[tuple[int, int, int]] = []
    for run in _runs(positions):
        runs.append(run)
        if len(runs) > _MOST_SLICES:
            return gather_along(b, x, b.constant(positions.astype(np.int64)), axis)
    return b.concatenate([_run(b, x, axis, *run) for run in runs], axis)


def gather_along(b: GraphBuilder, x: Value, places: Value, axis: int) -> Value:
    """The elements at `places` along `axis`, which becomes the axes of `places`."""
    own, rank = shape_of(x), rank_of(places)
    return b(
        hlo.GatherOp(
            x,
            places,
            offset_dims=[i for i in range(len(own) - 1 + rank) if not axis <= i < axis + rank],
            collapsed_slice_dims=[axis],
            start_index_map=[axis],
            index_vector_dim=rank,
            slice_sizes=[1 if i == axis else n for i, n in enumerate(own)],
        )
    )


def windows(b: GraphBuilder, x: Value, axis: int, length: int, step: int) -> Value:
    """Windows of `length` along `axis`, every `step`: `[..., windows, length, ...]`."""
    own = shape_of(x)
    starts = range(0, own[axis] - length + 1, step)
    if length == step:
        whole = b.slice_axis(x, axis, 0, len(starts) * step)
        return b.reshape(whole, [*own[:axis], len(starts), length, *own[axis + 1 :]])
    if len(starts) <= _MOST_SLICES:
        return b.concatenate([b.expand_dims(b.slice_axis(x, axis, i, i + length), [axis]) for i in starts], axis)
    return b(
        hlo.GatherOp(
            x,
            b.constant(np.array(starts, np.int64)[:, None]),
            offset_dims=[i for i in range(len(own) + 1) if i != axis],
            start_index_map=[axis],
            index_vector_dim=1,
            slice_sizes=[length if i == axis else n for i, n in enumerate(own)],
        )
    )


def repeat(b: GraphBuilder, x: Value, counts: Mapping[int, int]) -> Value:
    """Each element so many times in a row, along each of the axes: one copy for all of them."""
    if not counts:
        return x
    wide, shape = x, list(shape_of(x))
    for axis in sorted(counts, reverse=True):
        wide = b.expand_dims(wide, [axis + 1])
        shape.insert(axis + 1, counts[axis])
    repeated = b.broadcast_to(wide, shape)
    return b.reshape(repeated, [n * counts.get(axis, 1) for axis, n in enumerate(shape_of(x))])


def _runs(positions: Array) -> Iterator[tuple[int, int, int]]:
    """First place, step and length of each run of places that are as far from each other."""
    if not len(positions):
        yield 0, 1, 0
    start, count = 0, len(positions)
    while start < count:
        end, step = start + 1, 1
        if end < count:
            change = int(positions[end] - positions[start])
            if abs(change) <= 1 or (end + 1 < count and positions[end + 1] - positions[end] == change):
                step = change
        while end < count and positions[end] - positions[end - 1] == step:
            end += 1
        yield int(positions[start]), step, end - start
        start = end


def _run(b: GraphBuilder, x: Value, axis: int, first: int, step: int, count: int) -> Value:
    if step == 0:
        one = b.slice_axis(x, axis, first, first + 1)
        return b.broadcast_to(one, [count if i == axis else n for i, n in enumerate(shape_of(x))])
    if step < 0:
        return b(hlo.ReverseOp(_run(b, x, axis, first + step * (count - 1), -step, count), dimensions=[axis]))
    shape = shape_of(x)
    starts, limits, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], steps[axis] = first, first + step * (count - 1) + 1 if count else first, step
    return b.slice(x, starts, limits, steps)
