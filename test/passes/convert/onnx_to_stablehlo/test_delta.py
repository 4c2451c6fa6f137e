"""GatedDeltaNet of com.microsoft gives what ONNX Runtime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import lamina

RANDOM = np.random.default_rng(53)
BATCH, DEPTH, WIDTH = 2, 8, 12
NAMES = ("query", "key", "value", "lengths", "decay", "beta", "state", "a_log", "dt_bias")


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.standard_normal(shape).astype(dtype)


def net(
    time: int,
    heads: tuple[int, int] = (2, 2),
    *,
    ranks: int = 3,
    packed: bool = False,
    wide: bool = False,
    gate: bool = False,
    dtype: Any = np.float32,
    **attributes: Any,
) -> tuple[Any, dict[str, Any]]:
    """A layer with its inputs; `ranks` of queries, `wide` decays of each key, a `gate` in front of them."""
    own, each = heads
    outer = (BATCH * time,) if ranks == 3 else (BATCH, time)
    rule = attributes.get("update_rule", "gated_delta")
    of_keys = (each, DEPTH) if wide else (each,)
    inputs: dict[str, Any] = {
        "query": numbers(*outer, own, DEPTH, dtype=dtype),
        "key": numbers(*outer, own, DEPTH, dtype=dtype) / np.asarray(3, dtype),
        "value": numbers(*outer, each, WIDTH, dtype=dtype),
        "state": numbers(BATCH, each, WIDTH, DEPTH),
    }
    if packed:
        flat = [inputs.pop(name).reshape(*outer, -1) for name in ("query", "key", "value")]
        inputs["query"] = np.concatenate(flat, -1)
    if "gated" in rule:
        inputs["decay"] = numbers(*outer, *of_keys) if gate else -np.abs(numbers(*outer, *of_keys))
    if "delta" in rule:
        inputs["beta"] = np.abs(numbers(*outer, each)) / np.float32(4)
    if gate:
        inputs |= {"a_log": numbers(each), "dt_bias": numbers(*of_keys)}
    return model_of(inputs, (dtype, (*outer, each, WIDTH)), each, **attributes), inputs


def model_of(inputs: dict[str, Any], result: Any, heads: int, **attributes: Any) -> Any:
    names = [name if name in inputs else "" for name in NAMES]
    node = helper.make_node("GatedDeltaNet", names, ["y", "end"], domain="com.microsoft", **attributes)

    def info(name: str, dtype: Any, shape: Any) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)

    given = [info(name, array.dtype, array.shape) for name, array in inputs.items()]
    made = [info("y", *result), info("end", np.float32, (BATCH, heads, WIDTH, DEPTH))]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph([node], "g", given, made), opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(
    "told",
    [
        {"time": 9},
        {"time": 1, "ranks": 4, "qk_l2_norm": 1},
        {"time": 40, "heads": (2, 4), "qk_l2_norm": 1, "gate": True, "gate_activation": "softplus"},
        {"time": 6, "packed": True, "heads": (1, 2), "beta_activation": "sigmoid"},
        {"time": 5, "wide": True, "gate": True, "gate_activation": "sigmoid", "gate_lower_bound": -3.0},
        {"time": 4, "update_rule": "gated", "scale": 0.5},
        {"time": 20, "update_rule": "linear"},
        {"time": 7, "update_rule": "delta"},
        {"time": 6, "dtype": np.float16},
    ],
)
def test_as_onnx_runtime(told: dict[str, Any], target: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model, inputs = net(**told)
    theirs = runtime.InferenceSession(model.SerializeToString()).run(None, inputs)
    off = 3e-3 if told.get("dtype") == np.float16 else 1e-4
    for found, expected in zip(lamina.compile(model, target)(*inputs.values()), theirs, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=off, atol=off)


@pytest.mark.parametrize(
    ("told", "left", "message"),
    [
        ({"update_rule": "none"}, "", "update_rule 'none' is none of linear"),
        ({"state_update_capacity": 2}, "", "cu_seqlens"),
        ({}, "state", "nothing says how many sequences"),
        ({}, "decay", "update_rule 'gated_delta' needs decay"),
        ({}, "beta", "update_rule 'gated_delta' needs beta"),
        ({"gate_activation": "softplus"}, "", "gate_activation 'softplus' needs a_log"),
        ({"gate_activation": "tanh"}, "", "gate_activation 'tanh' is none of"),
        ({"beta_activation": "tanh"}, "", "beta_activation 'tanh' is none of"),
        ({"heads": (2, 3)}, "", "3 heads of values are not shared out to 2 of queries"),
    ],
)
def test_what_is_refused(told: dict[str, Any], left: str, message: str) -> None:
    _, inputs = net(3, **{name: n for name, n in told.items() if name == "heads"})
    inputs.pop(left, None)
    attributes = {name: n for name, n in told.items() if name != "heads"}
    heads = told.get("heads", (2, 2))[1]
    with pytest.raises(lamina.LaminaError, match=message):
        lamina.compile(model_of(inputs, (np.float32, (BATCH * 3, heads, WIDTH)), heads, **attributes), "interpret")
