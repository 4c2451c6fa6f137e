"""Attributes of recurrent operators, and LSTM with weights of eight bits, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper

import lamina
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.machine import Machine

SEQUENCE, BATCH, INPUTS, HIDDEN = 9, 3, 4, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
MICROSOFT = "com.microsoft"


def reals(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 0.7).astype(np.float32)


def model_of(node: Any, inputs: dict[str, np.ndarray]) -> Any:
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, 1, None) for name in node.output]
    opsets = [helper.make_opsetid("", 14), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(helper.make_graph([node], "g", infos, results), opset_imports=opsets, ir_version=8)


def differences(node: Any, inputs: dict[str, np.ndarray], target: str = "interpret") -> np.ndarray:
    """The largest absolute difference of each result from ONNX Runtime's."""
    model = model_of(node, inputs)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # more would quantise the rows of a batch apart from each other
    expected: Any = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, inputs)
    found = lamina.compile(model, target)(**inputs)
    return np.array([np.abs(x - y).max() for x, y in zip(found, expected, strict=True)])


def recurrent(operator: str, peepholes: bool = False, **attributes: Any) -> tuple[Any, dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    directions, rows = 1 + (attributes.get("direction") == "bidirectional"), GATES[operator] * HIDDEN
    inputs = {
        "x": reals(rng, SEQUENCE, BATCH, INPUTS),
        "w": reals(rng, directions, rows, INPUTS),
        "r": reals(rng, directions, rows, HIDDEN) / 2,
        "b": reals(rng, directions, 2 * rows),
    }
    names = list(inputs)
    if peepholes:
        inputs["p"] = reals(rng, directions, 3 * HIDDEN)
        names += ["", "", "", "p"]
    outputs = ["y", "h", "c"] if operator == "LSTM" else ["y", "h"]
    return helper.make_node(operator, names, outputs, hidden_size=HIDDEN, **attributes), inputs


@pytest.mark.parametrize("operator", GATES)
@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_clipping(operator: str, target: str) -> None:
    for clip in (0.2, 1.0):
        assert differences(*recurrent(operator, clip=clip), target).max() < 1e-5


def test_clipping_with_peepholes_and_with_coupled_gates() -> None:
    assert differences(*recurrent("LSTM", peepholes=True, clip=0.5)).max() < 1e-5
    assert differences(*recurrent("LSTM", peepholes=True, clip=0.5, input_forget=1)).max() < 1e-5
    assert differences(*recurrent("LSTM", input_forget=1, direction="reverse")).max() < 1e-5
    assert differences(*recurrent("GRU", clip=0.2, linear_before_reset=1)).max() < 1e-5


@pytest.mark.parametrize(
    "name",
    [
        "Affine",
        "LeakyRelu",
        "ThresholdedRelu",
        "ScaledTanh",
        "HardSigmoid",
        "Elu",
        "Softsign",
        "Softplus",
        "Relu",
        "Sigmoid",
        "Tanh",
    ],
)
def test_each_activation_with_its_numbers(name: str) -> None:
    node, inputs = recurrent("RNN", activations=[name], activation_alpha=[0.3], activation_beta=[0.1])
    assert differences(node, inputs).max() < 1e-5


@pytest.mark.parametrize("name", ["LeakyRelu", "HardSigmoid", "Elu"])
def test_numbers_that_are_not_given_are_those_of_the_operator(name: str) -> None:
    assert differences(*recurrent("RNN", activations=[name])).max() < 1e-5


def test_each_activation_takes_the_next_of_the_numbers_that_it_has() -> None:
    functions = ["HardSigmoid", "Tanh", "Elu", "Sigmoid", "LeakyRelu", "HardSigmoid"]
    node, inputs = recurrent(
        "LSTM",
        direction="bidirectional",
        activations=functions,
        activation_alpha=[0.1, 0.2, 0.3, 0.4],
        activation_beta=[0.7, 0.8],
    )
    assert differences(node, inputs).max() < 1e-5


def test_activations_that_there_are_not() -> None:
    for functions in (["Tanh"], ["Cube", "Tanh"], ["Tanh"] * 3):
        with pytest.raises(LaminaError, match="are not supported, only 2 of affine, elu"):
            node, inputs = recurrent("GRU", activations=functions)
            lamina.compile(model_of(node, inputs), "interpret")(**inputs)


def quantised(columns: bool, signed: bool, **attributes: Any) -> tuple[Any, dict[str, np.ndarray]]:
    rng = np.random.default_rng(5)
    directions = 1 + (attributes.get("direction") == "bidirectional")
    # seven bits of signed ones where ONNX Runtime adds up pairs of products in 16, having no instruction for more
    most = 127 if Machine.host().multiplies_bytes else 64
    low, high, kind = (-most, most + 1, np.int8) if signed else (0, 256, np.uint8)
    rows, count = 4 * HIDDEN, [directions, 4 * HIDDEN] if columns else [directions]
    scale = 0.01 + 0.002 * rng.random(count, np.float32)
    zero = np.zeros(count, kind) if signed else np.full(count, 128, kind)
    inputs = {
        "x": reals(rng, SEQUENCE, BATCH, INPUTS),
        "w": rng.integers(low, high, (directions, INPUTS, rows)).astype(kind),
        "r": rng.integers(low, high, (directions, HIDDEN, rows)).astype(kind),
        "b": reals(rng, directions, 2 * rows),
        "h0": reals(rng, directions, BATCH, HIDDEN),
        "c0": reals(rng, directions, BATCH, HIDDEN),
        "ws": scale,
        "wz": zero,
        "rs": scale,
        "rz": zero,
    }
    names = ["x", "w", "r", "b", "", "h0", "c0", "", "ws", "wz", "rs", "rz"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", names, ["y", "h", "c"], domain=MICROSOFT, hidden_size=HIDDEN, **attributes
    )
    return node, inputs


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(("columns", "signed"), [(False, False), (False, True), (True, True)])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_lstm_with_weights_of_eight_bits(columns: bool, signed: bool, direction: str, target: str) -> None:
    assert differences(*quantised(columns, signed, direction=direction), target).max() < 1e-5


def test_scales_that_do_not_fit() -> None:
    node, inputs = quantised(False, True)
    with pytest.raises(LaminaError, match=r"scales of the shape \[2\] do not fit weights \[1, 6, 24\]"):
        inputs["rs"] = np.ones(2, np.float32)
        lamina.compile(model_of(node, inputs), "interpret")(**inputs)
