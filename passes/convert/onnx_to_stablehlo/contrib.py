"""Operators of com.microsoft that exported and optimised models hold, in terms of those of ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from ....dialects import stablehlo as hlo
from .activation import gelu, sigmoid
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contraction import gemm, matmul
from .convolution import conv
from .generator import trilu
from .normalization import layer_normalization, rms_normalization
from .pooling import max_pool
from .quantization import dequantize_linear, quantize_linear, requantized, stored
from .table import lowers

MICROSOFT = "com.microsoft"


@lowers("Gelu", domain=MICROSOFT)
def gelu_exact(b: GraphBuilder, x: Value) -> Value:
    return gelu(b, x)


@lowers("BiasGelu", domain=MICROSOFT)
def bias_gelu(b: GraphBuilder, x: Value, bias: Value) -> Value:
    return gelu(b, b.add(x, bias))


@lowers("FastGelu", domain=MICROSOFT)
def fast_gelu(b: GraphBuilder, x: Value, bias: Value | None = None) -> Value:
    return gelu(b, x if bias is None else b.add(x, bias), approximate="tanh")


@lowers("QuickGelu", domain=MICROSOFT)
def quick_gelu(b: GraphBuilder, x: Value, *, alpha: float = 1.702) -> Value:
    return b.multiply(x, sigmoid(b, b.multiply(x, alpha)))


@lowers("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(
    b: GraphBuilder,
    x: Value,
    y: Value,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Value:
    x = _batch_back(b, x) if transBatchA else x
    y = _batch_back(b, y) if transBatchB else y
    product = matmul(b, _turned(b, x) if transA else x, _turned(b, y) if transB else y)
    return product if alpha == 1.0 else b.multiply(product, alpha)


def _batch_back(b: GraphBuilder, x: Value) -> Value:
    """The first dimension just before the last one."""
    rank = rank_of(x)
    return x if rank < 3 else b.transpose(x, [*range(1, rank - 1), 0, rank - 1])


def _turned(b: GraphBuilder, x: Value) -> Value:
    """The last two dimensions in the other order; a vector stays as it is."""
    rank = rank_of(x)
    return x if rank < 2 else b.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


@lowers("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(
    b: GraphBuilder,
    x: Value,
    skip: Value,
    scale: Value,
    shift: Value | None = None,
    bias: Value | None = None,
    *,
    epsilon: float = 1e-12,
) -> list[Value]:
    total = _skipped(b, x, skip, bias)
    return [*layer_normalization(b, total, scale, shift, epsilon=epsilon), total]


@lowers("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_normalization(
    b: GraphBuilder, x: Value, skip: Value, scale: Value, bias: Value | None = None, *, epsilon: float = 1e-12
) -> list[Value]:
    total = _skipped(b, x, skip, bias)
    normal = rms_normalization(b, total, scale, epsilon=epsilon)
    if any(b.wanted[1:3]):
        raise b.fail("the outputs mean and inv_std_var are not supported")
    return [normal, normal, normal, total]


def _skipped(b: GraphBuilder, x: Value, skip: Value, bias: Value | None) -> Value:
    total = b.add(x, skip)
    return total if bias is None else b.add(total, bias)


def expect(b: GraphBuilder, name: str, value: Value | None, shape: Sequence[int]) -> None:
    """Raises LaminaError where a value is there and has another shape."""
    if value is not None and list(shape_of(value)) != list(shape):
        raise b.fail(f"{name} has shape {list(shape_of(value))}, expected {list(shape)}")


def _real(b: GraphBuilder, x: Value, scale: Value, zero: Value | None) -> Value:
    return dequantize_linear(b, x, b.convert(scale, f32), zero)


@lowers("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(
    b: GraphBuilder,
    x: Value,
    x_scale: Value,
    x_zero: Value | None,
    y: Value,
    y_scale: Value,
    y_zero: Value | None,
    scale: Value,
    zero: Value | None = None,
) -> Value:
    """A sum as ONNX Runtime rounds it: x rx + (y ry + offset), with all zero points in the offset."""
    assert b.node is not None
    zero = _zero_of(b, x, zero)
    if b.node.operator == "QLinearMul":
        left, right = _real(b, x, x_scale, x_zero), _real(b, y, y_scale, y_zero)
        return quantize_linear(b, b.multiply(left, right), scale, zero)
    below, *scales = (b.reshape(b.convert(s, f32), []) for s in (scale, x_scale, y_scale))
    rx, ry = (b.divide(s, below) for s in scales)
    zx, zy, own = (b.scalar(0, f32) if z is None else b.reshape(b.convert(z, f32), []) for z in (x_zero, y_zero, zero))
    offset = b.subtract(own, b.add(b.multiply(rx, zx), b.multiply(ry, zy)))
    right = b.add(b.multiply(b.convert(y, f32), ry), offset)
    return stored(b, b.add(b.multiply(b.convert(x, f32), rx), right), element_of(zero), None)


@lowers("QLinearSigmoid", domain=MICROSOFT)
def qlinear_sigmoid(
    b: GraphBuilder, x: Value, x_scale: Value, x_zero: Value | None, scale: Value, zero: Value | None = None
) -> Value:
    return quantize_linear(b, sigmoid(b, _real(b, x, x_scale, x_zero)), scale, _zero_of(b, x, zero))


@lowers("QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_leaky_relu(
    b: GraphBuilder,
    x: Value,
    x_scale: Value,
    x_zero: Value | None,
    scale: Value,
    zero: Value | None = None,
    *,
    alpha: float = 0.01,
) -> Value:
    real = _real(b, x, x_scale, x_zero)
    positive = b(hlo.CompareOp(real, b.broadcast_to(b.scalar(0.0, f32), shape_of(real)), comparison_direction="GE"))
    result = b(hlo.SelectOp(positive, real, b.multiply(real, alpha)))
    return quantize_linear(b, result, scale, _zero_of(b, x, zero))


@lowers("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_average_pool(
    b: GraphBuilder, x: Value, x_scale: Value, x_zero: Value, scale: Value, zero: Value, *, channels_last: int = 0
) -> Value:
    """Bytes are added up as integers; how many there are is part of the scale."""
    first = to_channels_first(b, x) if channels_last else x
    places = range(2, rank_of(first))
    wide = b.subtract(b.convert(first, i32), b.reshape(b.convert(x_zero, i32), []))
    below = b.multiply(b.reshape(scale, []), float(math.prod(shape_of(first)[2:])))
    total = b.reduce("add", wide, places, keepdims=True)
    result = requantized(b, total, b.reshape(x_scale, []), below, zero, 1)
    return to_channels_last(b, result) if channels_last else result


@lowers("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(b: GraphBuilder, scale: Value, zero: Value, *parts: Value, axis: int) -> Value:
    """Each part comes with its own scale and zero point."""
    reals = [_real(b, *parts[i : i + 3]) for i in range(0, len(parts), 3)]
    return quantize_linear(b, b.concatenate(reals, b.axis(axis, rank_of(reals[0]))), scale, zero)


def _zero_of(b: GraphBuilder, x: Value, zero: Value | None) -> Value:
    """The zero point, which tells the type too; 0 of the type of `x` where it is left out."""
    return zero if zero is not None else b.scalar(0, element_of(x))


@lowers("FusedGemm", domain=MICROSOFT)
def fused_gemm(
    b: GraphBuilder,
    a: Value,
    w: Value,
    c: Value | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    activation: str = "",
    activation_params: Sequence[float] = (),
) -> Value:
    result = gemm(b, a, w, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    return activated(b, result, activation, activation_params)


def activated(b: GraphBuilder, x: Value, name: str, parameters: Sequence[float]) -> Value:
    """`x` through the activation that ONNX Runtime calls `name`; "" is none."""

    def parameter(index: int, default: float) -> float:
        return parameters[index] if index < len(parameters) else default

    match name:
        case "":
            return x
        case "Relu":
            return b.maximum(x, 0.0)
        case "Sigmoid":
            return sigmoid(b, x)
        case "Tanh":
            return b(hlo.TanhOp(x))
        case "LeakyRelu":
            return b.select(b.compare(x, 0.0, "GE"), x, b.multiply(x, parameter(0, 0.01)))
        case "Clip":
            return b.minimum(b.maximum(x, parameter(0, -math.inf)), parameter(1, math.inf))
        case "HardSigmoid":
            line = b.add(b.multiply(x, parameter(0, 0.2)), parameter(1, 0.5))
            return b.minimum(b.maximum(line, 0.0), 1.0)
        case _:
            raise b.fail(f"the activation '{name}' is not supported")


@lowers("FusedConv", domain=MICROSOFT)
def fused_conv(
    b: GraphBuilder,
    x: Value,
    w: Value,
    bias: Value | None = None,
    added: Value | None = None,
    *,
    activation: str = "",
    activation_params: Sequence[float] = (),
    **attributes: Any,
) -> Value:
    """A convolution, to which a tensor may be added before its activation."""
    result = conv(b, x, w, bias, **attributes)
    return activated(b, result if added is None else b.add(result, added), activation, activation_params)


@lowers("NhwcFusedConv", domain=MICROSOFT)
def nhwc_fused_conv(
    b: GraphBuilder, x: Value, w: Value, bias: Value | None = None, added: Value | None = None, **attributes: Any
) -> Value:
    """FusedConv of images with channels last; the weights are ordered as those of Conv."""
    first = None if added is None else to_channels_first(b, added)
    return to_channels_last(b, fused_conv(b, to_channels_first(b, x), w, bias, first, **attributes))


@lowers("NhwcConv", domain=MICROSOFT)
def nhwc_conv(b: GraphBuilder, x: Value, w: Value, bias: Value | None = None, **attributes: Any) -> Value:
    """Conv with channels last, of images and of weights: ONNX Runtime's own optimiser writes both so."""
    return to_channels_last(b, conv(b, to_channels_first(b, x), to_channels_first(b, w), bias, **attributes))


