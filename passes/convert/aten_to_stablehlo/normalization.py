"""ATen's softmaxes and normalisations, and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from ....dialects import stablehlo as hlo
from .builder import AtenBuilder, Value, element_of, rank_of, shape_of
from .table import lowers


@lowers("_softmax")
def softmax(b: AtenBuilder, x: Value, dim: int, half_to_float: bool = False) -> Value:
    wide, along = b.wide(x), [b.axis(dim, rank_of(x))]
    if not rank_of(x):
        return b.broadcast_to(b.scalar(1.0, element_of(x)), [])
    grown = b.exponential(b.subtract(wide, b.reduce("maximum", wide, along, keepdims=True)))
    result = b.divide(grown, b.reduce("add", grown, along, keepdims=True))
    return b.convert(result, f32 if half_to_float else element_of(x))


@lowers("_log_softmax")
def log_softmax(b: AtenBuilder, x: Value, dim: int, half_to_float: bool = False) -> Value:
    wide, along = b.wide(x), [b.axis(dim, rank_of(x))]
    shifted = b.subtract(wide, b.reduce("maximum", wide, along, keepdims=True))
    result = b.subtract(shifted, b(hlo.LogOp(b.reduce("add", b.exponential(shifted), along, keepdims=True))))
    return b.convert(result, f32 if half_to_float else element_of(x))


@lowers("softmax.int")
def softmax_int(b: AtenBuilder, x: Value, dim: int, dtype: Attribute | None = None) -> Value:
    return softmax(b, x if dtype is None else b.convert(x, dtype), dim)


@lowers("log_softmax.int")
def log_softmax_int(b: AtenBuilder, x: Value, dim: int, dtype: Attribute | None = None) -> Value:
    return log_softmax(b, x if dtype is None else b.convert(x, dtype), dim)


@lowers("_softmax_backward_data")
def softmax_backward(b: AtenBuilder, grad_output: Value, output: Value, dim: int, input_dtype: Attribute) -> Value:
    product = b.multiply(grad_output, output)
    total = b.reduce("add", product, [b.axis(dim, rank_of(output))], keepdims=True)
    return b.convert(b.subtract(product, b.multiply(output, total)), input_dtype)


@lowers("_log_softmax_backward_data")
def log_softmax_backward(b: AtenBuilder, grad_output: Value, output: Value, dim: int, input_dtype: Attribute) -> Value:
    total = b.reduce("add", grad_output, [b.axis(dim, rank_of(output))], keepdims=True)
    return b.convert(b.subtract(grad_output, b.multiply(b.exponential(output), total)), input_dtype)


def _standard(b: AtenBuilder, x: Value, axes: Sequence[int], eps: float) -> tuple[Value, Value, Value]:
    """`x` with mean 0 and variance 1 over `axes`; the mean; one over the deviation."""
    mean = b.mean(x, axes, keepdims=True)
    centred = b.subtract(x, mean)
    rstd = b.rsqrt(b.add(b.mean(b.multiply(centred, centred), axes, keepdims=True), eps))
    return b.multiply(centred, rstd), mean, rstd


@lowers("native_layer_norm")
def native_layer_norm(
    b: AtenBuilder, x: Value, normalized_shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float
) -> list[Value]:
    axes = list(range(rank_of(x) - len(normalized_shape), rank_of(x)))
    normal, mean, rstd = _standard(b, b.wide(x), axes, eps)
    if weight is not None:
        normal = b.multiply(normal, b.wide(weight))
    if bias is not None:
        normal = b.add(normal, b.wide(bias))
    return [b.convert(normal, element_of(x)), mean, rstd]


@lowers("layer_norm")
def layer_norm(
    b: AtenBuilder,
    x: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Value:
    return native_layer_norm(b, x, normalized_shape, weight, bias, eps)[0]


@lowers("_fused_rms_norm")
def fused_rms_norm(
    b: AtenBuilder, x: Value, normalized_shape: Sequence[int], weight: Value | None, eps: float | None
) -> list[Value]:
    wide = b.wide(x)
    axes = list(range(rank_of(x) - len(normalized_shape), rank_of(x)))
    smallest = 1.1920928955078125e-07 if eps is None else eps
    rstd = b.rsqrt(b.add(b.mean(b.multiply(wide, wide), axes, keepdims=True), smallest))
    normal = b.multiply(wide, rstd)
    return [b.convert(normal if weight is None else b.multiply(normal, b.wide(weight)), element_of(x)), rstd]


@lowers("rms_norm")
def rms_norm(
    b: AtenBuilder, x: Value, normalized_shape: Sequence[int], weight: Value | None = None, eps: float | None = None
) -> Value:
    return fused_rms_norm(b, x, normalized_shape, weight, eps)[0]


@lowers("native_layer_norm_backward")
def native_layer_norm_backward(
    b: AtenBuilder,
    grad_out: Value,
    x: Value,
    normalized_shape: Sequence[int],
    mean: Value,
    rstd: Value,
    weight: Value | None,
    bias: Value | None,
    output_mask: Sequence[bool],
) -> list[Value | None]:
    outer = list(range(rank_of(x) - len(normalized_shape)))
    axes = list(range(len(outer), rank_of(x)))
    element, grad = element_of(x), b.wide(grad_out)
    normal = b.multiply(b.subtract(b.wide(x), mean), rstd)
    inner = grad if weight is None else b.multiply(grad, b.wide(weight))
    by_input = b.multiply(rstd, _centred(b, inner, normal, axes)) if output_mask[0] else None
    by_weight = b.reduce("add", b.multiply(grad, normal), outer) if output_mask[1] and weight is not None else None
    by_bias = b.reduce("add", grad, outer) if output_mask[2] and bias is not None else None
    return [None if v is None else b.convert(v, element) for v in (by_input, by_weight, by_bias)]


def _centred(b: AtenBuilder, grad: Value, normal: Value, axes: Sequence[int]) -> Value:
    """`grad` without its parts along the mean and along the normalised values."""
    along = b.multiply(normal, b.mean(b.multiply(grad, normal), axes, keepdims=True))
    return b.subtract(b.subtract(grad, b.mean(grad, axes, keepdims=True)), along)


def _per_channel(b: AtenBuilder, x: Value, rank: int) -> Value:
    return b.expand_dims(x, [0, *range(2, rank)])


@lowers("native_group_norm")
def native_group_norm(
    b: AtenBuilder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> list[Value]:
    shape, rank = shape_of(x), rank_of(x)
    grouped = b.reshape(b.wide(x), [N, group, C // group * HxW])
    normal, mean, rstd = _standard(b, grouped, [2], eps)
    result = b.reshape(normal, shape)
    if weight is not None:
        result = b.multiply(result, _per_channel(b, b.wide(weight), rank))
    if bias is not None:
        result = b.add(result, _per_channel(b, b.wide(bias), rank))
    return [b.convert(result, element_of(x)), b.reshape(mean, [N, group]), b.reshape(rstd, [N, group])]


@lowers("native_group_norm_backward")
def native_group_norm_backward(
    b: AtenBuilder,
    grad_out: Value,
    x: Value,
    mean: Value,
    rstd: Value,
    weight: Value | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> list[Value | None]:
    shape, grouped = shape_of(x), [N, group, C // group * HxW]
    spread = [N, group, 1]
    deviation = b.reshape(rstd, spread)
    normal = b.multiply(b.subtract(b.reshape(x, grouped), b.reshape(mean, spread)), deviation)
    inner = grad_out if weight is None else b.multiply(grad_out, _per_channel(b, weight, rank_of(x)))
    by_input = by_weight = by_bias = None
    if output_mask[0]:
        by_input = b.reshape(b.multiply(deviation, _centred(b, b.reshape(inner, grouped), normal, [2])), shape)
    channels = [N, C, HxW]
    if output_mask[1]:
        product = b.multiply(b.reshape(grad_out, channels), b.reshape(normal, channels))
        by_weight = b.reduce("add", product, [0, 2])
    if output_mask[2]:
        by_bias = b.reduce("add", b.reshape(grad_out, channels), [0, 2])
    return [by_input, by_weight, by_bias]


@lowers("_native_batch_norm_legit_no_training")
def batch_norm_inference(
    b: AtenBuilder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value,
    running_var: Value,
    momentum: float,
    eps: float,
) -> list[Value]:
    element, channels = element_of(x), shape_of(running_mean)
    wide = b.wide(x)
    kind = element_of(wide)
    scale = b.broadcast_to(b.scalar(1.0, kind), channels) if weight is None else b.convert(weight, kind)
    offset = b.zeros(list(channels), kind) if bias is None else b.convert(bias, kind)
    parts = (scale, offset, b.convert(running_mean, kind), b.convert(running_var, kind))
    result = b(hlo.BatchNormInferenceOp(wide, *parts, epsilon=eps, feature_index=1))
    return [b.convert(result, element), b.zeros([0], kind), b.zeros([0], kind)]


@lowers("_native_batch_norm_legit_functional")
def batch_norm_functional(
    b: AtenBuilder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value,
    running_var: Value,
    training: bool,
    momentum: float,
    eps: float,
) -> list[Value]:
    if not training:
        inferred = batch_norm_inference(b, x, weight, bias, running_mean, running_var, momentum, eps)
        return [*inferred, running_mean, running_var]
    result, mean, rstd, variance = _batch_norm(b, x, weight, bias, eps)
    count = math.prod(shape_of(x)) // shape_of(x)[1]
    unbiased = b.multiply(variance, count / max(count - 1, 1))

    def moved(old: Value, new: Value) -> Value:
        return b.add(b.multiply(old, 1.0 - momentum), b.multiply(b.convert(new, element_of(old)), momentum))

    return [result, mean, rstd, moved(running_mean, mean), moved(running_var, unbiased)]


@lowers("_native_batch_norm_legit.no_stats")
def batch_norm_no_stats(
    b: AtenBuilder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> list[Value]:
    return _batch_norm(b, x, weight, bias, eps)[:3]


def _batch_norm(b: AtenBuilder, x: Value, weight: Value | None, bias: Value | None, eps: float) -> list[Value]:
    """The result by the batch's own statistics; mean, one over the deviation, variance."""
    rank = rank_of(x)
    axes = [0, *range(2, rank)]
    wide = b.wide(x)
    mean = b.mean(wide, axes, keepdims=True)
    centred = b.subtract(wide, mean)
    variance = b.mean(b.multiply(centred, centred), axes, keepdims=True)
    rstd = b.rsqrt(b.add(variance, eps))
    result = b.multiply(centred, rstd)
    if weight is not None:
        result = b.multiply(result, _per_channel(b, b.wide(weight), rank))
    if bias is not None:
        result = b.add(result, _per_channel(b, b.wide(bias), rank))
    flat = [shape_of(x)[1]]
    return [b.convert(result, element_of(x)), *(b.reshape(v, flat) for v in (mean, rstd, variance))]


