"""Operators of com.microsoft give what ONNX Runtime gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import lamina

RANDOM = np.random.default_rng(5)


def reals(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def number(value: float) -> Any:
    return np.array(value, np.float32)


def byte(value: int) -> Any:
    return np.array(value, np.uint8)


def bytes_(*shape: int) -> Any:
    return RANDOM.integers(0, 256, shape).astype(np.uint8)


def signed(*shape: int) -> Any:  # of seven bits: ONNX Runtime adds pairs of larger ones up in 16 bits without VNNI
    return np.asarray(RANDOM.integers(-64, 64, shape), np.int8)


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


Q = RANDOM.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
R = RANDOM.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
X, SCALE, SHIFT = reals(2, 3, 8), reals(8), reals(8)
SCALED = [number(0.03), byte(120)]
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)
NOTHING = np.array([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], np.int32)
SQUARE = RANDOM.integers(0, 2, (2, 5, 5)).astype(np.int32)
ROWS, PROJECTION, PROJECTION_BIAS = reals(2, 5, 12), reals(12, 36), reals(36)
QUERY, KEY, VALUE = reals(2, 5, 12), reals(2, 7, 12), reals(2, 7, 18)
COS, SIN, PLACES = reals(20, 4), reals(20, 4), RANDOM.integers(0, 20, (2, 5))
CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("Gelu", [X], {}),
    ("BiasGelu", [X, SHIFT], {}),
    ("FastGelu", [X, SHIFT], {}),
    ("QuickGelu", [X], {"alpha": 1.5}),
    ("FusedMatMul", [X, reals(2, 5, 8)], {"transB": 1, "alpha": 0.5}),
    ("SkipLayerNormalization", [X, X * 0.5, SCALE, SHIFT, SHIFT], {"epsilon": 1e-5}),
    ("SkipSimplifiedLayerNormalization", [X, X * 0.5, SCALE], {"epsilon": 1e-5}),
    ("FusedGemm", [reals(3, 4), reals(4, 5), reals(5)], {"activation": "Relu"}),
    ("QLinearAdd", [Q, *SCALED, R, number(0.02), byte(7), number(0.05), byte(100)], {}),
    ("QLinearMul", [Q, *SCALED, R, number(0.02), byte(7), number(0.06), byte(100)], {}),
    ("QLinearSigmoid", [Q, *SCALED, number(0.004), byte(0)], {}),
    ("QLinearLeakyRelu", [Q, *SCALED, number(0.02), byte(100)], {"alpha": 0.1}),
    ("QLinearGlobalAveragePool", [Q, *SCALED, number(0.01), byte(100)], {}),
    ("QLinearConcat", [number(0.04), byte(100), Q, *SCALED, R, number(0.02), byte(7)], {"axis": 1}),
    ("TransposeMatMul", [reals(3, 4, 2), reals(3, 4, 5)], {"transA": 1}),
    ("FusedMatMul", [reals(4, 3, 5), reals(3, 5, 6)], {"transBatchA": 1}),
    ("SimplifiedLayerNormalization", [X, SCALE], {"epsilon": 1e-5}),
    ("FusedConv", [reals(1, 3, 6, 6), reals(4, 3, 3, 3), reals(4)], {"activation": "Relu", "kernel_shape": [3, 3]}),
    (
        "FusedConv",
        [reals(1, 3, 6, 6), reals(4, 3, 3, 3), reals(4), reals(1, 4, 4, 4)],
        {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]},
    ),
    ("NhwcMaxPool", [bytes_(1, 6, 6, 3)], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ("Trilu", [reals(4, 5)], {"upper": 0}),
    ("CDist", [reals(4, 3), reals(5, 3)], {"metric": "euclidean"}),
    # attention
    *(
        ("Attention", [ROWS, PROJECTION, PROJECTION_BIAS, mask], {"num_heads": 3, "unidirectional": i % 2})
        for i, mask in enumerate((MASK, NOTHING, NOTHING, ints(5, 3), ints(5, 4, 1, 2), SQUARE, SQUARE))
    ),
    (
        "Attention",
        [ROWS, PROJECTION, PROJECTION_BIAS, None, reals(2, 2, 3, 3, 4)],
        {"num_heads": 3, "unidirectional": 1, "outputs": 2},
    ),
    ("Attention", [ROWS, PROJECTION, PROJECTION_BIAS, MASK, None, reals(2, 1, 5, 5)], {"num_heads": 3, "scale": 0.3}),
    ("Attention", [ROWS, reals(12, 30), reals(30)], {"num_heads": 3, "qkv_hidden_sizes": [12, 12, 6]}),
    ("MultiHeadAttention", [QUERY, KEY, VALUE, reals(42)], {"num_heads": 3, "scale": 0.7, "outputs": 3}),
    ("MultiHeadAttention", [QUERY, KEY, VALUE, None, ints(4, 7)], {"num_heads": 3}),
    ("MultiHeadAttention", [QUERY, KEY, VALUE, None, None, reals(1, 3, 5, 7)], {"num_heads": 3}),
    (
        "MultiHeadAttention",
        [QUERY, ROWS, QUERY, reals(36), None, None, reals(2, 3, 4, 4), reals(2, 3, 4, 4)],
        {"num_heads": 3, "unidirectional": 1, "outputs": 3},
    ),
    ("MultiHeadAttention", [QUERY, reals(2, 3, 7, 4), reals(2, 3, 7, 4), reals(36)], {"num_heads": 3}),
    ("DecoderMaskedMultiHeadAttention", [reals(2, 1, 12), reals(2, 3, 6, 4), reals(2, 3, 6, 4)], {"num_heads": 3}),
    *(("RotaryEmbedding", [reals(2, 5, 24), PLACES, COS, SIN], {"interleaved": i}) for i in (0, 1)),
    ("RotaryEmbedding", [reals(2, 3, 5, 8), np.array([3]), COS, SIN], {}),
    (
        "RotaryEmbedding",
        [reals(2, 5, 36), PLACES, COS, SIN],
        {"num_heads": 3, "rotary_embedding_dim": 8, "interleaved": 1},
    ),
    (
        "EmbedLayerNormalization",
        [SQUARE[0], SQUARE[1], reals(2, 8), reals(9, 8), reals(2, 8), SCALE, SHIFT, MASK[[0, 1, 0, 1, 1]]],
        {"outputs": 3},
    ),
    # quantised
    *(
        ("MatMulNBits", [reals(3, 80), bytes_(24, 3, 4 * bits), reals(72)], {"bits": bits, "K": 80, "N": 24})
        for bits in (2, 4, 8)
    ),
    (
        "MatMulNBits",
        [reals(2, 3, 80), bytes_(24, 3, 16), reals(72), bytes_(48), None, reals(24)],
        {"bits": 4, "K": 80, "N": 24},
    ),
    ("MatMulNBits", [reals(1, 80), bytes_(24, 3, 16), reals(72), reals(72)], {"bits": 4, "K": 80, "N": 24}),
    (
        "GatherBlockQuantized",
        [bytes_(10, 32), RANDOM.integers(0, 10, (2, 3)), reals(10, 4), bytes_(10, 2)],
        {"block_size": 16},
    ),
    (
        "QGemm",
        [bytes_(3, 6), *SCALED, signed(5, 6), abs(reals(5)), signed(5), RANDOM.integers(-500, 500, 5).astype(np.int32)],
        {"transB": 1, "alpha": 0.5},
    ),
    (
        "QGemm",
        [bytes_(3, 6), *SCALED, signed(6, 5), number(0.02), signed(), None, number(0.05), byte(100)],
        {},
    ),
    (
        "MatMulIntegerToFloat",
        [bytes_(2, 3, 6), signed(6, 5), number(0.03), abs(reals(5)), byte(120), None, reals(5)],
        {},
    ),
    ("DynamicQuantizeMatMul", [reals(2, 3, 6), signed(6, 5), number(0.02), signed(), reals(5)], {}),
    ("QLinearSoftmax", [Q, *SCALED, number(0.004), byte(0)], {"opset": 13}),
    (
        "QLinearWhere",
        [RANDOM.integers(0, 2, (3, 4, 4)) > 0, Q, *SCALED, R, number(0.02), byte(7), number(0.05), byte(100)],
        {},
    ),
    (
        "QLinearAveragePool",
        [bytes_(1, 6, 6, 3), *SCALED, number(0.03), byte(110)],
        {"kernel_shape": [2, 2], "channels_last": 1},
    ),
    (
        "QLinearGlobalAveragePool",
        [bytes_(2, 5, 4, 3), *SCALED, number(0.03), byte(110)],
        {"channels_last": 1},
    ),
    (
        "QLinearConv",
        [bytes_(1, 6, 6, 3), *SCALED, signed(4, 3, 3, 3), number(0.02), np.array(0, np.int8), number(0.5), byte(110)],
        {"channels_last": 1},
    ),
]
BLOCKS = {"MatMulNBits": 32}
DOMAINS = {"SimplifiedLayerNormalization": ""}
OFF_BY_ONE = {"QLinearSoftmax": 0.2}
"""The share of bytes that may be, 0.05 for others: ONNX Runtime's softmax looks exponentials up in a table."""


