"""QAttention of com.microsoft gives what ONNX Runtime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import lamina

RANDOM = np.random.default_rng(41)
BATCH, LENGTH, WIDTH, HEADS = 2, 7, 24, 3


def model_of(columns: bool, signed: bool, mask: Any, past: bool, **attributes: Any) -> tuple[Any, list[Any]]:
    """A model of one node, whose weights are constants, and its inputs."""
    kind = np.int8 if signed else np.uint8
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    scales = RANDOM.uniform(0.005, 0.01, (3 * WIDTH,) if columns else ()).astype(np.float32)
    constants = {
        "w": RANDOM.integers(low, high + 1, (WIDTH, 3 * WIDTH)).astype(kind),
        "b": RANDOM.standard_normal(3 * WIDTH).astype(np.float32),
        "sx": np.array(0.02, np.float32),
        "sw": scales,
        "zx": np.array(121, np.uint8),
        "zw": np.zeros(scales.shape, kind) if signed else np.full(scales.shape, 130, kind),
    }
    inputs = {"x": RANDOM.integers(0, 256, (BATCH, LENGTH, WIDTH)).astype(np.uint8)}
    if mask is not None:
        inputs["mask"] = np.asarray(mask, np.int32)
    if past:
        inputs["past"] = RANDOM.standard_normal((2, BATCH, HEADS, 5, WIDTH // HEADS)).astype(np.float32)
    names = ["x", "w", "b", "sx", "sw", "mask" if mask is not None else "", "zx", "zw", "past" if past else ""]
    results = ["y", "present"] if past else ["y"]
    node = helper.make_node("QAttention", names, results, domain="com.microsoft", num_heads=HEADS, **attributes)

    def info(name: str, array: Any) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    shapes = {"y": (BATCH, LENGTH, WIDTH), "present": (2, BATCH, HEADS, 5 + LENGTH, WIDTH // HEADS)}
    graph = helper.make_graph(
        [node],
        "g",
        [info(name, array) for name, array in inputs.items()],
        [helper.make_tensor_value_info(name, 1, shapes[name]) for name in results],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9), list(inputs.values())


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(
    ("columns", "signed", "mask", "past", "attributes"),
    [
        (False, False, None, False, {}),
        (True, True, [7, 4], False, {}),
        (False, True, None, True, {"unidirectional": 1}),
        (True, True, [[1] * 7, [1, 1, 1, 0, 0, 0, 0]], False, {"mask_filter_value": -100.0}),
    ],
    ids=["bytes", "lengths", "past", "mask"],
)
def test_as_onnx_runtime(
    columns: bool, signed: bool, mask: Any, past: bool, attributes: dict[str, Any], target: str
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model, inputs = model_of(columns, signed, mask, past, **attributes)
    names = [each.name for each in model.graph.input]
    theirs = runtime.InferenceSession(model.SerializeToString()).run(None, dict(zip(names, inputs, strict=True)))
    for found, expected in zip(lamina.compile(model, target)(*inputs), theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_what_is_refused() -> None:
    model, _ = model_of(False, True, None, False, do_rotary=1)
    with pytest.raises(lamina.LaminaError, match="do_rotary and past_present_share_buffer are not supported"):
        lamina.compile(model, "interpret")
