"""ONNX's normalisations and softmaxes in few hub ops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i64

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .table import lowers


@lowers("Softmax", since=13)
def softmax(b: GraphBuilder, x: Value, *, axis: int = -1) -> Value:
    along = [b.axis(axis, rank_of(x))]
    grown = b.exponential(b.subtract(x, b.reduce("maximum", x, along, keepdims=True)))
    return b.divide(grown, b.reduce("add", grown, along, keepdims=True))


@lowers("LogSoftmax", since=13)
def log_softmax(b: GraphBuilder, x: Value, *, axis: int = -1) -> Value:
    along = [b.axis(axis, rank_of(x))]
    shifted = b.subtract(x, b.reduce("maximum", x, along, keepdims=True))
    return b.subtract(shifted, b(hlo.LogOp(b.reduce("add", b.exponential(shifted), along, keepdims=True))))


@lowers("Hardmax", since=13)
def hardmax(b: GraphBuilder, x: Value, *, axis: int = -1) -> Value:
    along = b.axis(axis, rank_of(x))
    top = b.compare(x, b.reduce("maximum", x, [along], keepdims=True), "EQ")
    if is_float(x):
        top = b.logical_or(top, b.compare(x, x, "NE"))  # NaN is the largest
    places = b.iota(shape_of(x), along, i64)
    first = b.reduce("minimum", b.select(top, places, 2**62), [along], keepdims=True)
    return b.convert(b.compare(places, first, "EQ"), element_of(x))


@lowers("Softmax", since=1)
def softmax_1(b: GraphBuilder, x: Value, *, axis: int = 1) -> Value:
    return b.reshape(softmax(b, _as_matrix(b, x, axis)), shape_of(x))


@lowers("LogSoftmax", since=1)
def log_softmax_1(b: GraphBuilder, x: Value, *, axis: int = 1) -> Value:
    return b.reshape(log_softmax(b, _as_matrix(b, x, axis)), shape_of(x))


@lowers("Hardmax", since=1)
def hardmax_1(b: GraphBuilder, x: Value, *, axis: int = 1) -> Value:
    return b.reshape(hardmax(b, _as_matrix(b, x, axis)), shape_of(x))


def _as_matrix(b: GraphBuilder, x: Value, axis: int) -> Value:
    """Before opset 13 the dimensions from `axis` on count as one."""
    shape = shape_of(x)
    at = axis if axis == len(shape) else b.axis(axis, len(shape))
    return b.reshape(x, [math.prod(shape[:at]), math.prod(shape[at:])])


@lowers("BatchNormalization", since=14)
def batch_normalization(
    b: GraphBuilder,
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> Value | list[Value]:
    if training_mode:
        return _batch_statistics(b, x, scale, bias, mean, variance, epsilon, momentum)
    parts = [b.convert(part, element_of(x)) for part in (scale, bias, mean, variance)]
    channels = shape_of(x)[1] if rank_of(x) > 1 else 1
    if any(shape_of(part) != (channels,) for part in parts):
        raise b.fail(f"scale, bias, mean and variance must have shape [{channels}]")
    axis = 1 if rank_of(x) > 1 else 0
    return b(hlo.BatchNormInferenceOp(x, *parts, epsilon=epsilon, feature_index=axis))


def _batch_statistics(
    b: GraphBuilder,
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    epsilon: float,
    momentum: float,
) -> list[Value]:
    """Normalised by the batch's own mean and variance; and the running ones, moved towards them."""
    wide = b.convert(x, f32) if element_of(x).name in ("f16", "bf16") else x
    axes = [i for i in range(rank_of(x)) if i != 1]

    def spread(part: Value) -> Value:
        return b.expand_dims(b.convert(part, element_of(wide)), axes)

    middle = b.mean(wide, axes, keepdims=True)
    centred = b.subtract(wide, middle)
    around = b.mean(b.multiply(centred, centred), axes, keepdims=True)
    normal = b.multiply(centred, b.rsqrt(b.add(around, epsilon)))
    result = b.add(b.multiply(normal, spread(scale)), spread(bias))

    def moved(old: Value, new: Value) -> Value:
        now = b.convert(b.reshape(new, shape_of(old)), element_of(old))
        return b.add(b.multiply(old, momentum), b.multiply(now, 1 - momentum))

    return [b.convert(result, element_of(x)), moved(mean, middle), moved(variance, around)]


@lowers("BatchNormalization", since=7)
def batch_normalization_7(
    b: GraphBuilder,
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    spatial: int = 1,
) -> Value | list[Value]:
    if any(b.wanted[1:]) or not spatial:
        raise b.fail("batch normalisation for training, or not spatial", "export the model for inference")
    return batch_normalization(b, x, scale, bias, mean, variance, epsilon=epsilon)


