"""Batch normalisation: inference, training and the gradient, written as in the specification."""

from __future__ import annotations

import numpy as np

from ....compiler.semantics import semantics
from ....compiler.weights import Array
from .elementwise import widened


def _along(vector: Array, rank: int, feature_index: int) -> Array:
    """A vector over the features, shaped to broadcast to `rank` dimensions."""
    return widened(vector).reshape([-1 if d == feature_index else 1 for d in range(rank)])


@semantics("stablehlo.batch_norm_inference")
def batch_norm_inference(
    operand: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    feature_index: int,
) -> Array:
    x = widened(operand)
    s, o, m, v = (_along(p, x.ndim, feature_index) for p in (scale, offset, mean, variance))
    return ((x - m) / np.sqrt(v + x.dtype.type(epsilon)) * s + o).astype(operand.dtype)


def _mean(x: Array, feature_index: int) -> Array:
    axes = tuple(d for d in range(x.ndim) if d != feature_index)
    return x.mean(axes, dtype=np.float64).astype(x.dtype)


@semantics("stablehlo.batch_norm_training")
def batch_norm_training(
    operand: Array, scale: Array, offset: Array, *, epsilon: float, feature_index: int
) -> list[Array]:
    """Output, mean and (biased) variance of the batch."""
    x = widened(operand)
    mean = _mean(x, feature_index)
    centered = x - _along(mean, x.ndim, feature_index)
    variance = _mean(centered * centered, feature_index)
    output = batch_norm_inference(operand, scale, offset, mean, variance, epsilon=epsilon, feature_index=feature_index)
    return [output, mean.astype(operand.dtype), variance.astype(operand.dtype)]


@semantics("stablehlo.batch_norm_grad")
def batch_norm_grad(
    operand: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    grad_output: Array,
    *,
    epsilon: float,
    feature_index: int,
) -> list[Array]:
    """Gradients of operand, scale and offset."""
    x, g = widened(operand), widened(grad_output)
    rank, axes = x.ndim, tuple(d for d in range(x.ndim) if d != feature_index)
    count = x.dtype.type(x.size // max(1, x.shape[feature_index]))
    centered = x - _along(mean, rank, feature_index)
    std = np.sqrt(_along(variance, rank, feature_index) + x.dtype.type(epsilon))
    sum_g = g.sum(axes, keepdims=True)
    sum_gx = (g * centered).sum(axes, keepdims=True)
    grad_operand = (
        _along(scale, rank, feature_index) / std / count * (count * g - sum_g - centered * sum_gx / (std * std))
    )
    grads = [grad_operand, (sum_gx / std).reshape(-1), sum_g.reshape(-1)]
    return [grad.astype(operand.dtype) for grad in grads]
