"""QMoE of com.microsoft gives what ONNX Runtime gives, from weights that stay packed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import lamina
from lamina.backends import Options
from lamina.backends.buffers import constants_of

RANDOM = np.random.default_rng(23)
HIDDEN, INNER, EXPERTS = 64, 32, 5


def quantized(shape: tuple[int, int, int], bits: int, block: int, zeros: bool) -> tuple[list[Any], Any]:
    """Bytes, scales and zero points of random matrices, and the matrices."""
    experts, rows, depth = shape
    size = block or depth
    numbers = RANDOM.integers(0, 1 << bits, shape, dtype=np.uint8)
    scales = RANDOM.uniform(0.02, 0.1, (experts, rows, depth // size)).astype(np.float32)
    middles = np.full(scales.shape, 1 << (bits - 1), np.uint8)
    if zeros:
        middles = RANDOM.integers(0, 1 << bits, scales.shape, dtype=np.uint8)
    blocks = numbers.reshape(experts, rows, depth // size, size).astype(np.float64)
    floats = ((blocks - middles[..., None]) * scales[..., None]).reshape(shape)
    if not block:
        scales, middles = scales[..., 0], middles[..., 0]
    return [_packed(numbers, bits), scales, _packed(middles, bits) if zeros else None], floats


def _packed(numbers: Any, bits: int) -> Any:
    """Neighbours in one byte, the first in its lowest bits."""
    each = 8 // bits
    padded = np.pad(numbers, [*[(0, 0)] * (numbers.ndim - 1), (0, -numbers.shape[-1] % each)])
    parts = padded.reshape(*padded.shape[:-1], -1, each).astype(np.uint32) << (bits * np.arange(each, dtype=np.uint32))
    return parts.sum(axis=-1).astype(np.uint8)


def model_of(
    rows: tuple[int, ...],
    bits: int = 4,
    block: int = 0,
    *,
    zeros: bool = False,
    bias: bool = False,
    third: bool = False,
    shares: bool = False,
    dtype: Any = np.float32,
    **attributes: Any,
) -> tuple[Any, dict[str, Any]]:
    """A model of one node whose weights are constants, and these as floats."""
    wide = INNER * (2 if attributes.get("swiglu_fusion") else 1)
    shapes = {"1": (EXPERTS, wide, HIDDEN), "2": (EXPERTS, HIDDEN, INNER), "3": (EXPERTS, INNER, HIDDEN)}
    names: list[str] = []
    last: list[str] = []
    constants: dict[str, Any] = {}
    floats: dict[str, Any] = {}
    for name, shape in shapes.items():
        there = third or name != "3"
        parts, floats[f"w{name}"] = quantized(shape, bits, block, zeros)
        given = dict(zip((f"w{name}", f"s{name}", f"z{name}"), parts, strict=True))
        given[f"s{name}"] = given[f"s{name}"].astype(dtype)
        if bias:
            given[f"b{name}"] = floats[f"b{name}"] = RANDOM.standard_normal(shape[:2]).astype(dtype)
        constants |= {key: array for key, array in given.items() if there and array is not None}
        names += [key if key in constants else "" for key in (f"w{name}", f"s{name}", f"b{name}")]
        last.append(f"z{name}" if f"z{name}" in constants else "")
        if not there:
            del floats[f"w{name}"]
    inputs = ["x", "scores", *names, *last, "shares" if shares else ""]
    node = helper.make_node(
        "QMoE", inputs, ["y"], domain="com.microsoft", expert_weight_bits=bits, block_size=block, **attributes
    )
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    count = math.prod(rows)
    taken = [("x", [*rows, HIDDEN]), ("scores", [count, EXPERTS]), *([("shares", [count, EXPERTS])] if shares else [])]
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in taken],
        [helper.make_tensor_value_info("y", kind, [*rows, HIDDEN])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9), floats


def inputs_of(rows: tuple[int, ...], dtype: Any = np.float32) -> list[Any]:
    """Rows, and what the router says of them."""
    x, scores = RANDOM.standard_normal((*rows, HIDDEN)), 2 * RANDOM.standard_normal((math.prod(rows), EXPERTS))
    return [x.astype(dtype), scores.astype(dtype)]


CASES = {
    "rows": ((7,), {"bits": 4, "activation_type": "relu", "k": 1}),
    "one": ((1,), {"bits": 4, "block": 32, "activation_type": "silu", "k": 4, "normalize_routing_weights": 1}),
    "blocks": ((2, 40), {"bits": 4, "block": 16, "bias": True, "activation_type": "gelu", "k": 2}),
    "zeros": ((33,), {"bits": 4, "block": 32, "zeros": True, "activation_type": "silu", "k": 2}),
    "zeros of rows": ((33,), {"bits": 4, "zeros": True, "activation_type": "relu", "k": 2}),
    "bytes": ((9,), {"bits": 8, "activation_type": "silu", "k": 2}),
    "swiglu": (
        (2, 9),
        {
            "bits": 4,
            "block": 32,
            "bias": True,
            "activation_type": "swiglu",
            "swiglu_fusion": 1,
            "k": 4,
            "normalize_routing_weights": 1,
            "activation_alpha": 1.702,
            "activation_beta": 1.0,
            "swiglu_limit": 7.0,
        },
    ),
}


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_as_onnx_runtime(name: str, target: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    rows, told = CASES[name]
    model, _ = model_of(rows, **told)
    inputs = inputs_of(rows)
    [theirs] = runtime.InferenceSession(model.SerializeToString()).run(
        None, dict(zip(("x", "scores"), inputs, strict=True))
    )
    found = lamina.compile(model, target)(*inputs)[0]
    np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-4 * np.abs(theirs).max())


def right(floats: dict[str, Any], inputs: list[Any], k: int, inner: Any, normalized: bool = True) -> Any:
    """Row by row; `inner` is what an expert computes between products. A third input says what experts are worth."""
    x, scores, *shares = inputs
    nothing = np.zeros((EXPERTS, 1))
    out = np.zeros((len(scores), HIDDEN))
    for i, (row, values, score) in enumerate(zip(out, x.reshape(-1, HIDDEN).astype(np.float64), scores, strict=True)):
        best = np.argsort(-score, kind="stable")[:k]
        worth = shares[0][i, best] if shares else np.exp(score[best] - score.max())
        for e, share in zip(best, worth / worth.sum() if normalized else worth, strict=True):
            between = [
                values @ floats[f"w{n}"][e].T + floats.get(f"b{n}", nothing)[e] for n in "13" if f"w{n}" in floats
            ]
            row += share * (inner(*between) @ floats["w2"][e].T + floats.get("b2", nothing)[e])
    return out.reshape(x.shape)


def _silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def _close(found: Any, expected: Any, off: float = 1e-4) -> None:
    np.testing.assert_allclose(found, expected, rtol=off, atol=off * np.abs(expected).max())


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(("bits", "block", "zeros"), [(2, 16, True), (2, 0, False), (2, 8, True), (8, 16, True)])
def test_other_widths(bits: int, block: int, zeros: bool, target: str) -> None:
    """Blocks of eight elements of two bits are no whole words."""
    model, floats = model_of((21,), bits, block, zeros=zeros, bias=True, activation_type="relu", k=2)
    inputs = inputs_of((21,))
    _close(lamina.compile(model, target)(*inputs)[0], right(floats, inputs, 2, lambda first: np.maximum(first, 0)))


@pytest.mark.parametrize(
    ("hidden", "inner", "experts", "block"),
    [(1024, 512, 5, 0), (1024, 512, 5, 256), (256, 128, 100, 0), (2, 64, 5, 0), (64, 8, 1, 0)],
)
def test_long_blocks_many_experts_and_few_columns(
    hidden: int, inner: int, experts: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of more than 128 elements are multiplied in parts; two columns would fill an eighth of their panel."""
    for name, number in (("HIDDEN", hidden), ("INNER", inner), ("EXPERTS", experts)):
        monkeypatch.setitem(globals(), name, number)
    k = min(2, experts)
    model, floats = model_of((3,), block=block, zeros=True, activation_type="silu", k=k)
    inputs = inputs_of((3,))
    _close(lamina.compile(model)(*inputs)[0], right(floats, inputs, k, _silu))