def model_of(name: str, inputs: list[Any], attributes: dict[str, Any], constants: Sequence[int] = ()) -> Any:
    """A model of one node, whose inputs at the places `constants` are known."""
    attributes = {"block_size": BLOCKS[name], **attributes} if name in BLOCKS else dict(attributes)
    outputs = [f"y{i}" for i in range(attributes.pop("outputs", 1))]
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(name, names, outputs, domain=DOMAINS.get(name, "com.microsoft"), **attributes)
    kind = helper.np_dtype_to_tensor_dtype
    arrays = {n: x for n, x in zip(names, inputs, strict=True) if n}
    known = {f"x{i}": arrays[f"x{i}"] for i in constants}
    given = [helper.make_tensor_value_info(n, kind(x.dtype), x.shape) for n, x in arrays.items() if n not in known]
    results = [helper.make_tensor_value_info(n, result_type(name, inputs, i), None) for i, n in enumerate(outputs)]
    fixed = [numpy_helper.from_array(x, n) for n, x in known.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph([node], "g", given, results, fixed), opset_imports=opsets, ir_version=9)


def result_type(name: str, inputs: list[Any], index: int) -> int:
    first: Any = np.float32
    if name.startswith("QLinear") or name == "NhwcMaxPool" or (name == "QGemm" and len(inputs) > 7):
        first = np.uint8
    elif name == "EmbedLayerNormalization" and index == 1:
        first = np.int32
    return helper.np_dtype_to_tensor_dtype(np.dtype(first))


