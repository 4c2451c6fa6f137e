"""Optimisers of ai.onnx.preview.training: one step for each tensor of parameters."""

from __future__ import annotations

from collections.abc import Callable

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Number, Value, element_of
from .table import lowers

DOMAIN = "ai.onnx.preview.training"


def _step(
    b: GraphBuilder, values: tuple[Value, ...], per_tensor: int, update: Callable[..., list[Value]]
) -> list[Value]:
    """The results of `update(x, gradient, *state)` for each tensor, all new x first, then each state."""
    if len(values) % per_tensor:
        raise b.fail(f"{len(values)} tensors do not come in groups of {per_tensor}")
    count = len(values) // per_tensor
    results = [update(*values[i::count]) for i in range(count)]
    return [result[k] for k in range(per_tensor - 1) for result in results]


def _regularised(b: GraphBuilder, x: Value, gradient: Value, norm: float) -> Value:
    return gradient if norm == 0 else b.add(b.multiply(x, norm), gradient)


def _number(b: GraphBuilder, x: Value, like: Value) -> Value:
    """A tensor of one element as a scalar of the type of `like`."""
    return b.convert(b.reshape(x, []), element_of(like))


@lowers("Adagrad", domain=DOMAIN)
def adagrad(
    b: GraphBuilder,
    rate: Value,
    iteration: Value,
    *values: Value,
    decay_factor: float = 0.0,
    epsilon: float = 0.0,
    norm_coefficient: float = 0.0,
) -> list[Value]:
    def update(x: Value, gradient: Value, squares: Value) -> list[Value]:
        decay = b.add(b.multiply(_number(b, iteration, x), decay_factor), 1.0)
        slope = _regularised(b, x, gradient, norm_coefficient)
        total = b.add(squares, b.multiply(slope, slope))
        pace = b.divide(_number(b, rate, x), decay)
        return [b.subtract(x, b.divide(b.multiply(pace, slope), b.add(b.sqrt(total), epsilon))), total]

    return _step(b, values, 3, update)


@lowers("Momentum", domain=DOMAIN)
def momentum(
    b: GraphBuilder,
    rate: Value,
    iteration: Value,
    *values: Value,
    alpha: float,
    beta: float,
    mode: str,
    norm_coefficient: float,
) -> list[Value]:
    def update(x: Value, gradient: Value, speed: Value) -> list[Value]:
        slope = _regularised(b, x, gradient, norm_coefficient)
        weight = b.select(b.compare(_number(b, iteration, x), 0.0, "GT"), b.scalar(beta, element_of(x)), 1.0)
        faster = b.add(b.multiply(speed, alpha), b.multiply(weight, slope))
        way = faster if mode == "standard" else b.add(slope, b.multiply(faster, alpha))
        return [b.subtract(x, b.multiply(_number(b, rate, x), way)), faster]

    return _step(b, values, 3, update)


@lowers("Adam", domain=DOMAIN)
def adam(
    b: GraphBuilder,
    rate: Value,
    iteration: Value,
    *values: Value,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 0.0,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> list[Value]:
    def mixed(old: Value, new: Value, share: float) -> Value:
        return b.add(b.multiply(old, share), b.multiply(new, 1 - share))

    def update(x: Value, gradient: Value, speed: Value, squares: Value) -> list[Value]:
        slope = _regularised(b, x, gradient, norm_coefficient)
        faster, larger = mixed(speed, slope, alpha), mixed(squares, b.multiply(slope, slope), beta)
        count, pace = _number(b, iteration, x), _number(b, rate, x)

        def rest(base: Number) -> Value:
            return b.subtract(1.0, b.binary(hlo.PowerOp, b.scalar(base, element_of(x)), count))

        corrected = b.divide(b.multiply(pace, b.sqrt(rest(beta))), rest(alpha))
        pace = b.select(b.compare(count, 0.0, "GT"), corrected, pace)
        moved = b.subtract(x, b.multiply(pace, b.divide(faster, b.add(b.sqrt(larger), epsilon))))
        return [b.multiply(moved, 1 - norm_coefficient_post), faster, larger]

    return _step(b, values, 4, update)
