"""Support vector machines and MaxRoiPool against ONNX Runtime; ONNX's reference has no other probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import lamina

RNG = np.random.default_rng(1)
PARAMETERS = [0.5, 1.0, 3.0]


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def check(
    operator: str, *inputs: Any, kinds: tuple[int, ...] = (1,), target: str = "interpret", **options: Any
) -> None:
    names, results = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(kinds))]
    domain = "ai.onnx.ml" if operator.startswith("SVM") else ""
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, domain=domain, **options)],
        "g",
        [helper.make_tensor_value_info(name, 1, x.shape) for name, x in zip(names, inputs, strict=True)],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(results, kinds, strict=True)],
    )
    versions = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 1)]
    model = helper.make_model(graph, opset_imports=versions, ir_version=9)
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, dict(zip(names, inputs, strict=True)))
    for got, right in zip(lamina.compile(model, target)(*inputs), want, strict=True):
        assert got.dtype == right.dtype
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_regressor(kind: str) -> None:
    options: dict[str, Any] = {"kernel_type": kind, "kernel_params": PARAMETERS, "n_supports": 4, "rho": [0.3]}
    options |= {"coefficients": floats(4).tolist(), "support_vectors": floats(12).tolist()}
    for one_class in (0, 1):
        check("SVMRegressor", floats(7, 3), one_class=one_class, **options)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("likely", [False, True])
def test_classifier(classes: int, likely: bool) -> None:
    pairs, vectors = classes * (classes - 1) // 2, 2 * classes
    options: dict[str, Any] = {
        "classlabels_ints": [5, 2, 9, 4][:classes],
        "coefficients": floats(vectors * (classes - 1)).tolist(),
        "kernel_type": "RBF",
        "kernel_params": PARAMETERS,
        "rho": floats(pairs).tolist(),
        "support_vectors": floats(vectors * 3).tolist(),
        "vectors_per_class": [2] * classes,
    }
    if likely:
        options |= {"prob_a": (-abs(floats(pairs))).tolist(), "prob_b": floats(pairs).tolist()}
    target = "cpu" if likely and classes == 3 else "interpret"
    check("SVMClassifier", floats(7, 3), kinds=(TensorProto.INT64, 1), target=target, **options)
    if likely:
        for how in ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"):
            check("SVMClassifier", floats(7, 3), kinds=(TensorProto.INT64, 1), post_transform=how, **options)


def test_regions() -> None:
    """Some have no pixels, some lie outside in part."""
    regions = [
        [0, 0, 0, 4, 4],
        [1, 2, 1, 9, 6],
        [0, 5, 5, 5, 5],
        [1, 3, -2, 20, 20],
        [0, 30, 30, 40, 40],
        [0, 6, 6, 2, 2],
    ]
    rois = np.array(regions, np.float32)
    check("MaxRoiPool", floats(2, 3, 10, 12), rois, pooled_shape=[3, 4], spatial_scale=0.7)
    check("MaxRoiPool", floats(2, 3, 10, 12), rois, pooled_shape=[2, 2], target="cpu")
