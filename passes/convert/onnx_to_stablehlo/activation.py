"""ONNX's activation functions in hub ops."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f64

from ....dialects import stablehlo as hlo
from ....dialects.stablehlo import chlo
from .builder import GraphBuilder, Value, element_of, is_float, shape_of
from .table import lowers


@lowers("Relu")
def relu(b: GraphBuilder, x: Value) -> Value:
    return b.maximum(x, 0)


@lowers("LeakyRelu")
def leaky_relu(b: GraphBuilder, x: Value, *, alpha: float = 0.01) -> Value:
    return b.select(b.compare(x, 0.0, "LT"), b.multiply(x, alpha), x)


@lowers("PRelu")
def prelu(b: GraphBuilder, x: Value, slope: Value) -> Value:
    shape, own = shape_of(x), shape_of(slope)
    if len(own) == 1 and len(shape) > 2 and own[0] == shape[1] and own[0] not in (1, shape[-1]):
        slope = b.expand_dims(slope, [0, *range(2, len(shape))])  # one per channel, as before opset 7
    return b.select(b.compare(x, 0, "LT"), b.multiply(x, slope), x)


@lowers("ThresholdedRelu")
def thresholded_relu(b: GraphBuilder, x: Value, *, alpha: float = 1.0) -> Value:
    return b.select(b.compare(x, alpha, "GT"), x, 0.0)


@lowers("Elu")
def elu(b: GraphBuilder, x: Value, *, alpha: float = 1.0) -> Value:
    return b.select(b.compare(x, 0.0, "LT"), b.multiply(_grown(b, x), alpha), x)


@lowers("Celu")
def celu(b: GraphBuilder, x: Value, *, alpha: float = 1.0) -> Value:
    negative = b.multiply(_grown(b, b.divide(x, alpha)), alpha)
    return b.select(b.compare(x, 0.0, "LT"), negative, x)


@lowers("Selu")
def selu(b: GraphBuilder, x: Value, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Value:
    return b.multiply(b.select(b.compare(x, 0.0, "LT"), b.multiply(_grown(b, x), alpha), x), gamma)


def _grown(b: GraphBuilder, x: Value) -> Value:
    """exp(x) - 1 for negative x, 0 elsewhere so that the branch not taken cannot overflow."""
    return b(hlo.ExponentialMinusOneOp(b.minimum(x, 0.0)))


@lowers("Sigmoid")
def sigmoid(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.LogisticOp(x))


@lowers("HardSigmoid")
def hard_sigmoid(b: GraphBuilder, x: Value, *, alpha: float = 0.2, beta: float = 0.5) -> Value:
    return b.minimum(b.maximum(b.add(b.multiply(x, alpha), beta), 0.0), 1.0)


@lowers("HardSwish")
def hard_swish(b: GraphBuilder, x: Value) -> Value:
    return b.multiply(x, hard_sigmoid(b, x, alpha=1 / 6, beta=0.5))


@lowers("Tanh")
def tanh(b: GraphBuilder, x: Value) -> Value:
    return b(hlo.TanhOp(x))


@lowers("Softplus")
def softplus(b: GraphBuilder, x: Value) -> Value:
    # max(x, 0) + log1p(exp(-|x|)): exp cannot overflow
    return b.add(b.maximum(x, 0.0), b(hlo.LogPlusOneOp(b.exponential(b.negate(b.abs(x))))))


@lowers("Softsign")
def softsign(b: GraphBuilder, x: Value) -> Value:
    return b.divide(x, b.add(b.abs(x), 1.0))


@lowers("Mish")
def mish(b: GraphBuilder, x: Value) -> Value:
    return b.multiply(x, b(hlo.TanhOp(softplus(b, x))))


@lowers("Swish")
def swish(b: GraphBuilder, x: Value, *, alpha: float = 1.0) -> Value:
    return b.multiply(x, b(hlo.LogisticOp(x if alpha == 1.0 else b.multiply(x, alpha))))


@lowers("Gelu")
def gelu(b: GraphBuilder, x: Value, *, approximate: str = "none") -> Value:
    if approximate not in ("none", "tanh"):
        raise b.fail(f"approximate '{approximate}' is neither none nor tanh")
    half = b.multiply(x, 0.5)
    if approximate == "tanh":
        cubed = b.multiply(b.power(x, 3), 0.044715)
        return b.multiply(half, b.add(b(hlo.TanhOp(b.multiply(b.add(x, cubed), math.sqrt(2 / math.pi)))), 1.0))
    return b.multiply(half, b.add(b(chlo.ErfOp(b.multiply(x, math.sqrt(0.5)))), 1.0))


@lowers("Shrink")
def shrink(b: GraphBuilder, x: Value, *, bias: float = 0.0, lambd: float = 0.5) -> Value:
    number = x if is_float(x) else b.convert(x, f64)  # where neither `bias` nor `lambd` need be whole
    low = b.select(b.compare(number, -lambd, "LT"), b.add(number, bias), b.scalar(0.0, element_of(number)))
    return b.convert(b.select(b.compare(number, lambd, "GT"), b.subtract(number, bias), low), element_of(x))
