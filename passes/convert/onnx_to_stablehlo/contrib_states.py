"""LinearAttention and CausalConvWithState of com.microsoft: what layers keep of all that came before, in one state."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f32, i64

from ....dialects import stablehlo as hlo
from .activation import swish
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contrib import MICROSOFT
from .contrib_experts import expect
from .convolution import conv
from .loops import Row, State, counted_loop
from .table import lowers

GATED, DELTA = ("gated", "gated_delta"), ("delta", "gated_delta")  # rules that have a decay, and a rate
RULES = ("linear", *GATED, "delta")


@lowers("LinearAttention", domain=MICROSOFT)
def linear_attention(
    b: GraphBuilder,
    query: Value,
    key: Value,
    value: Value,
    past_state: Value | None = None,
    decay: Value | None = None,
    beta: Value | None = None,
    *,
    q_num_heads: int,
    kv_num_heads: int,
    chunk_size: int = 64,
    scale: float = 0.0,
    state_window: int = 0,
    update_rule: str = "gated_delta",
) -> list[Value]:
    """Of [batch, time, heads * width]: the state [batch, heads, keys, values] after each step, asked by its query.

    A step is S = exp(decay) S, then S = S + key (value - S' key)' rate for rules of a delta, else S = S + key value'.
    It is computed in f32, step by step, whatever `chunk_size` hints at.
    """
    if update_rule not in RULES:
        raise b.fail(f"update_rule '{update_rule}' is none of {', '.join(RULES)}")
    if state_window:
        raise b.fail("states after several steps (state_window) are not supported")
    for name, needed, given in (("decay", GATED, decay), ("beta", DELTA, beta)):
        if update_rule in needed and given is None:
            raise b.fail(f"update_rule '{update_rule}' needs {name}")
    batch, time, _ = shape_of(query)
    heads = max(q_num_heads, kv_num_heads)
    if min(q_num_heads, kv_num_heads) < 1 or heads % min(q_num_heads, kv_num_heads):
        raise b.fail(f"{q_num_heads} heads of queries and {kv_num_heads} of keys do not divide one another")
    queries, keys = _by_time(b, query, q_num_heads), _by_time(b, key, kv_num_heads)
    values = _by_time(b, value, kv_num_heads)
    depth, width = shape_of(keys)[3], shape_of(values)[3]
    shape = [batch, kv_num_heads, depth, width]
    expect(b, "query", query, [batch, time, q_num_heads * depth])
    expect(b, "past_state", past_state, shape)
    parts = [_shared(b, queries, kv_num_heads), keys, values]
    if update_rule in GATED and decay is not None:
        parts.append(_by_time(b, decay, kv_num_heads))
        if shape_of(parts[-1])[3] not in (1, depth):
            expect(b, "decay", decay, [batch, time, kv_num_heads])
    if update_rule in DELTA and beta is not None:
        rate = _by_time(b, beta, 1 if shape_of(beta)[-1] == 1 else kv_num_heads)
        parts.append(b.broadcast_to(rate, [time, batch, kv_num_heads, 1]))
    start = b.broadcast_to(b.scalar(0, f32), shape) if past_state is None else b.convert(past_state, f32)
    factor = scale or 1 / math.sqrt(depth)

    def step(b: GraphBuilder, now: list[Value], state: Value) -> tuple[Value, Value]:
        asked, k, v, *more = now
        if update_rule in GATED:
            state = b.multiply(state, b.expand_dims(b.exponential(more.pop(0)), [3]))
        if update_rule in DELTA:
            v = b.multiply(b.subtract(v, b.dot(k, state, ([2], [2]), ([0, 1], [0, 1]))), more.pop(0))
        state = b.add(state, b.multiply(b.expand_dims(k, [3]), b.expand_dims(v, [2])))
        found = b.dot(asked, state, ([3], [2]), ([0, 1], [0, 1]))
        return b.multiply(found, factor), state

    if time == 1:
        found, state = step(b, [b.reshape(each, shape_of(each)[1:]) for each in parts], start)
        found = b.expand_dims(found, [0])
    elif not time:
        found, state = b.broadcast_to(b.scalar(0, f32), [0, *shape_of(parts[0])[1:4], width]), start
    else:

        def iteration(inner: GraphBuilder, t: Value, state: State) -> tuple[State, list[Row]]:
            found, following = step(inner, [_at(inner, each, t) for each in parts], state[0])
            return [following], [Row(found)]

        [state], [found] = counted_loop(b, time, [start], iteration)
    result = b.reshape(b.transpose(found, [1, 0, 2, 3, 4]), [batch, time, heads * width])
    kept = f32 if past_state is None else element_of(past_state)
    return [b.convert(result, element_of(query)), b.convert(state, kept)]


def _by_time(b: GraphBuilder, x: Value, heads: int) -> Value:
    """[batch, time, heads * width] as [time, batch, heads, width] of f32."""
    if rank_of(x) != 3 or shape_of(x)[2] % heads:
        raise b.fail(f"the shape {list(shape_of(x))} is no [batch, time, {heads} heads of one width]")
    batch, time, width = shape_of(x)
    return b.transpose(b.reshape(b.convert(x, f32), [batch, time, heads, width // heads]), [1, 0, 2, 3])


def _shared(b: GraphBuilder, queries: Value, heads: int) -> Value:
    """Queries [time, batch, heads, width] as [time, batch, heads of keys, those that share them, width]."""
    time, batch, own, width = shape_of(queries)
    if own >= heads:
        return b.reshape(queries, [time, batch, heads, own // heads, width])
    every = b.broadcast_to(b.expand_dims(queries, [3]), [time, batch, own, heads // own, width])
    return b.reshape(every, [time, batch, heads, 1, width])


def _at(b: GraphBuilder, x: Value, t: Value) -> Value:
    """What there is of `x` [time, ...] at one time."""
    shape = shape_of(x)[1:]
    starts = [t, *[b.scalar(0, i64)] * len(shape)]
    return b.reshape(b(hlo.DynamicSliceOp(x, starts, slice_sizes=[1, *shape])), shape)


@lowers("CausalConvWithState", domain=MICROSOFT)
def causal_conv_with_state(
    b: GraphBuilder,
    x: Value,
    w: Value,
    bias: Value | None = None,
    past_state: Value | None = None,
    *,
    activation: str = "none",
    channels_last: int = 0,
    dilation: int = 1,
    input_channel_offset: int = 0,
    input_channels: int = 0,
    ndim: int = 1,
    state_channels_last: int = -1,
    state_length: int = 0,
    state_update_capacity: int = 0,
    state_window: int = 0,
) -> list[Value]:
    """Each channel by a filter of its own, over what came before: [batch, channels, time], or [batch, time, ...].

    The state is the last (taps - 1) * dilation places, of zeros where none is given.
    """
    if ndim != 1:
        raise b.fail(f"only one dimension (ndim = 1) is supported, not {ndim}")
    if input_channel_offset or input_channels or state_length or state_update_capacity or state_window:
        raise b.fail("windows of states and slices of channels are not supported: ONNX Runtime has them on GPUs")
    if state_channels_last not in (-1, channels_last):
        raise b.fail("states in another layout than inputs are not supported")
    if activation not in ("none", "silu", "swish"):
        raise b.fail(f"activation '{activation}' is none of none, silu, swish")
    batch, *sizes = shape_of(x)
    channels, time = (math.prod(sizes[1:]), sizes[0]) if channels_last else (sizes[0], math.prod(sizes[1:]))
    taps = shape_of(w)[-1]
    before = (taps - 1) * dilation
    expect(b, "weight", w, [channels, 1, taps])
    expect(b, "bias", bias, [channels])
    kept = [batch, before, *sizes[1:]] if channels_last else [batch, channels, before]
    expect(b, "past_state", past_state, kept)
    axis = 1 if channels_last else 2
    past = b.broadcast_to(b.scalar(0, element_of(x)), kept) if past_state is None else past_state
    whole = b.concatenate([past, x], axis)
    rows = b.transpose(b.reshape(whole, [batch, before + time, channels]), [0, 2, 1]) if channels_last else whole
    result = conv(b, rows, w, bias, dilations=[dilation], group=channels)
    if activation != "none":
        result = swish(b, result)
    if channels_last:
        result = b.reshape(b.transpose(result, [0, 2, 1]), shape_of(x))
    return [result, b.slice_axis(whole, axis, time, time + before)]
