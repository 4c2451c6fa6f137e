"""MoE of com.microsoft, and what QMoE shares with it: rows go through the networks that their router finds best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32, i32

from ....dialects import stablehlo as hlo
from ....dialects.stablehlo.chlo_structured import rows_by_groups
from .activation import gelu, relu, swish
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contrib import MICROSOFT, expect
from .indexing import gather
from .normalization import softmax
from .regions import compare_region
from .sorting import top
from .table import lowers

GATED = ("swiglu", "geglu")


@dataclass(frozen=True)
class Matrices:
    """One of the products of all experts: `product` of rows, so many after the other by each; a `bias` of each."""

    product: Callable[[Value, Value], Value]
    bias: Value | None

    def of(self, b: GraphBuilder, rows: Value, sizes: Value, expert: Value) -> Value:
        """Rows [n, k] times the matrices of their experts [n]."""
        result = self.product(rows, sizes)
        return result if self.bias is None else b.add(result, gather(b, self.bias, expert))


@dataclass(frozen=True)
class Network:
    """What an expert computes between its products, as the attributes say."""

    activation: str
    fusion: int  # of gates with what they let through: in turn (1), in two halves (2)
    alpha: float
    beta: float
    limit: float | None

    @property
    def gated(self) -> bool:
        """Whether half of what the first product gives, or all of it, is what lets through the rest."""
        return self.activation in GATED

    def check(self, b: GraphBuilder, third: bool, sparse: int, late: int) -> None:
        """Raises LaminaError for what is not supported."""
        if sparse or late:
            raise b.fail("use_sparse_mixer and swiglu_limit_after_activation are not supported")
        if self.gated and not self.fusion and (not third or self.activation == "geglu"):
            raise b.fail(f"{self.activation} needs swiglu_fusion of 1 or 2" + (", or fc3" if not third else ""))

    def wide(self, inner: int) -> int:
        """Rows of the first matrices."""
        return inner * (2 if self.gated and self.fusion else 1)

    def between(self, b: GraphBuilder, first: Value, third: Callable[[], Value] | None) -> Value:
        """What the second product takes, of what the first gives, and the `third`."""
        if not self.gated:
            return _activated(b, first, self.activation)
        if self.fusion or third is None:
            gate, value = _halves(b, first, in_turn=self.fusion == 1)
        else:
            gate, value = first, third()
        if self.activation == "geglu":
            return b.multiply(gelu(b, gate, approximate="tanh"), value)
        if self.limit is not None:
            gate, value = b.minimum(gate, self.limit), b.maximum(b.minimum(value, self.limit), -self.limit)
        return b.multiply(swish(b, gate, alpha=self.alpha), b.add(value, self.beta))


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
    network = Network(activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit)
    network.check(b, third is not None, use_sparse_mixer, swiglu_limit_after_activation)
    experts, hidden = shape_of(router_probs)[-1], shape_of(x)[-1]
    inner = shape_of(second)[2] if rank_of(second) == 3 else 0
    wide = network.wide(inner)
    expect(b, "fc1_experts_weights", first, [experts, wide, hidden])
    expect(b, "fc1_experts_bias", first_bias, [experts, wide])
    expect(b, "fc2_experts_weights", second, [experts, hidden, inner])
    expect(b, "fc2_experts_bias", second_bias, [experts, hidden])
    expect(b, "fc3_experts_weights", third, [experts, inner, hidden])
    expect(b, "fc3_experts_bias", third_bias, [experts, inner])

    def by(matrices: Value, bias: Value | None) -> Matrices:
        return Matrices(lambda rows, sizes: b(rows_by_groups(rows, matrices, sizes, 2)), bias)

    products = [by(first, first_bias), by(second, second_bias)]
    if third is not None:
        products.append(by(third, third_bias))
    return weighted(b, x, router_probs, products, network, k, bool(normalize_routing_weights))


def weighted(
    b: GraphBuilder,
    x: Value,
    scores: Value,
    products: Sequence[Matrices],
    network: Network,
    k: int,
    normalized: bool,
    shares: Value | None = None,
) -> Value:
    """The sum of what the `k` best experts of each row make of it, times how much each is worth.

    That is its part of the softmax of the `scores`, or what `shares`, of the same shape, says.
    """
    shape = shape_of(x)
    count, experts, hidden = prod(shape[:-1]), shape_of(scores)[-1], shape[-1]
    expect(b, "router_probs", scores, [count, experts])
    expect(b, "router_weights", shares, [count, experts])
    rows = b.reshape(x, [count, hidden])
    weights, chosen = top(b, softmax(b, b.convert(scores, f32)), k, 1, True)
    if not count * k:
        return b.broadcast_to(b.scalar(0, element_of(x)), shape)

    places = b.iota([count * k], 0, i32)
    flat = b.convert(b.reshape(chosen, [count * k]), i32)
    if shares is not None:
        at = b.add(b.multiply(b.divide(places, k), experts), flat)
        weights = b.reshape(gather(b, b.reshape(b.convert(shares, f32), [count * experts]), at), [count, k])
    if normalized:
        total = b.reduce("add", weights, [1], keepdims=True)
        weights = b.select(b.compare(total, 0.0, "EQ"), 0.0, b.divide(weights, total))
    expert, order = _sorted(b, flat, places)
    numbers = b.broadcast_to(b.expand_dims(b.iota([experts], 0, i32), [1]), [experts, count * k])
    sizes = b.reduce("add", b.convert(b.compare(numbers, b.expand_dims(expert, [0]), "EQ"), i32), [1])
    own = gather(b, rows, b.divide(order, k))  # of each expert one row after the other
    first, second, *more = products
    third = (lambda: more[0].of(b, own, sizes, expert)) if more else None
    between = network.between(b, first.of(b, own, sizes, expert), third)
    _, back = _sorted(b, order, places)
    outer = b.reshape(gather(b, second.of(b, between, sizes, expert), back), [count, k, hidden])
    share = b.convert(b.expand_dims(weights, [2]), element_of(outer))
    return b.reshape(b.reduce("add", b.multiply(outer, share), [1]), shape)


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
