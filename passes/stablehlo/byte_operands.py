"""Integer products as products of signed bytes, with what the zero point adds taken off the sums.

    Σ_k (x - z) · w  =  Σ_k (x - 128) · w  -  (z - 128) · Σ_k w        for unsigned x; the last sum is constant

All of it is exact modulo 2^32, as the product of 32-bit integers is. A convolution pads with the zero point; images of
few channels, as the first are, get some more, which filters take times 0, so that every step reads whole groups.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, i8, i32
from xdsl.ir import SSAValue

from ...compiler.weights import Array
from ...dialects.stablehlo import (
    BitcastConvertOp,
    BroadcastInDimOp,
    ConvertOp,
    ConvolutionOp,
    DotGeneralOp,
    MultiplyOp,
    PadOp,
    SubtractOp,
    XorOp,
)
from ...dialects.stablehlo.attributes import ints
from ...dialects.stablehlo.canonical.contraction import dot_like
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, element_type, shape_of
from ...dialects.stablehlo.canonical.windows import convolution_like
from .integer_ranges import Range, narrowed, type_range, value_range

BYTES = type_range(i8)
GROUP = 4  # bytes that a lane multiplies at once
FEW_CHANNELS = 16  # of which those that fill up a group are many


class Shifted(NamedTuple):
    """A tensor of signed bytes and the scalar i32 that is to be taken off each, None for 0."""

    value: SSAValue
    zero: SSAValue | None


def eight_bits(op: DotGeneralOp | ConvolutionOp, b: Builder) -> Replacement:
    """The product on bytes, where both operands are such and the right one's sums are known."""
    if any(element_type(v) != i32 for v in (*op.operands, op.result)):
        return None
    if isinstance(op, ConvolutionOp) and (
        op.feature_group_count.value.data != 1
        or op.batch_group_count.value.data != 1
        or any(d != 1 for d in op.window().base_dilation)
    ):
        return None
    weights = known_elements(op.rhs, b)
    right = value_range(op.rhs, b.constant_of)
    fits = right is not None and right.within(BYTES)
    if not fits and (weights is None or not _range(weights).within(BYTES)):
        return None
    left = _shifted(op.lhs, b) if weights is not None else _plain(op.lhs, b)
    if left is None:
        return None
    rhs = narrowed(op.rhs, i8, b) if fits or weights is None else b.constant(weights.astype(np.int8), "narrow")
    is_dot = isinstance(op, DotGeneralOp)
    product = b.value(dot_like(op, left.value, rhs)) if is_dot else _convolved(op, left, rhs, weights, b)
    if left.zero is None or weights is None:
        return product
    summed, dims = _columns(op)
    sums = b.constant(weights.sum(axis=summed, dtype=np.int64).astype(np.int32), "column_sums")
    scale = b.broadcast(left.zero, shape_of(sums), ())
    excess = b.broadcast(b.value(MultiplyOp(sums, scale)), shape_of(product), dims)
    return b.value(SubtractOp(product, excess))


def known_elements(value: SSAValue, b: Builder) -> Array | None:
    """The elements of an integer constant, or of what folding leaves where it is large: widened, less zero points."""
    found = b.constant_of(value)
    if found is not None:
        return found
    match value.owner:
        case ConvertOp() as op:
            source, target = element_type(op.operand), element_type(value)
            if not isinstance(source, IntegerType) or not isinstance(target, IntegerType):
                return None
            return known_elements(op.operand, b) if source.width.data < target.width.data else None
        case SubtractOp() as op if element_type(value) == i32:
            left = known_elements(op.lhs, b)
            right = known_elements(op.rhs, b) if left is not None else None
            return None if left is None or right is None else left.astype(np.int32) - right
        case BroadcastInDimOp() as op if (dims := ints(op.broadcast_dimensions)) == tuple(sorted(dims)):
            small = known_elements(op.operand, b)
            if small is None:
                return None
            placed = [1] * len(shape_of(value))
            for size, dim in zip(small.shape, dims, strict=True):
                placed[dim] = size
            return np.broadcast_to(small.reshape(placed), shape_of(value))
        case _:
            return None


def _range(array: Array) -> Range:
    return Range(int(array.min()), int(array.max())) if array.size else Range(0, 0)


