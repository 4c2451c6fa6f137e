"""LinearAttention and CausalConvWithState give what ONNX Runtime and ONNX's own tests do, at once or step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import lamina

RANDOM = np.random.default_rng(31)


def model_of(op: str, inputs: dict[str, Any], results: list[Any], **attributes: Any) -> Any:
    """A model of one node; inputs that are None are left out."""
    names = [name if array is not None else "" for name, array in inputs.items()]
    node = helper.make_node(op, names, ["y", "state"], domain="com.microsoft", **attributes)

    def info(name: str, dtype: Any, shape: Any) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)

    given = [info(name, array.dtype, array.shape) for name, array in inputs.items() if array is not None]
    made = [info(name, dtype, shape) for name, (dtype, shape) in zip(("y", "state"), results, strict=True)]
    graph = helper.make_graph([node], "g", given, made)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def theirs(model: Any, inputs: dict[str, Any]) -> list[Any]:
    runtime = pytest.importorskip("onnxruntime")
    return runtime.InferenceSession(model.SerializeToString()).run(
        None, {name: array for name, array in inputs.items() if array is not None}
    )


def close(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def attended(
    rule: str, time: int, heads: tuple[int, int], past: bool, wide: bool, dtype: Any = np.float32
) -> tuple[Any, dict[str, Any]]:
    """A layer with its inputs; `wide` decays differ from key to key."""
    queries, keys = heads
    batch, depth, width = 2, 8, 12

    def numbers(*shape: int) -> Any:
        return RANDOM.standard_normal((batch, *shape)).astype(dtype)

    inputs = {
        "query": numbers(time, queries * depth),
        "key": numbers(time, keys * depth) / np.asarray(3, dtype),
        "value": numbers(time, keys * width),
        "past": numbers(keys, depth, width) if past else None,
        "decay": -np.abs(numbers(time, keys * (depth if wide else 1))) if "gated" in rule else None,
        "beta": np.abs(numbers(time, keys)) / np.asarray(4, dtype) if "delta" in rule else None,
    }
    results = [(dtype, [batch, time, max(heads) * width]), (dtype, [batch, keys, depth, width])]
    told = {"q_num_heads": queries, "kv_num_heads": keys, "update_rule": rule}
    return model_of("LinearAttention", inputs, results, **told), inputs


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(
    ("rule", "time", "heads", "past", "wide"),
    [
        ("linear", 5, (2, 2), False, False),
        ("gated", 7, (4, 2), True, True),
        ("delta", 4, (2, 2), True, False),
        ("gated_delta", 9, (2, 4), True, False),
        ("gated_delta", 1, (4, 4), True, False),
        ("gated", 1, (2, 2), False, False),
        ("gated_delta", 100, (4, 2), True, False),
        ("delta", 64, (2, 2), False, False),
        ("linear", 33, (2, 2), True, False),
        ("gated", 40, (2, 4), True, False),
        ("gated_delta", 6, (2, 2), True, True),
        ("gated", 0, (2, 2), True, False),
    ],
)
def test_linear_attention(rule: str, time: int, heads: tuple[int, int], past: bool, wide: bool, target: str) -> None:
    model, inputs = attended(rule, time, heads, past, wide)
    given = [array for array in inputs.values() if array is not None]
    close(lamina.compile(model, target)(*given), theirs(model, inputs))


def test_steps_one_by_one() -> None:
    """A state that is handed on gives what all of the time at once gives."""
    model, inputs = attended("gated_delta", 6, (2, 2), True, False)
    whole, end = lamina.compile(model)(*inputs.values())
    state = inputs["past"]
    one, _ = attended("gated_delta", 1, (2, 2), True, False)
    step = lamina.compile(one)
    for t in range(6):
        now = {name: array if name == "past" else array[:, t : t + 1] for name, array in inputs.items()}
        found, state = step(*(now | {"past": state}).values())
        np.testing.assert_allclose(found[:, 0], whole[:, t], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state, end, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(
    ("shape", "taps", "told", "bias", "past"),
    [
        ((2, 6, 9), 4, {"activation": "silu"}, True, True),
        ((2, 6, 1), 4, {"activation": "swish"}, True, True),
        ((1, 5, 7), 3, {}, False, False),
        ((1, 5, 7), 3, {"dilation": 2}, True, True),
        ((2, 9, 6), 4, {"channels_last": 1, "activation": "silu"}, True, True),
        ((2, 9, 3, 2), 2, {"channels_last": 1}, False, True),
        ((2, 6, 9), 1, {}, True, False),
    ],
)
def test_causal_convolutions(
    shape: tuple[int, ...], taps: int, told: dict[str, Any], bias: bool, past: bool, target: str
) -> None:
    last = bool(told.get("channels_last"))
    channels = int(np.prod(shape[2:])) if last else shape[1]
    before = (taps - 1) * told.get("dilation", 1)
    kept = (shape[0], before, *shape[2:]) if last else (shape[0], channels, before)

    def numbers(*shape: int) -> Any:
        return RANDOM.standard_normal(shape).astype(np.float32)

    inputs = {
        "x": numbers(*shape),
        "w": numbers(channels, 1, taps),
        "bias": numbers(channels) if bias else None,
        "past": numbers(*kept) if past else None,
    }
    model = model_of("CausalConvWithState", inputs, [(np.float32, shape), (np.float32, kept)], **told)
    given = [array for array in inputs.values() if array is not None]
    close(lamina.compile(model, target)(*given), theirs(model, inputs))


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"update_rule": "gated_delta", "beta": None}, "update_rule 'gated_delta' needs beta"),
        ({"update_rule": "gated", "decay": None}, "update_rule 'gated' needs decay"),
        ({"update_rule": "faster"}, "update_rule 'faster' is none of linear, gated, gated_delta, delta"),
        ({"kv_num_heads": 3}, "2 heads of queries and 3 of keys do not divide one another"),
        ({"q_num_heads": 4}, r"query has shape \[2, 3, 16\], expected \[2, 3, 32\]"),
        ({"state_window": 2}, "state_window"),
        ({"key": np.zeros((2, 3), np.float32)}, r"key has shape \[2, 3\], expected \[batch, time, heads \* width\]"),
        ({"value": np.zeros((2, 1, 24), np.float32)}, r"value has shape \[2, 1, 24\], expected \[2, 3, 24\]"),
        ({"decay": np.zeros((2, 1, 2), np.float32)}, r"decay has shape \[2, 1, 2\], expected \[2, 3, 2\]"),
        ({"beta": np.zeros((2, 3, 4), np.float32)}, r"beta has shape \[2, 3, 4\], expected \[2, 3, 2\]"),
    ],
)
def test_what_is_refused(told: dict[str, Any], message: str) -> None:
    _, inputs = attended("gated_delta", 3, (2, 2), True, False)
    inputs |= {name: array for name, array in told.items() if name in inputs}
    attributes = {"q_num_heads": 2, "kv_num_heads": 2} | {n: v for n, v in told.items() if n not in inputs}
    results = [(np.float32, [2, 3, 24]), (np.float32, [2, 2, 8, 12])]
    with pytest.raises(lamina.LaminaError, match=message):
        lamina.compile(model_of("LinearAttention", inputs, results, **attributes), "interpret")


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_operators_of_onnx_are_the_same(dtype: Any) -> None:
    model, inputs = attended("gated_delta", 20, (4, 2), False, False, dtype)
    given = [array for array in inputs.values() if array is not None]
    expected = lamina.compile(model, "interpret")(*given)
    model.graph.node[0].domain, model.ir_version = "", 13
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", 27))
    for one, other in zip(lamina.compile(model)(*given), expected, strict=True):
        assert one.dtype == other.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
