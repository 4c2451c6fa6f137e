"""Recurrent networks whose weights are read to and fro: any number of steps, threads and columns."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina

RNG = np.random.default_rng()


def network(steps: int, hidden: int, width: int) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A plain recurrent network of one sequence, and its weights."""
    shapes = {"w": (1, hidden, width), "r": (1, hidden, hidden), "b": (1, 2 * hidden)}
    weights = {name: (0.1 * RNG.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
    node = helper.make_node("RNN", ["x", *weights], ["y"], hidden_size=hidden)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, 1, width])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [steps, 1, 1, hidden])
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph([node], "network", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), weights


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("steps", "hidden"), [(1, 144), (2, 333), (5, 200), (6, 256), (7, 520)])
def test_all_steps_are_right(steps: int, hidden: int, threads: int):
    model, weights = network(steps, hidden, 24)
    x = RNG.standard_normal((steps, 1, 24)).astype(np.float32)
    [w], [r], [b] = (weights[name].astype(np.float64) for name in "wrb")
    state, wanted = np.zeros(hidden), []
    for row in x[:, 0]:
        state = np.tanh(w @ row + r @ state + b[:hidden] + b[hidden:])
        wanted.append(state)
    got = lamina.compile(model, threads=threads, cache=False)(x)
    np.testing.assert_allclose(np.reshape(got, (steps, hidden)), wanted, rtol=1e-4, atol=1e-5)