def _plain(value: SSAValue, b: Builder) -> Shifted | None:
    found = value_range(value, b.constant_of)
    return Shifted(narrowed(value, i8, b), None) if found is not None and found.within(BYTES) else None


def _shifted(value: SSAValue, b: Builder) -> Shifted | None:
    """`value` as bytes less a zero point: a conversion of bytes, perhaps less one number."""
    plain = _plain(value, b)
    if plain is not None:
        return plain
    zero: SSAValue | None = None
    source = value.owner
    shifted = source if isinstance(source, SubtractOp) else None
    if shifted is not None:
        source = shifted.lhs.owner
    if not isinstance(source, ConvertOp):
        return None
    data, type_ = source.operand, element_type(source.operand)
    if not isinstance(type_, IntegerType) or type_.width.data != 8:
        return None
    if shifted is not None:
        zero = _number(shifted.rhs, type_range(type_), b)
        if zero is None:
            return None
    if type_.signedness.data != Signedness.UNSIGNED:
        return Shifted(data, zero)
    middle = b.splat(np.uint8(128), TensorType(type_, shape_of(data)))
    signed = b.value(BitcastConvertOp(b.value(XorOp(data, middle)), i8))
    half = b.constant(np.asarray(128 if zero is not None else -128, np.int32))
    return Shifted(signed, half if zero is None else b.value(SubtractOp(zero, half)))


def _number(value: SSAValue, held: Range, b: Builder) -> SSAValue | None:
    """The scalar that a tensor repeats and that is one of those that the data hold."""
    found = value_range(value, b.constant_of)
    array = b.constant_of(value)
    if array is not None and array.size and bool((array == array.flat[0]).all()):
        scalar = b.constant(np.asarray(array.flat[0], np.int32))
    elif isinstance(value.owner, BroadcastInDimOp) and shape_of(value.owner.operand) == ():
        scalar = value.owner.operand
    else:
        return None
    return scalar if found is not None and found.within(held) else None


def _convolved(op: ConvolutionOp, left: Shifted, rhs: SSAValue, weights: Array | None, b: Builder) -> SSAValue:
    """The convolution; its padding, which stands for 0, is what the zero point is in the data."""
    window, shape, rank = op.window(), shape_of(left.value), len(shape_of(left.value))
    low, high = [0] * rank, [0] * rank
    channels = shape[op.dims.input_feature_dimension]
    if weights is not None and channels < FEW_CHANNELS and prod(window.size) > 1:
        high[op.dims.input_feature_dimension] = -channels % GROUP
    if not any(high) and (left.zero is None or not any(before or after for before, after in window.padding)):
        return b.value(convolution_like(op, left.value, rhs))
    if weights is not None and any(high):
        filled = [(0, 0)] * rank
        filled[op.dims.kernel_input_feature_dimension] = (0, max(high))
        rhs = b.constant(np.pad(weights.astype(np.int8), filled), "filled_up")
    for dim, (before, after) in zip(op.dims.input_spatial_dimensions, window.padding, strict=True):
        low[dim], high[dim] = before, after
    zero = b.constant(np.zeros((), np.int8), "zero") if left.zero is None else b.value(ConvertOp(left.zero, i8))
    padded = b.value(PadOp(left.value, zero, edge_padding_low=low, edge_padding_high=high))
    return b.value(convolution_like(op, padded, rhs, padding=[(0, 0)] * len(window.padding)))


def _columns(op: DotGeneralOp | ConvolutionOp) -> tuple[tuple[int, ...], list[int]]:
    """The dimensions of the right operand that are summed, and those of the result that the others become."""
    rank = len(shape_of(op.result))
    if isinstance(op, ConvolutionOp):
        kept = op.dims.kernel_output_feature_dimension
        summed = tuple(d for d in range(len(shape_of(op.rhs))) if d != kept)
        return summed, [op.dims.output_feature_dimension]
    numbers = op.dot_dimension_numbers.data
    batch = len(numbers.rhs_batching_dimensions)
    free = len(shape_of(op.rhs)) - batch - len(numbers.rhs_contracting_dimensions)
    return tuple(numbers.rhs_contracting_dimensions), [*range(batch), *range(rank - free, rank)]
