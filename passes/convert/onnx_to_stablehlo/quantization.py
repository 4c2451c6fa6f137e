"""ONNX's quantisation in plain arithmetic: scales and zero points are tensors like any other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float4E2M1FNType, IntegerType, Signedness, f32, i32
from xdsl.ir import Attribute

from ....dialects import stablehlo as hlo
from ....dialects.onnx.types import element_code, element_type
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contraction import matmul
from .convolution import conv
from .elementwise import cast
from .limits import extreme
from .table import lowers


def spread(b: GraphBuilder, parameter: Value, x: Value, axis: int, block_size: int) -> Value:
    """A scale or zero point in a shape that broadcasts to `x`: one number, one per slice of `axis`, or per block."""
    if rank_of(parameter) == 0 or (rank_of(parameter) == 1 and shape_of(parameter)[0] == 1):
        return b.reshape(parameter, [])
    along = b.axis(axis, rank_of(x))
    if rank_of(parameter) == 1 and not block_size:
        return b.expand_dims(parameter, [i for i in range(rank_of(x)) if i != along])
    if not block_size or rank_of(parameter) != rank_of(x):
        raise b.fail(f"scales of shape {list(shape_of(parameter))} for data of shape {list(shape_of(x))}")
    own = list(shape_of(parameter))
    repeated = [*own[: along + 1], block_size, *own[along + 1 :]]
    wide = b.broadcast_to(b.expand_dims(parameter, [along + 1]), repeated)
    whole = b.reshape(wide, [*own[:along], own[along] * block_size, *own[along + 1 :]])
    return b.slice_axis(whole, along, 0, shape_of(x)[along])


@lowers("DequantizeLinear", since=10)
def dequantize_linear(
    b: GraphBuilder,
    x: Value,
    scale: Value,
    zero_point: Value | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Value:
    target = element_type(output_dtype) if output_dtype else element_of(scale)
    assert target is not None
    wide = f32 if element_of(scale).name != "f64" else element_of(scale)
    if isinstance(element_of(x), IntegerType):
        number = b.convert(x, i32)
        if zero_point is not None:
            number = b.subtract(number, spread(b, b.convert(zero_point, i32), x, axis, block_size))
    else:
        number = x  # as ONNX's reference evaluator has it, the zero point of floats does not count
    factor = spread(b, b.convert(scale, wide), x, axis, block_size)
    return b.convert(b.multiply(b.convert(number, wide), factor), target)


@lowers("QuantizeLinear", since=10)
def quantize_linear(
    b: GraphBuilder,
    x: Value,
    scale: Value,
    zero_point: Value | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Value:
    target: Attribute | None = IntegerType(8, Signedness.UNSIGNED)
    if zero_point is not None:
        target = element_of(zero_point)
    elif output_dtype:
        target = element_type(output_dtype)
    assert target is not None
    wide = (element_type(precision) if precision else None) or f32
    value = b.divide(b.convert(x, wide), spread(b, b.convert(scale, wide), x, axis, block_size))
    zeros = None
    if zero_point is not None and isinstance(target, IntegerType | Float4E2M1FNType):  # floats of 8 bits go by 0
        zeros = spread(b, b.convert(zero_point, wide), x, axis, block_size)
    return stored(b, value, target, zeros, saturate)


def stored(b: GraphBuilder, value: Value, target: Attribute, zero: Value | None, saturate: int = 1) -> Value:
    """As a float of few bits, or the nearest integer, even ones first, from the zero point on; saturated."""
    if not isinstance(target, IntegerType):
        value = value if zero is None else b.add(value, zero)
        return cast(b, value, to=element_code(target), saturate=saturate)
    value = b(hlo.RoundNearestEvenOp(value))
    if zero is not None:
        value = b.add(value, zero)
    low, high = float(extreme(target, largest=False)), float(extreme(target, largest=True))
    return b.convert(b.minimum(b.maximum(value, low), high), target)


def requantized(b: GraphBuilder, total: Value, factor: Value, scale: Value, zero: Value, axis: int) -> Value:
    """Sums of products in a new scale, by one factor as ONNX defines it: known scales cost no division."""
    own, shift = (spread(b, b.convert(each, f32), total, axis, 0) for each in (scale, zero))
    return stored(b, b.multiply(b.convert(total, f32), b.divide(factor, own)), element_of(zero), shift)


@lowers("QLinearMatMul")
def qlinear_matmul(
    b: GraphBuilder,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    y: Value,
    y_scale: Value,
    y_zero: Value,
    scale: Value,
    zero: Value,
) -> Value:
    left = b.subtract(b.convert(x, i32), spread(b, b.convert(x_zero, i32), x, -2, 0))
    right = b.subtract(b.convert(y, i32), spread(b, b.convert(y_zero, i32), y, -1, 0))
    product = matmul(b, left, right)
    factor = b.multiply(spread(b, b.convert(x_scale, f32), x, -2, 0), spread(b, b.convert(y_scale, f32), y, -1, 0))
    return requantized(b, product, factor, scale, zero, -1)


@lowers("QLinearConv")
def qlinear_conv(
    b: GraphBuilder,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    w: Value,
    w_scale: Value,
    w_zero: Value,
    scale: Value,
    zero: Value,
    bias: Value | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    data = b.subtract(b.convert(x, i32), spread(b, b.convert(x_zero, i32), x, 1, 0))
    weights = b.subtract(b.convert(w, i32), spread(b, b.convert(w_zero, i32), w, 0, 0))
    total = conv(
        b,
        data,
        weights,
        bias,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    factor = b.multiply(b.reshape(x_scale, []), spread(b, w_scale, total, 1, 0))
    return requantized(b, total, factor, scale, zero, 1)
