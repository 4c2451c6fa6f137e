"""Quantising means what it meant, to the bit: beside the middles between integers, for NaN, infinities, any number."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.passes.math.simplify_quantization import rounds_alike

RNG = np.random.default_rng()
COUNT = 1 << 14


def through(scale: np.float32, zero: np.generic) -> onnx.ModelProto:
    """x quantised, and that as floats again."""
    kind = helper.np_dtype_to_tensor_dtype(zero.dtype)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    values = [("x", TensorProto.FLOAT), ("q", kind), ("y", TensorProto.FLOAT)]
    x, *outputs = (helper.make_tensor_value_info(name, each, [COUNT]) for name, each in values)
    constants = [numpy_helper.from_array(np.asarray(v), name) for v, name in ((scale, "scale"), (zero, "zero"))]
    graph = helper.make_graph(nodes, "through", [x], outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("exponent", [-70, -19, -6, -1, 0, 5])  # of the first the division stays
def test_to_the_bit(exponent: int, kind: type[np.integer]):
    limits = np.iinfo(kind)
    scale = np.float32(RNG.uniform(1, 2) * 2.0**exponent)
    zero = kind(RNG.integers(limits.min, limits.max + 1))
    middles = ((RNG.integers(-300, 300, COUNT // 2) + 0.5) * np.float64(scale)).astype(np.float32)
    beside = (middles.view(np.int32) + RNG.integers(-6, 7, COUNT // 2, dtype=np.int32)).view(np.float32)
    anything = RNG.integers(0, 2**32, COUNT // 2, dtype=np.uint32).view(np.float32)
    x = np.concatenate([beside, anything])
    x[:3] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        number = np.rint(x / scale) + np.float32(zero)
    wanted = np.where(np.isnan(number), 0, np.clip(number, limits.min, limits.max)).astype(kind)
    got, again = lamina.compile(through(scale, zero), threads=1, cache=False)(x)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(again, (wanted.astype(np.int32) - int(zero)).astype(np.float32) * scale)


def test_what_is_tried_finds_wrong_ones(monkeypatch: pytest.MonkeyPatch):
    """By one part of the reciprocal alone some of the numbers beside the middles come out wrong."""
    rounds_alike.cache_clear()
    assert rounds_alike(0.3, -128, 127)
    monkeypatch.setattr("lamina.passes.math.simplify_quantization.reciprocal", lambda divisor: (1 / divisor, 0.0))  # pyright: ignore
    rounds_alike.cache_clear()
    assert not rounds_alike(0.3, -128, 127)
    rounds_alike.cache_clear()


@pytest.mark.parametrize("divisor", [0.0, -0.02, 1e-30, 1e30, float("nan"), float("inf")])
def test_unusual_scales_are_not_tried(divisor: float):
    assert not rounds_alike(divisor, -128, 127)
