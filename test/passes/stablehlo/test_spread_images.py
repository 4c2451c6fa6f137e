"""Transposed convolutions, whose images are spread out, against the reference: odd kernels, pads, groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import lamina


def transposed(x: tuple[int, ...], w: tuple[int, ...], weights: Any = None, **attributes: Any) -> ModelProto:
    values = np.random.default_rng(1).standard_normal(w).astype(np.float32) if weights is None else weights
    graph = helper.make_graph(
        [helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(values, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        pytest.param((1, 3, 5, 7), (3, 4, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}, id="4 x 4"),
        pytest.param((2, 3, 5, 7), (3, 4, 2, 2), {"strides": [2, 2]}, id="no window"),
        pytest.param((2, 6, 3, 5), (6, 2, 3, 5), {"strides": [3, 5], "group": 2}, id="no window, groups"),
        pytest.param((2, 3, 5, 7), (3, 32, 2, 2), {"strides": [2, 2]}, id="no window, features of whole vectors"),
        pytest.param((1, 3, 5, 7), (3, 41, 2, 3), {"strides": [2, 3]}, id="no window, features of odd vectors"),
        pytest.param((1, 4, 3, 5), (4, 32, 2, 2), {"strides": [2, 2], "group": 2}, id="no window, groups of vectors"),
        pytest.param((1, 3, 7), (3, 16, 4), {"strides": [4]}, id="no window, 1-D"),
        pytest.param((1, 2, 3, 4, 5), (2, 16, 2, 1, 3), {"strides": [2, 1, 3]}, id="no window, 3-D"),
        pytest.param((1, 5, 1, 4), (5, 16, 2, 2), {"strides": [2, 2]}, id="no window, one row"),
        pytest.param((2, 6, 3, 5), (6, 2, 5, 6), {"strides": [3, 2], "group": 3, "pads": [2, 0, 1, 3]}, id="groups"),
        pytest.param((1, 3, 5, 7), (3, 4, 3, 3), {"strides": [2, 2], "output_padding": [1, 1]}, id="more at the end"),
        pytest.param((1, 3, 5, 7), (3, 4, 3, 3), {"strides": [2, 2], "pads": [3, 3, 2, 2]}, id="cut off"),
        pytest.param((1, 3, 5, 7), (3, 4, 3, 4), {"strides": [1, 3]}, id="one dimension spread"),
        pytest.param((1, 3, 9), (3, 2, 7), {"strides": [4], "pads": [1, 2]}, id="1-D"),
        pytest.param((1, 2, 3, 4, 5), (2, 3, 4, 3, 2), {"strides": [2, 2, 2], "pads": [1] * 6}, id="3-D"),
        pytest.param((1, 2, 3, 3), (2, 3, 9, 9), {"strides": [8, 8]}, id="many parts"),
        pytest.param((1, 2, 3, 3), (2, 3, 10, 10), {"strides": [9, 9]}, id="too many parts"),
        pytest.param((2, 5, 1, 1), (5, 3, 4, 6), {}, id="one point"),
        pytest.param((1, 5, 1, 1, 1), (5, 3, 4, 1, 3), {"dilations": [2, 1, 1]}, id="one point, holes"),
        pytest.param((2, 4, 1, 1), (4, 3, 5, 4), {"strides": [2, 2], "pads": [1, 0, 1, 1]}, id="one point, cut off"),
        pytest.param((2, 4, 1, 1), (4, 3, 5, 4), {"group": 2}, id="one point, groups"),
        pytest.param((1, 2, 3, 3), (2, 3, 2, 2), {"strides": [3, 3]}, id="results that nothing reaches"),
    ],
)
def test_parts_are_interleaved(x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any]) -> None:
    model = transposed(x, w, **attributes)
    data = np.random.default_rng(0).standard_normal(x).astype(np.float32)
    (right,), (found,) = (lamina.compile(model, target)(data) for target in ("interpret", "cpu"))
    assert found.shape == right.shape
    assert np.abs(found - right).max() <= 1e-5 * np.abs(right).max()


def test_infinite_filters_meet_the_zeros_between() -> None:
    weights = np.full((1, 1, 4, 4), np.inf, np.float32)
    model = transposed((1, 1, 2, 2), weights.shape, weights, strides=[2, 2])
    data = np.ones((1, 1, 2, 2), np.float32)
    (right,), (found,) = (lamina.compile(model, target)(data) for target in ("interpret", "cpu"))
    assert np.isnan(right).any()
    assert np.array_equal(np.isnan(found), np.isnan(right))
