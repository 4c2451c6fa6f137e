"""Sums over channels before an image is made larger against those after it: every way to make one larger."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.compiler.walking import all_ops
from lamina.dialects.stablehlo import ConvolutionOp
from lamina.passes.stablehlo import hoist_products
from lamina.passes.stablehlo.hoist_products import HoistProducts

WAYS: dict[str, dict[str, Any]] = {
    "nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "nearest, rounded": {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
    "linear": {"mode": "linear"},
    "corners": {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    "cubic": {"mode": "cubic"},
}
ROWS, COLUMNS, CHANNELS = 5, 6, 7


@pytest.fixture(autouse=True)
def however_few_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hoist_products, "CHANNELS", 1)


def network(way: str, sizes: tuple[float, float], parts: str, among: bool) -> Any:
    """Of `parts` "x" is made larger, "z" is as large as that; `among` convolutions, whose channels are last."""
    rng = np.random.default_rng(7)
    rows, columns = int(ROWS * sizes[0]), int(COLUMNS * sizes[1])
    shapes = {"before": (CHANNELS, CHANNELS, 3, 3), "w": (8, CHANNELS * len(parts), 1, 1), "b": (8,)}
    constants = [
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name) for name, shape in shapes.items()
    ]
    constants.append(numpy_helper.from_array(np.array([1, 1, *sizes], np.float32), "sizes"))
    nodes = [
        helper.make_node("Conv", ["x", "before"], ["i"], pads=[1, 1, 1, 1]),
        helper.make_node("Resize", ["i" if among else "x", "", "sizes"], ["u"], **WAYS[way]),
        helper.make_node("Concat", ["u" if part == "x" else "z" for part in parts], ["c"], axis=1),
        helper.make_node("Conv", ["c", "w", "b"], ["v"]),
        helper.make_node("Relu", ["v"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, CHANNELS, ROWS, COLUMNS))]
    if "z" in parts:
        inputs.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, (2, CHANNELS, rows, columns)))
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes if among else nodes[1:], "g", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def inputs_of(model: Any, special: bool = False) -> list[Any]:
    rng = np.random.default_rng(3)
    shapes = [[d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    if special:
        arrays[0][0, 0, 1, 2], arrays[0][1, 2, 3, 4] = np.inf, np.nan
    return arrays


@pytest.mark.parametrize("among", [False, True], ids=["alone", "among others"])
@pytest.mark.parametrize(
    ("way", "sizes", "parts"),
    [
        *((way, (2.0, 2.0), "xz") for way in WAYS),
        ("nearest", (2.0, 2.0), "x"),
        ("linear", (4.0, 3.0), "x"),
        ("linear", (4.0, 3.0), "zxz"),
    ],
)
def test_as_after_it(way: str, sizes: tuple[float, float], parts: str, among: bool) -> None:
    model = network(way, sizes, parts, among)
    arrays = inputs_of(model)
    (right,), (found,) = (lamina.compile(model, target)(*arrays) for target in ("interpret", "cpu"))
    assert np.abs(found - right).max() <= 2e-6 * np.abs(right).max()
    assert _smallest(lamina.lower(model, "stablehlo")) == 2 * int(ROWS * sizes[0]) * int(COLUMNS * sizes[1])
    program = lamina.lower(model, "stablehlo")
    HoistProducts().apply(program.context, program.module)
    program.module.verify()
    assert _smallest(program) == 2 * ROWS * COLUMNS


def _smallest(program: Any) -> int:
    """Points of the smallest image that a 1 x 1 convolution is of."""
    ops = [op for op in all_ops(program.module) if isinstance(op, ConvolutionOp)]
    shapes = [op.result.type.get_shape() for op in ops if op.rhs.type.get_shape()[2:] == (1, 1)]
    return min(int(np.prod(shape)) // shape[1] for shape in shapes)


@pytest.mark.parametrize("way", ["nearest", "linear"])
def test_what_is_no_number_stays_none_in_the_same_places(way: str) -> None:
    model = network(way, (2.0, 2.0), "xz", False)
    arrays = inputs_of(model, special=True)
    (right,), (found,) = (lamina.compile(model, target)(*arrays) for target in ("interpret", "cpu"))
    assert np.isnan(right).any() and np.array_equal(np.isnan(found), np.isnan(right))
    assert np.array_equal(np.isinf(found), np.isinf(right))


def test_a_few_channels_and_little_growth_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def convolutions(model: Any) -> int:
        program = lamina.lower(model, "stablehlo")
        HoistProducts().apply(program.context, program.module)
        return sum(isinstance(op, ConvolutionOp) for op in all_ops(program.module))

    assert convolutions(network("linear", (2.0, 2.0), "xz", False)) == 2
    assert convolutions(network("linear", (1.2, 1.5), "xz", False)) == 1
    monkeypatch.setattr(hoist_products, "CHANNELS", CHANNELS + 1)
    assert convolutions(network("linear", (2.0, 2.0), "xz", False)) == 1


def test_a_filter_that_is_not_finite_stays() -> None:
    """Points that a linear step counts with 0 would make it no number."""
    model = network("linear", (2.0, 2.0), "xz", False)
    filters = next(i for i in model.graph.initializer if i.name == "w")
    array = numpy_helper.to_array(filters).copy()
    array[0, 0] = np.inf
    filters.CopyFrom(numpy_helper.from_array(array, "w"))
    arrays = inputs_of(model)
    (right,), (found,) = (lamina.compile(model, target)(*arrays) for target in ("interpret", "cpu"))
    assert np.isinf(right).any() and np.array_equal(np.isinf(found), np.isinf(right))
    assert np.array_equal(np.isnan(found), np.isnan(right))
