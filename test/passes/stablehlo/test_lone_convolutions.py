"""Convolutions that stand alone, in the layout that they have, against ONNX's reference: odd sizes, several images."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import lamina

Array = np.ndarray[Any, np.dtype[Any]]


def alone(x: tuple[int, ...], w: tuple[int, ...], **attributes: Any) -> tuple[ModelProto, Array]:
    """relu(conv(x, w) + bias), then twice that, and an input."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal(w).astype(np.float32), "b": rng.standard_normal(w[0]).astype(np.float32)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["s"], **attributes),
        helper.make_node("Relu", ["s"], ["r"]),
        helper.make_node("Add", ["r", "r"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "alone",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return model, rng.standard_normal(x).astype(np.float32)


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        pytest.param((1, 5, 7, 9), (11, 5, 1, 1), {}, id="pointwise"),
        pytest.param((3, 6, 5, 5), (4, 6, 1, 1), {}, id="several images"),
        pytest.param((2, 5, 11, 14), (6, 5, 1, 1), {"strides": [2, 3]}, id="pointwise strided"),
        pytest.param((1, 5, 19), (3, 5, 1), {}, id="one dimension"),
        pytest.param((2, 3, 9, 128), (6, 3, 4, 8), {"strides": [4, 8]}, id="patches and a row"),
        pytest.param((2, 3, 20, 72), (17, 3, 4, 8), {"strides": [4, 8]}, id="patches"),
        pytest.param((2, 4, 6, 160), (8, 2, 2, 10), {"strides": [2, 10], "group": 2}, id="patches of groups"),
        pytest.param((2, 3, 160), (5, 3, 8), {"strides": [8]}, id="patches of one dimension"),
        pytest.param((2, 3, 41), (17, 3, 3), {"pads": [1, 1]}, id="lines"),
        pytest.param((1, 1, 203), (9, 1, 10), {"strides": [5]}, id="a line strided"),
        pytest.param(
            (1, 4, 77), (33, 4, 3), {"strides": [2], "dilations": [3], "pads": [4, 0]}, id="lines strided and dilated"
        ),
        pytest.param((2, 3, 9, 13), (3, 1, 3, 3), {"group": 3, "pads": [1, 1, 1, 1]}, id="depthwise"),
        pytest.param((2, 40, 9, 33), (3, 40, 3, 3), {"pads": [1, 1, 1, 1]}, id="few filters"),
        pytest.param((1, 40, 19, 33), (2, 40, 3, 2), {"strides": [2, 1], "pads": [1, 0, 0, 1]}, id="few, strided"),
        pytest.param((2, 3, 9, 33), (1, 3, 3, 3), {"pads": [1, 1, 1, 1]}, id="one filter"),
        pytest.param((1, 4, 14, 14), (4, 1, 13, 13), {"group": 4, "pads": [6, 6, 6, 6]}, id="a high window"),
        pytest.param(
            (1, 5, 12, 17),
            (5, 1, 5, 3),
            {"group": 5, "pads": [2, 0, 1, 3], "dilations": [2, 3]},
            id="depthwise dilated",
        ),
        pytest.param((1, 4, 9, 11), (4, 1, 3, 3), {"group": 4, "strides": [2, 3]}, id="depthwise strided"),
        pytest.param((2, 6, 5, 7), (8, 3, 1, 1), {"group": 2}, id="pointwise groups"),
        pytest.param((2, 3, 5, 21), (7, 3, 3, 3), {"pads": [1, 2, 0, 1]}, id="few channels"),
        pytest.param((1, 6, 7, 37), (4, 3, 4, 5), {"group": 2, "strides": [3, 2], "pads": [1, 2, 2, 0]}, id="skipping"),
        pytest.param((1, 2, 9, 45), (5, 2, 2, 3), {"strides": [1, 3], "dilations": [3, 2]}, id="skipping and dilated"),
        pytest.param((2, 24, 9, 8), (9, 24, 3, 3), {"pads": [3, 2, 3, 0], "dilations": [3, 2]}, id="dilated evenly"),
    ],
)
def test_against_the_reference(x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any]) -> None:
    """In float64, whose sums are exact here; roundings are relative to the sum of what is added, without signs."""
    model, image = alone(x, w, **attributes)
    filters, bias = (numpy_helper.to_array(weight).astype(np.float64) for weight in model.graph.initializer)
    exact = _convolved(model, image.astype(np.float64), filters, bias)
    added = _convolved(model, np.abs(image).astype(np.float64), np.abs(filters), np.abs(bias))
    error = np.abs(lamina.compile(model)(image)[0] - exact)
    assert np.all(error <= 4 * np.finfo(np.float32).eps * added)


def _convolved(model: ModelProto, image: Array, filters: Array, bias: Array) -> Array:
    """What the model gives for these, in their precision."""
    wide = ModelProto()
    wide.CopyFrom(model)
    for old, array in zip(wide.graph.initializer, (filters, bias), strict=True):
        old.CopyFrom(numpy_helper.from_array(array, old.name))
    for info in (*wide.graph.input, *wide.graph.output):
        info.type.tensor_type.elem_type = TensorProto.DOUBLE
    return cast("list[Array]", ReferenceEvaluator(wide).run(None, {"x": image}))[0]
