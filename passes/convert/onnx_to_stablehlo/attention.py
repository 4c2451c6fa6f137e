"""ONNX's attentions that take functions of the scores; Attention itself comes through its own body."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f32

from ....dialects.onnx.types import element_type
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .contraction import matmul
from .normalization import softmax
from .table import lowers


@lowers("FlexAttention", domain="ai.onnx.preview")
def flex_attention(
    b: GraphBuilder,
    query: Value,
    key: Value,
    value: Value,
    *,
    prob_mod: int | None = None,
    scale: float | None = None,
    score_mod: int | None = None,
    softmax_precision: int | None = None,
) -> Value:
    """softmax(score_mod(Q K^T scale)), through prob_mod, times V; heads of K and V are shared by several of Q."""
    if any(rank_of(x) != 4 for x in (query, key, value)):
        raise b.fail("FlexAttention takes tensors of 4 dimensions")
    heads, shared = shape_of(query)[1], shape_of(key)[1]
    if shared == 0 or heads % shared:
        raise b.fail(f"{heads} heads of queries do not divide into {shared} of keys")

    def repeated(x: Value) -> Value:
        n, h, length, width = shape_of(x)
        wide = b.broadcast_to(b.expand_dims(x, [2]), [n, h, heads // shared, length, width])
        return b.reshape(wide, [n, heads, length, width])

    element = element_of(query)
    inner = f32 if element.name in ("f16", "bf16") else element
    if softmax_precision is not None:
        inner = element_type(softmax_precision) or inner
    root = math.sqrt(1 / math.sqrt(shape_of(query)[3]) if scale is None else scale)
    keys = b.transpose(b.multiply(repeated(key), root), [0, 1, 3, 2])
    scores = b.convert(matmul(b, b.multiply(query, root), keys), inner)
    if score_mod is not None:
        [scores] = b.region(score_mod, [scores])
    weights = softmax(b, b.convert(scores, inner))
    if prob_mod is not None:
        [weights] = b.region(prob_mod, [weights])
    product = matmul(b, b.convert(weights, inner), b.convert(repeated(value), inner))
    return b.convert(product, element_of(value))