@pytest.mark.parametrize("normalized", [0, 1])
def test_worth_apart_from_choice(normalized: int) -> None:
    model, floats = model_of(
        (13,), block=32, third=True, shares=True, activation_type="swiglu", k=3, normalize_routing_weights=normalized
    )
    inputs = [*inputs_of((13,)), RANDOM.uniform(0, 1, (13, EXPERTS)).astype(np.float32)]
    inputs[2][4] = 0  # experts that are worth nothing, as a sum, too
    found = lamina.compile(model)(*inputs)[0]
    inputs[2][4] = 1e-30
    expected = right(floats, inputs, 3, lambda first, third: _silu(first) * third, bool(normalized))
    expected[4] = 0
    _close(found, expected)


def test_layers_of_different_widths() -> None:
    model, _ = model_of((6,), 4, 32, activation_type="silu", k=2)
    other, _ = model_of((6,), 8, 32, activation_type="silu", k=2)
    weights = {each.name: each for each in other.graph.initializer}
    for name in ("w2", "s2"):
        next(each for each in model.graph.initializer if each.name == name).CopyFrom(weights[name])
    model.graph.node[0].attribute.append(helper.make_attribute("fc2_expert_weight_bits", 8))
    inputs = inputs_of((6,))
    _close(lamina.compile(model)(*inputs)[0], lamina.compile(model, "interpret")(*inputs)[0])


