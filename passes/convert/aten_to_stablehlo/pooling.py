"""ATen's pools over windows and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32, i64

from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from ..onnx_to_stablehlo import pooling as onnx
from ..onnx_to_stablehlo.blending import blend
from ..onnx_to_stablehlo.limits import extreme
from ..onnx_to_stablehlo.pads import window
from ..onnx_to_stablehlo.regions import best_of_pairs
from .builder import AtenBuilder, Value, element_of, rank_of, shape_of
from .convolution import spread
from .indexing import scatter_add
from .table import lowers

Sizes = Sequence[int] | int


def _batched(b: AtenBuilder, x: Value, spatial: int) -> tuple[Value, list[int]]:
    """`x` as [batch, channels, *spatial], and the dimensions before the spatial ones as they were."""
    outer, inner = shape_of(x)[: rank_of(x) - spatial], shape_of(x)[rank_of(x) - spatial :]
    if len(outer) == 2:
        return x, list(outer)
    return b.reshape(x, [1, math.prod(outer), *inner]), list(outer)


def _unbatched(b: AtenBuilder, x: Value, outer: list[int]) -> Value:
    return b.reshape(x, [*outer, *shape_of(x)[2:]])


@lowers("max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    b: AtenBuilder,
    x: Value,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> list[Value]:
    """The largest of each window and where in the plane it stands."""
    n = int(b.operator.partition("pool")[2][:1])
    return _max_pool(b, x, n, spread(kernel_size, n), stride, padding, dilation, ceil_mode)


@lowers("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(b: AtenBuilder, x: Value, output_size: Sizes) -> list[Value]:
    n = int(b.operator.partition("pool")[2][:1])
    sizes, plane = spread(output_size, n), shape_of(x)[rank_of(x) - n :]
    if any(size % out for size, out in zip(plane, sizes, strict=True)):
        raise b.fail(f"{list(plane)} elements do not divide into {sizes} windows")
    return _max_pool(b, x, n, [size // out for size, out in zip(plane, sizes, strict=True)], (), 0, 1, False)


def _max_pool(
    b: AtenBuilder, x: Value, n: int, kernel: list[int], stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> list[Value]:
    data, outer = _batched(b, x, n)
    view = window(
        b,
        shape_of(data)[2:],
        kernel,
        strides=spread(stride, n) if stride else kernel,
        dilations=spread(dilation, n),
        pads=spread(padding, n) * 2,
        auto_pad="NOTSET",
        ceil_mode=int(ceil_mode),
    )
    element = element_of(x)
    lowest = b.scalar(extreme(element, largest=False), element)
    shape: dict[str, Any] = {
        "window_dimensions": [1, 1, *view.kernel],
        "window_strides": [1, 1, *view.strides],
        "window_dilations": [1, 1, *view.dilations],
        "padding": [[0, 0], [0, 0], *view.padding()],
    }
    values = b(hlo.ReduceWindowOp([data], [lowest], body="maximum", **shape))
    if "_with_indices" not in b.operator and "adaptive" not in b.operator:
        return [_unbatched(b, values, outer)]
    plane = shape_of(data)[2:]
    counts = b.reshape(b.iota([math.prod(plane)], 0, i32), [1, 1, *plane])
    places = b.broadcast_to(counts, shape_of(data))
    body = best_of_pairs(element, i32, "GT")
    pair = b.all(hlo.ReduceWindowOp([data, places], [lowest, b.scalar(2**31 - 1, i32)], body=body, **shape))
    return [_unbatched(b, values, outer), _unbatched(b, b.convert(pair[1], i64), outer)]


@lowers("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(
    b: AtenBuilder,
    grad_output: Value,
    x: Value,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    indices: Value,
) -> Value:
    n = int(b.operator.partition("pool")[2][:1])
    shape = shape_of(x)
    outer, plane = math.prod(shape[:-n]), math.prod(shape[-n:])
    flat = [outer, math.prod(shape_of(indices)[-n:])]
    zero = b.zeros([outer, plane], element_of(grad_output))
    return b.reshape(scatter_add(b, zero, 1, b.reshape(indices, flat), b.reshape(grad_output, flat)), shape)


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    b: AtenBuilder,
    x: Value,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    n = int(b.operator.partition("pool")[2][:1])
    kernel = spread(kernel_size, n)
    data, outer = _batched(b, x, n)
    result = onnx.average_pool(
        b,
        data,
        kernel_shape=kernel,
        strides=spread(stride, n) if stride else kernel,
        pads=spread(padding, n) * 2,
        ceil_mode=int(ceil_mode),
        count_include_pad=int(count_include_pad and divisor_override is None),
    )
    if divisor_override is not None:
        raise b.fail("divisor_override is not supported")
    return _unbatched(b, result, outer)


@lowers("avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(
    b: AtenBuilder,
    grad_output: Value,
    x: Value,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Value:
    """Along each dimension a product with the matrix of which element of the input is in which window."""
    if divisor_override is not None:
        raise b.fail("divisor_override is not supported")
    n = int(b.operator.partition("pool")[2][:1])
    kernel, pads = spread(kernel_size, n), spread(padding, n)
    steps = spread(stride, n) if stride else kernel
    matrices: dict[int, Array] = {}
    for i in range(n):
        axis = rank_of(x) - n + i
        size, out = shape_of(x)[axis], shape_of(grad_output)[axis]
        starts = np.arange(out)[:, None] * steps[i] - pads[i]
        places = np.arange(size)
        inside = (places >= starts) & (places < starts + kernel[i])
        ends = np.minimum(starts + kernel[i], size + pads[i])
        counts = ends - starts if count_include_pad else inside.sum(axis=1, keepdims=True)
        matrices[axis] = (inside / counts).T
    return blend(b, grad_output, matrices)


def _adaptive_matrix(size: int, out: int) -> Array:
    """Averages of `out` windows that cover `size` elements as evenly as they can."""
    starts = np.arange(out)[:, None] * size // out
    ends = -(-(np.arange(out)[:, None] + 1) * size // out)
    places = np.arange(size)
    return ((places >= starts) & (places < ends)) / (ends - starts)


@lowers(
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"
)
def adaptive_avg_pool(b: AtenBuilder, x: Value, output_size: Sizes) -> Value:
    n = int(b.operator.partition("pool")[2][:1])
    sizes = spread(output_size, n)
    first = rank_of(x) - n
    if all(size == 1 for size in sizes):
        return b.mean(x, list(range(first, rank_of(x))), keepdims=True)
    own = shape_of(x)
    matrices = {
        axis: _adaptive_matrix(own[axis], out) for axis, out in enumerate(sizes, start=first) if out != own[axis]
    }
    return blend(b, x, matrices)


@lowers("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(b: AtenBuilder, grad_output: Value, x: Value) -> Value:
    n = int(b.operator.partition("pool")[2][:1])
    own, grown = shape_of(x), shape_of(grad_output)
    matrices = {
        axis: _adaptive_matrix(own[axis], grown[axis]).T
        for axis in range(rank_of(x) - n, rank_of(x))
        if own[axis] != grown[axis]
    }
    return blend(b, grad_output, matrices)
