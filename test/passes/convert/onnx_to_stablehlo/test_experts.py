"""MoE of com.microsoft gives what ONNX Runtime gives, and what it says where that has no code for processors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import lamina

RANDOM = np.random.default_rng(17)
HIDDEN, INNER, EXPERTS = 16, 12, 5


def model_of(
    rows: tuple[int, ...], wide: int, bias: bool, third: bool, dtype: Any, **attributes: Any
) -> tuple[Any, Any]:
    """A model of one node whose weights are constants."""
    shapes: dict[str, tuple[int, ...]] = {
        "w1": (EXPERTS, wide, HIDDEN),
        "b1": (EXPERTS, wide),
        "w2": (EXPERTS, HIDDEN, INNER),
        "b2": (EXPERTS, HIDDEN),
        "w3": (EXPERTS, INNER, HIDDEN),
        "b3": (EXPERTS, INNER),
    }
    names = [name if (bias or name[0] == "w") and (third or name[1] != "3") else "" for name in shapes]
    weights = {name: RANDOM.standard_normal(shapes[name]).astype(dtype) / 2 for name in names if name}
    node = helper.make_node("MoE", ["x", "scores", *names], ["y"], domain="com.microsoft", **attributes)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("x", kind, [*rows, HIDDEN]),
            helper.make_tensor_value_info("scores", kind, [math.prod(rows), EXPERTS]),
        ],
        [helper.make_tensor_value_info("y", kind, [*rows, HIDDEN])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9), weights


def inputs_of(rows: tuple[int, ...], dtype: Any) -> list[Any]:
    """Rows, and what the router says of them."""
    x, scores = RANDOM.standard_normal((*rows, HIDDEN)), 2 * RANDOM.standard_normal((math.prod(rows), EXPERTS))
    return [x.astype(dtype), scores.astype(dtype)]


def right(weights: dict[str, Any], inputs: list[Any], k: int, inner: Any) -> Any:
    """Row by row; `inner` is what an expert computes between its products."""
    x, scores = inputs
    out = np.zeros((len(scores), HIDDEN))
    for row, values, score in zip(out, x.reshape(-1, HIDDEN).astype(np.float64), scores, strict=True):
        chances = np.exp(score - score.max()) / np.exp(score - score.max()).sum()
        best = np.argsort(-chances, kind="stable")[:k]
        for e, share in zip(best, chances[best], strict=True):
            parts = [
                values @ weights[f"w{i}"][e].T + weights.get(f"b{i}", np.zeros((EXPERTS, 1)))[e]
                for i in (1, 3)
                if f"w{i}" in weights
            ]
            row += share * (inner(*parts) @ weights["w2"][e].T + weights.get("b2", np.zeros((EXPERTS, 1)))[e])
    return out.reshape(x.shape)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(
    ("rows", "attributes"),
    [
        ((7,), {"activation_type": "relu", "k": 1}),
        ((2, 40), {"activation_type": "silu", "k": 2}),
        ((1,), {"activation_type": "gelu", "k": 3, "normalize_routing_weights": 1}),
        ((33,), {"activation_type": "identity", "k": 5}),
        ((9,), {"activation_type": "swiglu", "swiglu_fusion": 1, "k": 2, "normalize_routing_weights": 1}),
        (
            (2, 9),
            {
                "activation_type": "swiglu",
                "swiglu_fusion": 1,
                "k": 4,
                "activation_alpha": 1.702,
                "activation_beta": 1.0,
                "swiglu_limit": 0.7,
            },
        ),
    ],
    ids=["relu", "silu", "gelu", "identity", "swiglu", "limited"],
)
def test_as_onnx_runtime(rows: tuple[int, ...], attributes: dict[str, Any], target: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    wide = INNER * (1 + attributes.get("swiglu_fusion", 0))
    model, _ = model_of(rows, wide, attributes["k"] % 2 == 0, False, np.float32, **attributes)
    inputs = inputs_of(rows, np.float32)
    [theirs] = runtime.InferenceSession(model.SerializeToString()).run(
        None, dict(zip(("x", "scores"), inputs, strict=True))
    )
    np.testing.assert_allclose(lamina.compile(model, target)(*inputs)[0], theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["apart", "halves", "in turn"])
def test_gates_in_other_layouts(layout: str) -> None:
    """Those that ONNX Runtime has on GPUs alone."""
    apart = layout == "apart"
    fusion = {"apart": 0, "in turn": 1, "halves": 2}[layout]
    kind = "swiglu" if apart else "geglu"
    model, weights = model_of(
        (11,), INNER * (1 if apart else 2), True, apart, np.float32, activation_type=kind, swiglu_fusion=fusion, k=2
    )
    inputs = inputs_of((11,), np.float32)

    def inner(first: Any, third: Any = None) -> Any:
        if apart:
            return first / (1 + np.exp(-first)) * third
        gate, value = (first[:INNER], first[INNER:]) if fusion == 2 else (first[::2], first[1::2])
        return gate / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3))) * value

    expected = right(weights, inputs, 2, inner)
    np.testing.assert_allclose(lamina.compile(model)(*inputs)[0], expected, rtol=1e-4, atol=1e-4)


def test_halves() -> None:
    model, weights = model_of((6,), INNER, True, False, np.float16, activation_type="relu", k=2)
    inputs = inputs_of((6,), np.float16)
    found = lamina.compile(model)(*inputs)[0]
    expected = right(weights, inputs, 2, lambda first: np.maximum(first, 0))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, rtol=2e-2, atol=2e-2)


def test_everything_to_one_expert() -> None:
    """All rows choose the same, so that the others have none."""
    model, weights = model_of((70,), INNER, True, False, np.float32, activation_type="relu", k=1)
    x, scores = inputs_of((70,), np.float32)
    scores[:, 3] = 100
    expected = right(weights, [x, scores], 1, lambda first: np.maximum(first, 0))
    np.testing.assert_allclose(lamina.compile(model)(x, scores)[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("attributes", "wide", "message"),
    [
        ({"activation_type": "softplus"}, INNER, "activation_type 'softplus' is none of relu, relu2, gelu"),
        ({"activation_type": "swiglu"}, INNER, "swiglu needs swiglu_fusion of 1 or 2, or fc3"),
        ({"activation_type": "geglu"}, INNER, "geglu needs swiglu_fusion of 1 or 2"),
        ({"activation_type": "relu", "k": 9}, INNER, "k is 9, axis 1 has 5 elements"),
        ({"activation_type": "relu", "use_sparse_mixer": 1}, INNER, "use_sparse_mixer"),
        (
            {"activation_type": "swiglu", "swiglu_fusion": 1},
            INNER,
            r"fc1_experts_weights has shape \[5, 12, 16\], expected \[5, 24, 16\]",
        ),
    ],
)
def test_what_is_refused(attributes: dict[str, Any], wide: int, message: str) -> None:
    model, _ = model_of((3,), wide, False, False, np.float32, **attributes)
    with pytest.raises(lamina.LaminaError, match=message):
        lamina.compile(model, "interpret")


def test_no_rows() -> None:
    model, _ = model_of((0,), INNER, True, False, np.float32, activation_type="relu", k=2)
    assert lamina.compile(model)(*inputs_of((0,), np.float32))[0].shape == (0, HIDDEN)