def test_halves() -> None:
    model, floats = model_of((6,), block=32, bias=True, dtype=np.float16, activation_type="silu", k=2)
    inputs = inputs_of((6,), np.float16)
    found = lamina.compile(model)(*inputs)[0]
    assert found.dtype == np.float16
    _close(found.astype(np.float64), right(floats, inputs, 2, _silu), 2e-2)


def test_weights_stay_packed() -> None:
    """Each tile of rows reads the panels of its expert where they lie."""
    model, _ = model_of((40,), block=32, activation_type="silu", k=2)
    lowered = lamina.lower(lamina.import_onnx(model), to="buffers")
    text = str(lowered)
    assert text.count('"linalg_ext.matmul_nbits"') == 2 and "memref.copy" not in text
    floats = 4 * EXPERTS * HIDDEN * INNER * 2
    assert constants_of(lowered).nbytes < floats / 4


def test_equal_layers_one_after_the_other() -> None:
    """What they have in common goes down once; each has weights of its own."""
    layers = [model_of((9,), block=32, activation_type="silu", k=2) for _ in range(3)]
    graph = helper.make_graph(
        [
            helper.make_node(
                "QMoE",
                [f"x{i}", "scores", *[name and f"{name}_{i}" for name in model.graph.node[0].input[2:]]],
                [f"x{i + 1}"],
                domain="com.microsoft",
                **{each.name: helper.get_attribute_value(each) for each in model.graph.node[0].attribute},
            )
            for i, (model, _) in enumerate(layers)
        ],
        "g",
        [helper.make_tensor_value_info("x0", 1, [9, HIDDEN]), helper.make_tensor_value_info("scores", 1, [9, EXPERTS])],
        [helper.make_tensor_value_info("x3", 1, [9, HIDDEN])],
        [
            numpy_helper.from_array(numpy_helper.to_array(each), f"{each.name}_{i}")
            for i, (model, _) in enumerate(layers)
            for each in model.graph.initializer
        ],
    )
    model = helper.make_model(graph, opset_imports=layers[0][0].opset_import, ir_version=9)
    x, scores = inputs_of((9,))
    expected = x
    for _, floats in layers:
        expected = right(floats, [expected, scores], 2, _silu)
    _close(lamina.compile(model)(x, scores)[0], expected)


def test_no_rows() -> None:
    model, _ = model_of((0,), activation_type="relu", k=2)
    assert lamina.compile(model)(*inputs_of((0,)))[0].shape == (0, HIDDEN)


def test_on_gpus() -> None:
    model, floats = model_of((5,), block=32, activation_type="silu", k=2)
    inputs = inputs_of((5,))
    found = lamina.compile(model, "cuda", options=Options(emulate=True, cache=False))(*inputs)[0]
    _close(found, right(floats, inputs, 2, _silu))


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"bits": 4, "quant_type": "nvfp4"}, "quant_type 'nvfp4' is not supported, only 'int'"),
        ({"bits": 4, "weights_prepacked": 1}, "weights that are prepacked for one execution provider"),
        ({"bits": 4, "fc1_expert_weight_bits": 3}, "numbers of 3 bits are not supported"),
        ({"bits": 4, "fc2_expert_weight_bits": 8}, r"fc1_experts_weights|fc2_scales|expected"),
        ({"bits": 4, "activation_type": "swiglu"}, "swiglu needs swiglu_fusion of 1 or 2, or fc3"),
        ({"bits": 4, "use_sparse_mixer": 1}, "use_sparse_mixer"),
    ],
)
def test_what_is_refused(told: dict[str, Any], message: str) -> None:
    model, _ = model_of((3,), **({"activation_type": "silu", "k": 2} | told))
    with pytest.raises(lamina.LaminaError, match=message):
        lamina.compile(model, "interpret")


def test_blocks_that_are_no_part_of_rows() -> None:
    model, _ = model_of((3,), block=32, activation_type="silu", k=2)
    next(each for each in model.graph.node[0].attribute if each.name == "block_size").i = 48
    with pytest.raises(lamina.LaminaError, match="fc1: 64 elements are no blocks of 48 that are whole bytes"):
        lamina.compile(model, "interpret")
