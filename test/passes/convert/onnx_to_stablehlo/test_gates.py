"""Gates, gated norms and rotary embeddings of three positions of com.microsoft give what ONNX Runtime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import lamina

RANDOM = np.random.default_rng(47)


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.standard_normal(shape).astype(dtype)


def model_of(op: str, inputs: dict[str, Any], results: list[Any], **attributes: Any) -> Any:
    """A model of one node; `results` are types and shapes."""
    names = [f"y{i}" for i in range(len(results))]
    node = helper.make_node(op, list(inputs), names, domain="com.microsoft", **attributes)

    def info(name: str, dtype: Any, shape: Any) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)

    given = [info(name, array.dtype, array.shape) for name, array in inputs.items()]
    made = [info(name, *result) for name, result in zip(names, results, strict=True)]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph([node], "g", given, made), opset_imports=opsets, ir_version=9)


def check(
    op: str, inputs: dict[str, Any], results: list[Any], target: str, off: float = 1e-5, **attributes: Any
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model = model_of(op, inputs, results, **attributes)
    theirs = runtime.InferenceSession(model.SerializeToString()).run(None, inputs)
    for found, expected in zip(lamina.compile(model, target)(*inputs.values()), theirs, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=off, atol=off)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(
    ("told", "dtype"),
    [({}, np.float32), ({"activation": "sigmoid", "epsilon": 1e-3}, np.float32), ({"activation": "swish"}, np.float16)],
)
def test_gated_rms_norm(told: dict[str, Any], dtype: Any, target: str) -> None:
    shape = (2, 3, 4 * 16)
    inputs = {
        "x": numbers(*shape, dtype=dtype),
        "scale": numbers(16, dtype=dtype),
        "gate": numbers(*shape, dtype=dtype),
    }
    check("GatedRMSNorm", inputs, [(dtype, shape)], target, 1e-5 if dtype == np.float32 else 2e-3, **told)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_gated_add(target: str) -> None:
    inputs = {"x": numbers(2, 5, 8), "y": numbers(2, 5, 8), "gate": numbers(2, 5, 1)}
    check("GatedAdd", inputs, [(np.float32, (2, 5, 8))], target)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize("rate", [False, True])
def test_gates_of_linear_attention(rate: bool, target: str) -> None:
    shape = (2, 5, 6)
    inputs = {"a": 3 * numbers(*shape), "bias": numbers(6), "scale": -np.abs(numbers(6))}
    if rate:
        inputs["b"] = numbers(*shape)
    check("LinearAttentionGate", inputs, [(np.float32, shape)] * (1 + rate), target)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ((2, 3, 7, 16), {"mrope_section": [2, 3, 3]}),
        ((2, 3, 7, 16), {"mrope_section": [4, 2, 2], "mrope_layout": 1}),
        ((2, 3, 7, 16), {"mrope_section": [3, 3, 2], "interleaved": 1}),
        ((2, 7, 48), {"mrope_section": [2, 3, 3], "num_heads": 3}),
        ((2, 7, 60), {"mrope_section": [2, 3, 3], "num_heads": 3, "rotary_embedding_dim": 16, "mrope_layout": 1}),
        ((2, 3, 7, 16), {"mrope_section": [8, 0, 0]}),
    ],
)
def test_rotary_embeddings_of_three_positions(shape: tuple[int, ...], told: dict[str, Any], target: str) -> None:
    angles = RANDOM.uniform(0, 3, (50, 8))
    inputs = {
        "x": numbers(*shape),
        "places": RANDOM.integers(0, 50, (3, 2, 7)),
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
    }
    check("MRotaryEmbedding", inputs, [(np.float32, shape)], target, **told)


@pytest.mark.parametrize(
    ("op", "inputs", "told", "message"),
    [
        ("GatedRMSNorm", {"x": (2, 10), "s": (4,), "g": (2, 10)}, {}, "10 is no multiple of the 4 elements"),
        ("GatedRMSNorm", {"x": (2, 8), "s": (4,), "g": (2, 4)}, {}, r"gate has shape \[2, 4\], expected \[2, 8\]"),
        ("GatedRMSNorm", {"x": (2, 8), "s": (4,), "g": (2, 8)}, {"activation": "relu"}, "'relu' is none of silu"),
        ("GatedAdd", {"x": (2, 8), "y": (2, 8), "g": (2, 8)}, {}, r"gate has shape \[2, 8\], expected \[2, 1\]"),
        ("GatedAdd", {"x": (2, 8), "y": (2, 8), "g": (2, 4), "w": (4, 1)}, {}, "gate_weight"),
        ("LinearAttentionGate", {"a": (2, 3, 4), "d": (3,), "s": (4,)}, {}, r"dt_bias has shape \[3\], expected \[4\]"),
        (
            "MRotaryEmbedding",
            {"x": (1, 2, 3, 8), "p": (3, 1, 3), "c": (9, 4), "s": (9, 4)},
            {"mrope_section": [1, 1, 1]},
            r"mrope_section \[1, 1, 1\] is not three parts of 4 angles",
        ),
        (
            "MRotaryEmbedding",
            {"x": (1, 3, 16), "p": (3, 1, 3), "c": (9, 4), "s": (9, 4)},
            {"mrope_section": [2, 1, 1]},
            "three dimensions needs num_heads",
        ),
        (
            "MRotaryEmbedding",
            {"x": (1, 2, 3, 8), "p": (1, 3), "c": (9, 4), "s": (9, 4)},
            {"mrope_section": [2, 1, 1]},
            r"position_ids has shape \[1, 3\], expected \[3, batch, length\]",
        ),
    ],
)
def test_what_is_refused(op: str, inputs: dict[str, Any], told: dict[str, Any], message: str) -> None:
    arrays = {name: numbers(*shape, dtype=np.int64 if name == "p" else np.float32) for name, shape in inputs.items()}
    with pytest.raises(lamina.LaminaError, match=message):
        lamina.compile(model_of(op, arrays, [(np.float32, arrays["x" if "x" in arrays else "a"].shape)], **told))
