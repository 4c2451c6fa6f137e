"""GroupQueryAttention and rotary embeddings of com.microsoft: the attention of large language models, over a cache."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, i32, i64

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contrib import MICROSOFT
from .contrib_attention import by_heads, joined
from .indexing import gather
from .normalization import softmax
from .table import lowers


@lowers("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(
    b: GraphBuilder,
    query: Value,
    key: Value | None,
    value: Value | None,
    past_key: Value | None,
    past_value: Value | None,
    seqlens_k: Value,
    total_sequence_length: Value,
    cos_cache: Value | None = None,
    sin_cache: Value | None = None,
    position_ids: Value | None = None,
    attention_bias: Value | None = None,
    head_sink: Value | None = None,
    *,
    num_heads: int,
    kv_num_heads: int,
    causal: int = 1,
    do_rotary: int = 0,
    k_quant_type: str = "NONE",
    kv_cache_bit_width: int = 0,
    local_window_size: int = -1,
    qk_norm_epsilon: float = 1e-6,
    qk_output: int = 0,
    rotary_interleaved: int = 0,
    scale: float | None = None,
    sliding_window_cache: int = 0,
    smooth_softmax: int = 0,
    softcap: float = 0.0,
    v_quant_type: str = "NONE",
) -> list[Value]:
    """Attention over a cache whose rows up to `seqlens_k` count; heads of keys are shared by several of queries.

    With `sliding_window_cache` the cache holds the latest tokens, in order from its first row on.

    The length of the caches must be known, so a model is compiled for each `total_sequence_length`.
    """
    if {k_quant_type, v_quant_type} != {"NONE"} or qk_output or not causal:
        raise b.fail("quantised caches, qk_output and causal=0 are not supported")
    if min(num_heads, kv_num_heads) <= 0 or num_heads % kv_num_heads:
        raise b.fail(f"{num_heads} heads of queries do not divide into {kv_num_heads} of keys")
    if key is None or value is None:
        heads = _packed(b, query, num_heads, kv_num_heads)
    else:
        heads = [by_heads(b, query, num_heads), by_heads(b, key, kv_num_heads), by_heads(b, value, kv_num_heads)]
    query, key, value = heads
    batch, _, length, width = shape_of(query)
    for name, cache, x in (("past_key", past_key, key), ("past_value", past_value, value)):
        wanted = [batch, kv_num_heads, shape_of(x)[3]]
        if cache is not None and (rank_of(cache) != 4 or [*shape_of(cache)[:2], shape_of(cache)[3]] != wanted):
            expected = f"[{batch}, {kv_num_heads}, length, {wanted[2]}]"
            raise b.fail(f"{name} has shape {list(shape_of(cache))}, expected {expected}")
    total = b.number(total_sequence_length, "total_sequence_length of GroupQueryAttention")
    if not isinstance(element_of(total_sequence_length), IntegerType):
        raise b.fail(f"total_sequence_length must be an integer, got {total_sequence_length.type}")
    lengths = b.add(b.convert(b.reshape(seqlens_k, [batch]), i32), 1)
    first = total == length and not sliding_window_cache
    past = b.broadcast_to(b.scalar(0, i32), [batch]) if first else b.subtract(lengths, length)
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise b.fail("do_rotary needs cos_cache and sin_cache")
        places = position_ids
        if places is None:
            places = b.add(b.iota([1, length], 1, i32), b.expand_dims(past, [1]))
        query, key = _rotated(b, [query, key], places, cos_cache, sin_cache, bool(rotary_interleaved))
    begin = b.broadcast_to(b.scalar(0, i32), [batch])  # the position of the first key
    if sliding_window_cache:
        if past_key is None or past_value is None or attention_bias is not None:
            raise b.fail("a sliding cache needs past_key and past_value, and attention_bias is not supported with it")
        window = _Window(b, shape_of(past_key)[2], local_window_size, past, length)
        begin, total = window.begin, window.capacity + length
        (key, seen_keys), (value, seen_values) = (
            window.moved(old, new) for old, new in ((past_key, key), (past_value, value))
        )
        seen = [seen_keys, seen_values]
    else:
        key, value = _written(b, past_key, key, past, total), _written(b, past_value, value, past, total)
        seen = [b.slice_axis(x, 2, 0, min(total, shape_of(x)[2])) for x in (key, value)]

    shared = [num_heads // kv_num_heads, *([] if length == 1 else [length])]  # queries that have their keys in common
    last = len(shared) + 2

    def apart(x: Value) -> Value:
        """[batch, heads or 1, length, size] as scores are laid out."""
        some, heads, _, size = shape_of(x)
        groups = [1, 1] if heads == 1 else [kv_num_heads, shared[0]]
        return b.reshape(x, [some, *groups, *shared[1:], size])

    score = b.dot(apart(query), seen[0], ([last], [3]), ([0, 1], [0, 1]))
    score = b.multiply(score, scale or 1 / math.sqrt(width))
    if softcap:
        score = b.multiply(b(hlo.TanhOp(b.divide(score, softcap))), softcap)
    if attention_bias is not None:
        score = b.add(score, apart(attention_bias))
    score = b.add(score, apart(_hiding(b, (length, total), b.subtract(past, begin), local_window_size, score)))
    if head_sink is not None or smooth_softmax == 1:
        smoothed = _smoothed(b, b.reshape(score, [batch, num_heads, length, total]), head_sink)
        weights = apart(smoothed)
    else:
        weights = softmax(b, score)
    result = b.dot(weights, seen[1], ([last], [2]), ([0, 1], [0, 1]))
    return [joined(b, b.reshape(result, [batch, num_heads, length, width])), key, value]


class _Window:
    """A cache of C rows that holds the latest tokens, of which the W last are seen (ONNX Runtime, "Windowed KV Cache").

    After T tokens it holds L(T): all of them, or as many fewer as it takes to drop G = C - W + 1 at a time.
    """

    def __init__(self, b: GraphBuilder, capacity: int, window: int, past: Value, length: int):
        if not 0 < window <= capacity:
            raise b.fail(f"a sliding cache of {capacity} rows does not hold local_window_size={window} tokens")
        self.b, self.capacity, self.length = b, capacity, length
        self.dropped = capacity - window + 1
        self.held = self._held(past)
        self.begin = b.subtract(past, self.held)
        after = b.add(past, length)
        self.shift = b.subtract(b.subtract(after, self._held(after)), self.begin)

    def _held(self, count: Value) -> Value:
        """L of each sequence."""
        b, most = self.b, self.dropped - 1
        over = b.maximum(b.subtract(count, self.capacity), 0)
        steps = b.divide(b.add(over, most), self.dropped)
        return b.subtract(count, b.multiply(steps, self.dropped))

    def moved(self, past: Value, x: Value) -> tuple[Value, Value]:
        """The cache after the rows of `x`, and what they see: the rows before, themselves, and others behind."""
        b = self.b
        batch, _, length, _ = shape_of(x)
        room = b.pad(past, b.scalar(0, element_of(x)), [0] * 4, [0, 0, length + self.dropped, 0])
        staged = _placed(b, room, x, self.held)
        nought = b.scalar(0, i32)
        kept: list[Value] = []
        for i in range(batch):
            start = b.reshape(b.slice_axis(self.shift, 0, i, i + 1), [])
            one = b.slice_axis(staged, 0, i, i + 1)
            sizes = [1, shape_of(past)[1], self.capacity, shape_of(past)[3]]
            kept.append(b(hlo.DynamicSliceOp(one, [nought, nought, start, nought], slice_sizes=sizes)))
        return b.concatenate(kept, 0), b.slice_axis(staged, 2, 0, self.capacity + length)


def _hiding(b: GraphBuilder, sizes: tuple[int, int], past: Value, window: int, like: Value) -> Value:
    """[batch, 1, length, total]: what hides keys that come later or too long before, in the type of the scores."""
    (length, total), [batch] = sizes, shape_of(past)
    now = b.reshape(b.add(b.iota([1, length], 1, i32), b.expand_dims(past, [1])), [batch, 1, length, 1])
    places = b.iota([1, 1, 1, total], 3, i32)
    hidden = b.compare(places, now, "GT")
    if window > 0:
        hidden = b(hlo.OrOp(*b.broadcast(hidden, b.compare(places, b.subtract(now, window), "LE"))))
    return b.select(hidden, b.scalar(-math.inf, element_of(like)), 0.0)


def _packed(b: GraphBuilder, x: Value, heads: int, shared: int) -> list[Value]:
    """Queries, keys and values side by side, with fewer heads of keys and values."""
    width = shape_of(x)[-1] // (heads + 2 * shared)
    counts, start, found = (heads, shared, shared), 0, list[Value]()
    for count in counts:
        found.append(by_heads(b, b.slice_axis(x, 2, start, start + count * width), count))
        start += count * width
    return found


def _written(b: GraphBuilder, past: Value | None, x: Value, place: Value, total: int) -> Value:
    """The cache with the rows of `x` from `place` on, long enough for `total` rows."""
    length = shape_of(x)[2]
    if past is None or shape_of(past)[2] == 0:
        if total != length:
            raise b.fail(f"a total_sequence_length of {total} for {length} tokens and no cache")
        return x
    zero = b.scalar(0, element_of(x))
    more = max(0, total - shape_of(past)[2])
    return _placed(b, b.pad(past, zero, [0] * 4, [0, 0, more, 0]), x, place)


def _placed(b: GraphBuilder, room: Value, x: Value, place: Value) -> Value:
    """The rows of `x` in those of `room`, of each sequence from its `place` on."""
    batch = shape_of(x)[0]
    rows: list[Value] = []
    for i in range(batch):
        start = b.reshape(b.slice_axis(place, 0, i, i + 1), [])
        nought = b.scalar(0, i32)
        rows.append(
            b(
                hlo.DynamicUpdateSliceOp(
                    b.slice_axis(room, 0, i, i + 1), b.slice_axis(x, 0, i, i + 1), [nought, nought, start, nought]
                )
            )
        )
    return b.concatenate(rows, 0)


def _smoothed(b: GraphBuilder, score: Value, sink: Value | None) -> Value:
    """Softmax with one more score for each head, 0 where there is no `sink`, whose weight goes nowhere."""
    element = element_of(score)
    extra = (
        b.scalar(0.0, element) if sink is None else b.reshape(b.convert(sink, element), [1, shape_of(score)[1], 1, 1])
    )
    top = b.maximum(b.reduce("maximum", score, [3], keepdims=True), extra)
    grown = b.exponential(b.subtract(score, top))
    whole = b.add(b.reduce("add", grown, [3], keepdims=True), b.exponential(b.subtract(extra, top)))
    return b.divide(grown, whole)


@lowers("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(
    b: GraphBuilder,
    x: Value,
    position_ids: Value,
    cos_cache: Value,
    sin_cache: Value,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Value:
    """Of [batch, length, heads * width] or [batch, heads, length, width]; one position is that of the first token.

    ONNX Runtime takes no notice of `scale`.
    """
    if is_packed_batching:
        raise b.fail("is_packed_batching is not supported")
    flat = rank_of(x) == 3
    width = 2 * shape_of(cos_cache)[1]
    if flat:
        if rotary_embedding_dim and not num_heads:
            raise b.fail("rotary_embedding_dim needs num_heads")
        x = by_heads(b, x, num_heads or shape_of(x)[2] // width)
    length = shape_of(x)[2]
    places = position_ids
    if rank_of(places) == 1:
        places = b.add(b.iota([1, length], 1, i64), b.expand_dims(b.convert(places, i64), [1]))
    [result] = _rotated(b, [x], places, cos_cache, sin_cache, bool(interleaved))
    return joined(b, result) if flat else result


@lowers("MRotaryEmbedding", domain=MICROSOFT)
def rotary_embedding_of_three(
    b: GraphBuilder,
    x: Value,
    position_ids: Value,
    cos_cache: Value,
    sin_cache: Value,
    *,
    mrope_section: Sequence[int],
    interleaved: int = 0,
    is_packed_batching: int = 0,
    mrope_layout: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Value:
    """As RotaryEmbedding, with positions [3, batch, length] in time and in height and width of an image (Qwen2-VL).

    Angles are those of the first in so many places, then of the second and third; in layout 1 these have every third
    of the first places, three times as many.
    """
    if is_packed_batching:
        raise b.fail("is_packed_batching is not supported")
    half, flat = shape_of(cos_cache)[1], rank_of(x) == 3
    if len(mrope_section) != 3 or min(mrope_section) < 0 or sum(mrope_section) != half:
        raise b.fail(f"mrope_section {list(mrope_section)} is not three parts of {half} angles")
    if rank_of(position_ids) != 3 or shape_of(position_ids)[0] != 3:
        raise b.fail(f"position_ids has shape {list(shape_of(position_ids))}, expected [3, batch, length]")
    if flat:
        if not num_heads:
            raise b.fail("an input of three dimensions needs num_heads")
        x = by_heads(b, x, num_heads)
    angle = np.arange(half)
    if mrope_layout:
        source = np.where(angle < 3 * np.take(mrope_section, angle % 3), angle % 3, 0)
    else:
        source = np.repeat(np.arange(3), mrope_section)

    def chosen(cache: Value) -> Value:
        every = gather(b, cache, position_ids)  # [3, batch, length, half]
        first, *others = (b.reshape(b.slice_axis(every, 0, i, i + 1), shape_of(every)[1:]) for i in range(3))
        for i, other in enumerate(others, 1):
            first = b.select(b.broadcast_to(b.constant(source == i), shape_of(other)), other, first)
        return b.expand_dims(first, [1])

    result = _turned(b, x, chosen(cos_cache), chosen(sin_cache), bool(interleaved))
    return joined(b, result) if flat else result


def _rotated(
    b: GraphBuilder, parts: list[Value], places: Value, cos: Value, sin: Value, interleaved: bool
) -> list[Value]:
    """Each of the parts, [batch, heads, length, width], turned by the angles of its places, [batch, length]."""
    cosine, sine = (b.expand_dims(gather(b, cache, places), [1]) for cache in (cos, sin))
    return [_turned(b, x, cosine, sine, interleaved) for x in parts]


def _turned(b: GraphBuilder, x: Value, cos: Value, sin: Value, interleaved: bool) -> Value:
    """[batch, heads, length, width] turned by angles of [batch or 1, 1, length, half]; what is past 2 * half stays.

    A pair is two neighbours where they are interleaved, else elements half a width apart.
    """
    *outer, width = shape_of(x)
    half = shape_of(cos)[-1]
    if 2 * half > width:
        raise b.fail(f"rotating {2 * half} elements of {width}")
    turned = b.slice_axis(x, 3, 0, 2 * half)
    pairs = b.reshape(turned, [*outer, half, 2] if interleaved else [*outer, 2, half])
    along = 4 if interleaved else 3
    first, second = (b.reshape(b.slice_axis(pairs, along, i, i + 1), [*outer, half]) for i in (0, 1))
    real = b.subtract(b.multiply(first, cos), b.multiply(second, sin))
    imaginary = b.add(b.multiply(first, sin), b.multiply(second, cos))
    joined = b.concatenate([b.expand_dims(part, [along]) for part in (real, imaginary)], along)
    result = b.reshape(joined, [*outer, 2 * half])
    return result if 2 * half == width else b.concatenate([result, b.slice_axis(x, 3, 2 * half, width)], 3)
