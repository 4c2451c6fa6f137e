"""MoE of com.microsoft: each row goes through the networks that its router finds best, and gets their weighted sum."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32, i32

from ....dialects import stablehlo as hlo
from ....dialects.stablehlo.chlo_structured import rows_by_groups
from .activation import gelu, relu, swish
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contrib import MICROSOFT
from .indexing import gather
from .normalization import softmax
from .regions import compare_region
from .sorting import top
from .table import lowers

GATED = ("swiglu", "geglu")


@lowers("MoE", domain=MICROSOFT)
def mixture_of_experts(
    b: GraphBuilder,
    x: Value,
    router_probs: Value,
    first: Value,
    first_bias: Value | None,
    second: Value,
    second_bias: Value | None = None,
    third: Value | None = None,
    third_bias: Value | None = None,
    *,
    k: int = 1,
    activation_type: str = "relu",
    normalize_routing_weights: int = 0,
    activation_alpha: float = 1.0,
    activation_beta: float = 0.0,
    swiglu_fusion: int = 0,
    swiglu_limit: float | None = None,
    swiglu_limit_after_activation: int = 0,
    use_sparse_mixer: int = 0,
) -> Value:
    """Rows [n, hidden] or [batch, n, hidden], scores of experts [rows, experts]; `k` experts for each row.

    An expert is second @ activation(first @ x + first_bias) + second_bias, of [experts, inner, hidden] and [experts,
    hidden, inner]. Where gates are fused, `first` has two rows for each inner one, in turn (1) or in two halves (2).
    """
    if use_sparse_mixer or swiglu_limit_after_activation:
        raise b.fail("use_sparse_mixer and swiglu_limit_after_activation are not supported")
    gated = activation_type in GATED
    if gated and not swiglu_fusion and (third is None or activation_type == "geglu"):
        raise b.fail(f"{activation_type} needs swiglu_fusion of 1 or 2" + ("" if third is not None else ", or fc3"))
    shape = shape_of(x)
    count, experts = prod(shape[:-1]), shape_of(router_probs)[-1]
    inner, hidden = shape_of(second)[2] if rank_of(second) == 3 else 0, shape[-1]
    wide = inner * (2 if gated and swiglu_fusion else 1)
    _expect(b, "router_probs", router_probs, [count, experts])
    _expect(b, "fc1_experts_weights", first, [experts, wide, hidden])
    _expect(b, "fc1_experts_bias", first_bias, [experts, wide])
    _expect(b, "fc2_experts_weights", second, [experts, hidden, inner])
    _expect(b, "fc2_experts_bias", second_bias, [experts, hidden])
    _expect(b, "fc3_experts_weights", third, [experts, inner, hidden])
    _expect(b, "fc3_experts_bias", third_bias, [experts, inner])
    rows = b.reshape(x, [count, hidden])
    chances = softmax(b, b.convert(router_probs, f32))
    weights, chosen = top(b, chances, k, 1, True)
    if normalize_routing_weights:
        weights = b.divide(weights, b.reduce("add", weights, [1], keepdims=True))

    if not count * k:
        return b.broadcast_to(b.scalar(0, element_of(x)), shape)

    places = b.iota([count * k], 0, i32)
    expert, order = _sorted(b, b.convert(b.reshape(chosen, [count * k]), i32), places)
    numbers = b.broadcast_to(b.expand_dims(b.iota([experts], 0, i32), [1]), [experts, count * k])
    sizes = b.reduce("add", b.convert(b.compare(numbers, b.expand_dims(expert, [0]), "EQ"), i32), [1])

    def product(y: Value, matrices: Value, bias: Value | None) -> Value:
        result = b(rows_by_groups(y, matrices, sizes, 2))
        return result if bias is None else b.add(result, gather(b, bias, expert))

    own = gather(b, rows, b.divide(order, k))  # of each expert one row after the other
    between = product(own, first, first_bias)
    if not gated:
        between = _activated(b, between, activation_type)
    else:
        if swiglu_fusion or third is None:
            gate, value = _halves(b, between, in_turn=swiglu_fusion == 1)
        else:
            gate, value = between, product(own, third, third_bias)
        if activation_type == "swiglu" and swiglu_limit is not None:
            gate, value = b.minimum(gate, swiglu_limit), b.maximum(b.minimum(value, swiglu_limit), -swiglu_limit)
        if activation_type == "swiglu":
            between = b.multiply(swish(b, gate, alpha=activation_alpha), b.add(value, activation_beta))
        else:
            between = b.multiply(gelu(b, gate, approximate="tanh"), value)
    _, back = _sorted(b, order, places)
    outer = b.reshape(gather(b, product(between, second, second_bias), back), [count, k, hidden])
    share = b.convert(b.expand_dims(weights, [2]), element_of(outer))
    return b.reshape(b.reduce("add", b.multiply(outer, share), [1]), shape)


def _expect(b: GraphBuilder, name: str, value: Value | None, shape: Sequence[int]) -> None:
    if value is not None and list(shape_of(value)) != list(shape):
        raise b.fail(f"{name} has shape {list(shape_of(value))}, expected {list(shape)}")


def _sorted(b: GraphBuilder, keys: Value, places: Value) -> tuple[Value, Value]:
    """Integers in order, and the places where they were."""
    order = hlo.SortOp([keys, places], compare_region([i32, i32], "LT"), dimension=0, is_stable=True)
    ordered, where = b.all(order)
    return ordered, where


def _halves(b: GraphBuilder, x: Value, in_turn: bool) -> list[Value]:
    """What of each row is a gate, and what it lets through."""
    rows, wide = shape_of(x)
    apart = b.reshape(x, [rows, wide // 2, 2] if in_turn else [rows, 2, wide // 2])
    axis = 2 if in_turn else 1
    return [b.reshape(b.slice_axis(apart, axis, i, i + 1), [rows, wide // 2]) for i in range(2)]


def _activated(b: GraphBuilder, x: Value, name: str) -> Value:
    match name:
        case "relu":
            return relu(b, x)
        case "relu2":
            return b.power(relu(b, x), 2)
        case "gelu":
            return gelu(b, x, approximate="tanh")
        case "silu":
            return swish(b, x)
        case "identity":
            return x
        case _:
            names = "relu, relu2, gelu, silu, swiglu, geglu, identity"
            raise b.fail(f"activation_type '{name}' is none of {names}")
