"""Operators of com.microsoft give what ONNX Runtime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import lamina

RANDOM = np.random.default_rng(5)


def reals(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def number(value: float) -> Any:
    return np.array(value, np.float32)


def byte(value: int) -> Any:
    return np.array(value, np.uint8)


Q = RANDOM.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
R = RANDOM.integers(0, 256, (1, 3, 4, 4)).astype(np.uint8)
X, SCALE, SHIFT = reals(2, 3, 8), reals(8), reals(8)
SCALED = [number(0.03), byte(120)]
CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("Gelu", [X], {}),
    ("BiasGelu", [X, SHIFT], {}),
    ("FastGelu", [X, SHIFT], {}),
    ("QuickGelu", [X], {"alpha": 1.5}),
    ("FusedMatMul", [X, reals(2, 5, 8)], {"transB": 1, "alpha": 0.5}),
    ("SkipLayerNormalization", [X, X * 0.5, SCALE, SHIFT, SHIFT], {"epsilon": 1e-5}),
    ("SkipSimplifiedLayerNormalization", [X, X * 0.5, SCALE], {"epsilon": 1e-5}),
    ("FusedGemm", [reals(3, 4), reals(4, 5), reals(5)], {"activation": "Relu"}),
    ("QLinearAdd", [Q, *SCALED, R, number(0.02), byte(7), number(0.05), byte(100)], {}),
    ("QLinearMul", [Q, *SCALED, R, number(0.02), byte(7), number(0.06), byte(100)], {}),
    ("QLinearSigmoid", [Q, *SCALED, number(0.004), byte(0)], {}),
    ("QLinearLeakyRelu", [Q, *SCALED, number(0.02), byte(100)], {"alpha": 0.1}),
    ("QLinearGlobalAveragePool", [Q, *SCALED, number(0.01), byte(100)], {}),
    ("QLinearConcat", [number(0.04), byte(100), Q, *SCALED, R, number(0.02), byte(7)], {"axis": 1}),
]


@pytest.mark.parametrize(("name", "inputs", "attributes"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_as_onnx_runtime(name: str, inputs: list[Any], attributes: dict[str, Any]) -> None:
    runtime = pytest.importorskip("onnxruntime")
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(name, names, ["y"], domain="com.microsoft", **attributes)
    kind = helper.np_dtype_to_tensor_dtype
    given = [helper.make_tensor_value_info(n, kind(x.dtype), x.shape) for n, x in zip(names, inputs, strict=True)]
    result = helper.make_tensor_value_info(
        "y", given[2 if name == "QLinearConcat" else 0].type.tensor_type.elem_type, None
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "g", given, [result]), opset_imports=opsets, ir_version=9)
    session = runtime.InferenceSession(model.SerializeToString())
    [expected] = session.run(None, dict(zip(names, inputs, strict=True)))
    [actual] = lamina.compile(model, "interpret")(*inputs)
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    if actual.dtype == np.uint8:  # a value halfway may go either way
        assert np.abs(actual.astype(int) - expected.astype(int)).max() <= 1
        assert (actual != expected).mean() < 0.05
    else:
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-6 if name != "FastGelu" else 1e-5)
