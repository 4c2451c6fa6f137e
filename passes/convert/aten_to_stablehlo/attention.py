"""ATen's attention, whole: the chain of hub ops that later becomes one kernel."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i64

from ....dialects import stablehlo as hlo
from .builder import AtenBuilder, Value, element_of, is_bool, rank_of, shape_of
from .table import lowers


def _scores(
    b: AtenBuilder, query: Value, key: Value, mask: Value | None, is_causal: bool, scale: float | None
) -> Value:
    """query times key, scaled, and what the mask hides at minus infinity."""
    rank = rank_of(query)
    batch = list(range(rank - 2))
    factor = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else float(scale)
    scores = b.multiply(b.dot(query, key, ([rank - 1], [rank - 1]), (batch, batch)), factor)
    if is_causal:
        mask = _causal(b, shape_of(scores)[-2], shape_of(scores)[-1])
    if mask is None:
        return scores
    return b.add(scores, _additive(b, mask, scores))


def _causal(b: AtenBuilder, queries: int, keys: int) -> Value:
    """Which keys each query sees: those up to its own place."""
    row, column = b.iota([queries, keys], 0, i64), b.iota([queries, keys], 1, i64)
    return b.compare(column, row, "LE")


def _additive(b: AtenBuilder, mask: Value, like: Value) -> Value:
    element = element_of(like)
    if is_bool(mask):
        return b.select(mask, b.scalar(0.0, element), b.scalar(-math.inf, element))
    return b.convert(mask, element)


def _shared_heads(b: AtenBuilder, x: Value, heads: int) -> Value:
    """Each head of `x` repeated for the queries' heads that read it."""
    *batch, own, length, width = shape_of(x)
    if own == heads:
        return x
    wide = b.broadcast_to(b.expand_dims(x, [len(batch) + 1]), [*batch, own, heads // own, length, width])
    return b.reshape(wide, [*batch, heads, length, width])


@lowers("scaled_dot_product_attention")
def scaled_dot_product_attention(
    b: AtenBuilder,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """Queries that see nothing give zeros."""
    if dropout_p:
        raise b.fail("dropout inside attention is random", "export the model in evaluation mode")
    if enable_gqa:
        key, value = (_shared_heads(b, x, shape_of(query)[-3]) for x in (key, value))
    batch = b.broadcast_shape(*(shape_of(x)[:-2] for x in (query, key, value)))
    query, key, value = (b.broadcast_to(x, [*batch, *shape_of(x)[-2:]]) for x in (query, key, value))
    scores = _scores(b, query, key, attn_mask, is_causal, scale)
    last = [rank_of(scores) - 1]
    grown = b.exponential(b.subtract(scores, b.reduce("maximum", scores, last, keepdims=True)))
    weights = b.divide(grown, b.reduce("add", grown, last, keepdims=True))
    dims = list(range(len(batch)))
    result = b.dot(weights, value, (last, [len(batch)]), (dims, dims))
    if attn_mask is None or is_causal:
        return result
    seen = attn_mask if is_bool(attn_mask) else b.compare(attn_mask, -math.inf, "GT")
    sees = b.reduce("or", seen, [rank_of(seen) - 1], keepdims=True)
    return b.select(sees, result, 0.0)


@lowers("_safe_softmax")
def safe_softmax(b: AtenBuilder, x: Value, dim: int, dtype: object = None) -> Value:
    """Softmax, and zeros where everything is minus infinity."""
    axis = [b.axis(dim, rank_of(x))]
    top = b.reduce("maximum", x, axis, keepdims=True)
    grown = b.exponential(b.subtract(x, top))
    weights = b.divide(grown, b.reduce("add", grown, axis, keepdims=True))
    return b.select(b.compare(top, -math.inf, "EQ"), 0.0, weights)


@lowers("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(
    b: AtenBuilder,
    query: Value,
    key: Value,
    value: Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> list[Value]:
    """The result, and the logarithm of the sum of exponentials, which the derivative wants."""
    result = scaled_dot_product_attention(b, query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    scores = b.wide(_scores(b, query, key, attn_mask, is_causal, scale))
    last = [rank_of(scores) - 1]
    top = b.reduce("maximum", scores, last, keepdims=True)
    top = b.select(b(hlo.IsFiniteOp(top)), top, 0.0)
    total = b(hlo.LogOp(b.reduce("add", b.exponential(b.subtract(scores, top)), last)))
    return [result, b.add(total, b.reshape(top, shape_of(total)))]


@lowers("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(
    b: AtenBuilder,
    grad_out: Value,
    query: Value,
    key: Value,
    value: Value,
    out: Value,
    logsumexp: Value,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> list[Value]:
    if dropout_p:
        raise b.fail("dropout inside attention is random")
    scores = _scores(b, query, key, attn_mask, is_causal, scale)
    rank = rank_of(scores)
    batch = list(range(rank - 2))
    both = (batch, batch)
    rows = b.convert(b.expand_dims(logsumexp, [rank - 1]), element_of(scores))
    hidden = b.compare(scores, -math.inf, "EQ")
    weights = b.select(hidden, 0.0, b.exponential(b.subtract(scores, rows)))
    grad_value = b.dot(weights, grad_out, ([rank - 2], [rank - 2]), both)
    grad_weights = b.dot(grad_out, value, ([rank - 1], [rank - 1]), both)
    centre = b.reduce("add", b.multiply(grad_out, out), [rank - 1], keepdims=True)
    factor = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else float(scale)
    grad_scores = b.multiply(b.multiply(weights, b.subtract(grad_weights, centre)), factor)
    grad_query = b.dot(grad_scores, key, ([rank - 1], [rank - 2]), both)
    grad_key = b.dot(grad_scores, query, ([rank - 2], [rank - 2]), both)
    return [grad_query, grad_key, grad_value]
