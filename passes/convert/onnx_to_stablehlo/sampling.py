"""ONNX's operators that read tensors at computed places between the elements: grids, regions, deformed windows.

All are one gather: the taps around every place get dimensions of their own, are weighted, and are summed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import Float64Type, f32, i32
from xdsl.ir import Attribute

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .table import lowers

_CUBIC = -0.75  # Keys' coefficient, as PyTorch has it
_METHODS = {"bilinear": "linear", "linear": "linear", "nearest": "nearest", "bicubic": "cubic", "cubic": "cubic"}


@dataclass(frozen=True)
class Taps:
    """The elements that count for places along one axis: `positions` and `weights` end in a dimension of taps."""

    positions: Value
    weights: Value


def points(b: GraphBuilder, x: Value, places: Sequence[Value]) -> Value:
    """`x` [N, C, *S] at integer places inside, one value [N, *O] per axis of S: [N, *O, C].

    Channels are last: all of them are at the same places, so that vectors of them are read as they lie.
    """
    rank, count = rank_of(places[0]), len(places)
    spatial = range(1, 1 + count)
    return b(
        hlo.GatherOp(
            b.transpose(x, [0, *range(2, 2 + count), 1]),
            b.concatenate([b.expand_dims(place, [rank]) for place in places], rank),
            offset_dims=[rank],
            collapsed_slice_dims=list(spatial),
            operand_batching_dims=[0],
            start_indices_batching_dims=[0],
            start_index_map=list(spatial),
            index_vector_dim=rank,
            slice_sizes=[1, *[1 for _ in spatial], shape_of(x)[1]],
        )
    )


def weighted(b: GraphBuilder, x: Value, taps: Sequence[Taps], more: Value | None = None) -> Value:
    """The sum of `x` at every combination of taps by their weights, and by those of `more` [N, *O]: [N, C, *O].

    Taps of different axes have the same dimensions before their last, or 1 there. In f32 at least.
    """
    rank, count, element = rank_of(taps[0].positions) - 1, len(taps), _wide(element_of(x))

    def spread(value: Value, axis: int) -> Value:
        return b.reshape(
            value, [*shape_of(value)[:-1], *(shape_of(value)[-1] if i == axis else 1 for i in range(count))]
        )

    positions = b.broadcast(*(spread(tap.positions, i) for i, tap in enumerate(taps)))
    weights = spread(taps[0].weights, 0)
    for i, tap in enumerate(taps[1:], 1):
        weights = b.multiply(weights, spread(tap.weights, i))
    if more is not None:
        weights = b.multiply(weights, b.expand_dims(more, range(rank, rank + count)))
    values = b.convert(points(b, x, positions), element)
    product = b.multiply(values, b.expand_dims(b.convert(weights, element), [rank + count]))
    total = b.reduce("add", product, [rank + i for i in range(count)])
    return b.transpose(total, [0, rank, *range(1, rank)])


def linear_taps(b: GraphBuilder, place: Value, size: int) -> Taps:
    """The two neighbours of each place; those outside weigh nothing."""
    first = b(hlo.FloorOp(place))
    part = b.subtract(place, first)
    return _inside(b, first, [0, 1], [b.subtract(1.0, part), part], size)


def _inside(b: GraphBuilder, first: Value, offsets: Sequence[int], weights: Sequence[Value], size: int) -> Taps:
    last = rank_of(first)
    positions = b.concatenate([b.expand_dims(b.add(first, float(o)) if o else first, [last]) for o in offsets], last)
    weight = b.concatenate([b.expand_dims(w, [last]) for w in weights], last)
    inside = b.logical_and(b.compare(positions, 0.0, "GE"), b.compare(positions, float(size - 1), "LE"))
    return Taps(_clamped(b, positions, size), b.select(inside, weight, 0.0))


def _clamped(b: GraphBuilder, positions: Value, size: int) -> Value:
    return b.convert(b.minimum(b.maximum(positions, 0.0), float(size - 1)), i32)


def _wide(element: Attribute) -> Attribute:
    """What places are computed in."""
    return element if isinstance(element, Float64Type) else f32


@lowers("GridSample", since=16)
def grid_sample(
    b: GraphBuilder,
    x: Value,
    grid: Value,
    *,
    align_corners: int = 0,
    mode: str = "linear",
    padding_mode: str = "zeros",
) -> Value:
    sizes, count = shape_of(x)[2:], rank_of(x) - 2
    method = _METHODS.get(mode)
    if method is None or padding_mode not in ("zeros", "border", "reflection"):
        raise b.fail(f"mode '{mode}' with padding_mode '{padding_mode}' is not defined")
    if shape_of(grid)[-1] != count or shape_of(grid)[0] != shape_of(x)[0]:
        raise b.fail(f"a grid of shape {list(shape_of(grid))} does not fit data of shape {list(shape_of(x))}")
    if not is_float(x):
        raise b.fail("GridSample of integers is not supported")
    grid = b.convert(grid, _wide(element_of(grid)))
    taps: list[Taps] = []
    for axis, size in enumerate(sizes):
        column = b.slice_axis(grid, rank_of(grid) - 1, count - 1 - axis, count - axis)  # the grid counts from the back
        normal = b.add(b.reshape(column, shape_of(grid)[:-1]), 1.0)
        if align_corners:
            place, low, high = b.multiply(normal, (size - 1) / 2), 0.0, size - 1.0
        else:
            place = b.multiply(b.subtract(b.multiply(normal, float(size)), 1.0), 0.5)
            low, high = -0.5, size - 0.5
        if method == "nearest":
            place = b(hlo.RoundNearestEvenOp(place))
        taps.append(_grid_taps(b, place, size, method, padding_mode, low, high))
    return b.convert(weighted(b, x, taps), element_of(x))


def _grid_taps(b: GraphBuilder, place: Value, size: int, method: str, padding: str, low: float, high: float) -> Taps:
    outside = b.logical_or(b.compare(place, low, "LT"), b.compare(place, high, "GT"))
    if padding == "border":
        place = b.select(outside, b.minimum(b.maximum(place, 0.0), size - 1.0), place)
    elif padding == "reflection":
        place = b.select(outside, _reflected(b, place, low, high), place)
    if method == "nearest":
        offsets, first = [0], place
        weights = [b.broadcast_to(b.scalar(1.0, element_of(place)), shape_of(place))]
    else:
        first = b(hlo.FloorOp(place))
        part = b.subtract(place, first)
        offsets = [0, 1] if method == "linear" else [-1, 0, 1, 2]
        weights = [b.subtract(1.0, part), part] if method == "linear" else _cubic(b, part)
    if padding == "zeros":
        return _inside(b, first, offsets, weights, size)
    last = rank_of(first)
    positions = b.concatenate([b.expand_dims(b.add(first, float(o)), [last]) for o in offsets], last)
    if padding == "reflection":
        positions = _reflected(b, positions, low, high)
    weight = b.concatenate([b.expand_dims(w, [last]) for w in weights], last)
    return Taps(_clamped(b, positions, size), weight)


def _reflected(b: GraphBuilder, place: Value, low: float, high: float) -> Value:
    """Thrown back at `low` and `high` until it is between them: a triangular wave."""
    if high <= low:
        return b.broadcast_to(b.scalar(low, element_of(place)), shape_of(place))
    period = 2 * (high - low)
    way = b.binary(hlo.RemainderOp, b.abs(b.subtract(place, low)), period)
    return b.add(b.minimum(way, b.subtract(period, way)), low)


def _cubic(b: GraphBuilder, part: Value) -> list[Value]:
    """The weights of the four elements around a place (Keys 1981)."""
    a = _CUBIC

    def near(t: Value) -> Value:
        inner = b.subtract(b.multiply(t, a + 2), a + 3)
        return b.add(b.multiply(b.multiply(inner, t), t), 1.0)

    def far(t: Value) -> Value:
        inner = b.add(b.multiply(b.subtract(b.multiply(t, a), 5 * a), t), 8 * a)
        return b.subtract(b.multiply(inner, t), 4 * a)

    rest = b.subtract(1.0, part)
    return [far(b.add(part, 1.0)), near(part), near(rest), far(b.add(rest, 1.0))]


@lowers("RoiAlign", since=16)
def roi_align(
    b: GraphBuilder,
    x: Value,
    rois: Value,
    batch_indices: Value,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Value:
    half = coordinate_transformation_mode == "half_pixel"
    count, element = shape_of(rois)[0], _wide(element_of(x))
    edges = b.subtract(b.multiply(b.convert(rois, element), spatial_scale), 0.5 if half else 0.0)
    left, top, right, bottom = (b.reshape(b.slice_axis(edges, 1, i, i + 1), [count]) for i in range(4))
    axes: list[_Samples] = []
    sizes = shape_of(x)[2:]
    for start, end, cells, size in ((top, bottom, output_height, sizes[0]), (left, right, output_width, sizes[1])):
        extent = b.subtract(end, start)
        if not half:
            extent = b.maximum(extent, 1.0)  # malformed regions become 1 wide
        cell = b.divide(extent, float(cells))
        axes.append(_samples(b, start, cell, cells, size, sampling_ratio))
    return _pooled_regions(b, x, batch_indices, axes, mode)


@lowers("RoiAlign", since=10)
def roi_align_10(
    b: GraphBuilder,
    x: Value,
    rois: Value,
    batch_indices: Value,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Value:
    return roi_align(
        b,
        x,
        rois,
        batch_indices,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )


@dataclass(frozen=True)
class _Samples:
    """What RoiAlign takes of each of R regions along one axis."""

    taps: Taps  # [R, cells, samples, 2]
    count: Value  # [R], how many samples a cell has
    exists: Value  # [R, 1, samples], which of the most that any has
    inside: Value  # [R, cells, samples], which lie in the image


def _samples(b: GraphBuilder, start: Value, cell: Value, cells: int, size: int, ratio: int) -> _Samples:
    element = element_of(start)
    if ratio > 0:
        most, grid = ratio, b.broadcast_to(b.scalar(float(ratio), element), shape_of(cell))
    else:
        known = np.ceil(b.require_constant(cell, "size of the regions of RoiAlign without a sampling_ratio"))
        grid, most = b.constant(np.maximum(known, 0)), int(max(known.max(initial=1), 1))
    wide = [b.expand_dims(value, [1, 2]) for value in (start, cell, grid)]
    which, sample = b.iota([1, cells, 1], 1, element), b.iota([1, 1, most], 2, element)
    within = b.divide(b.multiply(b.add(sample, 0.5), wide[1]), wide[2])
    place = b.add(b.add(wide[0], b.multiply(which, wide[1])), within)
    inside = b.logical_and(b.compare(place, -1.0, "GE"), b.compare(place, float(size), "LE"))
    taps = linear_taps(b, b.minimum(b.maximum(place, 0.0), size - 1.0), size)
    return _Samples(taps, grid, b.compare(sample, wide[2], "LT"), inside)


def _pooled_regions(b: GraphBuilder, x: Value, images: Value, axes: Sequence[_Samples], mode: str) -> Value:
    regions, rows, down = shape_of(axes[0].inside)
    _, columns, across = shape_of(axes[1].inside)
    vertical, horizontal = [regions, rows, down, 2, 1, 1, 1], [regions, 1, 1, 1, columns, across, 2]
    every = [regions, rows, down, 2, columns, across, 2]

    def both(of_rows: Value, of_columns: Value) -> Value:
        """Of every sample, from what is told of rows and columns [R, cells or 1, samples]."""
        first = b.reshape(of_rows, [regions, shape_of(of_rows)[1], down, 1, 1, 1, 1])
        return b.logical_and(first, b.reshape(of_columns, [regions, 1, 1, 1, shape_of(of_columns)[1], across, 1]))

    image = b.convert(b.reshape(images, [regions, 1, 1, 1, 1, 1, 1]), i32)
    ups, sides = b.reshape(axes[0].taps.positions, vertical), b.reshape(axes[1].taps.positions, horizontal)
    places = [b.expand_dims(b.broadcast_to(place, every), [0]) for place in (image, ups, sides)]
    values = points(b, b.expand_dims(b.transpose(x, [1, 0, 2, 3]), [0]), places)
    weights = b.multiply(b.reshape(axes[0].taps.weights, vertical), b.reshape(axes[1].taps.weights, horizontal))
    weights = b.select(both(axes[0].inside, axes[1].inside), weights, 0.0)
    exists = both(axes[0].exists, axes[1].exists)
    product = b.multiply(b.convert(values, element_of(weights)), b.expand_dims(weights, [0, 8]))
    inner = [3, 4, 6, 7]  # of [1, R, rows, down, 2, columns, across, 2, C]
    if mode == "max":
        pooled = b.reduce("maximum", b.select(b.expand_dims(exists, [0, 8]), product, -math.inf), inner)
        pooled = b.select(b.compare(pooled, -math.inf, "EQ"), 0.0, pooled)
    else:
        total = b.reduce("add", b.select(b.expand_dims(exists, [0, 8]), product, 0.0), inner)
        count = b.maximum(b.multiply(axes[0].count, axes[1].count), 1.0)
        pooled = b.divide(total, b.reshape(count, [1, regions, 1, 1, 1]))
    return b.convert(b.transpose(b.reshape(pooled, shape_of(pooled)[1:]), [0, 3, 1, 2]), element_of(x))


@lowers("DeformConv", since=19)
def deform_conv(
    b: GraphBuilder,
    x: Value,
    w: Value,
    offset: Value,
    bias: Value | None = None,
    mask: Value | None = None,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    n, channels, *sizes = shape_of(x)
    count = len(sizes)
    kernel = list(kernel_shape or shape_of(w)[2:])
    step, apart = list(strides or [1] * count), list(dilations or [1] * count)
    low = list(pads or [0] * 2 * count)[:count]
    out, taken = list(shape_of(offset)[2:]), math.prod(kernel)
    if {len(kernel), len(step), len(apart), len(low), len(out)} != {count} or tuple(kernel) != shape_of(w)[2:]:
        raise b.fail(f"attributes, weights and offsets do not fit {count} dimensions")
    if min([1, *step, *apart]) < 1:
        raise b.fail(f"strides {step} and dilations {apart} must be positive")
    if min(group, offset_group) < 1 or channels % offset_group or channels % group or shape_of(w)[0] % group:
        raise b.fail(f"{channels} channels do not divide into {group} groups and {offset_group} offset groups")
    element = _wide(element_of(x))
    shifts = b.reshape(b.convert(offset, element), [n * offset_group, taken, count, *out])
    window = np.stack(np.meshgrid(*(np.arange(k) * a for k, a in zip(kernel, apart, strict=True)), indexing="ij"))
    taps: list[Taps] = []
    for axis in range(count):
        shift = b.reshape(b.slice_axis(shifts, 2, axis, axis + 1), [n * offset_group, taken, *out])
        starts = np.arange(out[axis]) * step[axis] - low[axis]
        fixed = window[axis].reshape([taken, *[1] * count]) + starts.reshape(
            [1, *(-1 if i == axis else 1 for i in range(count))]
        )
        place = b.add(shift, b.convert(b.constant(fixed[None].astype(np.float32)), element))
        taps.append(linear_taps(b, place, sizes[axis]))
    groups = b.reshape(x, [n * offset_group, channels // offset_group, *sizes])
    more = None if mask is None else b.reshape(b.convert(mask, element), [n * offset_group, taken, *out])
    sampled = weighted(b, groups, taps, more)
    columns = b.reshape(sampled, [n, group, channels // group * taken, math.prod(out)])
    filters = shape_of(w)[0]
    matrix = b.reshape(b.convert(w, element), [group, filters // group, channels // group * taken])
    product = b.dot(matrix, columns, ([2], [2]), ([0], [1]))  # [group, filters, n, places]
    result = b.reshape(b.transpose(product, [2, 0, 1, 3]), [n, filters, *out])
    if bias is not None:
        result = b.add(result, b.expand_dims(b.convert(bias, element), [0, *range(2, 2 + count)]))
    return b.convert(result, element_of(x))
