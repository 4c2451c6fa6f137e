"""ONNX's operators that choose elements by index: gathers and scatters."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Region

from ....dialects import stablehlo as hlo
from ....dialects.stablehlo.attributes import ints
from .builder import GraphBuilder, Value, element_of, is_unsigned, rank_of, shape_of
from .regions import replace_region
from .table import lowers
from .taking import gather_along, take


def from_front(b: GraphBuilder, indices: Value, size: int) -> Value:
    """Indices in [-size, size) counted from the front."""
    if is_unsigned(indices):
        return indices
    return b.select(b.compare(indices, 0, "LT"), b.add(indices, size), indices)


@lowers("Gather")
def gather(b: GraphBuilder, x: Value, indices: Value, *, axis: int = 0) -> Value:
    own = shape_of(x)
    along = b.axis(axis, len(own))
    if own[along] == 0 and 0 not in shape_of(indices):
        raise b.fail(f"nothing to gather along axis {along} of shape {list(own)}")
    shape = [*own[:along], *shape_of(indices), *own[along + 1 :]]
    known = b.constant_value(indices)
    if known is not None and known.size:
        if known.min() < -own[along] or known.max() >= own[along]:
            raise b.fail(f"indices are out of range for axis {along} of shape {list(own)}")
        positions = known.reshape(-1).astype(np.int64) % own[along]
        if positions.size <= 8:  # a few known rows are slices, which fuse
            return b.reshape(take(b, x, positions, along), shape)
    return gather_along(b, x, from_front(b, indices, own[along]), along)


@lowers("GatherElements")
def gather_elements(b: GraphBuilder, x: Value, indices: Value, *, axis: int = 0) -> Value:
    own, shape, rank = shape_of(x), shape_of(indices), rank_of(x)
    along = b.axis(axis, rank)
    others = [d for d in range(rank) if d != along]
    if len(shape) != rank or any(shape[d] > own[d] for d in others):
        raise b.fail(f"indices of shape {list(shape)} for data of shape {list(own)}")
    limits = [own[d] if d == along else shape[d] for d in range(rank)]
    part = b.slice(x, [0] * rank, limits)
    return b(hlo.GatherOp.elements(part, from_front(b, indices, own[along]), along, rank))


def all_coordinates(b: GraphBuilder, x: Value, indices: Value, axis: int) -> Value:
    """For each index the coordinates of the element meant: its own place, but the index along `axis`."""
    shape = shape_of(indices)
    if len(shape) != rank_of(x):
        raise b.fail(f"indices of shape {list(shape)} for data of shape {list(shape_of(x))}")
    element = element_of(indices)
    parts = [
        from_front(b, indices, shape_of(x)[d]) if d == axis else b.iota(shape, d, element) for d in range(len(shape))
    ]
    return b.concatenate([b.expand_dims(part, [len(shape)]) for part in parts], len(shape))


@lowers("GatherND")
def gather_nd(b: GraphBuilder, x: Value, indices: Value, *, batch_dims: int = 0) -> Value:
    own = shape_of(x)
    places = _whole_coordinates(b, x, indices, batch_dims)
    depth, rank = shape_of(places)[-1], rank_of(places) - 1
    return b(
        hlo.GatherOp(
            x,
            places,
            offset_dims=list(range(rank, rank + len(own) - depth)),
            collapsed_slice_dims=list(range(depth)),
            start_index_map=list(range(depth)),
            index_vector_dim=rank,
            slice_sizes=[1] * depth + list(own[depth:]),
        )
    )


def _whole_coordinates(b: GraphBuilder, x: Value, indices: Value, batch_dims: int) -> Value:
    """Index vectors counted from the front, with the place in each batch dimension in front."""
    own, shape, element = shape_of(x), shape_of(indices), element_of(indices)
    if not 0 <= batch_dims < max(len(shape), 1) or shape[:batch_dims] != own[:batch_dims]:
        raise b.fail(f"'batch_dims' is {batch_dims}, of data of shape {list(own)} and indices of {list(shape)}")
    if not shape or shape[-1] + batch_dims > len(own):
        raise b.fail(f"index vectors of shape {list(shape)} are too long for data of shape {list(own)}")
    sizes = np.array(own[batch_dims : batch_dims + shape[-1]], dtype=np.int64)
    counted = b.convert(b.constant(sizes), element)
    places = b.select(b.compare(indices, 0, "LT"), b.add(indices, counted), indices)
    batches = [b.iota([*shape[:-1], 1], d, element) for d in range(batch_dims)]
    return b.concatenate([*batches, places], len(shape) - 1)


def column_of(b: GraphBuilder, indices: Value, axis: int) -> Value | None:
    """The indices [n] along an axis that all of `indices` are copies of, where they are seen to be."""
    spread, shape = indices.owner, shape_of(indices)
    if not isinstance(spread, hlo.BroadcastInDimOp):
        return None
    own, places = shape_of(spread.operand), ints(spread.broadcast_dimensions)
    if axis not in places or any(n != 1 for n, place in zip(own, places, strict=True) if place != axis):
        return None
    return b.reshape(spread.operand, [shape[axis]]) if own[places.index(axis)] == shape[axis] else None


@lowers("ScatterND")
def scatter_nd(b: GraphBuilder, x: Value, indices: Value, updates: Value, *, reduction: str = "none") -> Value:
    places = _whole_coordinates(b, x, indices, 0)
    depth, rank = shape_of(places)[-1], rank_of(places) - 1
    return b(
        hlo.ScatterOp(
            [x],
            places,
            [updates],
            update_computation=_update(b, reduction, element_of(x)),
            update_window_dims=list(range(rank, rank_of(updates))),
            inserted_window_dims=list(range(depth)),
            scatter_dims_to_operand_dims=list(range(depth)),
            index_vector_dim=rank,
        )
    )


@lowers("ScatterElements")
def scatter_elements(
    b: GraphBuilder, x: Value, indices: Value, updates: Value, *, axis: int = 0, reduction: str = "none"
) -> Value:
    rank = rank_of(x)
    along = b.axis(axis, rank)
    column = column_of(b, indices, along)
    others = [d for d in range(rank) if d != along]
    if column is not None and all(shape_of(updates)[d] == shape_of(x)[d] for d in others):
        return b(
            hlo.ScatterOp(
                [x],
                b.expand_dims(from_front(b, column, shape_of(x)[along]), [1]),
                [updates],
                update_computation=_update(b, reduction, element_of(x)),
                update_window_dims=others,
                inserted_window_dims=[along],
                scatter_dims_to_operand_dims=[along],
                index_vector_dim=1,
            )
        )
    return b(
        hlo.ScatterOp(
            [x],
            all_coordinates(b, x, indices, along),
            [updates],
            update_computation=_update(b, reduction, element_of(x)),
            inserted_window_dims=list(range(rank)),
            scatter_dims_to_operand_dims=list(range(rank)),
            index_vector_dim=rank,
        )
    )


@lowers("Scatter", since=9)
def scatter(b: GraphBuilder, x: Value, indices: Value, updates: Value, *, axis: int = 0) -> Value:
    return scatter_elements(b, x, indices, updates, axis=axis)


def _update(b: GraphBuilder, reduction: str, element: Attribute) -> str | Region:
    """The combiner of a scatter; "none" keeps the update."""
    kinds = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}
    if reduction in kinds:
        return kinds[reduction]
    if reduction != "none":
        raise b.fail(f"reduction '{reduction}' is none of none, add, mul, max, min")
    return replace_region(element)


def _along(b: GraphBuilder, x: Value, places: Value, batch: int, axis: int) -> Value:
    """`x` with other elements along `axis`: for each of the `batch` axis those at `places` [batch, m]."""
    shape = shape_of(x)
    if batch > axis:
        places = b.transpose(places, [1, 0])
    return b(
        hlo.GatherOp(
            x,
            places,
            offset_dims=[i for i in range(len(shape)) if i not in (batch, axis)],
            collapsed_slice_dims=[axis],
            operand_batching_dims=[batch],
            start_indices_batching_dims=[1 if batch > axis else 0],
            start_index_map=[axis],
            index_vector_dim=2,
            slice_sizes=[1 if i in (batch, axis) else n for i, n in enumerate(shape)],
        )
    )


@lowers("ReverseSequence", since=10)
def reverse_sequence(
    b: GraphBuilder, x: Value, sequence_lens: Value, *, batch_axis: int = 1, time_axis: int = 0
) -> Value:
    batch, time = b.axis(batch_axis, rank_of(x)), b.axis(time_axis, rank_of(x))
    steps = b.iota([1, shape_of(x)[time]], 1, i64)
    lengths = b.expand_dims(sequence_lens, [1])
    places = b.select(b.compare(steps, lengths, "LT"), b.subtract(b.subtract(lengths, 1), steps), steps)
    return _along(b, x, places, batch, time)


@lowers("TensorScatter", since=24)
def tensor_scatter(
    b: GraphBuilder,
    past: Value,
    update: Value,
    write_indices: Value | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
) -> Value:
    """Each place of the cache asks which element of the update is written there, if any is."""
    along = b.axis(axis, rank_of(past))
    size, length = shape_of(past)[along], shape_of(update)[along]
    if along == 0 or mode not in ("linear", "circular"):
        raise b.fail(f"TensorScatter along axis {axis} in mode '{mode}'")
    batch = shape_of(past)[0]
    start = b.constant(np.zeros(batch, np.int64)) if write_indices is None else write_indices
    which = b.subtract(b.iota([1, size], 1, i64), b.expand_dims(start, [1]))
    if mode == "circular":
        which = b(hlo.RemainderOp(*b.broadcast(which, size)))
        which = b.select(b.compare(which, 0, "LT"), b.add(which, size), which)
    written = b.logical_and(b.compare(which, 0, "GE"), b.compare(which, length, "LT"))
    new = _along(b, update, b.minimum(b.maximum(which, 0), length - 1), 0, along)
    shape = [n if i in (0, along) else 1 for i, n in enumerate(shape_of(past))]
    return b.select(b.reshape(written, shape), new, past)
