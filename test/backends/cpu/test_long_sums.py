"""Sums of many points: their roundings do not grow with the number of points."""

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
