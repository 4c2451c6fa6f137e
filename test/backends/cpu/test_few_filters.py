"""Convolutions of few filters behind one of many, as heads of detectors and of maps have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina


@pytest.mark.parametrize("filters", [1, 2, 3, 4, 17])
def test_heads(filters: int) -> None:
    rng = np.random.default_rng(filters)
    shapes = {"w": (256, 8, 3, 3), "v": (filters, 256, 3, 3)}
    weights = {
        name: (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        for name, shape in shapes.items()
    }
    nodes: list[Any] = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("Conv", ["r", "v"], ["y"], pads=[1, 1, 1, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "heads",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 40, 39])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    x = rng.standard_normal((1, 8, 40, 39)).astype(np.float32)
    [expected] = lamina.compile(model, "interpret")(x)
    for target in ("cpu", "cpu:x86-64-avx2"):
        np.testing.assert_allclose(lamina.compile(model, target)(x)[0], expected, rtol=1e-4, atol=2e-5)
