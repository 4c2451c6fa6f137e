"""Matrix products and convolutions, brought into the form of `np.matmul`.

Floats narrower than 32 bits accumulate in f32; integers are computed in the result's type.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import DType
from ....compiler.semantics import Call, Spec, plain, semantics
from ....compiler.weights import Array
from .elementwise import is_float, widened
from .shape import checked_sizes, padded


def _operand(x: Array, dtype: DType | None) -> Array:
    assert dtype is not None
    if is_float(dtype):
        return widened(x) if dtype.itemsize <= 4 else x.astype(dtype, copy=False)
    return x.astype(dtype, copy=False)


@semantics("stablehlo.dot_general")
def dot_general(lhs: Array, rhs: Array, *, dot_dimension_numbers: Any, result: Spec) -> Array:
    """Result dimensions: batching, then the free ones of `lhs`, then those of `rhs`."""
    numbers = dot_dimension_numbers
    lhs_batch, rhs_batch = list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)
    lhs_sum, rhs_sum = list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)
    lhs_free = [d for d in range(lhs.ndim) if d not in lhs_batch + lhs_sum]
    rhs_free = [d for d in range(rhs.ndim) if d not in rhs_batch + rhs_sum]
    batch = [lhs.shape[d] for d in lhs_batch]
    k = prod(lhs.shape[d] for d in lhs_sum)
    m, n = [lhs.shape[d] for d in lhs_free], [rhs.shape[d] for d in rhs_free]
    a = _operand(lhs, result.dtype).transpose(lhs_batch + lhs_free + lhs_sum).reshape(*batch, prod(m), k)
    b = _operand(rhs, result.dtype).transpose(rhs_batch + rhs_sum + rhs_free).reshape(*batch, k, prod(n))
    return np.matmul(a, b).reshape((*batch, *m, *n)).astype(result.dtype, copy=False)


@semantics("stablehlo.dot")
def dot(lhs: Array, rhs: Array, *, result: Spec) -> Array:
    a, b = _operand(lhs, result.dtype), _operand(rhs, result.dtype)
    return np.matmul(a, b).astype(result.dtype, copy=False)


def windows(x: Array, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array:
    """A view of every window of `x` over its first dimensions: [..., places..., sizes..., rest]."""
    n = len(sizes)
    reach = [(size - 1) * dilation + 1 for size, dilation in zip(sizes, dilations, strict=True)]
    places = [
        max(0, (dim - extent) // stride + 1) if extent > 0 else 0
        for dim, extent, stride in zip(x.shape, reach, strides, strict=False)
    ]
    moves = [step * stride for step, stride in zip(x.strides, strides, strict=False)]
    taps = [step * dilation for step, dilation in zip(x.strides, dilations, strict=False)]
    shape, steps = [*places, *sizes, *x.shape[n:]], [*moves, *taps, *x.strides[n:]]
    return np.zeros(shape, x.dtype) if 0 in shape else as_strided(x, shape, steps, writeable=False)


def _channels_last(x: Array, kernel: Array, strides: Sequence[int], dilations: Sequence[int]) -> Array:
    """Padded `x` [batch, space..., g, c] with `kernel` [taps..., g, c, o]: [batch, places..., g, o]."""
    n = len(strides)
    groups, inner, outer = kernel.shape[n:]
    spatial_first = np.moveaxis(x, 0, n)
    view = np.moveaxis(windows(spatial_first, kernel.shape[:n], strides, dilations), 2 * n, 0)
    batch, places, taps = view.shape[0], view.shape[1 : n + 1], view.shape[n + 1 : 2 * n + 1]
    if inner == 1 and groups > 1:  # depthwise: one multiply-add per tap
        total = np.zeros((batch, *places, groups, outer), x.dtype)
        for tap in np.ndindex(*taps):
            total += view[(slice(None),) * (n + 1) + tap] * kernel[tap][:, 0, :]
        return total
    columns = np.moveaxis(view, -2, 0).reshape(groups, batch * prod(places), prod(taps) * inner)
    weights = np.moveaxis(kernel, n, 0).reshape(groups, prod(taps) * inner, outer)
    product = np.matmul(columns, weights)
    return np.moveaxis(product, 0, 1).reshape(batch, *places, groups, outer)


@semantics("stablehlo.convolution")
def convolution(
    lhs: Array,
    rhs: Array,
    *,
    window_strides: Sequence[int] | None = None,
    padding: Array | None = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    dimension_numbers: Any,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    result: Spec,
) -> Array:
    d = dimension_numbers
    n = len(d.input_spatial_dimensions)
    ones = [1] * n
    strides, dilations = window_strides or ones, rhs_dilation or ones
    x = _operand(lhs, result.dtype).transpose(
        d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension
    )
    kernel = _operand(rhs, result.dtype).transpose(
        *d.kernel_spatial_dimensions, d.kernel_input_feature_dimension, d.kernel_output_feature_dimension
    )
    if window_reversal is not None:
        kernel = np.flip(kernel, tuple(i for i, flipped in enumerate(window_reversal) if flipped))
    low, high = ([0] * n, [0] * n) if padding is None else (padding[:, 0].tolist(), padding[:, 1].tolist())
    gaps = [dilation - 1 for dilation in lhs_dilation or ones]
    if any(low + high + gaps):
        x = padded(x, np.zeros((), x.dtype), [0, *low, 0], [0, *high, 0], [0, *gaps, 0])
    if batch_group_count > 1:  # group b of the batch meets group b of the output features
        parts = zip(np.split(x, batch_group_count, 0), np.split(kernel, batch_group_count, -1), strict=True)
        outputs = [_channels_last(p[..., None, :], k[..., None, :, :], strides, dilations) for p, k in parts]
        y = np.concatenate(outputs, -1)
    else:
        groups, inner = feature_group_count, kernel.shape[n]
        grouped = kernel.reshape(*kernel.shape[: n + 1], groups, kernel.shape[-1] // groups)
        x = x.reshape(*x.shape[:-1], groups, inner)
        y = _channels_last(x, np.moveaxis(grouped, n, n + 1), strides, dilations)
    y = y.reshape(*y.shape[: n + 1], -1) if y.size else np.zeros((*y.shape[: n + 1], kernel.shape[-1]), y.dtype)
    order = [d.output_batch_dimension, *d.output_spatial_dimensions, d.output_feature_dimension]
    return y.transpose(np.argsort(order)).astype(result.dtype, copy=False)


@semantics("stablehlo.dynamic_conv")
def dynamic_conv(lhs: Array, rhs: Array, padding: Array, *, result: Spec, call: Call) -> Array:
    keywords = {name: plain(value) for name, value in call.op.properties.items() if name != "precision_config"}
    d = keywords["dimension_numbers"]
    count = len(d.input_spatial_dimensions)
    assert result.shape is not None
    sizes = list(result.shape)
    for i, (low, high) in enumerate(padding.tolist()):
        own, taps = lhs.shape[d.input_spatial_dimensions[i]], rhs.shape[d.kernel_spatial_dimensions[i]]
        strides, spread, dilations = (
            (keywords.get(name) or [1] * count)[i] for name in ("window_strides", "lhs_dilation", "rhs_dilation")
        )
        image = low + ((own - 1) * spread + 1 if own else 0) + high
        if image < 0:
            raise LaminaError(f"padding {padding.tolist()} leaves nothing of the image", where=call.op)
        window = (taps - 1) * dilations + 1 if taps else 0
        sizes[d.output_spatial_dimensions[i]] = (image - window) // strides + 1 if window <= image else 0
    checked_sizes(sizes, result, call)
    return convolution(lhs, rhs, padding=padding.astype(np.int64), result=result, **keywords)


@semantics("stablehlo.einsum", "stablehlo.unary_einsum")
def einsum(*inputs: Array, einsum_config: str, result: Spec) -> Array:
    wide = [_operand(x, result.dtype) for x in inputs]
    return np.asarray(np.einsum(einsum_config, *wide)).astype(result.dtype, copy=False)