def both(model: Any, inputs: list[Any], target: str = "interpret") -> list[tuple[Any, Any]]:
    """What we and what ONNX Runtime make of a model, output by output."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString())
    names = [spec.name for spec in model.graph.input]
    expected = session.run(None, dict(zip(names, inputs, strict=True)))
    return list(zip(lamina.compile(model, target)(*inputs), expected, strict=True))


@pytest.mark.parametrize(("name", "inputs", "attributes"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_as_onnx_runtime(name: str, inputs: list[Any], attributes: dict[str, Any]) -> None:
    for actual, expected in both(model_of(name, inputs, attributes), [x for x in inputs if x is not None]):
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
        if actual.dtype == np.uint8:  # a value halfway may go either way
            assert np.abs(actual.astype(int) - expected.astype(int)).max() <= 1
            assert (actual != expected).mean() < OFF_BY_ONE.get(name, 0.05)
        else:
            np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-6)


def grouped(
    length: int, past: int, total: int, seen: list[int], rotary: int = 0, packed: bool = False, more: Sequence[Any] = ()
) -> list[Any]:
    """The inputs of a GroupQueryAttention of 4 heads over 2, of width 16."""
    query, key, value = reals(2, length, 64), reals(2, length, 32), reals(2, length, 32)
    first = [np.concatenate([query, key, value], 2), None, None] if packed else [query, key, value]
    caches = [reals(2, 2, past, 16), reals(2, 2, past, 16)]
    angles = [reals(32, 8), reals(32, 8)] if rotary else [None, None]
    return [*first, *caches, ints(*seen), np.array(total, np.int32), *angles, *more]


@pytest.mark.parametrize(
    ("inputs", "attributes"),
    [
        (grouped(5, 0, 5, [4, 4]), {"scale": 0.2}),
        (grouped(5, 0, 5, [4, 4], rotary=1, packed=True), {"do_rotary": 1, "rotary_interleaved": 1}),
        (grouped(1, 6, 7, [6, 4], rotary=1), {"do_rotary": 1}),
        (grouped(1, 12, 7, [6, 4], rotary=1), {"do_rotary": 1, "smooth_softmax": 1}),
        (grouped(1, 6, 7, [6, 6]), {"local_window_size": 3}),
        (grouped(5, 0, 5, [4, 4], more=[None, reals(2, 1, 5, 5)]), {"softcap": 1.5}),
        (grouped(5, 0, 5, [4, 4], more=[None, None, reals(4)]), {"local_window_size": 2}),
        (grouped(5, 0, 5, [4, 4], rotary=1, more=[np.tile(np.arange(2, 7), (2, 1))]), {"do_rotary": 1}),
    ],
)
def test_group_query_attention(inputs: list[Any], attributes: dict[str, Any]) -> None:
    named = {"num_heads": 4, "kv_num_heads": 2, "outputs": 3, **attributes}
    model = model_of("GroupQueryAttention", inputs, named, constants=[6])
    given = [x for i, x in enumerate(inputs) if x is not None and i != 6]
    [result, *caches] = both(model, given)
    np.testing.assert_allclose(*result, rtol=2e-5, atol=1e-5)
    for actual, expected in caches:
        assert actual.shape == expected.shape
        for row, length in enumerate(inputs[5] + 1):  # what lies beyond does not count
            np.testing.assert_allclose(actual[row, :, :length], expected[row, :, :length], rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(("capacity", "window"), [(4, 4), (6, 4), (8, 3), (5, 1)])
@pytest.mark.parametrize("steps", [[1] * 14, [3] * 5, [7, 1, 1, 5, 1, 9, 1], [12, 1, 1]])
def test_sliding_caches(capacity: int, window: int, steps: list[int]) -> None:
    """Rows that hold the latest tokens, however many come at a time; what is behind them is unspecified."""
    theirs = ours = [np.zeros((1, 2, capacity, 16), np.float32)] * 2
    seen, dropped = 0, capacity - window + 1
    named = {"num_heads": 4, "kv_num_heads": 2, "outputs": 3, "sliding_window_cache": 1, "local_window_size": window}
    for length in steps:
        seen += length
        rows = [reals(1, length, 64), reals(1, length, 32), reals(1, length, 32)]
        angles = [reals(64, 8), reals(64, 8)]
        inputs = [*rows, *theirs, ints(seen - 1), np.array(seen, np.int32), *angles]
        model = model_of("GroupQueryAttention", inputs, {**named, "do_rotary": 1}, constants=[6, 7, 8])
        [(_, expected), *caches] = both(model, [*rows, *theirs, inputs[5]])
        actual, *ours = lamina.compile(model, "interpret")(*rows, *ours, inputs[5])
        theirs = [cache for _, cache in caches]
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-5)
        held = seen if seen <= capacity else seen - dropped * -(-(seen - capacity) // dropped)
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine[:, :, :held], other[:, :, :held], rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("place", "given", "message"),
    [
        (3, reals(2, 2, 6), r"past_key has shape \[2, 2, 6\], expected \[2, 2, length, 16\]"),
        (4, reals(2, 3, 6, 16), r"past_value has shape \[2, 3, 6, 16\], expected \[2, 2, length, 16\]"),
        (4, reals(2, 2, 6, 8), r"expected \[2, 2, length, 16\]"),
        (6, np.array(7, np.float32), "total_sequence_length must be an integer"),
    ],
)
def test_caches_that_do_not_fit(place: int, given: Any, message: str) -> None:
    inputs = grouped(1, 6, 7, [6, 4])
    inputs[place] = given
    model = model_of("GroupQueryAttention", inputs, {"num_heads": 4, "kv_num_heads": 2, "outputs": 3}, constants=[6])
    with pytest.raises(lamina.LaminaError, match=message):
        lamina.compile(model, "interpret")


def test_sliding_caches_that_do_not_hold_the_window() -> None:
    inputs = grouped(1, 6, 7, [6, 6])
    named = {"num_heads": 4, "kv_num_heads": 2, "outputs": 3, "sliding_window_cache": 1, "local_window_size": 7}
    model = model_of("GroupQueryAttention", inputs, named, constants=[6])
    with pytest.raises(lamina.LaminaError, match="of 6 rows does not hold local_window_size=7 tokens"):
        lamina.compile(model, "interpret")


def test_packed_keys_and_values() -> None:
    stacked = np.stack([KEY.reshape(2, 7, 3, 4), KEY.reshape(2, 7, 3, 4) + 1], 3)
    parts = [QUERY, stacked[:, :, :, 0].reshape(2, 7, 12), stacked[:, :, :, 1].reshape(2, 7, 12)]
    [packed] = lamina.compile(model_of("MultiHeadAttention", [QUERY, stacked], {"num_heads": 3}), "interpret")(
        QUERY, stacked
    )
    [apart] = lamina.compile(model_of("MultiHeadAttention", parts, {"num_heads": 3}), "interpret")(*parts)
    np.testing.assert_array_equal(packed, apart)


def run(name: str, inputs: list[Any], attributes: dict[str, Any]) -> Any:
    return lamina.compile(model_of(name, inputs, attributes), "interpret")(*inputs)[0]


def first(x: Any) -> Any:
    """Channels last to channels first."""
    return np.moveaxis(x, -1, 1)


def test_convolutions_with_channels_last() -> None:
    """Those that ONNX Runtime has no kernel for, as its FusedConv."""
    x, w, bias, added = reals(2, 6, 7, 4), reals(6, 2, 3, 3), reals(6), reals(2, 3, 4, 6)
    options = {"group": 2, "strides": [2, 2], "pads": [1, 1, 1, 1], "activation": "Relu"}
    inputs = [np.ascontiguousarray(first(x)), w, bias, np.ascontiguousarray(first(added))]
    [(ours, theirs)] = both(model_of("FusedConv", inputs, options), inputs)
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)
    np.testing.assert_array_equal(first(run("NhwcFusedConv", [x, w, bias, added], options)), ours)
    del options["activation"]
    plain = run("FusedConv", inputs[:3], options)
    turned = np.ascontiguousarray(np.moveaxis(w, 1, -1))
    np.testing.assert_array_equal(first(run("NhwcConv", [x, turned, bias], options)), plain)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("shape", "inner", "axis", "spread"),
    [
        ((2, 3, 4, 5), 1, 3, (2, 3, 4, 5)),
        ((2, 1, 1, 5), 1, 3, (2, 1, 1, 5)),
        ((2, 5), 1, 3, (2, 1, 1, 5)),
        ((4, 5), 0, 3, (1, 1, 4, 5)),
        ((1, 1, 4, 5), 0, 2, (1, 1, 4, 5)),
    ],
)
def test_softmax_after_a_bias(shape: tuple[int, ...], inner: int, axis: int, spread: tuple[int, ...]) -> None:
    x, bias = reals(2, 3, 4, 5), reals(*shape)
    total = x + bias.reshape(spread)
    expected = softmax(total.reshape(*total.shape[:axis], -1)).reshape(x.shape)
    actual = run("BiasSoftmax", [x, bias], {"axis": axis, "is_inner_broadcast": inner})
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-6)


def test_sums_of_diffusion_models() -> None:
    x, bias, skip = reals(2, 3, 8), reals(8), reals(2, 3, 8)
    np.testing.assert_allclose(run("BiasAdd", [x, bias, skip], {}), x + bias + skip, rtol=2e-5, atol=2e-6)
    left, right = np.split((x + bias).astype(np.float64), 2, -1)
    gelu = right * 0.5 * (1 + np.vectorize(math.erf)(right / math.sqrt(2)))
    np.testing.assert_allclose(run("BiasSplitGelu", [x, bias], {}), left * gelu, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_group_norm(activation: int, channels_last: int) -> None:
    x, scale, shift = reals(2, 6, 3, 5).astype(np.float64), reals(6), reals(6)
    parts = x.reshape(2, 3, -1)
    normal = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-4)
    expected = normal.reshape(x.shape) * scale[:, None, None] + shift[:, None, None]
    expected = expected / (1 + np.exp(-expected)) if activation else expected
    given = np.ascontiguousarray(np.moveaxis(x, 1, -1) if channels_last else x, np.float32)
    options = {"groups": 3, "activation": activation, "epsilon": 1e-4, "channels_last": channels_last}
    actual = run("GroupNorm", [given, scale, shift], options)
    np.testing.assert_allclose(first(actual) if channels_last else actual, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("said", "shapes", "message"),
    [
        ({"bits": 3}, {}, "numbers of 3 bits are not supported"),
        ({"block_size": 0}, {}, "K=64, N=24 and block_size=0 must be positive"),
        ({"block_size": -32}, {}, "block_size=-32 must be positive"),
        ({"K": 0}, {}, "K=0, N=24 and block_size=32 must be positive"),
        ({"block_size": 7}, {}, "and a block whole bytes"),
        ({"K": 60}, {}, "rows of 64 elements cannot be multiplied by a matrix of K=60"),
        ({"N": 23}, {}, r"weights have shape \[24, 2, 16\], expected \[23, 2, 16\]"),
        ({}, {"w": (24, 2, 15)}, r"weights have shape \[24, 2, 15\], expected \[24, 2, 16\]"),
        ({}, {"s": (47,)}, r"scales have shape \[47\], expected \[24, 2\]"),
        ({}, {"z": (23,)}, r"zero points have shape \[23\], expected \[24, 1\]"),
        ({"block_size": 1 << 40}, {}, "expected"),
    ],
)
def test_weights_of_few_bits_that_do_not_fit(said: dict[str, int], shapes: dict[str, Any], message: str) -> None:
    whole = {"K": 64, "N": 24, "bits": 4, "block_size": 32, **said}
    sizes = {"w": (24, 2, 16), "s": (48,), **shapes}
    inputs = [reals(1, 64), *(bytes_(*sizes[n]) if n != "s" else reals(*sizes[n]) for n in sizes)]
    with pytest.raises(lamina.LaminaError, match=message):
        lamina.compile(model_of("MatMulNBits", inputs, whole, constants=range(1, len(inputs))), "interpret")