@lowers("native_batch_norm_backward")
def native_batch_norm_backward(
    b: AtenBuilder,
    grad_out: Value,
    x: Value,
    weight: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    save_mean: Value | None,
    save_invstd: Value | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> list[Value | None]:
    rank = rank_of(x)
    axes = [0, *range(2, rank)]
    if train:
        assert save_mean is not None and save_invstd is not None
        mean, rstd = save_mean, save_invstd
    else:
        assert running_mean is not None and running_var is not None
        mean, rstd = running_mean, b.rsqrt(b.add(running_var, eps))
    grad, deviation = b.wide(grad_out), _per_channel(b, rstd, rank)
    normal = b.multiply(b.subtract(b.wide(x), _per_channel(b, mean, rank)), deviation)
    inner = grad if weight is None else b.multiply(grad, _per_channel(b, b.wide(weight), rank))
    by_input = by_weight = by_bias = None
    if output_mask[0]:
        by_input = b.multiply(deviation, _centred(b, inner, normal, axes) if train else inner)
        by_input = b.convert(by_input, element_of(x))
    if output_mask[1]:
        by_weight = b.reduce("add", b.multiply(grad, normal), axes)
    if output_mask[2]:
        by_bias = b.reduce("add", grad, axes)
    return [by_input, by_weight, by_bias]
