"""QAttention of com.microsoft: attention whose projection is a product of bytes, as ONNX Runtime quantises models."""

from __future__ import annotations

from .builder import GraphBuilder, Value
from .contrib import MICROSOFT
from .contrib_attention import FILTER, attended_parts
from .contrib_quantized import matmul_integer_to_float
from .table import lowers


@lowers("QAttention", domain=MICROSOFT)
def quantized_attention(
    b: GraphBuilder,
    x: Value,
    weights: Value,
    bias: Value,
    input_scale: Value,
    weight_scale: Value,
    mask_index: Value | None = None,
    input_zero_point: Value | None = None,
    weight_zero_point: Value | None = None,
    past: Value | None = None,
    *,
    num_heads: int,
    scale: float | None = None,
    mask_filter_value: float = FILTER,
    do_rotary: int = 0,
    past_present_share_buffer: int = 0,
    unidirectional: int = 0,
) -> list[Value]:
    """As Attention, of bytes [batch, length, width] and weights [width, 3 * width] with a scale, or one a column."""
    if do_rotary or past_present_share_buffer:
        raise b.fail("do_rotary and past_present_share_buffer are not supported")
    zeros = input_zero_point, weight_zero_point
    projected = matmul_integer_to_float(b, x, weights, input_scale, weight_scale, *zeros, bias)
    return attended_parts(
        b,
        projected,
        (),
        num_heads,
        past,
        scale=scale,
        mask=mask_index,
        bias=None,
        unidirectional=unidirectional,
        mask_filter_value=mask_filter_value,
    )
