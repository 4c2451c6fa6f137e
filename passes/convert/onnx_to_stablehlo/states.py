"""LinearAttention and CausalConvWithState: what layers keep of all that came before, in one state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i64

from ....compiler.signature import Array
from ....dialects import stablehlo as hlo
from .activation import swish
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contrib import MICROSOFT, expect
from .convolution import conv
from .loops import Row, State, counted_loop
from .table import lowers

GATED, DELTA = ("gated", "gated_delta"), ("delta", "gated_delta")  # rules that have a decay, and a rate
RULES = ("linear", *GATED, "delta")
CHUNK = 16  # steps at once: more take more products among each other, fewer go through the state more often
FORGOTTEN = -100.0  # the logarithm of nothing in f32, whose sums are finite


@lowers("LinearAttention", since=27)
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
    It is computed in f32, in chunks of steps, whatever `chunk_size` hints at; one by one where each key has its decay.
    What is not finite spreads over its chunk.
    """
    if update_rule not in RULES:
        raise b.fail(f"update_rule '{update_rule}' is none of {', '.join(RULES)}")
    if state_window:
        raise b.fail("states after several steps (state_window) are not supported")
    for name, needed, given in (("decay", GATED, decay), ("beta", DELTA, beta)):
        if update_rule in needed and given is None:
            raise b.fail(f"update_rule '{update_rule}' needs {name}")
    given = {"query": query, "key": key, "value": value, "decay": decay, "beta": beta}
    for name, each in given.items():
        if each is not None and rank_of(each) != 3:
            raise b.fail(f"{name} has shape {list(shape_of(each))}, expected [batch, time, heads * width]")
    batch, time, _ = shape_of(query)
    heads = max(q_num_heads, kv_num_heads)
    if min(q_num_heads, kv_num_heads) < 1 or heads % min(q_num_heads, kv_num_heads):
        raise b.fail(f"{q_num_heads} heads of queries and {kv_num_heads} of keys do not divide one another")
    keys, values = _by_heads(b, key, kv_num_heads), _by_heads(b, value, kv_num_heads)
    depth, width = shape_of(keys)[3], shape_of(values)[3]
    shape = [batch, kv_num_heads, depth, width]
    expect(b, "query", query, [batch, time, q_num_heads * depth])
    expect(b, "key", key, [batch, time, kv_num_heads * depth])
    expect(b, "value", value, [batch, time, kv_num_heads * width])
    expect(b, "past_state", past_state, shape)
    fading = rate = None
    if update_rule in GATED and decay is not None:
        by_key = shape_of(decay)[-1] == kv_num_heads * depth
        expect(b, "decay", decay, [batch, time, kv_num_heads * (depth if by_key else 1)])
        fading = b.maximum(_by_heads(b, decay, kv_num_heads), FORGOTTEN)
    if update_rule in DELTA and beta is not None:
        own = 1 if shape_of(beta)[-1] == 1 else kv_num_heads
        expect(b, "beta", beta, [batch, time, own])
        rate = b.broadcast_to(_by_heads(b, beta, own), [batch, kv_num_heads, time, 1])
    start = b.broadcast_to(b.scalar(0, f32), shape) if past_state is None else b.convert(past_state, f32)
    queries = _shared(b, _by_heads(b, query, q_num_heads), kv_num_heads)
    found, state = over_time(b, queries, keys, values, fading, rate, start)
    result = b.multiply(b.reshape(found, [batch, time, heads * width]), scale or 1 / math.sqrt(max(1, depth)))
    kept = element_of(query if past_state is None else past_state)
    return [b.convert(result, element_of(query)), b.convert(state, kept)]


