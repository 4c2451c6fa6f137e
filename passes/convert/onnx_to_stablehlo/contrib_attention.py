"""The attentions of com.microsoft: what they attend to is said by masks, lengths and caches in several forms.

ONNX Runtime hides a key by adding `mask_filter_value` to its score, so a row that may see nothing gives the mean of all
keys that are hidden alike; what comes later in time is hidden by the smallest number there is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
from xdsl.dialects.builtin import i32

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contraction import matmul
from .contrib import MICROSOFT
from .normalization import softmax
from .table import lowers

FILTER = -10000.0  # what ONNX Runtime adds to hidden scores by default


def by_heads(b: GraphBuilder, x: Value, heads: int) -> Value:
    """[batch, length, heads * width] as [batch, heads, length, width]."""
    batch, length, width = shape_of(x)
    if heads <= 0 or width % heads:
        raise b.fail(f"a width of {width} does not divide into {heads} heads")
    return b.transpose(b.reshape(x, [batch, length, heads, width // heads]), [0, 2, 1, 3])


def joined(b: GraphBuilder, x: Value) -> Value:
    """[batch, heads, length, width] as [batch, length, heads * width]."""
    batch, heads, length, width = shape_of(x)
    return b.reshape(b.transpose(x, [0, 2, 1, 3]), [batch, length, heads * width])


def scores(b: GraphBuilder, query: Value, key: Value, scale: float | None) -> Value:
    factor = scale or 1 / math.sqrt(shape_of(query)[3])
    return b.multiply(matmul(b, query, b.transpose(key, [0, 1, 3, 2])), factor)


def _lowest(x: Value) -> float:
    return float(ml_dtypes.finfo(dtype_of(x.type)).min)


def _later(b: GraphBuilder, queries: int, keys: int) -> Value:
    """[queries, keys]: whether the key comes later than the query, the last of both being at one time."""
    last = b.add(b.iota([queries, 1], 0, i32), keys - queries)
    return b.compare(b.iota([1, keys], 1, i32), last, "GT")


def _hidden(b: GraphBuilder, mask: Value, batch: int, keys: int) -> Value:
    """[batch, 1, queries or 1, keys]: whether a mask, in one of its forms, hides the key.

    1 where a key is seen, for [batch, keys] and [batch, queries, keys]; the lengths, for [batch]; the ends and then the
    starts, for [2 * batch].
    """
    shape: tuple[int, ...] = shape_of(mask)
    if len(shape) > 1:
        if len(shape) > 3 or shape[0] not in (1, batch) or shape[-1] != keys:
            raise b.fail(f"a mask of shape {list(shape)} for a batch of {batch} and {keys} keys is not supported")
        hidden = b.compare(mask, 0, "LE")
        return b.expand_dims(hidden, [1, 2] if len(shape) == 2 else [1])
    if len(shape) != 1 or shape[0] not in (batch, 2 * batch):
        raise b.fail(f"a mask of shape {list(shape)} for a batch of {batch} is not supported")
    places = b.iota([1, 1, 1, keys], 3, element_of(mask))

    def bound(first: int) -> Value:
        return b.reshape(b.slice_axis(mask, 0, first, first + batch), [batch, 1, 1, 1])

    hidden = b.compare(places, bound(0), "GE")
    if shape[0] == batch:
        return hidden
    return b(hlo.OrOp(*b.broadcast(hidden, b.compare(places, bound(batch), "LT"))))


def _attend(
    b: GraphBuilder,
    query: Value,
    key: Value,
    value: Value,
    *,
    scale: float | None,
    mask: Value | None,
    bias: Value | None,
    unidirectional: int,
    mask_filter_value: float,
) -> Value:
    """softmax(Q K^T scale + mask + bias) V, all of shape [batch, heads, length, width]."""
    score = scores(b, query, key, scale)
    batch, _, queries, keys = shape_of(score)
    element = element_of(score)
    added: Value | None = None
    if mask is not None:
        hidden = _hidden(b, mask, batch, keys)
        added = b.select(hidden, b.scalar(mask_filter_value, element), b.scalar(0.0, element))
    if unidirectional:
        before = b.scalar(0.0, element) if added is None else added
        added = b.select(_later(b, queries, keys), b.scalar(_lowest(score), element), before)
    for more in (added, bias):
        if more is not None:
            score = b.add(score, more)
    return matmul(b, softmax(b, score), value)


def _extended(b: GraphBuilder, past: Value | None, x: Value) -> Value:
    """What came before, and then `x`, along the length."""
    return x if past is None else b.concatenate([past, x], 2)


@lowers("Attention", domain=MICROSOFT)
def attention(
    b: GraphBuilder,
    x: Value,
    weights: Value,
    bias: Value | None = None,
    mask_index: Value | None = None,
    past: Value | None = None,
    attention_bias: Value | None = None,
    past_sequence_length: Value | None = None,
    *,
    num_heads: int,
    scale: float | None = None,
    mask_filter_value: float = FILTER,
    do_rotary: int = 0,
    past_present_share_buffer: int = 0,
    qkv_hidden_sizes: Sequence[int] = (),
    rotary_embedding_dim: int = 0,
    unidirectional: int = 0,
) -> list[Value]:
    if do_rotary or past_present_share_buffer:
        raise b.fail("do_rotary and past_present_share_buffer are not supported")
    projected = matmul(b, x, weights)
    if bias is not None:
        projected = b.add(projected, bias)
    return attended_parts(
        b,
        projected,
        qkv_hidden_sizes,
        num_heads,
        past,
        scale=scale,
        mask=mask_index,
        bias=attention_bias,
        unidirectional=unidirectional,
        mask_filter_value=mask_filter_value,
    )


def attended_parts(
    b: GraphBuilder, projected: Value, sizes: Sequence[int], heads: int, past: Value | None, **said: Any
) -> list[Value]:
    """Attention of what is projected together, over what came before, too; then keys and values, where wanted."""
    query, key, value = _parts(b, projected, sizes, heads)
    before = [None, None] if past is None else [_half(b, past, i) for i in (0, 1)]
    key, value = _extended(b, before[0], key), _extended(b, before[1], value)
    result = _attend(b, query, key, value, **said)
    outputs = [joined(b, result)]
    if any(b.wanted[1:]):
        if shape_of(key) != shape_of(value):
            raise b.fail("keys and values of different widths have no common state")
        outputs.append(b.concatenate([b.expand_dims(key, [0]), b.expand_dims(value, [0])], 0))
    return outputs


def _half(b: GraphBuilder, past: Value, index: int) -> Value:
    return b.reshape(b.slice_axis(past, 0, index, index + 1), shape_of(past)[1:])


def _parts(b: GraphBuilder, projected: Value, sizes: Sequence[int], heads: int) -> list[Value]:
    """Query, key and value out of their joint projection, by heads; three of one width where no sizes are given."""
    width = shape_of(projected)[-1]
    widths = list(sizes) or [width // 3] * 3
    if len(widths) != 3 or sum(widths) != width:
        raise b.fail(f"a projection of width {width} does not divide into {widths}")
    ends = [sum(widths[: i + 1]) for i in range(3)]
    return [
        by_heads(b, b.slice_axis(projected, 2, end - own, end), heads) for own, end in zip(widths, ends, strict=True)
    ]


@lowers("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(
    b: GraphBuilder,
    query: Value,
    key: Value | None = None,
    value: Value | None = None,
    bias: Value | None = None,
    key_padding_mask: Value | None = None,
    attention_bias: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    *,
    num_heads: int,
    scale: float | None = None,
    mask_filter_value: float = FILTER,
    unidirectional: int = 0,
) -> list[Value]:
    query, key, value = _unpacked(b, query, key, value)
    if bias is not None:
        query, key, value = _biased(b, query, key, value, bias)
    query, key, value = (x if rank_of(x) == 4 else by_heads(b, x, num_heads) for x in (query, key, value))
    key, value = _extended(b, past_key, key), _extended(b, past_value, value)
    result = _attend(
        b,
        query,
        key,
        value,
        scale=scale,
        mask=key_padding_mask,
        bias=attention_bias,
        unidirectional=unidirectional,
        mask_filter_value=mask_filter_value,
    )
    return [joined(b, result), key, value]


def _unpacked(b: GraphBuilder, query: Value, key: Value | None, value: Value | None) -> tuple[Value, Value, Value]:
    """The three, where [batch, length, heads, n, width] holds several of them."""
    if key is None:
        query, key, value = _unstacked(b, query, 3)
    elif value is None:
        key, value = _unstacked(b, key, 2)
    return query, key, value


def _unstacked(b: GraphBuilder, x: Value, count: int) -> list[Value]:
    if rank_of(x) != 5 or shape_of(x)[3] != count:
        raise b.fail(f"shape {list(shape_of(x))} does not hold {count} tensors of [batch, length, heads, width]")
    batch, length, heads, _, width = shape_of(x)
    return [b.reshape(b.slice_axis(x, 3, i, i + 1), [batch, length, heads * width]) for i in range(count)]


def _biased(b: GraphBuilder, query: Value, key: Value, value: Value, bias: Value) -> tuple[Value, Value, Value]:
    """With the bias of their projections, whose parts lie one after the other; what comes by heads has had it."""
    found: list[Value] = []
    start = 0
    for x in (query, key, value):
        shape = shape_of(x)
        width = shape[-1] if len(shape) == 3 else shape[1] * shape[3]
        found.append(b.add(x, b.slice_axis(bias, 0, start, start + width)) if len(shape) == 3 else x)
        start += width
    return found[0], found[1], found[2]


@lowers("DecoderMaskedMultiHeadAttention", domain=MICROSOFT)
def decoder_masked_multi_head_attention(
    b: GraphBuilder,
    query: Value,
    key: Value | None = None,
    value: Value | None = None,
    mask_index: Value | None = None,
    attention_bias: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    past_sequence_length: Value | None = None,
    beam_width: Value | None = None,
    cache_indirection: Value | None = None,
    bias: Value | None = None,
    *,
    num_heads: int,
    scale: float | None = None,
    mask_filter_value: float = FILTER,
    output_qk: int = 0,
    past_present_share_buffer: int = 0,
) -> list[Value]:
    """MultiHeadAttention of one token, its operands in another order."""
    if past_present_share_buffer or output_qk or cache_indirection is not None or key is None:
        raise b.fail("past_present_share_buffer, output_qk, cache_indirection and packed keys are not supported")
    return multi_head_attention(
        b,
        query,
        key,
        value,
        bias,
        mask_index,
        attention_bias,
        past_key,
        past_value,
        num_heads=num_heads,
        scale=scale,
        mask_filter_value=mask_filter_value,
    )
