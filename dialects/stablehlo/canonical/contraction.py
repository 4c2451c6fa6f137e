"""Constants after a product go into its constant weights; transposes before one into its dimension numbers.

This is what turns convolution, bias and batch normalisation of a trained network into one convolution and one
bias. Weights are computed in float64 and rounded once. Nothing is folded where the new weights would not all be
finite, so that NaN and infinities arise where they did.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

from ....compiler.weights import Array
from .. import BatchNormInferenceOp, BroadcastInDimOp, ConvolutionOp, DotGeneralOp, TransposeOp
from .. import ops_elementwise as ops
from ..attributes import ints
from ..semantics.elementwise import is_float, widened
from .rules import Builder, Replacement, compact, defining, shape_of, simplifies
from .windows import convolution_like

Product = ConvolutionOp | DotGeneralOp


@simplifies(BatchNormInferenceOp)
def batch_norm_with_constants(op: BatchNormInferenceOp, b: Builder) -> Replacement:
    """x * s + o, with s = scale / sqrt(variance + epsilon) and o = offset - mean * s."""
    known = [b.constant_of(v) for v in (op.scale, op.offset, op.mean, op.variance)]
    if any(array is None for array in known):
        return None
    scale, offset, mean, variance = (_exact(array) for array in known if array is not None)
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + op.epsilon.value.data)
        shift = offset - mean * factor
    shape, dtype = shape_of(op.operand), known[0].dtype if known[0] is not None else None
    if not (_all_finite(factor.astype(dtype)) and _all_finite(shift.astype(dtype))):
        return None
    dim, count = op.feature_index.value.data, shape_of(op.scale)
    terms = [
        b.broadcast(b.constant(np.broadcast_to(term.astype(dtype), count), name), shape, [dim])
        for term, name in ((factor, "scale"), (shift, "shift"))
    ]
    return b.value(ops.AddOp(b.value(ops.MultiplyOp(op.operand, terms[0])), terms[1]))


def _all_finite(array: Array) -> bool:
    return bool(np.isfinite(widened(array)).all())


def _exact(array: Array) -> Array:
    return compact(array).astype(np.float64)


def _weighted(value: SSAValue, b: Builder) -> Product | None:
    """The product that makes `value`, if its float weights (rhs) are constant and nobody else uses it."""
    op = value.owner
    if not isinstance(op, ConvolutionOp | DotGeneralOp) or not op.result.has_one_use():
        return None
    weights = b.constant_of(op.rhs)
    return op if weights is not None and is_float(weights.dtype) and _feature(op) is not None else None


def _feature(op: Product) -> tuple[int, int] | None:
    """(dimension of the weights, of the result) of the output features; for a dot its one free rhs dimension."""
    if isinstance(op, ConvolutionOp):
        return op.dims.kernel_output_feature_dimension, op.dims.output_feature_dimension
    d = op.dot_dimension_numbers.data
    used = {*d.rhs_batching_dimensions, *d.rhs_contracting_dimensions}
    free = [dim for dim in range(len(shape_of(op.rhs))) if dim not in used]
    return (free[0], len(shape_of(op.result)) - 1) if len(free) == 1 else None


def _per_feature(value: SSAValue, op: Product, b: Builder) -> Array | None:
    """The constant that `value` repeats, one element per output feature of `op` (or one for all)."""
    splat = b.splat_of(value)
    if splat is not None:
        return np.asarray(splat).reshape(1)
    repeat, feature = defining(value, BroadcastInDimOp), _feature(op)
    if repeat is None or feature is None:
        return None
    array = b.constant_of(repeat.operand)
    return array if array is not None and ints(repeat.broadcast_dimensions) == (feature[1],) else None


def _scaled(op: Product, factor: Array, b: Builder) -> Product | None:
    """`op` with its weights multiplied by `factor` per output feature; None where they are not finite then."""
    weights, feature = b.constant_of(op.rhs), _feature(op)
    assert weights is not None and feature is not None
    along = [-1 if d == feature[0] else 1 for d in range(weights.ndim)]
    with np.errstate(all="ignore"):
        new = (_exact(weights) * _exact(factor).reshape(along)).astype(weights.dtype)
    if not _all_finite(new):
        return None
    rhs = b.constant(np.broadcast_to(new, weights.shape), "scaled")
    if isinstance(op, ConvolutionOp):
        return b(convolution_like(op, op.lhs, rhs))
    return b(dot_like(op, op.lhs, rhs))


def dot_like(
    op: DotGeneralOp, lhs: SSAValue, rhs: SSAValue, element_type: Attribute | None = None, **numbers: Any
) -> DotGeneralOp:
    """A dot as `op`, on other operands, with the dimension numbers and the result's element type given."""
    if not numbers:
        numbers = {"dot_dimension_numbers": op.dot_dimension_numbers}
    return DotGeneralOp(
        lhs,
        rhs,
        precision_config=op.precision_config,
        algorithm=op.algorithm,
        element_type=element_type or op.result.type.element_type,
        **numbers,
    )


