"""Operators of com.microsoft that exported and optimised models hold, in terms of those of ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32

from ....dialects import stablehlo as hlo
from .activation import gelu, sigmoid
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contraction import gemm, matmul
from .normalization import layer_normalization, rms_normalization
from .pooling import global_average_pool
from .quantization import dequantize_linear, quantize_linear
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


@lowers("FusedMatMul", domain=MICROSOFT)
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
    if transBatchA or transBatchB:
        raise b.fail("transBatchA and transBatchB are not supported")
    product = matmul(b, _turned(b, x) if transA else x, _turned(b, y) if transB else y)
    return product if alpha == 1.0 else b.multiply(product, alpha)


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
    assert b.node is not None
    left, right = _real(b, x, x_scale, x_zero), _real(b, y, y_scale, y_zero)
    result = b.add(left, right) if b.node.operator == "QLinearAdd" else b.multiply(left, right)
    return quantize_linear(b, result, scale, _zero_of(b, x, zero))


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
    if channels_last:
        raise b.fail("channels_last is not supported")
    return quantize_linear(b, global_average_pool(b, _real(b, x, x_scale, x_zero)), scale, zero)


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
    match activation:
        case "":
            return result
        case "Relu":
            return b.maximum(result, 0.0)
        case "Sigmoid":
            return sigmoid(b, result)
        case "Tanh":
            return b(hlo.TanhOp(result))
        case _:
            raise b.fail(f"the activation '{activation}' is not supported")