def to_channels_first(b: GraphBuilder, x: Value) -> Value:
    last = rank_of(x) - 1
    return b.transpose(x, [0, last, *range(1, last)])


def to_channels_last(b: GraphBuilder, x: Value) -> Value:
    return b.transpose(x, [0, *range(2, rank_of(x)), 1])


@lowers("NhwcMaxPool", domain=MICROSOFT)
def nhwc_max_pool(b: GraphBuilder, x: Value, *, kernel_shape: Sequence[int], **attributes: Any) -> Value:
    pooled = max_pool(b, to_channels_first(b, x), kernel_shape=kernel_shape, **attributes)
    assert isinstance(pooled, SSAValue)  # the places are an output of ONNX's MaxPool only
    return to_channels_last(b, pooled)


@lowers("Trilu", domain=MICROSOFT)
def triangle(b: GraphBuilder, x: Value, k: Value | None = None, *, upper: int = 1) -> Value:
    return trilu(b, x, k, upper=upper)


@lowers("ExpandDims", domain=MICROSOFT)
def expand_dims(b: GraphBuilder, x: Value, axis: Value) -> Value:
    return b.expand_dims(x, [b.axis(b.number(axis, "the axis of ExpandDims"), rank_of(x) + 1)])


@lowers("CDist", domain=MICROSOFT)
def cdist(b: GraphBuilder, x: Value, y: Value, *, metric: str = "sqeuclidean") -> Value:
    """The distance of each row of `x` from each of `y`."""
    apart = b.subtract(b.expand_dims(x, [1]), b.expand_dims(y, [0]))
    square = b.reduce("add", b.multiply(apart, apart), [2])
    return b.sqrt(square) if metric == "euclidean" else square
