"""Damaged model files: whatever bytes change, the answer is a model or one clear error, never another exception."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.dialects import all_dialects
from lamina.dialects.onnx.load import load_model
from lamina.passes.convert.onnx_to_stablehlo import ConvertOnnxToStablehlo


def network() -> bytes:
    """A small network with attributes of all kinds, shape arithmetic and constants."""
    rng = np.random.default_rng(0)
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=1, name="conv"),
        node("BatchNormalization", ["c", "b", "b", "b", "b"], ["n"], epsilon=1e-3),
        node("Relu", ["n"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", ["p"], ["s"]),
        node("Constant", [], ["zero"], value=numpy_helper.from_array(np.array(0))),
        node("Gather", ["s", "zero"], ["n0"]),
        node("Unsqueeze", ["n0", "first"], ["n1"]),
        node("Concat", ["n1", "rest"], ["shape"], axis=0),
        node("Reshape", ["p", "shape"], ["f"]),
        node("Gemm", ["f", "g", "h"], ["y0"], transB=1, alpha=0.5),
        node("Split", ["y0"], ["left", "right"], axis=1),
        node("Mul", ["left", "right"], ["m"]),
        node("Softmax", ["m"], ["y"], axis=-1),
    ]
    weights: dict[str, Any] = {
        "w": rng.standard_normal((4, 3, 3, 3), np.float32),
        "b": rng.random(4, np.float32),
        "g": rng.standard_normal((10, 64), np.float32),
        "h": rng.standard_normal(10, np.float32),
        "first": np.array([0]),
        "rest": np.array([-1]),
    }
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", 1, [1, 5])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def convert(path: Path) -> None:
    ctx = LaminaContext()
    for name, load in all_dialects().items():
        ctx.register_dialect(name, load)
    module = load_model(path, ctx)
    module.verify()
    ConvertOnnxToStablehlo().apply(ctx, module)
    module.verify()


@pytest.mark.parametrize("count", [100, pytest.param(5000, marks=pytest.mark.slow)])
def test_mutations(tmp_path: Path, count: int) -> None:
    whole = network()
    path = tmp_path / "m.onnx"
    path.write_bytes(whole)
    convert(path)
    rng = np.random.default_rng(count)
    refused = 0
    for _ in range(count):
        data = bytearray(whole)
        for place in rng.integers(0, 900, int(rng.integers(1, 4))):  # the graph is before the weights
            data[place] = (data[place] + int(rng.choice([1, 2, 128, 255]))) % 256
        path.write_bytes(bytes(data))
        try:
            convert(path)
        except LaminaError:
            refused += 1
    assert 0 < refused < count