def _bias(value: SSAValue, array: Array, op: Product, b: Builder) -> SSAValue:
    """`array`, per output feature of `op` or one for all, repeated to the type of `value`."""
    feature = _feature(op)
    assert feature is not None
    if array.size == 1:
        return b.broadcast(b.constant(array.reshape(()), "bias"), shape_of(value), ())
    return b.broadcast(b.constant(array, "bias"), shape_of(value), [feature[1]])


@simplifies(ops.MultiplyOp, ops.DivideOp)
def scale_into_weights(op: ops.BinaryOp, b: Builder) -> Replacement:
    """(x · w) * s is x · (w * s)."""
    product = _weighted(op.lhs, b)
    factor = _per_feature(op.rhs, product, b) if product else None
    if product is None or factor is None:
        return None
    scaled = _scaled(product, _multiplier(op, factor), b)
    return scaled.result if scaled else None


def _multiplier(op: ops.BinaryOp, factor: Array) -> Array:
    with np.errstate(all="ignore"):
        return 1 / factor.astype(np.float64) if isinstance(op, ops.DivideOp) else factor


@simplifies(ops.MultiplyOp, ops.DivideOp)
def scale_past_bias(op: ops.BinaryOp, b: Builder) -> Replacement:
    """(x · w + c) * s is x · (w * s) + c * s."""
    sum_ = defining(op.lhs, ops.AddOp)
    product = _weighted(sum_.lhs, b) if sum_ and sum_.result.has_one_use() else None
    if sum_ is None or product is None:
        return None
    bias, factor = _per_feature(sum_.rhs, product, b), _per_feature(op.rhs, product, b)
    if bias is None or factor is None:
        return None
    multiplier = _multiplier(op, factor)
    with np.errstate(all="ignore"):
        new = (_exact(bias) * _exact(multiplier)).astype(bias.dtype)
    scaled = _scaled(product, multiplier, b) if _all_finite(new) else None
    if scaled is None:
        return None
    if new.size > 1 or max(bias.size, factor.size) > 1:
        new = np.broadcast_to(new, (max(bias.size, factor.size),))
    return b.value(ops.AddOp(scaled.result, _bias(op.result, new, product, b)))


@simplifies(ops.AddOp)
def one_bias(op: ops.AddOp, b: Builder) -> Replacement:
    """(x · w + c) + d is x · w + (c + d)."""
    sum_ = defining(op.lhs, ops.AddOp)
    product = _weighted(sum_.lhs, b) if sum_ and sum_.result.has_one_use() else None
    if sum_ is None or product is None:
        return None
    first, second = _per_feature(sum_.rhs, product, b), _per_feature(op.rhs, product, b)
    if first is None or second is None:
        return None
    total = (first.astype(np.float64) + second.astype(np.float64)).astype(first.dtype)
    return b.value(ops.AddOp(sum_.lhs, _bias(op.result, total, product, b)))


@simplifies(ops.SubtractOp)
def negative_bias(op: ops.SubtractOp, b: Builder) -> Replacement:
    """x · w - c is x · w + (-c), the form that the other rules know."""
    sum_ = defining(op.lhs, ops.AddOp)
    product = _weighted(sum_.lhs if sum_ else op.lhs, b)
    bias = _per_feature(op.rhs, product, b) if product else None
    if product is None or bias is None:
        return None
    return b.value(ops.AddOp(op.lhs, _bias(op.result, -bias, product, b)))


@simplifies(DotGeneralOp)
def transpose_into_dot(op: DotGeneralOp, b: Builder) -> Replacement:
    """A transpose of an operand only renames its dimensions, if the free ones keep their order."""
    d = op.dot_dimension_numbers.data
    left, right = (
        _untransposed(op.lhs, d.lhs_batching_dimensions, d.lhs_contracting_dimensions),
        _untransposed(op.rhs, d.rhs_batching_dimensions, d.rhs_contracting_dimensions),
    )
    if left is None and right is None:
        return None
    lhs, lhs_batch, lhs_sum = left or (op.lhs, d.lhs_batching_dimensions, d.lhs_contracting_dimensions)
    rhs, rhs_batch, rhs_sum = right or (op.rhs, d.rhs_batching_dimensions, d.rhs_contracting_dimensions)
    return b.value(
        dot_like(
            op,
            lhs,
            rhs,
            lhs_batching_dimensions=lhs_batch,
            rhs_batching_dimensions=rhs_batch,
            lhs_contracting_dimensions=lhs_sum,
            rhs_contracting_dimensions=rhs_sum,
        )
    )


def _untransposed(
    value: SSAValue, batch: tuple[int, ...], contracted: tuple[int, ...]
) -> tuple[SSAValue, list[int], list[int]] | None:
    op = defining(value, TransposeOp)
    if op is None:
        return None
    permutation = ints(op.permutation)
    free = [p for d, p in enumerate(permutation) if d not in (*batch, *contracted)]
    if free != sorted(free):
        return None
    return op.operand, [permutation[d] for d in batch], [permutation[d] for d in contracted]
