"""What layers of com.microsoft let through: GatedRMSNorm, GatedAdd, and the gates of LinearAttention."""

from __future__ import annotations

from xdsl.dialects.builtin import f32

from .activation import sigmoid, softplus, swish
from .builder import GraphBuilder, Value, element_of, shape_of
from .contrib import MICROSOFT, expect
from .normalization import rms_normalization
from .table import lowers


@lowers("GatedRMSNorm", domain=MICROSOFT)
def gated_rms_norm(
    b: GraphBuilder, x: Value, scale: Value, gate: Value, *, activation: str = "silu", epsilon: float = 1e-5
) -> Value:
    """Groups as long as `scale` of the last dimension, normalised, times what the gate lets through; in f32."""
    *outer, width = shape_of(x)
    [size] = shape_of(scale)
    if activation not in ("silu", "swish", "sigmoid"):
        raise b.fail(f"activation '{activation}' is none of silu, swish, sigmoid")
    if not size or width % size:
        raise b.fail(f"a width of {width} is no multiple of the {size} elements of scale")
    expect(b, "gate", gate, shape_of(x))
    groups = b.reshape(b.convert(x, f32), [*outer, width // size, size])
    normal = rms_normalization(b, groups, b.convert(scale, f32), epsilon=epsilon)
    wide = b.convert(gate, f32)
    through = sigmoid(b, wide) if activation == "sigmoid" else swish(b, wide)
    return b.convert(b.multiply(b.reshape(normal, shape_of(x)), through), element_of(x))


@lowers("GatedAdd", domain=MICROSOFT)
def gated_add(b: GraphBuilder, x: Value, y: Value, gate: Value, gate_weight: Value | None = None) -> Value:
    """`x` and `y` times the gate [..., 1] of its row."""
    if gate_weight is not None:
        raise b.fail("gates that are projected (gate_weight) are not supported: ONNX Runtime has them on GPUs")
    expect(b, "Y", y, shape_of(x))
    expect(b, "gate", gate, [*shape_of(x)[:-1], 1])
    return b.add(x, b.multiply(y, gate))


@lowers("LinearAttentionGate", domain=MICROSOFT)
def linear_attention_gate(
    b: GraphBuilder, x: Value, dt_bias: Value, decay_scale: Value, rate: Value | None = None
) -> list[Value]:
    """The logarithm of the decay, scale * softplus(x + bias) in f32, and the rate, of [batch, time, heads]."""
    heads = [shape_of(x)[-1]]
    expect(b, "dt_bias", dt_bias, heads)
    expect(b, "decay_scale", decay_scale, heads)
    decay = b.multiply(softplus(b, b.add(b.convert(x, f32), dt_bias)), decay_scale)
    results = [b.convert(decay, element_of(x))]
    if rate is not None:
        expect(b, "b", rate, shape_of(x))
        results.append(b.convert(sigmoid(b, b.convert(rate, f32)), element_of(rate)))
    elif any(b.wanted[1:]):
        raise b.fail("the output beta needs the input b")
    return results
