"""Simplest forms of reductions, and padding taken into the window of what follows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ConvolutionOp, DotGeneralOp, PadOp, ReduceOp, ReduceWindowOp
from ..attributes import ints
from ..ops_reduction import combiner_of
from .arithmetic import highest, lowest
from .rules import Builder, Replacement, defining, element_type, shape_of, simplifies


def neutral(kind: str | None, element: Any) -> bool:
    """Whether combining a known `element` by `kind` gives the other one back (the sign of zero aside)."""
    if element is None or kind is None:
        return False
    match kind:
        case "add" | "or" | "xor":
            return bool(element == 0)
        case "multiply":
            return bool(element == 1)
        case "and":
            return bool(~element == 0) if element.dtype != np.bool_ else bool(element)
        case "maximum":
            return bool(element == lowest(element.dtype))
        case "minimum":
            return bool(element == highest(element.dtype))
        case _:
            return False


def is_plain(op: ReduceOp | ReduceWindowOp, b: Builder) -> bool:
    """One input, accumulated in its own type from a neutral value."""
    same = len(op.inputs) == 1 and element_type(op.inputs[0]) == element_type(op.results[0])
    return same and neutral(combiner_of(op.body), b.splat_of(op.init_values[0]))


@simplifies(ReduceOp)
def reduce_of_one(op: ReduceOp, b: Builder) -> Replacement:
    shape = shape_of(op.inputs[0])
    if any(shape[d] != 1 for d in ints(op.dimensions)) or not is_plain(op, b):
        return None
    return b.reshape(op.inputs[0], shape_of(op.results[0]))


@simplifies(ReduceWindowOp)
def window_over_everything(op: ReduceWindowOp, b: Builder) -> Replacement:
    """Dimensions with one window that covers all, and otherwise windows of one: a plain reduction."""
    window, shape, out = op.window(), shape_of(op.inputs[0]), shape_of(op.results[0])
    if len(op.inputs) != 1 or any(low or high for low, high in window.padding):
        return None
    if any(d != 1 for d in (*window.dilation, *window.base_dilation)) or 0 in shape:
        return None
    dims = [d for d, size in enumerate(window.size) if size != 1]
    whole = all(window.size[d] == shape[d] for d in dims)
    if not whole or any(out[d] != shape[d] for d in range(len(shape)) if d not in dims):
        return None
    if not dims:
        return op.inputs[0] if is_plain(op, b) else None
    body = op.body.clone()
    return b.reshape(b.value(ReduceOp(op.inputs, op.init_values, dimensions=dims, body=body)), out)


@simplifies(ReduceWindowOp)
def padding_into_window(op: ReduceWindowOp, b: Builder) -> Replacement:
    if len(op.inputs) != 1 or not (pad := defining(op.inputs[0], PadOp)):
        return None
    window, init, value = op.window(), b.splat_of(op.init_values[0]), b.splat_of(pad.padding_value)
    if init is None or value is None or init != value or any(d != 1 for d in window.base_dilation):
        return None
    low, high = ints(pad.edge_padding_low), ints(pad.edge_padding_high)
    if any(ints(pad.interior_padding)) or min((*low, *high), default=0) < 0 or not is_plain(op, b):
        return None
    if any(lo < 0 or hi < 0 for lo, hi in window.padding):
        return None
    padding = [(lo + x, hi + y) for (lo, hi), x, y in zip(window.padding, low, high, strict=True)]
    return b.value(
        ReduceWindowOp(
            [pad.operand],
            op.init_values,
            window_dimensions=window.size,
            body=op.body.clone(),
            window_strides=window.strides,
            window_dilations=window.dilation,
            padding=padding,
        )
    )


@simplifies(ConvolutionOp)
def padding_into_convolution(op: ConvolutionOp, b: Builder) -> Replacement:
    pad, window = defining(op.lhs, PadOp), op.window()
    if pad is None or any(d != 1 for d in window.base_dilation):
        return None
    value = b.splat_of(pad.padding_value)
    low, high = ints(pad.edge_padding_low), ints(pad.edge_padding_high)
    if value is None or value != 0 or any(ints(pad.interior_padding)) or min((*low, *high)) < 0:
        return None
    if any(lo < 0 or hi < 0 for lo, hi in window.padding):
        return None
    d = op.dims
    if any(low[i] or high[i] for i in (d.input_batch_dimension, d.input_feature_dimension)):
        return None
    padding = [
        (lo + low[i], hi + high[i]) for (lo, hi), i in zip(window.padding, d.input_spatial_dimensions, strict=True)
    ]
    return b.value(convolution_like(op, pad.operand, op.rhs, padding=padding))


@simplifies(ConvolutionOp)
def taps_on_padding(op: ConvolutionOp, b: Builder) -> Replacement:
    """Taps at the ends of a window that meet zeros alone, wherever it stands: windows with far taps have most of theirs
    there, as those of DeepLab on small images, or those over time of what has only one moment left.

    Constant filters only: 0 times a number is 0, times an infinity it is not.
    """
    window, d = op.window(), op.dims
    image, places = shape_of(op.lhs), shape_of(op.result)
    if any(n != 1 for n in window.base_dilation) or any(window.reversal) or min((*image, *places)) < 1:
        return None
    kept: list[slice] = [slice(None)] * len(shape_of(op.rhs))
    padding = list(window.padding)
    for i, (size, stride, step) in enumerate(zip(window.size, window.strides, window.dilation, strict=True)):
        (low, high), extent = padding[i], image[d.input_spatial_dimensions[i]]
        last = places[d.output_spatial_dimensions[i]] - 1
        met = [t for t in range(size) if _meets(t * step - low, stride, last, extent)]
        if met and len(met) < size:
            padding[i] = (low - met[0] * step, high - (size - 1 - met[-1]) * step)
            kept[d.kernel_spatial_dimensions[i]] = slice(met[0], met[-1] + 1)
    if padding == list(window.padding) or any(side < 0 for pair in padding for side in pair):
        return None
    filters = b.constant_of(op.rhs)
    if filters is None or not np.isfinite(filters).all():
        return None
    return b.value(
        convolution_like(op, op.lhs, b.constant(np.ascontiguousarray(filters[tuple(kept)])), padding=padding)
    )


@simplifies(ConvolutionOp)
def image_of_one_point(op: ConvolutionOp, b: Builder) -> Replacement:
    """Every result sees one tap of the window, the one on the point: a product with the filters, as matrix.

    So images begin in generators: 100 numbers become 4 x 4 points of 512 channels. Constant, finite filters only.
    """
    window, d = op.window(), op.dims
    places = [shape_of(op.result)[i] for i in d.output_spatial_dimensions]
    if any(shape_of(op.lhs)[i] != 1 for i in d.input_spatial_dimensions) or max(places, default=1) <= 1:
        return None
    groups = op.feature_group_count.value.data * op.batch_group_count.value.data
    if groups != 1 or any(window.reversal) or d.output_batch_dimension != 0 or 0 in shape_of(op.lhs):
        return None
    filters = b.constant_of(op.rhs)
    if filters is None or not np.isfinite(filters).all():
        return None
    for i, (low, _) in enumerate(window.padding):
        taps, rest = np.divmod(low - np.arange(places[i]) * window.strides[i], window.dilation[i])
        if rest.any() or taps.min() < 0 or taps.max() >= window.size[i]:
            return None
        filters = filters.take(taps, d.kernel_spatial_dimensions[i])
    kernel = [0] * filters.ndim  # where each dimension of the result has its filters
    kernel[0] = d.kernel_input_feature_dimension
    kernel[d.output_feature_dimension] = d.kernel_output_feature_dimension
    for mine, its in zip(d.output_spatial_dimensions, d.kernel_spatial_dimensions, strict=True):
        kernel[mine] = its
    batch, channels = (shape_of(op.lhs)[i] for i in (d.input_batch_dimension, d.input_feature_dimension))
    order = (d.input_batch_dimension, d.input_feature_dimension, *d.input_spatial_dimensions)
    matrix = np.ascontiguousarray(filters.transpose(kernel)).reshape(channels, -1)
    rows = b.reshape(b.transpose(op.lhs, order), (batch, channels))
    element = op.result.type.element_type
    product = DotGeneralOp(
        rows,
        b.constant(matrix),
        lhs_contracting_dimensions=[1],
        rhs_contracting_dimensions=[0],
        precision_config=op.precision_config,
        element_type=element,
    )
    return b.reshape(b.value(product), shape_of(op.result))


def _meets(first: int, stride: int, last: int, extent: int) -> bool:
    """Whether one of the places first + j stride, 0 <= j <= last, lies in [0, extent)."""
    j = max(0, -(first // stride))  # the first place from 0 on
    return j <= last and first + j * stride < extent


def convolution_like(op: ConvolutionOp, lhs: Any, rhs: Any, **changes: Any) -> ConvolutionOp:
    """A convolution as `op`, with other operands and the attributes given."""
    arguments: dict[str, Any] = {
        "dimension_numbers": op.dimension_numbers,
        "window_strides": op.window_strides,
        "padding": op.padding,
        "lhs_dilation": op.lhs_dilation,
        "rhs_dilation": op.rhs_dilation,
        "window_reversal": op.window_reversal,
        "feature_group_count": op.feature_group_count.value.data,
        "batch_group_count": op.batch_group_count.value.data,
        "precision_config": op.precision_config,
        "element_type": op.result.type.element_type,
    }
    return ConvolutionOp(lhs, rhs, **(arguments | changes))
