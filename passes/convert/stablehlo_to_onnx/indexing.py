"""Slices at computed places, gather and scatter: one index for each element, into the flat tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64

from ....compiler.semantics import plain
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo import combiner_of
from .builder import NodeBuilder, Value, element_of, shape_of, size_of
from .table import writes


def _clamped(b: NodeBuilder, starts: Value, limits: Value) -> Value:
    """`starts` moved to 0 .. limits, both ends included."""
    return b.like("Min", b.like("Max", starts, b.number(0, i64)), limits)


def _vector(b: NodeBuilder, starts: Sequence[Value]) -> Value:
    """Scalars as one list of i64."""
    parts = [b.reshape(b.cast(start, i64), [1]) for start in starts]
    return b("Concat", *parts, shape=[len(parts)], element=i64, axis=0)


@writes(hlo.DynamicSliceOp)
def dynamic_slice(b: NodeBuilder, op: hlo.DynamicSliceOp, x: Value, *starts: Value) -> Value:
    sizes, own = list(plain(op.properties["slice_sizes"])), shape_of(x)
    if not own:
        return x
    begin = _clamped(b, _vector(b, starts), b.ints([n - size for n, size in zip(own, sizes, strict=True)]))
    end = b.like("Add", begin, b.ints(sizes))
    return b("Slice", x, begin, end, b.ints(range(len(own))), shape=sizes, element=element_of(x))


@writes(hlo.DynamicUpdateSliceOp)
def dynamic_update_slice(
    b: NodeBuilder, op: hlo.DynamicUpdateSliceOp, x: Value, update: Value, *starts: Value
) -> Value:
    own, sizes = shape_of(x), shape_of(update)
    if not own:
        return update
    begin = _clamped(b, _vector(b, starts), b.ints([n - size for n, size in zip(own, sizes, strict=True)]))
    strides = _strides(own)
    first = b("ReduceSum", b.like("Mul", begin, b.ints(strides)), shape=[], element=i64, keepdims=0)
    grid = sum(
        n * np.arange(size).reshape(_along(len(own), d, size))
        for d, (n, size) in enumerate(zip(strides, sizes, strict=True))
    )
    inside = b.constant(np.asarray(grid, np.int64).reshape(-1))
    places = b.like("Add", inside, first)
    flat = b.like("ScatterElements", b.reshape(x, [size_of(x)]), places, b.reshape(update, [size_of(update)]), axis=0)
    return b.reshape(flat, own)


@writes(hlo.GatherOp)
def gather(b: NodeBuilder, op: hlo.GatherOp, x: Value, starts: Value) -> Value:
    d, sizes = plain(op.properties["dimension_numbers"]), list(plain(op.properties["slice_sizes"]))
    own, result = shape_of(x), op.results[0]
    shape, element = shape_of(result), element_of(result)
    limits = [own[dim] - sizes[dim] for dim in d.start_index_map]
    vectors = _clamped(b, _index_vectors(b, starts, d.index_vector_dim), b.ints(limits))
    axis = d.start_index_map[0] if len(d.start_index_map) == 1 else -1
    whole = all(size == own[dim] for dim, size in enumerate(sizes) if dim != axis)
    if axis >= 0 and tuple(d.collapsed_slice_dims) == (axis,) and whole and not d.operand_batching_dims:
        batch = list(shape_of(vectors)[:-1])
        rows = [*own[:axis], *batch, *own[axis + 1 :]]
        y = b("Gather", x, b.reshape(vectors, batch), shape=rows, element=element, axis=axis)
        at_batch = iter(range(axis, axis + len(batch)))
        at_slices = iter([n for n in range(len(rows)) if not axis <= n < axis + len(batch)])
        return b.transpose(y, [next(at_slices if n in d.offset_dims else at_batch) for n in range(len(shape))])
    if prod(shape) == 0:
        return b.reshape(b.slice(b.reshape(x, [size_of(x)]), [0], [0], [1]), shape)
    skipped = [*d.collapsed_slice_dims, *d.operand_batching_dims]
    batching = dict(
        zip(d.operand_batching_dims, _without(d.start_indices_batching_dims, d.index_vector_dim), strict=True)
    )
    positions = _positions(b, len(shape), d.offset_dims, sizes, vectors, d.start_index_map, skipped, batching)
    flat = b.expand(_flat(b, positions, own), shape)
    return b("Gather", b.reshape(x, [size_of(x)]), flat, shape=shape, element=element, axis=0)


_REDUCTIONS = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


@writes(hlo.ScatterOp)
def scatter(b: NodeBuilder, op: hlo.ScatterOp, *xs: Value) -> Value:
    """Places outside are sent to one element behind the others, which is cut off again."""
    if len(xs) != 3:
        raise b.fail("a scatter of several tensors at once")
    x, starts, updates = xs
    reduction = _reduction(b, op)
    d = plain(op.properties["scatter_dimension_numbers"])
    own, shape = shape_of(x), shape_of(updates)
    if size_of(updates) == 0:
        return x
    skipped = [*d.inserted_window_dims, *d.input_batching_dims]
    window = iter(sorted(d.update_window_dims))
    sizes = [1 if dim in skipped else shape[next(window)] for dim in range(len(own))]
    vectors = _index_vectors(b, starts, d.index_vector_dim)
    batching = dict(
        zip(d.input_batching_dims, _without(d.scatter_indices_batching_dims, d.index_vector_dim), strict=True)
    )
    positions = _positions(
        b, len(shape), d.update_window_dims, sizes, vectors, d.scatter_dims_to_operand_dims, skipped, batching
    )
    flat = b.expand(_flat(b, positions, own), shape)
    inside = None
    for position, size in zip(positions, own, strict=True):
        spot = shape_of(position)
        low = b.test("GreaterOrEqual", position, b.number(0, i64), shape=spot)
        fits = b.test("And", low, b.test("Less", position, b.number(size, i64), shape=spot), shape=spot)
        inside = fits if inside is None else b.test("And", inside, fits, shape=_joined(shape_of(inside), spot))
    if inside is not None:
        flat = b("Where", inside, flat, b.number(size_of(x), i64), shape=shape, element=i64)
    count = size_of(x)
    longer = b.pad(b.reshape(x, [count]), b.number(0, element_of(x)), [0], [1], [0])
    places, values = b.reshape(flat, [prod(shape)]), b.reshape(updates, [prod(shape)])
    result = b.like("ScatterElements", longer, places, values, axis=0, reduction=reduction)
    return b.reshape(b.slice(result, [0], [count], [1]), own)


def _reduction(b: NodeBuilder, op: hlo.ScatterOp) -> str:
    block = op.regions[0].block
    end = block.last_op
    assert end is not None
    if end is block.first_op and len(block.args) == 2 and end.operands[0] is block.args[1]:
        return "none"
    kind = combiner_of(op.regions[0])
    if kind not in _REDUCTIONS:
        raise b.fail("a scatter that combines by other than add, multiply, maximum, minimum")
    return _REDUCTIONS[kind]


def _strides(shape: Sequence[int]) -> list[int]:
    return [prod(shape[d + 1 :]) for d in range(len(shape))]


def _along(rank: int, axis: int, size: int) -> list[int]:
    return [size if d == axis else 1 for d in range(rank)]


def _joined(x: Sequence[int], y: Sequence[int]) -> tuple[int, ...]:
    return np.broadcast_shapes(tuple(x), tuple(y))


def _without(dims: Sequence[int], vector_dim: int) -> list[int]:
    """Dimensions of the index tensor, the vector dimension not counted."""
    return [dim - (dim > vector_dim) for dim in dims]


def _index_vectors(b: NodeBuilder, starts: Value, vector_dim: int) -> Value:
    """The indices as [batch..., vector] of i64; a missing vector dimension has one element."""
    starts, shape = b.cast(starts, i64), shape_of(starts)
    if vector_dim == len(shape):
        return b.reshape(starts, [*shape, 1])
    return b.transpose(starts, [*(d for d in range(len(shape)) if d != vector_dim), vector_dim])


def _positions(
    b: NodeBuilder,
    rank: int,
    window_dims: Sequence[int],
    sizes: Sequence[int],
    vectors: Value,
    index_map: Sequence[int],
    skipped: Sequence[int],
    batching: dict[int, int],
) -> list[Value]:
    """For each dimension of the operand, the index of every element, shaped to broadcast to `rank` dimensions."""
    batch_dims = [d for d in range(rank) if d not in window_dims]
    batch = list(shape_of(vectors)[:-1])
    over_batch = [1] * rank
    for dim, size in zip(batch_dims, batch, strict=True):
        over_batch[dim] = size
    windowed = iter(sorted(window_dims))
    positions: list[Value] = []
    for dim, size in enumerate(sizes):
        counted = np.zeros([1] * rank, np.int64)
        if dim in batching:
            axis = batch_dims[batching[dim]]
            counted = counted + np.arange(batch[batching[dim]]).reshape(_along(rank, axis, -1))
        if dim not in skipped:
            counted = counted + np.arange(size).reshape(_along(rank, next(windowed), -1))
        position = b.constant(counted)
        if dim in index_map:
            column = list(index_map).index(dim)
            ends = [*batch, column + 1]
            picked = b.slice(vectors, [0] * len(batch) + [column], ends, [1] * (len(batch) + 1))
            picked = b.reshape(picked, over_batch)
            position = b("Add", picked, position, shape=_joined(over_batch, counted.shape), element=i64)
        positions.append(position)
    return positions


def _flat(b: NodeBuilder, positions: Sequence[Value], shape: Sequence[int]) -> Value:
    """The index into the flat tensor of the element at `positions`."""
    total = b.constant(np.zeros([1] * len(shape_of(positions[0])), np.int64)) if positions else b.number(0, i64)
    for position, stride in zip(positions, _strides(shape), strict=True):
        scaled = b.like("Mul", position, b.number(stride, i64))
        total = b("Add", total, scaled, shape=_joined(shape_of(total), shape_of(scaled)), element=i64)
    return total
