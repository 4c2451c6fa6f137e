"""ATen's activation functions in hub ops."""

from __future__ import annotations

import math

from ....dialects import stablehlo as hlo
from ....dialects.stablehlo import chlo
from ..onnx_to_stablehlo import activation as onnx
from .builder import AtenBuilder, Number, Value, element_of, rank_of, shape_of
from .table import lowers


@lowers("relu")
def relu(b: AtenBuilder, x: Value) -> Value:
    return b.maximum(x, 0)


@lowers("gelu")
def gelu(b: AtenBuilder, x: Value, *, approximate: str = "none") -> Value:
    return onnx.gelu(b, x, approximate=approximate)


@lowers("silu")
def silu(b: AtenBuilder, x: Value) -> Value:
    return b.multiply(x, b(hlo.LogisticOp(x)))


@lowers("leaky_relu")
def leaky_relu(b: AtenBuilder, x: Value, negative_slope: Number = 0.01) -> Value:
    return b.select(b.compare(x, 0.0, "GT"), x, b.multiply(x, float(negative_slope)))


@lowers("elu")
def elu(b: AtenBuilder, x: Value, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Value:
    below = b.minimum(x, 0.0)
    grown = b(hlo.ExponentialMinusOneOp(below if input_scale == 1 else b.multiply(below, float(input_scale))))
    negative = b.multiply(grown, float(alpha) * float(scale))
    positive = x if scale == 1 else b.multiply(x, float(scale))
    return b.select(b.compare(x, 0.0, "GT"), positive, negative)


@lowers("selu")
def selu(b: AtenBuilder, x: Value) -> Value:
    return elu(b, x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@lowers("celu")
def celu(b: AtenBuilder, x: Value, alpha: Number = 1.0) -> Value:
    return elu(b, x, alpha, 1, 1 / float(alpha))


@lowers("hardtanh")
def hardtanh(b: AtenBuilder, x: Value, min_val: Number = -1, max_val: Number = 1) -> Value:
    element = element_of(x)
    return b.minimum(b.maximum(x, b.typed(min_val, element)), b.typed(max_val, element))


@lowers("relu6")
def relu6(b: AtenBuilder, x: Value) -> Value:
    return hardtanh(b, x, 0, 6)


@lowers("hardsigmoid")
def hardsigmoid(b: AtenBuilder, x: Value) -> Value:
    return b.divide(hardtanh(b, b.add(x, 3.0), 0, 6), 6.0)


@lowers("hardswish")
def hardswish(b: AtenBuilder, x: Value) -> Value:
    return b.divide(b.multiply(x, hardtanh(b, b.add(x, 3.0), 0, 6)), 6.0)


@lowers("softplus")
def softplus(b: AtenBuilder, x: Value, beta: Number = 1, threshold: Number = 20) -> Value:
    scaled = x if beta == 1 else b.multiply(x, float(beta))
    smooth = onnx.softplus(b, scaled)
    return b.select(
        b.compare(scaled, float(threshold), "GT"), x, smooth if beta == 1 else b.divide(smooth, float(beta))
    )


@lowers("mish")
def mish(b: AtenBuilder, x: Value) -> Value:
    return onnx.mish(b, x)


@lowers("log_sigmoid_forward", "log_sigmoid")
def log_sigmoid(b: AtenBuilder, x: Value) -> list[Value]:
    """min(x, 0) - log1p(exp(-|x|)), and what the derivative would want."""
    small = b.exponential(b.negate(b.abs(x)))
    return [b.subtract(b.minimum(x, 0.0), b(hlo.LogPlusOneOp(small))), b.zeros([0], element_of(x))]


@lowers("threshold")
def threshold(b: AtenBuilder, x: Value, threshold: Number, value: Number) -> Value:
    return b.select(b.compare(x, b.typed(threshold, element_of(x)), "LE"), b.typed(value, element_of(x)), x)


@lowers("threshold_backward")
def threshold_backward(b: AtenBuilder, grad: Value, x: Value, threshold: Number) -> Value:
    below = b.compare(x, b.typed(threshold, element_of(x)), "LE")
    return b.select(below, b.typed(0, element_of(grad)), grad)


@lowers("_prelu_kernel", "prelu")
def prelu(b: AtenBuilder, x: Value, weight: Value) -> Value:
    if rank_of(weight) == 1 and rank_of(x) > 1:  # one for each channel
        weight = b.expand_dims(weight, [0, *range(2, rank_of(x))])
    return b.select(b.compare(x, 0.0, "GT"), x, b.multiply(x, weight))


@lowers("glu")
def glu(b: AtenBuilder, x: Value, dim: int = -1) -> Value:
    axis = b.axis(dim, rank_of(x))
    half = shape_of(x)[axis] // 2
    first, second = (b.slice_axis(x, axis, i * half, (i + 1) * half) for i in range(2))
    return b.multiply(first, b(hlo.LogisticOp(second)))


@lowers("softshrink")
def softshrink(b: AtenBuilder, x: Value, lambd: Number = 0.5) -> Value:
    bound = float(lambd)
    low = b.select(b.compare(x, -bound, "LT"), b.add(x, bound), b.multiply(x, 0.0))
    return b.select(b.compare(x, bound, "GT"), b.subtract(x, bound), low)


@lowers("hardshrink")
def hardshrink(b: AtenBuilder, x: Value, lambd: Number = 0.5) -> Value:
    inside = b.logical_and(b.compare(x, -float(lambd), "GE"), b.compare(x, float(lambd), "LE"))
    return b.select(inside, 0.0, x)


# derivatives that PyTorch leaves whole


@lowers("tanh_backward")
def tanh_backward(b: AtenBuilder, grad: Value, output: Value) -> Value:
    return b.multiply(grad, b.subtract(b.scalar(1.0, element_of(output)), b.multiply(output, output)))


@lowers("sigmoid_backward")
def sigmoid_backward(b: AtenBuilder, grad: Value, output: Value) -> Value:
    rest = b.subtract(b.scalar(1.0, element_of(output)), output)
    return b.multiply(grad, b.multiply(output, rest))


@lowers("gelu_backward")
def gelu_backward(b: AtenBuilder, grad: Value, x: Value, *, approximate: str = "none") -> Value:
    if approximate == "tanh":
        scale, cubic = math.sqrt(2 / math.pi), 0.044715
        squared = b.multiply(x, x)
        inner = b.multiply(b.multiply(x, b.add(b.multiply(squared, cubic), 1.0)), scale)
        bent = b(hlo.TanhOp(inner))
        slope = b.multiply(b.add(b.multiply(squared, 3 * cubic), 1.0), scale)
        steep = b.multiply(b.subtract(b.scalar(1.0, element_of(x)), b.multiply(bent, bent)), slope)
        whole = b.multiply(b.add(b.add(bent, 1.0), b.multiply(x, steep)), 0.5)
        return b.multiply(grad, whole)
    below = b.multiply(b.add(b(chlo.ErfOp(b.multiply(x, math.sqrt(0.5)))), 1.0), 0.5)
    density = b.multiply(b.exponential(b.multiply(b.multiply(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    return b.multiply(grad, b.add(below, b.multiply(x, density)))


@lowers("silu_backward")
def silu_backward(b: AtenBuilder, grad: Value, x: Value) -> Value:
    gate = b(hlo.LogisticOp(x))
    rest = b.subtract(b.scalar(1.0, element_of(x)), gate)
    return b.multiply(grad, b.multiply(gate, b.add(b.multiply(x, rest), 1.0)))
