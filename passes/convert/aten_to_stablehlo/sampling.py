"""ATen's operators on patches and places of images: grid_sampler, col2im, im2col, as_strided."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....dialects import stablehlo as hlo
from ..onnx_to_stablehlo import indexing as onnx_indexing
from ..onnx_to_stablehlo import sampling as onnx
from .builder import AtenBuilder, Value, element_of, shape_of
from .convolution import spread
from .table import lowers

_MODES = ("linear", "nearest", "cubic")
_PADDING = ("zeros", "border", "reflection")


@lowers("grid_sampler_2d", "grid_sampler_3d", "grid_sampler")
def grid_sampler(
    b: AtenBuilder, x: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    mode, padding = _MODES[interpolation_mode], _PADDING[padding_mode]
    return onnx.grid_sample(b, x, grid, align_corners=int(align_corners), mode=mode, padding_mode=padding)


def _windows(
    size: Sequence[int], kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> list[int]:
    """How many windows fit along each dimension."""
    return [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    ]


@lowers("im2col")
def im2col(
    b: AtenBuilder,
    x: Value,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Value:
    """The patches of an image as columns."""
    kernel, holes, pads, steps = (spread(v, 2) for v in (kernel_size, dilation, padding, stride))
    *outer, channels, height, width = shape_of(x)
    rows, columns = _windows((height, width), kernel, holes, pads, steps)
    edges = [0] * (len(outer) + 1) + pads
    wide = b.pad(x, b.scalar(0, element_of(x)), edges, edges)
    lead = [*outer, channels]
    parts: list[Value] = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            start = [i * holes[0], j * holes[1]]
            limit = [start[0] + (rows - 1) * steps[0] + 1, start[1] + (columns - 1) * steps[1] + 1]
            part = b.slice(wide, [0] * len(lead) + start, [*lead, *limit], [1] * len(lead) + steps)
            parts.append(b.expand_dims(part, [len(lead)]))
    stacked = b.concatenate(parts, len(lead))
    return b.reshape(stacked, [*outer, channels * kernel[0] * kernel[1], rows * columns])


@lowers("col2im")
def col2im(
    b: AtenBuilder,
    x: Value,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Value:
    """Columns added up where their patches overlap: each tap is spread out by the strides and put in its place."""
    kernel, holes, pads, steps = (spread(v, 2) for v in (kernel_size, dilation, padding, stride))
    *outer, depth, _ = shape_of(x)
    rows, columns = _windows(output_size, kernel, holes, pads, steps)
    channels = depth // (kernel[0] * kernel[1])
    taps = b.reshape(x, [*outer, channels, kernel[0] * kernel[1], rows, columns])
    n, zero = len(outer) + 1, b.scalar(0, element_of(x))
    total: Value | None = None
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            tap = b.slice_axis(taps, n, i * kernel[1] + j, i * kernel[1] + j + 1)
            tap = b.reshape(tap, [*outer, channels, rows, columns])
            low = [i * holes[0] - pads[0], j * holes[1] - pads[1]]
            spans = [(rows - 1) * steps[0] + 1, (columns - 1) * steps[1] + 1]
            high = [size - before - span for size, before, span in zip(output_size, low, spans, strict=True)]
            placed = b(
                hlo.PadOp(
                    tap,
                    zero,
                    edge_padding_low=[0] * n + low,
                    edge_padding_high=[0] * n + high,
                    interior_padding=[0] * n + [step - 1 for step in steps],
                )
            )
            total = placed if total is None else b.add(total, placed)
    assert total is not None
    return total


@lowers("as_strided", "as_strided_copy")
def as_strided(
    b: AtenBuilder, x: Value, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Value:
    """Elements of a contiguous tensor by their places in memory."""
    places = np.full((), storage_offset or 0, np.int64)
    for n, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(n) * step
    line = b.reshape(x, [math.prod(shape_of(x))])
    return b.reshape(onnx_indexing.gather(b, line, b.constant(places.reshape(-1)), axis=0), size)
