"""Embeddings and normalisations of com.microsoft, as ONNX Runtime's optimiser for transformers writes them."""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from .activation import gelu, sigmoid
from .builder import GraphBuilder, Value, rank_of, shape_of
from .contrib import MICROSOFT, to_channels_first, to_channels_last
from .indexing import gather
from .normalization import group_normalization, layer_normalization, rms_normalization, softmax_1
from .table import lowers


@lowers("SimplifiedLayerNormalization", domain=MICROSOFT)
def simplified_layer_normalization(
    b: GraphBuilder, x: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Value:
    return rms_normalization(b, x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)


@lowers("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(
    b: GraphBuilder,
    input_ids: Value,
    segment_ids: Value | None,
    word_embedding: Value,
    position_embedding: Value,
    segment_embedding: Value | None,
    scale: Value,
    shift: Value,
    mask: Value | None = None,
    position_ids: Value | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int = 0,
) -> list[Value]:
    """Words, positions and segments added up and normalised; and how many words of each text the mask shows."""
    batch, length = shape_of(input_ids)
    words = gather(b, word_embedding, input_ids)
    places = b.iota([length], 0, i32) if position_ids is None else position_ids
    total = b.add(words, gather(b, position_embedding, places))
    if segment_ids is not None and segment_embedding is not None:
        total = b.add(total, gather(b, segment_embedding, segment_ids))
    if mask is None:
        counts = b.broadcast_to(b.scalar(0, i32), [batch])
    else:
        counts = b.reduce("add", b.convert(b.compare(mask, 1, "EQ"), i32), [1])
    return [layer_normalization(b, total, scale, shift, epsilon=epsilon)[0], counts, total]


@lowers("BiasSplitGelu", domain=MICROSOFT)
def bias_split_gelu(b: GraphBuilder, x: Value, bias: Value) -> Value:
    """The first half of the last dimension times the gelu of the second."""
    total = b.add(x, bias)
    last, width = rank_of(total) - 1, shape_of(total)[-1]
    left, right = b.slice_axis(total, last, 0, width // 2), b.slice_axis(total, last, width // 2, width)
    return b.multiply(left, gelu(b, right))


@lowers("BiasAdd", domain=MICROSOFT)
def bias_add(b: GraphBuilder, x: Value, bias: Value, skip: Value) -> Value:
    return b.add(b.add(x, bias), skip)


@lowers("BiasSoftmax", domain=MICROSOFT)
def bias_softmax(b: GraphBuilder, x: Value, bias: Value, *, axis: int = 1, is_inner_broadcast: int) -> Value:
    """Softmax over all dimensions from `axis` on, after a bias is added.

    The bias lacks some dimensions before `axis`, or has 1 there: the last of them where `is_inner_broadcast` is 1, else
    the first.
    """
    own, given = shape_of(x), shape_of(bias)
    axis = b.axis(axis, len(own))
    missing = len(own) - len(given)
    if is_inner_broadcast and missing > 0:
        bias = b.reshape(bias, [*given[: axis - missing], *[1] * missing, *given[axis - missing :]])
    return softmax_1(b, b.add(x, bias), axis=axis)


@lowers("GroupNorm", domain=MICROSOFT)
def group_norm(
    b: GraphBuilder,
    x: Value,
    scale: Value,
    shift: Value,
    *,
    groups: int,
    activation: int,
    epsilon: float = 1e-5,
    channels_last: int = 1,
) -> Value:
    """GroupNormalization, and x * sigmoid(x) after it where `activation` is 1."""
    result = to_channels_first(b, x) if channels_last else x
    result = group_normalization(b, result, scale, shift, num_groups=groups, epsilon=epsilon)
    if activation:
        result = b.multiply(result, sigmoid(b, result))
    return to_channels_last(b, result) if channels_last else result
