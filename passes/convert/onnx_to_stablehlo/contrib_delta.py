"""GatedDeltaNet of com.microsoft: linear attention of tokens one after the other, with its gates and norms."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f32

from .activation import sigmoid, softplus
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contrib import MICROSOFT, expect
from .states import DELTA, FORGOTTEN, GATED, RULES, over_time
from .table import lowers

LEAST = 1e-6  # added to the sum of squares that a vector's length is the root of


@lowers("GatedDeltaNet", domain=MICROSOFT)
def gated_delta_net(
    b: GraphBuilder,
    query: Value,
    key: Value | None = None,
    value: Value | None = None,
    cu_seqlens: Value | None = None,
    decay: Value | None = None,
    beta: Value | None = None,
    initial_state: Value | None = None,
    a_log: Value | None = None,
    dt_bias: Value | None = None,
    capture_count: Value | None = None,
    state_update_active: Value | None = None,
    *,
    beta_activation: str = "none",
    chunk_size: int = 64,
    gate_activation: str = "none",
    gate_lower_bound: float = -5.0,
    qk_l2_norm: int = 0,
    scale: float = 0.0,
    state_update_capacity: int = 0,
    update_rule: str = "gated_delta",
) -> list[Value]:
    """As LinearAttention, of [tokens, heads, width] or [batch, time, heads, width], each sequence of one length.

    The state [batch, heads, values, keys] is f32. Several heads of values may share a query and a key. Without keys
    and values the query has all three, one after the other.
    """
    if update_rule not in RULES:
        raise b.fail(f"update_rule '{update_rule}' is none of {', '.join(RULES)}")
    if cu_seqlens is not None or state_update_capacity or capture_count is not None:
        raise b.fail("sequences of different lengths (cu_seqlens) and captured updates of states are not supported")
    if initial_state is None and rank_of(query) == 3:
        raise b.fail("without initial_state nothing says how many sequences the tokens are of")
    if key is None or value is None:
        query, key, value = _unpacked(b, query, initial_state)
    shape = shape_of(query)
    batch = shape[0] if len(shape) == 4 else shape_of(initial_state)[0] if initial_state is not None else 1
    tokens = math.prod(shape[:-2])
    if not batch or tokens % batch:
        raise b.fail(f"{tokens} tokens are not of {batch} sequences of one length")
    own, depth = shape[-2:]
    heads, width = shape_of(value)[-2:]
    outer, time = list(shape[:-2]), tokens // batch
    if not own or heads % own:
        raise b.fail(f"{heads} heads of values are not shared out to {own} of queries")
    expect(b, "key", key, [*outer, own, depth])
    expect(b, "value", value, [*outer, heads, width])
    expect(b, "initial_state", initial_state, [batch, heads, width, depth])

    def by_heads(x: Value, count: int) -> Value:
        apart = b.reshape(b.convert(x, f32), [batch, time, count, -(-math.prod(shape_of(x)) // max(1, tokens * count))])
        return b.transpose(apart, [0, 2, 1, 3])

    queries, keys = (by_heads(x, own) for x in (query, key))
    if qk_l2_norm:
        queries, keys = _of_length_one(b, queries), _of_length_one(b, keys)
    queries, keys = (_for_each(b, x, heads) for x in (queries, keys))
    fading = rate = None
    if update_rule in GATED:
        if decay is None:
            raise b.fail(f"update_rule '{update_rule}' needs decay")
        wide = [heads, depth] if rank_of(decay) == len(outer) + 2 else [heads]
        expect(b, "decay", decay, [*outer, *wide])
        fading = _gate(b, b.convert(decay, f32), wide, a_log, dt_bias, gate_activation, gate_lower_bound)
        fading = by_heads(b.maximum(fading, FORGOTTEN), heads)
    if update_rule in DELTA:
        if beta is None:
            raise b.fail(f"update_rule '{update_rule}' needs beta")
        if beta_activation not in ("none", "sigmoid"):
            raise b.fail(f"beta_activation '{beta_activation}' is none of none, sigmoid")
        expect(b, "beta", beta, [*outer, heads])
        rate = by_heads(beta, heads)
        rate = rate if beta_activation == "none" else sigmoid(b, rate)
    if initial_state is None:
        start = b.broadcast_to(b.scalar(0, f32), [batch, heads, depth, width])
    else:
        start = b.transpose(initial_state, [0, 1, 3, 2])
    found, state = over_time(b, b.expand_dims(queries, [2]), keys, by_heads(value, heads), fading, rate, start)
    result = b.multiply(b.reshape(found, [*outer, heads, width]), scale or 1 / math.sqrt(max(1, depth)))
    return [b.convert(result, element_of(query)), b.transpose(state, [0, 1, 3, 2])]


def _unpacked(b: GraphBuilder, packed: Value, state: Value | None) -> list[Value]:
    """Queries, keys and values that lie one after the other, of the heads that the state has."""
    *outer, whole = shape_of(packed)
    if state is None or rank_of(state) != 4:
        raise b.fail("a packed query needs initial_state [batch, heads, values, keys]")
    _, heads, width, depth = shape_of(state)
    left = whole - heads * width
    if not depth or left <= 0 or left % (2 * depth):
        raise b.fail(f"a width of {whole} does not hold queries and keys of {depth} beside {heads} values of {width}")
    own = left // (2 * depth)
    sizes = ((own, depth), (own, depth), (heads, width))
    parts: list[Value] = []
    start = 0
    for count, size in sizes:
        part = b.slice_axis(packed, len(outer), start, start + count * size)
        parts.append(b.reshape(part, [*outer, count, size]))
        start += count * size
    return parts


def _of_length_one(b: GraphBuilder, x: Value) -> Value:
    return b.multiply(x, b.rsqrt(b.add(b.reduce("add", b.multiply(x, x), [3], keepdims=True), LEAST)))


def _for_each(b: GraphBuilder, x: Value, heads: int) -> Value:
    """[batch, heads that are shared, time, width] once for each of those that share them."""
    batch, own, time, width = shape_of(x)
    if own == heads:
        return x
    every = b.broadcast_to(b.expand_dims(x, [2]), [batch, own, heads // own, time, width])
    return b.reshape(every, [batch, heads, time, width])


def _gate(
    b: GraphBuilder,
    x: Value,
    shape: list[int],
    a_log: Value | None,
    dt_bias: Value | None,
    activation: str,
    lowest: float,
) -> Value:
    """The logarithm of what is left, of tokens [..., heads] or [..., heads, keys]; `shape` is what follows tokens."""
    if activation == "none":
        return x
    if activation not in ("softplus", "qwen", "sigmoid", "kda"):
        raise b.fail(f"gate_activation '{activation}' is none of none, softplus, sigmoid")
    heads = shape[0]
    if a_log is None:
        raise b.fail(f"gate_activation '{activation}' needs a_log")
    expect(b, "a_log", a_log, [heads])
    growth = b.exponential(b.reshape(b.convert(a_log, f32), [heads, *[1] * (len(shape) - 1)]))
    if dt_bias is not None:
        count = math.prod(shape_of(dt_bias))
        if count not in (heads, math.prod(shape)):
            raise b.fail(f"dt_bias has shape {list(shape_of(dt_bias))}, expected {shape}")
        own = [heads, *[1] * (len(shape) - 1)] if count == heads else shape
        x = b.add(x, b.reshape(b.convert(dt_bias, f32), own))
    if activation in ("softplus", "qwen"):
        return b.negate(b.multiply(growth, softplus(b, x)))
    return b.multiply(sigmoid(b, b.multiply(growth, x)), lowest)
