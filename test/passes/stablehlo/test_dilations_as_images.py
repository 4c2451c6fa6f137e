"""Dilated convolutions as images of what a window skips, against the reference: odd sizes, uneven zeros, two steps."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina


@pytest.mark.parametrize(
    ("size", "dilations", "pads"),
    [
        pytest.param((28, 30), (2, 2), (2, 2, 2, 2), id="even"),
        pytest.param((29, 31), (2, 3), (2, 3, 2, 3), id="odd, two steps"),
        pytest.param((40, 37), (2, 1), (0, 1, 5, 2), id="rows alone, uneven zeros"),
        pytest.param((33, 44), (4, 4), (4, 8, 0, 3), id="four"),
    ],
)
def test_as_the_reference(size: tuple[int, int], dilations: tuple[int, int], pads: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(size))
    channels = {"before": (64, 8, 1, 1), "w": (64, 64, 3, 3), "after": (8, 64, 1, 1)}
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in channels.items()}
    nodes = [
        helper.make_node("Conv", ["x", "before"], ["i"]),
        helper.make_node("Conv", ["i", "w"], ["c"], dilations=dilations, pads=pads),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "after"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8, *size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = rng.standard_normal((2, 8, *size)).astype(np.float32)
    assert "winograd" in str(lamina.lower(model, "linalg"))
    (right,), (found,) = (lamina.compile(model, target)(x) for target in ("interpret", "cpu"))
    assert found.shape == right.shape
    assert np.abs(found - right).max() <= 1e-5 * np.abs(right).max()
