"""Resize against ONNX's reference: every mode, odd factors, one axis and several; an infinity stays where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import lamina
from lamina.compiler.diagnostics import LaminaError


def resize(shape: tuple[int, ...], scales: list[float], **attributes: Any) -> ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)],
        "resize",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(scales, np.float32), "scales")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


@pytest.mark.parametrize(
    ("scales", "attributes"),
    [
        pytest.param([1, 1, 2, 2], {"mode": "nearest", "nearest_mode": "floor"}, id="repeated"),
        pytest.param([1, 1, 3, 2], {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}, id="picked"),
        pytest.param([1, 2, 0.5, 2.3], {"mode": "nearest", "nearest_mode": "ceil"}, id="both"),
        pytest.param([1, 1, 0.5, 0.5], {"mode": "linear"}, id="halved"),
        pytest.param([1, 1, 2, 2], {"mode": "linear"}, id="doubled"),
        pytest.param([1, 1, 2.7, 0.3], {"mode": "linear"}, id="odd"),
        pytest.param([1, 1, 3, 2], {"mode": "linear", "coordinate_transformation_mode": "align_corners"}, id="corners"),
        pytest.param([1, 1.5, 2, 2], {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, id="channels"),
        pytest.param([1, 1, 2, 3], {"mode": "cubic"}, id="cubic"),
        pytest.param([1, 1, 0.8, 1.2], {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5}, id="cubic, cut"),
        pytest.param([1, 1, 0.25, 0.4], {"mode": "linear", "antialias": 1}, id="many neighbours"),
    ],
)
@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_as_onnx(target: str, scales: list[float], attributes: dict[str, Any]):
    model = resize((2, 4, 11, 10), scales, **attributes)
    x = np.random.default_rng(1).standard_normal((2, 4, 11, 10)).astype(np.float32)
    (right,) = ReferenceEvaluator(model).run(None, {"x": x})
    (ours,) = lamina.compile(model, target, cache=False)(x)
    np.testing.assert_allclose(ours, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rounding", ["floor", "round_prefer_ceil"])
def test_half_pixels_of_tensorflow(rounding: str):
    """Which ONNX's reference does not know."""
    mode = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": rounding}
    model = resize((1, 2, 16, 10), [1, 1, 1.25, 0.5], **mode)
    model.opset_import[0].version = 13
    x = np.random.default_rng(1).standard_normal((1, 2, 16, 10)).astype(np.float32)
    right: Any = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_array_equal(lamina.compile(model, "interpret")(x)[0], right)


@pytest.mark.parametrize(
    "attribute", ["mode", "nearest_mode", "coordinate_transformation_mode", "keep_aspect_ratio_policy"]
)
def test_words_that_onnx_does_not_know_are_refused(attribute: str):
    with pytest.raises(LaminaError, match=f"{attribute} 'oddly' of Resize is none of"):
        lamina.compile(resize((1, 1, 4, 4), [1, 1, 2, 2], **{attribute: "oddly"}))


@pytest.mark.parametrize("scale", [2.0, 0.5])
def test_an_infinity_reaches_its_neighbours_only(scale: float):
    model = resize((1, 1, 20, 20), [1, 1, scale, scale], mode="linear")
    x = np.zeros((1, 1, 20, 20), np.float32)
    x[0, 0, 9, 9] = np.inf
    (y,) = lamina.compile(model, cache=False)(x)
    reached = np.argwhere(~np.isfinite(y))
    assert len(reached) and (abs(reached[:, 2:] - 9.5 * scale) <= 2 * scale).all()
