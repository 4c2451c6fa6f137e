"""Convolutions of volumes, by frames as channels, against the reference: strides, dilations and pads in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina


@pytest.mark.parametrize(
    ("taps", "attributes"),
    [
        pytest.param(3, {"pads": [1, 1, 1, 1, 1, 1]}, id="same"),
        pytest.param(1, {"pads": [0, 1, 1, 0, 1, 1]}, id="no time"),
        pytest.param(2, {"pads": [2, 0, 1, 0, 1, 0], "strides": [2, 1, 1]}, id="strided, more before"),
        pytest.param(3, {"pads": [0, 1, 1, 3, 1, 1], "dilations": [2, 1, 1]}, id="dilated, more after"),
    ],
)
def test_frames_become_channels(taps: int, attributes: dict[str, Any]) -> None:
    rng = np.random.default_rng(taps)
    weights = [rng.standard_normal((32, c, taps, 3, 3)).astype(np.float32) for c in (32, 32)]
    last = {
        name: [0, *value[1:3], 0, *value[4:]] if name == "pads" else [1, 1, 1] for name, value in attributes.items()
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["h"], **attributes),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Conv", ["r", "w1"], ["y"], **last),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 32, 7, 21, 19])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, f"w{i}") for i, value in enumerate(weights)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = rng.standard_normal((2, 32, 7, 21, 19)).astype(np.float32)
    (right,), (found,) = (lamina.compile(model, target)(x) for target in ("interpret", "cpu"))
    assert found.shape == right.shape
    assert np.abs(found - right).max() <= 1e-5 * np.abs(right).max()