def over_time(
    b: GraphBuilder,
    queries: Value,
    keys: Value,
    values: Value,
    fading: Value | None,
    rate: Value | None,
    start: Value,
) -> tuple[Value, Value]:
    """What queries find, [batch, time, heads, shared, values], and the state after the last step.

    All of f32: queries [batch, heads, shared, time, keys], keys and values [batch, heads, time, ...], logarithms of
    decays [.., time, keys or 1] that are at least FORGOTTEN, rates [.., time, 1], a state [batch, heads, keys, values].
    """
    batch, heads, each, time, _ = shape_of(queries)
    width = shape_of(values)[3]
    alike = fading is None or shape_of(fading)[3] == 1
    steps = min(CHUNK, 1 << (time - 1).bit_length()) if alike and time else 1
    parts = [None if x is None else _in_chunks(b, x, steps) for x in (queries, keys, values, fading, rate)]
    chunks = -(-time // steps)

    def advance(b: GraphBuilder, t: Value, state: Value) -> tuple[Value, Value]:
        now = [None if part is None else _at(b, part, t) for part in parts]
        return _Chunk(*now).after(b, state)  # pyright: ignore[reportArgumentType]

    if chunks == 1:
        found, state = advance(b, b.scalar(0, i64), start)
        found = b.expand_dims(found, [0])
    elif not chunks:
        found, state = b.broadcast_to(b.scalar(0, f32), [0, batch, heads, each, steps, width]), start
    else:

        def iteration(inner: GraphBuilder, t: Value, state: State) -> tuple[State, list[Row]]:
            found, following = advance(inner, t, state[0])
            return [following], [Row(found)]

        [state], [found] = counted_loop(b, chunks, [start], iteration)
    found = b.transpose(found, [1, 0, 4, 2, 3, 5])
    whole = b.reshape(found, [batch, chunks * steps, heads, each, width])
    return b.slice_axis(whole, 1, 0, time), state


@dataclass(frozen=True)
class _Chunk:
    """Some steps, of [batch, heads, ...]: queries of each that shares a key, keys, values, logarithms of decays, rates.

    With E[i, j] what is left in step i of what came in step j, U = rate (V - K S) for one step. Of several each takes
    what the others before it gave off, too: (1 + strictly lower(rate E K K')) U = rate (V - decayed K S).
    """

    queries: Value  # [.., shared, steps, keys]
    keys: Value
    values: Value
    fading: Value | None
    rate: Value | None

    def after(self, b: GraphBuilder, state: Value) -> tuple[Value, Value]:
        """What the queries find, [.., shared, steps, values], and the state then."""
        batch, heads, shared, steps, depth = shape_of(self.queries)
        left = since = None
        if self.fading is not None:
            left, since = self._left(b, self.fading)
        asked = b.reshape(self._times(b, self.queries, left, [2]), [batch, heads, shared * steps, depth])
        new = self.values
        if self.rate is None:
            base = _product(b, asked, state)
        else:
            every = _product(b, b.concatenate([self._times(b, self.keys, left), asked], 2), state)
            base = b.slice_axis(every, 2, steps, steps + shared * steps)
            new = b.multiply(self.rate, b.subtract(new, b.slice_axis(every, 2, 0, steps)))
            if steps > 1:
                met = self._times(b, b.multiply(self.rate, _product(b, self.keys, self.keys, turned=True)), since)
                new = _product(b, _inverse(b, _kept(b, met, lambda i, j: i > j)), new)
        rows = b.reshape(self.queries, [batch, heads, shared * steps, depth])
        seen = b.reshape(_product(b, rows, self.keys, turned=True), [batch, heads, shared, steps, steps])
        if steps > 1:
            seen = _kept(b, self._times(b, seen, since, [2]), lambda i, j: i >= j)
        found = b.add(base, _product(b, b.reshape(seen, [batch, heads, shared * steps, steps]), new))
        keys, kept = self.keys, state
        if left is not None:
            last = b.slice_axis(left, 2, steps - 1, steps)
            kept = b.multiply(state, b.transpose(last, [0, 1, 3, 2]))
        if since is not None:
            keys = b.multiply(keys, b.transpose(b.slice_axis(since, 2, steps - 1, steps), [0, 1, 3, 2]))
        state = b.add(kept, b.dot(keys, new, ([2], [2]), ([0, 1], [0, 1])))
        return b.reshape(found, [batch, heads, shared, steps, shape_of(new)[3]]), state

    def _left(self, b: GraphBuilder, fading: Value) -> tuple[Value, Value | None]:
        """What is left of the state, [.., steps, 1], and in each step of what others gave, [.., steps, steps].

        Logarithms are summed up from each step on: differences of sums would lose digits.
        """
        *outer, steps, _ = shape_of(fading)
        if steps == 1:
            return b.exponential(fading), None
        below = b.constant(np.tri(steps, dtype=np.float32))
        every = b.broadcast_to(fading, [*outer, steps, steps + 1])
        later = np.tri(steps, steps + 1, 0, dtype=np.float32)  # of the state all, of each step those behind it
        sums = b.dot(b.multiply(every, b.constant(later)), below, ([2], [1]))  # [.., from, to]
        grown = b.exponential(b.transpose(sums, [0, 1, 3, 2]))
        return b.slice_axis(grown, 3, 0, 1), b.slice_axis(grown, 3, 1, steps + 1)

    @staticmethod
    def _times(b: GraphBuilder, x: Value, factor: Value | None, more: Sequence[int] = ()) -> Value:
        return x if factor is None else b.multiply(x, b.expand_dims(factor, more) if more else factor)


def _product(b: GraphBuilder, x: Value, y: Value, turned: bool = False) -> Value:
    """Of matrices [batch, heads, ...]; the second may be `turned`."""
    return b.dot(x, y, ([3], [3 if turned else 2]), ([0, 1], [0, 1]))


def _kept(b: GraphBuilder, x: Value, where: Callable[[Array, Array], Array]) -> Value:
    """Matrices where a condition on row and column holds, else zero."""
    steps = shape_of(x)[-1]
    return b.select(b.broadcast_to(b.constant(where(*np.indices((steps, steps)))), shape_of(x)), x, 0.0)


def _inverse(b: GraphBuilder, x: Value) -> Value:
    """(1 + x) to the power of -1, of strictly lower matrices of a power of two rows.

    Of two blocks on the diagonal that are inverse already, with `off` below the first, (1 - inverse off) inverse is.
    """
    steps = shape_of(x)[-1]
    one = b.constant(np.eye(steps, dtype=np.float32))
    found, size = one, 1
    while size < steps:
        half = size

        def below(i: Array, j: Array, half: int = half) -> Array:
            return (i // half == j // half + 1) & (i // (2 * half) == j // (2 * half))

        off = _kept(b, x, below)
        found = b.subtract(found, off if size == 1 else _product(b, _product(b, found, off), found))
        size *= 2
    return found


def _by_heads(b: GraphBuilder, x: Value, heads: int) -> Value:
    """[batch, time, heads * width] as [batch, heads, time, width] of f32."""
    batch, time, width = shape_of(x)
    if width % heads:
        raise b.fail(f"a width of {width} does not divide into {heads} heads")
    return b.transpose(b.reshape(b.convert(x, f32), [batch, time, heads, width // heads]), [0, 2, 1, 3])


def _shared(b: GraphBuilder, queries: Value, heads: int) -> Value:
    """Queries [batch, heads, time, width] as [batch, heads of keys, those that share them, time, width]."""
    batch, own, time, width = shape_of(queries)
    if own >= heads:
        return b.reshape(queries, [batch, heads, own // heads, time, width])
    every = b.broadcast_to(b.expand_dims(queries, [2]), [batch, own, heads // own, time, width])
    return b.reshape(every, [batch, heads, 1, time, width])


def _in_chunks(b: GraphBuilder, x: Value, steps: int) -> Value:
    """[..., time, width] as [chunks, ..., steps, width]; steps behind the last are zeros, which change no state."""
    *outer, time, width = shape_of(x)
    chunks = -(-time // steps)
    if more := chunks * steps - time:
        x = b.pad(x, b.scalar(0.0, f32), [0] * rank_of(x), [*[0] * len(outer), more, 0])
    apart = b.reshape(x, [*outer, chunks, steps, width])
    return b.transpose(apart, [len(outer), *range(len(outer)), len(outer) + 1, len(outer) + 2])


def _at(b: GraphBuilder, x: Value, t: Value) -> Value:
    """The chunk [...] of [chunks, ...] of a number."""
    shape = shape_of(x)[1:]
    if shape_of(x)[0] == 1:
        return b.reshape(x, shape)
    starts = [t, *[b.scalar(0, i64)] * len(shape)]
    return b.reshape(b(hlo.DynamicSliceOp(x, starts, slice_sizes=[1, *shape])), shape)


@lowers("CausalConvWithState", since=27)
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
    if min(taps, dilation) < 1:
        raise b.fail(f"{taps} taps, {dilation} places apart: both must be positive")
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
