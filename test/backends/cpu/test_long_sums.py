"""Sums of many points: their roundings do not grow with the number of points."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import lamina


@pytest.mark.parametrize("axes", [[1, 2], [2, 3]], ids=["channels last", "channels first"])
@pytest.mark.parametrize("threads", [1, 2])
def test_means_of_images(axes: list[int], threads: int) -> None:
    shape = [1, 200, 200, 20] if axes == [1, 2] else [1, 20, 200, 200]
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=axes, keepdims=0)
    x = np.random.default_rng(0).random(shape, np.float32)
    graph = helper.make_graph(
        [node],
        "mean",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 20])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (y,) = lamina.compile(model, threads=threads)(x)
    np.testing.assert_allclose(y, x.mean(tuple(axes), dtype=np.float64), rtol=2e-6)  # 8e-6 when summed in one go


@pytest.mark.parametrize(
    ("operator", "meaning"),
    [("ReduceSum", np.sum), ("ReduceMax", np.max), ("ReduceMin", np.min), ("ReduceProd", np.prod)],
)
@pytest.mark.parametrize(
    ("shape", "axes"), [([1024, 384], [0, 1]), ([3, 98304], [1]), ([131072, 3], [0]), ([2, 64, 2, 2048], [1, 3])]
)
def test_few_results_are_combined_of_parts(shape: list[int], axes: list[int], operator: str, meaning: Any) -> None:
    """The same for any number of threads; NaN and infinities too."""
    x = np.exp(0.001 * np.random.default_rng().standard_normal(shape)).astype(np.float32)
    x[(0,) * len(shape)] = np.inf
    x[(-1,) * len(shape)] = np.nan if len(axes) == 1 else 1
    node = helper.make_node(operator, ["x"], ["y"], axes=axes, keepdims=0)
    kept = [n for i, n in enumerate(shape) if i not in axes]
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", shape), ("y", kept))
    ]
    graph = helper.make_graph([node], "parts", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    one, two = (lamina.compile(model, threads=threads, cache=False)(x)[0] for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    rounding = 1e-4 if operator == "ReduceProd" else 1e-5  # a product rounds each time, by as much
    np.testing.assert_allclose(one, meaning(x.astype(np.float64), tuple(axes)), rtol=rounding)
