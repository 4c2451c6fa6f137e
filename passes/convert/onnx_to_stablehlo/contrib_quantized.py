"""Quantised operators of com.microsoft: products of packed weights, and integer products with their scales."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i32
from xdsl.ir import Attribute

from ....dialects import stablehlo as hlo
from ....dialects.onnx.ops import DYNAMIC_QUANTIZATION
from ....dialects.stablehlo.composites import MATMUL_NBITS
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .composite import composite
from .contraction import matmul
from .contrib import MICROSOFT, to_channels_first, to_channels_last
from .indexing import gather
from .normalization import softmax, softmax_1
from .pooling import average_pool
from .quantization import dequantize_linear, qlinear_conv, quantize_linear, requantized, spread
from .table import lowers

BYTE = IntegerType(8, Signedness.UNSIGNED)


@lowers("DequantizeLinear", domain=MICROSOFT)
def dequantize(b: GraphBuilder, x: Value, scale: Value, zero: Value | None = None, *, axis: int = 1) -> Value:
    return dequantize_linear(b, x, scale, zero, axis=axis)


@lowers("QuantizeLinear", domain=MICROSOFT)
def quantize(b: GraphBuilder, x: Value, scale: Value, zero: Value | None = None, *, axis: int = 1) -> Value:
    return quantize_linear(b, x, scale, zero, axis=axis)


def unpacked(b: GraphBuilder, packed: Value, bits: int) -> Value:
    """The numbers of `bits` bits that lie in the bytes of the last dimension, the lowest bits first."""
    if bits == 8:
        return packed
    shape, element = shape_of(packed), element_of(packed)
    shifts = b.constant(np.arange(0, 8, bits, dtype=np.uint8))
    wide, amount = b.broadcast(b.expand_dims(packed, [len(shape)]), shifts)
    shifted = b(hlo.ShiftRightLogicalOp(wide, amount))
    kept = b(hlo.AndOp(*b.broadcast(shifted, b.scalar(2**bits - 1, element))))
    return b.reshape(kept, [*shape[:-1], shape[-1] * (8 // bits)])


def _zero_points(b: GraphBuilder, zeros: Value, shape: tuple[int, int], bits: int, element: Attribute) -> Value:
    """[rows, blocks] in the type of the scales, whether they came packed or not."""
    rows, blocks = shape
    if is_float(zeros):
        return b.reshape(zeros, [rows, blocks])
    width = math.ceil(blocks * bits / 8)
    numbers = unpacked(b, b.reshape(zeros, [rows, width]), bits)
    return b.convert(b.slice_axis(numbers, 1, 0, blocks), element)


@lowers("MatMulNBits", domain=MICROSOFT)
def matmul_n_bits(
    b: GraphBuilder,
    x: Value,
    packed: Value,
    scales: Value,
    zeros: Value | None = None,
    g_idx: Value | None = None,
    bias: Value | None = None,
    *,
    K: int,
    N: int,
    block_size: int,
    bits: int = 4,
    accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> Value:
    """x times a matrix of [N, K] whose blocks along K have a scale each; computed in the type of `x`.

    Where `onnx-dynamic-quantization` says so, blocks of x are rounded to bytes, as ONNX Runtime does.
    """
    if g_idx is not None or weight_prepacked:
        raise b.fail("g_idx and weight_prepacked are not supported")
    if bits not in (2, 4, 8):
        raise b.fail(f"numbers of {bits} bits are not supported")
    *outer, depth = shape_of(x)
    if min(K, N, block_size) < 1 or block_size * bits % 8:
        raise b.fail(f"K={K}, N={N} and block_size={block_size} must be positive, and a block whole bytes")
    if depth != K:
        raise b.fail(f"rows of {depth} elements cannot be multiplied by a matrix of K={K}")
    blocks = math.ceil(K / block_size)
    if element_of(packed) != BYTE:
        raise b.fail(f"expected packed weights of uint8, got {packed.type}")
    _expect(b, packed, "weights", (N, blocks, block_size * bits // 8))
    _expect(b, scales, "scales", (N, blocks))
    if zeros is not None:
        _expect(b, zeros, "zero points", (N, blocks if is_float(zeros) else math.ceil(blocks * bits / 8)))
    rows = b.reshape(x, [math.prod(outer), depth])
    shared = [b.reshape(packed, [N, blocks, block_size * bits // 8]), b.reshape(scales, [N, blocks])]
    if zeros is not None:
        shared.append(_zero_points(b, zeros, (N, blocks), bits, element_of(scales)))
    rounded = b.node is not None and DYNAMIC_QUANTIZATION in b.node.attributes
    said = {"bits": bits, "block_size": block_size, "accuracy_level": 4 if rounded else 0}
    known = not any(b.depends_on_inputs(value) for value in shared)
    if element_of(x) == f32 and known and block_size * bits % 32 == 0:
        [result] = composite(b, MATMUL_NBITS, [rows, *shared], said, lambda *args: [_matmul_n_bits(*args)])
    else:
        result = _matmul_n_bits(b, said, rows, *shared)
    result = b.reshape(result, [*outer, N])
    return result if bias is None else b.add(result, bias)


def _expect(b: GraphBuilder, value: Value, what: str, shape: tuple[int, ...]) -> None:
    """Raises LaminaError where a value has not as many elements as a shape."""
    if math.prod(shape_of(value)) != math.prod(shape):
        raise b.fail(f"{what} have shape {list(shape_of(value))}, expected {list(shape)} of K, N, bits and block_size")


def _matmul_n_bits(
    b: GraphBuilder, said: Mapping[str, int], x: Value, packed: Value, scales: Value, zeros: Value | None = None
) -> Value:
    """What MATMUL_NBITS means; also for other types than f32."""
    rows, depth = shape_of(x)
    columns, blocks = shape_of(scales)
    block = said["block_size"]
    if blocks * block != depth:
        x = b.pad(x, b.scalar(0.0, element_of(x)), [0, 0], [0, blocks * block - depth])
    if said["accuracy_level"] == 4:
        x = b.reshape(_rounded_to_bytes(b, b.reshape(x, [rows, blocks, block])), [rows, blocks * block])
    weights = b.convert(numbers_of(b, packed, scales, zeros, said["bits"]), element_of(x))
    return b.dot(x, b.reshape(weights, [columns, blocks * block]), ([1], [1]))


def numbers_of(b: GraphBuilder, packed: Value, scales: Value, zeros: Value | None, bits: int) -> Value:
    """[..., blocks, elements] from bytes [..., blocks, bytes], scales and zero points [..., blocks]."""
    kind, last = element_of(scales), rank_of(scales)
    middle = b.scalar(2 ** (bits - 1), kind) if zeros is None else b.expand_dims(zeros, [last])
    return b.multiply(b.subtract(b.convert(unpacked(b, packed, bits), kind), middle), b.expand_dims(scales, [last]))


def _rounded_to_bytes(b: GraphBuilder, x: Value) -> Value:
    """`x` whose rows are whole numbers from -127 to 127 times a scale: the largest one's 127th part.

    Rows whose scale is no normal number are zeros; what is not finite makes a row NaN.
    """
    scale = b.divide(b.reduce("maximum", b.abs(x), [rank_of(x) - 1], keepdims=True), 127.0)
    least = float(np.finfo(np.float32).tiny)
    inverse = b.select(b.compare(scale, least, "GE"), b.divide(1.0, scale), 0.0)
    return b.multiply(b(hlo.RoundNearestEvenOp(b.multiply(x, inverse))), scale)


@lowers("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(
    b: GraphBuilder,
    data: Value,
    indices: Value,
    scales: Value,
    zeros: Value | None = None,
    *,
    bits: int = 4,
    block_size: int = 128,
    gather_axis: int = 0,
    quantize_axis: int = 1,
) -> Value:
    """Gathered first and widened then, so that only the rows that are asked for are."""
    rank = rank_of(data)
    along, blocked = b.axis(gather_axis, rank), b.axis(quantize_axis, rank)
    bytes_ = element_of(data) == BYTE
    if along == blocked or (bytes_ and blocked != rank - 1):
        raise b.fail("gathering along the axis of the blocks is not supported")

    def taken(part: Value) -> Value:
        return gather(b, part, indices, axis=along)

    def whole(part: Value) -> Value:
        return unpacked(b, part, bits) if bytes_ else part

    place = blocked - rank
    numbers = b.convert(whole(taken(data)), i32)
    if zeros is not None:
        zeros = whole(taken(zeros)) if bytes_ else taken(zeros)
    elif bytes_:
        zeros = b.broadcast_to(b.scalar(2 ** (bits - 1), BYTE), shape_of(taken(scales)))
    size = shape_of(numbers)[place]
    factor = _repeated(b, taken(scales), place, block_size, size)
    if zeros is not None:
        count = shape_of(taken(scales))[place]
        zeros = b.slice_axis(zeros, rank_of(zeros) + place, 0, count)
        numbers = b.subtract(numbers, _repeated(b, b.convert(zeros, i32), place, block_size, size))
    return b.multiply(b.convert(numbers, element_of(scales)), factor)


def _repeated(b: GraphBuilder, x: Value, place: int, count: int, size: int) -> Value:
    """Each element `count` times along the dimension `place`, counted from the end; `size` of them."""
    shape = list(shape_of(x))
    at = len(shape) + place
    wide = b.broadcast_to(b.expand_dims(x, [at + 1]), [*shape[: at + 1], count, *shape[at + 1 :]])
    whole = b.reshape(wide, [*shape[:at], shape[at] * count, *shape[at + 1 :]])
    return b.slice_axis(whole, at, 0, size)


@lowers("QGemm", domain=MICROSOFT)
def qgemm(
    b: GraphBuilder,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    y: Value,
    y_scale: Value,
    y_zero: Value,
    c: Value | None = None,
    scale: Value | None = None,
    zero: Value | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    """alpha x y + c, with integers added up; real numbers where no scale of the result is given."""
    left = b.subtract(b.convert(x, i32), b.convert(b.reshape(x_zero, []), i32))
    right = b.subtract(b.convert(y, i32), spread(b, b.convert(y_zero, i32), y, 0 if transB else 1, 0))
    total = b.dot(left, right, ([0 if transA else 1], [1 if transB else 0]))
    if c is not None:
        total = b.add(total, b.broadcast_to(c, shape_of(total)))
    factor = b.multiply(b.multiply(b.reshape(x_scale, []), alpha), spread(b, y_scale, total, 1, 0))
    if scale is None:
        return b.multiply(b.convert(total, f32), factor)
    return requantized(b, total, factor, scale, b.scalar(0, element_of(x)) if zero is None else zero, 1)


@lowers("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(
    b: GraphBuilder,
    x: Value,
    y: Value,
    x_scale: Value,
    y_scale: Value,
    x_zero: Value | None = None,
    y_zero: Value | None = None,
    bias: Value | None = None,
) -> Value:
    left, right = b.convert(x, i32), b.convert(y, i32)
    if x_zero is not None:
        left = b.subtract(left, spread(b, b.convert(x_zero, i32), x, -2, 0))
    if y_zero is not None:
        right = b.subtract(right, spread(b, b.convert(y_zero, i32), y, -1, 0))
    product = b.convert(matmul(b, left, right), f32)
    result = b.multiply(product, b.multiply(spread(b, x_scale, x, -2, 0), spread(b, y_scale, y, -1, 0)))
    return result if bias is None else b.add(result, bias)


@lowers("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(
    b: GraphBuilder, x: Value, y: Value, y_scale: Value, y_zero: Value | None = None, bias: Value | None = None
) -> Value:
    """`x` is quantised as DynamicQuantizeLinear does it."""
    every = range(rank_of(x))
    low = b.minimum(b.reduce("minimum", x, every), 0.0)
    span = b.subtract(b.maximum(b.reduce("maximum", x, every), 0.0), low)
    scale = b.divide(span, 255.0)
    scale = b.select(b.compare(span, 0.0, "EQ"), 1.0, scale)
    middle = b(hlo.RoundNearestEvenOp(b.divide(b.negate(low), scale)))
    zero = b.convert(b.minimum(b.maximum(middle, 0.0), 255.0), BYTE)
    return matmul_integer_to_float(b, quantize_linear(b, x, scale, zero), y, scale, y_scale, zero, y_zero, bias)


@lowers("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(
    b: GraphBuilder,
    x: Value,
    x_scale: Value,
    x_zero: Value | None,
    scale: Value,
    zero: Value,
    *,
    opset: int,
    axis: int = -1,
) -> Value:
    function = softmax if opset >= 13 else softmax_1
    return quantize_linear(b, function(b, dequantize_linear(b, x, x_scale, x_zero), axis=axis), scale, zero)


@lowers("QLinearWhere", domain=MICROSOFT)
def qlinear_where(
    b: GraphBuilder,
    condition: Value,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    y: Value,
    y_scale: Value,
    y_zero: Value,
    scale: Value,
    zero: Value,
) -> Value:
    left, right = dequantize_linear(b, x, x_scale, x_zero), dequantize_linear(b, y, y_scale, y_zero)
    return quantize_linear(b, b.select(condition, left, right), scale, zero)


@lowers("QLinearAveragePool", domain=MICROSOFT)
def qlinear_average_pool(
    b: GraphBuilder,
    x: Value,
    x_scale: Value,
    x_zero: Value | None,
    scale: Value,
    zero: Value | None = None,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    real = dequantize_linear(b, x, x_scale, x_zero)
    pooled = average_pool(
        b,
        to_channels_first(b, real) if channels_last else real,
        kernel_shape=kernel_shape,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        pads=pads,
        strides=strides,
    )
    zero = b.scalar(0, element_of(x)) if zero is None else zero
    return quantize_linear(b, to_channels_last(b, pooled) if channels_last else pooled, scale, zero)


@lowers("QLinearConv", domain=MICROSOFT)
def qlinear_conv_either(b: GraphBuilder, x: Value, *rest: Value, channels_last: int = 0, **attributes: Any) -> Value:
    """ONNX's QLinearConv, whose images may have their channels last."""
    result = qlinear_conv(b, to_channels_first(b, x) if channels_last else x, *rest, **attributes)
    return to_channels_last(b, result) if channels_last else result
