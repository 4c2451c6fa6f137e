"""QMoE of com.microsoft: experts whose matrices have a few bits an element, which stay packed where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.dialects.builtin import f32

from ....dialects.stablehlo.chlo_structured import rows_by_groups
from ....dialects.stablehlo.composites import GROUPED_MATMUL_NBITS
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .composite import composite
from .contrib import MICROSOFT, expect
from .contrib_experts import Matrices, Network, weighted
from .contrib_quantized import BYTE, numbers_of, unpacked
from .table import lowers


@lowers("QMoE", domain=MICROSOFT)
def quantized_experts(
    b: GraphBuilder,
    x: Value,
    router_probs: Value,
    first: Value,
    first_scales: Value | None,
    first_bias: Value | None,
    second: Value,
    second_scales: Value | None,
    second_bias: Value | None = None,
    third: Value | None = None,
    third_scales: Value | None = None,
    third_bias: Value | None = None,
    first_zeros: Value | None = None,
    second_zeros: Value | None = None,
    third_zeros: Value | None = None,
    router_weights: Value | None = None,
    *,
    k: int = 1,
    activation_type: str = "relu",
    normalize_routing_weights: int = 0,
    activation_alpha: float = 1.0,
    activation_beta: float = 0.0,
    swiglu_fusion: int = 0,
    swiglu_limit: float | None = None,
    swiglu_limit_after_activation: int = 0,
    use_sparse_mixer: int = 0,
    expert_weight_bits: int = 4,
    fc1_expert_weight_bits: int | None = None,
    fc2_expert_weight_bits: int | None = None,
    fc3_expert_weight_bits: int | None = None,
    block_size: int = 0,
    quant_type: str = "int",
    weights_prepacked: int = -1,
    accuracy_level: int = 0,
) -> Value:
    """As MoE, of matrices [experts, rows, bytes]: (number - zero point) * scale, of each row or block of one.

    Zero points are 2^(bits - 1) where none are given. Rows are multiplied in f32, whatever `accuracy_level` allows.
    Parts of the softmax are always normalized, as in ONNX Runtime's code for processors: over the best experts alone.
    """
    if quant_type != "int":
        raise b.fail(f"quant_type '{quant_type}' is not supported, only 'int'")
    if weights_prepacked == 1:
        raise b.fail("weights that are prepacked for one execution provider are not supported")
    network = Network(activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit)
    network.check(b, third is not None, use_sparse_mixer, swiglu_limit_after_activation)
    experts, hidden = shape_of(router_probs)[-1], shape_of(x)[-1]
    widths = [expert_weight_bits if n is None else n for n in (fc1_expert_weight_bits, fc2_expert_weight_bits)]
    inner = shape_of(second)[2] * 8 // max(1, widths[1]) if rank_of(second) == 3 else 0
    wide = network.wide(inner)
    products = [
        _matrices(
            b, "fc1", (experts, wide, hidden), first, first_scales, first_zeros, first_bias, widths[0], block_size
        ),
        _matrices(
            b, "fc2", (experts, hidden, inner), second, second_scales, second_zeros, second_bias, widths[1], block_size
        ),
    ]
    if third is not None:
        bits = expert_weight_bits if fc3_expert_weight_bits is None else fc3_expert_weight_bits
        products.append(
            _matrices(
                b, "fc3", (experts, inner, hidden), third, third_scales, third_zeros, third_bias, bits, block_size
            )
        )
    normalized = router_weights is None or bool(normalize_routing_weights)
    return weighted(b, x, router_probs, products, network, k, normalized, router_weights)


def _matrices(
    b: GraphBuilder,
    name: str,
    shape: tuple[int, int, int],
    packed: Value,
    scales: Value | None,
    zeros: Value | None,
    bias: Value | None,
    bits: int,
    block_size: int,
) -> Matrices:
    """Those of one product, `shape` as floats."""
    experts, rows, depth = shape
    if bits not in (2, 4, 8):
        raise b.fail(f"numbers of {bits} bits are not supported, only of 2, 4 and 8")
    block = block_size if block_size > 0 else depth
    if not block or depth % block or block * bits % 8:
        raise b.fail(f"{name}: {depth} elements are no blocks of {block} that are whole bytes")
    if element_of(packed) != BYTE:
        raise b.fail(f"{name}_experts_weights: expected uint8, got {packed.type}")
    if scales is None:
        raise b.fail(f"{name}_scales is missing")
    blocks = depth // block
    by_row = [experts, rows] if block_size <= 0 else [experts, rows, blocks]
    expect(b, f"{name}_experts_weights", packed, [experts, rows, depth * bits // 8])
    expect(b, f"{name}_scales", scales, by_row)
    expect(b, f"{name}_experts_bias", bias, [experts, rows])
    shared = [
        b.reshape(packed, [experts, rows, blocks, block * bits // 8]),
        b.reshape(b.convert(scales, f32), [experts, rows, blocks]),
    ]
    if zeros is not None:
        *outer, last = by_row
        expect(b, f"{name}_zero_points", zeros, [*outer, -(-last * bits // 8)])
        each = b.slice_axis(unpacked(b, zeros, bits), len(outer), 0, last)
        shared.append(b.reshape(b.convert(each, f32), [experts, rows, blocks]))
    said = {"bits": bits, "block_size": block, "accuracy_level": 0}
    known = block * bits % 32 == 0 and not any(b.depends_on_inputs(value) for value in shared)

    def product(of: Value, sizes: Value) -> Value:
        inputs = [b.convert(of, f32), sizes, *shared]
        if known and prod(shape):
            [result] = composite(b, GROUPED_MATMUL_NBITS, inputs, said, lambda *args: [_grouped(*args)])
        else:
            result = _grouped(b, said, *inputs)
        return b.convert(result, element_of(of))

    return Matrices(product, bias)


def _grouped(
    b: GraphBuilder,
    said: Mapping[str, int],
    x: Value,
    sizes: Value,
    packed: Value,
    scales: Value,
    zeros: Value | None = None,
) -> Value:
    """What GROUPED_MATMUL_NBITS means."""
    experts, rows, blocks = shape_of(scales)
    weights = numbers_of(b, packed, scales, zeros, said["bits"])
    matrices = b.reshape(b.convert(weights, f32), [experts, rows, blocks * said["block_size"]])
    return b(rows_by_groups(x, matrices, sizes, 2))