@lowers("LayerNormalization")
def layer_normalization(
    b: GraphBuilder,
    x: Value,
    scale: Value,
    bias: Value | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> list[Value]:
    element = element_of(x)
    wide = b.convert(x, f32) if stash_type == 1 and element.name in ("f16", "bf16") else x
    axes = list(range(b.axis(axis, rank_of(x)), rank_of(x)))
    mean = b.mean(wide, axes, keepdims=True)
    centred = b.subtract(wide, mean)
    deviation = b.rsqrt(b.add(b.mean(b.multiply(centred, centred), axes, keepdims=True), epsilon))
    result = b.multiply(b.convert(b.multiply(centred, deviation), element), scale)
    return [result if bias is None else b.add(result, bias), mean, deviation]


@lowers("RMSNormalization")
def rms_normalization(
    b: GraphBuilder, x: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Value:
    element = element_of(x)
    wide = b.convert(x, f32) if stash_type == 1 and element.name in ("f16", "bf16") else x
    axes = list(range(b.axis(axis, rank_of(x)), rank_of(x)))
    size = b.rsqrt(b.add(b.mean(b.multiply(wide, wide), axes, keepdims=True), epsilon))
    return b.multiply(b.convert(b.multiply(wide, size), element), scale)


@lowers("InstanceNormalization")
def instance_normalization(b: GraphBuilder, x: Value, scale: Value, bias: Value, *, epsilon: float = 1e-5) -> Value:
    normal = _standardised(b, x, list(range(2, rank_of(x))), epsilon)
    spread = [0, *range(2, rank_of(x))]
    return b.add(b.multiply(normal, b.expand_dims(scale, spread)), b.expand_dims(bias, spread))


def _standardised(b: GraphBuilder, x: Value, axes: Sequence[int], epsilon: float) -> Value:
    """`x` with mean 0 and variance 1 over `axes`."""
    centred = b.subtract(x, b.mean(x, axes, keepdims=True))
    variance = b.mean(b.multiply(centred, centred), axes, keepdims=True)
    return b.multiply(centred, b.rsqrt(b.add(variance, epsilon)))


@lowers("GroupNormalization", since=21)
def group_normalization(
    b: GraphBuilder,
    x: Value,
    scale: Value,
    bias: Value,
    *,
    num_groups: int,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Value:
    element, shape = element_of(x), shape_of(x)
    if num_groups < 1 or len(shape) < 2 or shape[1] % num_groups:
        raise b.fail(f"the channels of {list(shape)} do not divide into {num_groups} groups")
    wide = b.convert(x, f32) if stash_type == 1 and element.name in ("f16", "bf16") else x
    grouped = b.reshape(wide, [shape[0], num_groups, math.prod(shape[1:]) // num_groups])
    normal = b.convert(b.reshape(_standardised(b, grouped, [2], epsilon), shape), element)
    spread = [0, *range(2, len(shape))]
    return b.add(b.multiply(normal, b.expand_dims(scale, spread)), b.expand_dims(bias, spread))


@lowers("GroupNormalization", since=18)
def group_normalization_18(
    b: GraphBuilder, x: Value, scale: Value, bias: Value, *, num_groups: int, epsilon: float = 1e-5
) -> Value:
    def per_channel(y: Value) -> Value:  # one number per group, repeated for its channels
        wide = b.broadcast_to(b.expand_dims(y, [1]), [num_groups, shape_of(x)[1] // num_groups])
        return b.reshape(wide, [shape_of(x)[1]])

    return group_normalization(b, x, per_channel(scale), per_channel(bias), num_groups=num_groups, epsilon=epsilon)


@lowers("LpNormalization")
def lp_normalization(b: GraphBuilder, x: Value, *, axis: int = -1, p: int = 2) -> Value:
    along = [b.axis(axis, rank_of(x))]
    if p == 1:
        size = b.reduce("add", b.abs(x), along, keepdims=True)
    else:
        size = b.sqrt(b.reduce("add", b.multiply(x, x), along, keepdims=True))
    empty = b.compare(size, 0.0, "EQ")
    return b.divide(x, b.select(empty, 1.0, size))


@lowers("MeanVarianceNormalization", since=9)
def mean_variance_normalization(b: GraphBuilder, x: Value, *, axes: Sequence[int] = (0, 2, 3)) -> Value:
    along = b.axes(axes, rank_of(x))
    centred = b.subtract(x, b.mean(x, along, keepdims=True))
    deviation = b.sqrt(b.mean(b.multiply(centred, centred), along, keepdims=True))
    return b.divide(centred, b.add(deviation, 1e-9))
