"""Elements at places along an axis: slices where the places are known and run on, else a gather."""

from __future__ import annotations

from collections.abc import Iterator

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


def _runs(positions: Array) -> Iterator[tuple[int, int, int]]:
    """First place, step (1, 0 or -1) and length of each run of places."""
    if not len(positions):
        yield 0, 1, 0
    start, step = 0, 1
    for i in range(1, len(positions) + 1):
        change = int(positions[i] - positions[i - 1]) if i < len(positions) else None
        if i == start + 1 and change in (0, -1):
            step = change
        elif change != step:
            yield int(positions[start]), step, i - start
            start, step = i, 1


def _run(b: GraphBuilder, x: Value, axis: int, first: int, step: int, count: int) -> Value:
    if step == 1:
        return b.slice_axis(x, axis, first, first + count)
    if step == 0:
        one = b.slice_axis(x, axis, first, first + 1)
        return b.broadcast_to(one, [count if i == axis else n for i, n in enumerate(shape_of(x))])
    return b(hlo.ReverseOp(b.slice_axis(x, axis, first - count + 1, first + 1), dimensions=[axis]))
