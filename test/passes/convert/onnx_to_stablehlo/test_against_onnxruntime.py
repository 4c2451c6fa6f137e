"""Pools, convolutions and recurrent networks with many attributes, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from lamina.compiler.context import LaminaContext
from lamina.compiler.interpreter import Interpreter
from lamina.dialects import all_dialects
from lamina.dialects.onnx.load import load_model
from lamina.passes.convert.onnx_to_stablehlo import ConvertOnnxToStablehlo

RNG = np.random.default_rng(0)
WINDOWS: list[dict[str, Any]] = [
    {},
    {"strides": [2, 3]},
    {"pads": [1, 0, 2, 1]},
    {"strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    {"strides": [3, 3], "ceil_mode": 1},
    {"dilations": [2, 1], "pads": [1, 1, 1, 1]},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
    {"auto_pad": "VALID"},
]


def check(operator: str, *weights: np.ndarray[Any, Any], outputs: int = 1, **attributes: Any) -> None:
    shape = (5, 2, 4) if outputs > 1 else (2, 4, 9, 10)
    x = RNG.standard_normal(shape).astype(np.float32)
    results = [f"y{i}" for i in range(outputs)]
    names = [f"w{i}" for i in range(len(weights))]
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", *names], results, **attributes)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        [numpy_helper.from_array(w, name) for w, name in zip(weights, names, strict=True)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    ctx = LaminaContext()
    for name, load in all_dialects().items():
        ctx.register_dialect(name, load)
    module = load_model(model, ctx)
    ConvertOnnxToStablehlo().apply(ctx, module)
    module.verify()
    for actual, right in zip(Interpreter(ctx.weights).run(module, [x]), expected, strict=True):
        np.testing.assert_allclose(actual, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("padded", [0, 1])
def test_average_pool(window: dict[str, Any], padded: int) -> None:
    check("AveragePool", kernel_shape=[3, 2], count_include_pad=padded, **window)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_max_pool(window: dict[str, Any]) -> None:
    check("MaxPool", kernel_shape=[3, 2], **window)


@pytest.mark.parametrize("window", [w for w in WINDOWS if "ceil_mode" not in w], ids=str)
@pytest.mark.parametrize("group", [1, 2, 4])
def test_conv(window: dict[str, Any], group: int) -> None:
    weights = RNG.standard_normal((8, 4 // group, 3, 2)).astype(np.float32)
    check("Conv", weights, np.arange(8, dtype=np.float32), group=group, **window)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strides": [2, 3]},
        {"pads": [1, 0, 1, 1]},
        {"strides": [2, 2], "output_padding": [1, 0]},
        {"dilations": [2, 2]},
    ],
    ids=str,
)
@pytest.mark.parametrize("group", [1, 2])
def test_conv_transpose(options: dict[str, Any], group: int) -> None:
    weights = RNG.standard_normal((4, 3, 3, 2)).astype(np.float32)
    check("ConvTranspose", weights, group=group, **options)


def test_lrn() -> None:
    check("LRN", size=3, alpha=0.01, beta=0.75, bias=2.0)
    check("LRN", size=5, alpha=0.01, beta=0.5)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("operator", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent(operator: str, gates: int, direction: str) -> None:
    count = 2 if direction == "bidirectional" else 1
    shapes = [(count, gates * 3, 4), (count, gates * 3, 3), (count, gates * 6)]
    weights = [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]
    outputs = 3 if operator == "LSTM" else 2
    check(operator, *weights, outputs=outputs, hidden_size=3, direction=direction)
