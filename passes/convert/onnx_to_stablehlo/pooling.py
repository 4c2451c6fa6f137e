"""ONNX's pools in hub ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import i64

from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .indexing import gather
from .limits import extreme
from .pads import Window, window
from .regions import best_of_pairs, replace_region
from .table import lowers


def _slide(b: GraphBuilder, x: Value, view: Window, kind: str, start: float) -> Value:
    """Reduces each window over the spatial dimensions of `x`."""
    x, view = _cut(b, x, view)
    return b(
        hlo.ReduceWindowOp(
            [x],
            [b.scalar(start, element_of(x))],
            window_dimensions=[1, 1, *view.kernel],
            window_strides=[1, 1, *view.strides],
            window_dilations=[1, 1, *view.dilations],
            padding=[[0, 0], [0, 0], *view.padding()],
            body=kind,
        )
    )


def _cut(b: GraphBuilder, x: Value, view: Window) -> tuple[Value, Window]:
    """A window that stands alone along a dimension ends where the input does: what it reaches beyond is never made."""
    kernel, low, high = list(view.kernel), list(view.low), list(view.high)
    for i, size in enumerate(shape_of(x)[2:]):
        if view.output[i] == 1 and view.dilations[i] == 1 and kernel[i] > max(size, low[i]):
            kernel[i] = min(kernel[i] - low[i], size)
            low[i] = high[i] = 0
            x = b.slice_axis(x, 2 + i, 0, kernel[i])
    return x, replace(view, kernel=kernel, low=low, high=high)


@lowers("MaxPool")
def max_pool(
    b: GraphBuilder,
    x: Value,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
) -> Value | list[Value]:
    view = window(
        b,
        shape_of(x)[2:],
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    if any(b.wanted[1:]):
        return _with_places(b, x, view, bool(storage_order))
    return _slide(b, x, view, "maximum", extreme(element_of(x), largest=False))


def _with_places(b: GraphBuilder, x: Value, view: Window, columns: bool) -> list[Value]:
    """The largest of each window, and where it stands among all elements of `x`, the first of equals."""
    shape, element = shape_of(x), element_of(x)
    places = b.reshape(b.iota([math.prod(shape)], 0, i64), shape)
    starts = [b.scalar(extreme(element, largest=False), element), b.scalar(2**62, i64)]
    largest, where = b.all(
        hlo.ReduceWindowOp(
            [x, places],
            starts,
            window_dimensions=[1, 1, *view.kernel],
            window_strides=[1, 1, *view.strides],
            window_dilations=[1, 1, *view.dilations],
            padding=[[0, 0], [0, 0], *view.padding()],
            body=best_of_pairs(element, i64, "GT"),
        )
    )
    return [largest, _by_columns(b, where, shape[2:]) if columns else where]


def _by_columns(b: GraphBuilder, places: Value, spatial: Sequence[int]) -> Value:
    """Places counted with the first spatial dimension running fastest."""
    area = math.prod(spatial)
    image = b.divide(places, area)
    rest = b.subtract(places, b.multiply(image, area))
    result = b.multiply(image, area)
    inner, outer = area, 1
    for size in spatial:
        inner //= size
        step = b.divide(rest, inner)
        rest = b.subtract(rest, b.multiply(step, inner))
        result = b.add(result, b.multiply(step, outer))
        outer *= size
    return result


@lowers("MaxUnpool", since=9)
def max_unpool(
    b: GraphBuilder,
    x: Value,
    indices: Value,
    output_shape: Value | None = None,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    """Each element goes where MaxPool found it; between them are zeros."""
    count = len(kernel_shape)
    step, edges = list(strides or [1] * count), list(pads or [0] * 2 * count)
    own = shape_of(x)
    shape = [
        *own[:2],
        *((own[i + 2] - 1) * step[i] - edges[i] - edges[count + i] + kernel_shape[i] for i in range(count)),
    ]
    total = math.prod(own)
    flat = b(
        hlo.ScatterOp(
            [b.broadcast_to(b.scalar(0, element_of(x)), [math.prod(shape)])],
            b.reshape(indices, [total, 1]),
            [b.reshape(x, [total])],
            update_computation=replace_region(element_of(x)),
            inserted_window_dims=[0],
            scatter_dims_to_operand_dims=[0],
            index_vector_dim=1,
        )
    )
    result = b.reshape(flat, shape)
    if output_shape is None:
        return result
    wanted = b.ints(output_shape, "output_shape of MaxUnpool")
    extra = [m - n for n, m in zip(shape, wanted, strict=True)]
    return b.pad(result, b.scalar(0, element_of(x)), [0] * len(extra), extra)


@lowers("AveragePool")
def average_pool(
    b: GraphBuilder,
    x: Value,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    spatial = shape_of(x)[2:]
    options = {"strides": strides, "dilations": dilations, "pads": pads}
    view = window(b, spatial, kernel_shape, **options, auto_pad=auto_pad, ceil_mode=ceil_mode)
    total = _slide(b, x, view, "add", 0)
    high = view.high
    if ceil_mode and auto_pad in ("NOTSET", "VALID", ""):  # what ceil_mode adds beyond the pads never counts
        asked = list(pads)[len(spatial) :] if pads and auto_pad != "VALID" else [0] * len(spatial)
        high = [min(h, a) for h, a in zip(view.high, asked, strict=True)]
    counts = _counts(spatial, view, high, bool(count_include_pad))
    if counts.min() == counts.max():
        return b.divide(total, float(counts.flat[0]))
    shape = [1, 1, *view.output]
    return b.divide(total, b.constant(counts.reshape(shape).astype(dtype_of(element_of(x)))))


def _counts(spatial: Sequence[int], view: Window, high: Sequence[int], padded: bool) -> Array:
    """How many elements each window averages: those inside the input, or inside the pads too."""
    counts = np.ones((), np.int64)
    for i, size in enumerate(spatial):
        places = np.arange(view.output[i])[:, None] * view.strides[i] - view.low[i]
        places = places + np.arange(view.kernel[i]) * view.dilations[i]
        low, top = (-view.low[i], size + high[i]) if padded else (0, size)
        inside = ((places >= low) & (places < top)).sum(axis=1)
        counts = np.multiply.outer(counts, np.maximum(inside, 1))
    return counts


@lowers("LpPool")
def lp_pool(
    b: GraphBuilder,
    x: Value,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    p: int = 2,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    options = {"strides": strides, "dilations": dilations, "pads": pads}
    view = window(b, shape_of(x)[2:], kernel_shape, **options, auto_pad=auto_pad, ceil_mode=ceil_mode)
    return b.power(_slide(b, b.power(b.abs(x), p), view, "add", 0), 1 / p)


@lowers("GlobalAveragePool")
def global_average_pool(b: GraphBuilder, x: Value) -> Value:
    return b.mean(x, list(range(2, rank_of(x))), keepdims=True)


@lowers("GlobalMaxPool")
def global_max_pool(b: GraphBuilder, x: Value) -> Value:
    return b.reduce("maximum", x, list(range(2, rank_of(x))), keepdims=True)


@lowers("GlobalLpPool")
def global_lp_pool(b: GraphBuilder, x: Value, *, p: int = 2) -> Value:
    total = b.reduce("add", b.power(b.abs(x), p), list(range(2, rank_of(x))), keepdims=True)
    return b.power(total, 1 / p)


@lowers("MaxRoiPool")
def max_roi_pool(
    b: GraphBuilder, x: Value, rois: Value, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0
) -> Value:
    """Regions are rows of image, left, top, right and bottom, in whole pixels and with both ends.

    Channels are last: whether a row or a column of an image is in a cell is asked once for all of them.
    """
    edges = b(hlo.RoundNearestAfzOp(b.multiply(rois, spatial_scale)))
    n, channels, height, width = shape_of(x)
    images = b.convert(b.slice_axis(rois, 1, 0, 1), i64)
    rows = b.add(b.multiply(images, height), b.iota([1, height], 1, i64))
    pooled = gather(b, b.reshape(b.transpose(x, [0, 2, 3, 1]), [n * height, width, channels]), rows)
    holds = b.constant(np.ones((1, 1, 1, 1), np.bool_))
    for axis, cells in enumerate(pooled_shape, 1):
        first, last = (b.slice_axis(edges, 1, k, k + 1) for k in (3 - axis, 5 - axis))
        cell = b.divide(b.maximum(b.add(b.subtract(last, first), 1.0), 1.0), float(cells))
        which = b.iota([1, cells], 1, element_of(rois))
        starts = b.add(b(hlo.FloorOp(b.multiply(which, cell))), first)
        ends = b.add(b(hlo.CeilOp(b.multiply(b.add(which, 1.0), cell))), first)
        place = b.iota([1, 1, (height, width)[axis - 1]], 2, element_of(rois))
        within = b.logical_and(
            b.compare(place, b.expand_dims(starts, [2]), "GE"), b.compare(place, b.expand_dims(ends, [2]), "LT")
        )
        there = b.reduce("or", within, [2])
        holds = b.logical_and(holds, b.expand_dims(there, [2, 3] if axis == 1 else [1, 3]))
        chosen = b.expand_dims(within, [3, 4] if axis == 1 else [1, 4])  # [R, rows, H, W, C], [R, rows, columns, W, C]
        pooled = b.reduce("maximum", b.select(chosen, b.expand_dims(pooled, [axis]), -math.inf), [1 + axis])
    return b.transpose(b.select(holds, pooled, 0.0), [0, 3, 1, 2])


@lowers("LRN")
def local_response_normalization(
    b: GraphBuilder, x: Value, *, size: int, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0
) -> Value:
    rank = rank_of(x)
    low = (size - 1) // 2
    around = b(
        hlo.ReduceWindowOp(
            [b.multiply(x, x)],
            [b.scalar(0.0, element_of(x))],
            window_dimensions=[size if i == 1 else 1 for i in range(rank)],
            padding=[[low, size - 1 - low] if i == 1 else [0, 0] for i in range(rank)],
            body="add",
        )
    )
    return b.divide(x, b.power(b.add(b.multiply(around, alpha / size), bias), beta))
