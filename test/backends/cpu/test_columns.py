"""Softmax, norms and places of the largest along a dimension that is not the last one: strips of planes, as NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto
from onnx import helper as h
from onnx import numpy_helper as nh

import lamina
from lamina.passes.linalg.column_groups import LEAST_COLUMNS

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(29)
SHAPES = {
    "whole": (1, 21, 9, 13),  # one strip, no vectors fill it
    "strips": (1, 20, 64, 96),
    "batch": (3, 5, 32, 20),
    "odd": (2, 7, 45, 51),  # strips of 765 columns
    "prime": (1, 30, 4099),
    "first": (6, 640),
    "deep": (1, 700, 8, 24),
    "images": (4, 96, 28, 28),  # whole ones
    "sequences of images": (2, 3, 40, 16, 24),  # along the third dimension
    "few": (2, 5, LEAST_COLUMNS - 1),
}


def compiled(nodes: list[NodeProto], shape: tuple[int, ...], dtype: Any, constants: Mapping[str, Any], **options: Any):
    """What computes y of x; of several nodes, the last one's."""
    element = h.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = h.make_graph(
        nodes,
        "columns",
        [h.make_tensor_value_info("x", element, shape)],
        [h.make_empty_tensor_value_info("y")],
        [nh.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model: ModelProto = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9)
    return lamina.compile(model, cache=False, **options)


def axis_of(shape: tuple[int, ...]) -> int:
    """The first dimension of several planes."""
    return {2: 0, 5: 2}.get(len(shape), 1)


def softmax(x: Array, axis: int) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        wide = x.astype(np.float64)
        powers = np.exp(wide - wide.max(axis, keepdims=True))
        return powers / powers.sum(axis, keepdims=True)


@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64", "cpu:x86-64-avx2"])
@pytest.mark.parametrize("name", SHAPES)
def test_softmax(name: str, target: str) -> None:
    shape = SHAPES[name]
    axis = axis_of(shape)
    run = compiled([h.make_node("Softmax", ["x"], ["y"], axis=axis)], shape, np.float32, {}, target=target, threads=2)
    x = (4 * RNG.standard_normal(shape)).astype(np.float32)
    np.testing.assert_allclose(run(x)[0], softmax(x, axis), rtol=1e-5, atol=1e-7)
    for special in (np.nan, np.inf, -np.inf):  # a column that has one, another that has nothing else
        x.reshape(*shape[: axis + 1], -1)[..., 0, 3] = special
        np.moveaxis(x.reshape(*shape[: axis + 1], -1), axis, 0)[..., 5] = special
        np.testing.assert_allclose(run(x)[0], softmax(x, axis), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("dtype", "bound"), [(np.float64, 1e-14), (np.float16, 2e-3)])
@pytest.mark.parametrize("name", ["whole", "odd"])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_of_other_types(op: str, name: str, dtype: Any, bound: float) -> None:
    shape = SHAPES[name]
    run = compiled([h.make_node(op, ["x"], ["y"], axis=1)], shape, dtype, {})
    x = (2 * RNG.standard_normal(shape)).astype(dtype)
    want = softmax(x, 1)
    np.testing.assert_allclose(run(x)[0], np.log(want) if op == "LogSoftmax" else want, rtol=bound, atol=bound)


@pytest.mark.parametrize("name", SHAPES)
def test_norm_of_channels(name: str) -> None:
    shape = SHAPES[name]
    axis = axis_of(shape)
    across = [1] * (len(shape) - 1 - axis)
    scale, shift = (RNG.standard_normal([shape[axis], *across]).astype(np.float32) for _ in range(2))
    constants = {"axes": np.array([axis]), "two": np.float32(2), "least": np.float32(1e-5), "w": scale, "b": shift}
    nodes = [
        h.make_node("ReduceMean", ["x", "axes"], ["mean"]),
        h.make_node("Sub", ["x", "mean"], ["d"]),
        h.make_node("Pow", ["d", "two"], ["square"]),
        h.make_node("ReduceMean", ["square", "axes"], ["variance"]),
        h.make_node("Add", ["variance", "least"], ["more"]),
        h.make_node("Sqrt", ["more"], ["root"]),
        h.make_node("Div", ["d", "root"], ["normal"]),
        h.make_node("Mul", ["normal", "w"], ["scaled"]),
        h.make_node("Add", ["scaled", "b"], ["y"]),
    ]
    run = compiled(nodes, shape, np.float32, constants)
    x = (3 + RNG.standard_normal(shape)).astype(np.float32)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(axis, keepdims=True) + 1e-5) * scale + shift
    np.testing.assert_allclose(run(x)[0], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["batch", "odd", "images"])
def test_each_image_has_gates_of_its_own(name: str) -> None:
    shape = SHAPES[name]
    gates = RNG.standard_normal((*shape[:2], 1, 1)).astype(np.float32)
    nodes = [
        h.make_node("ReduceSum", ["x", "axes"], ["total"]),
        h.make_node("Sub", ["x", "total"], ["less"]),
        h.make_node("Mul", ["less", "gates"], ["y"]),
    ]
    run = compiled(nodes, shape, np.float32, {"axes": np.array([1]), "gates": gates})
    x = RNG.standard_normal(shape).astype(np.float32)
    want = (x - x.astype(np.float64).sum(1, keepdims=True)) * gates
    np.testing.assert_allclose(run(x)[0], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("op", "dtype", "last"),
    [("ArgMax", np.float32, 0), ("ArgMin", np.float32, 0), ("ArgMax", np.uint8, 0), ("ArgMin", np.float32, 1)],
)
@pytest.mark.parametrize("name", ["whole", "strips", "odd", "prime", "deep"])
def test_place_of_the_extreme(name: str, op: str, dtype: Any, last: int) -> None:
    shape = SHAPES[name]
    axis = axis_of(shape)
    node = h.make_node(op, ["x"], ["y"], axis=axis, keepdims=0, select_last_index=last)
    run = compiled([node], shape, dtype, {})
    x = RNG.integers(0, 9, shape).astype(dtype)  # many equals

    def place(x: Array, axis: int) -> Array:
        found = (np.argmax if op == "ArgMax" else np.argmin)(np.flip(x, axis) if last else x, axis)
        return shape[axis] - 1 - found if last else found

    np.testing.assert_array_equal(run(x)[0], place(x, axis))
    if dtype is np.float32:
        x.reshape(-1)[RNG.integers(0, prod(shape), 40)] = np.nan
        np.testing.assert_array_equal(run(x)[0], place(x, axis))


def test_what_is_computed_of_the_columns_has_other_readers() -> None:
    """The maximum and the exponentials are results, too; the sum of the differences is along another dimension."""
    shape = SHAPES["strips"]
    constants = {"axes": np.array([1]), "rows": np.array([3])}
    nodes = [
        h.make_node("ReduceMax", ["x", "axes"], ["most"]),
        h.make_node("Sub", ["x", "most"], ["d"]),
        h.make_node("ReduceSum", ["d", "rows"], ["along"]),
        h.make_node("Mul", ["d", "along"], ["e"]),
        h.make_node("ReduceSum", ["e", "axes"], ["total"]),
        h.make_node("Add", ["total", "most"], ["y"]),
    ]
    run = compiled(nodes, shape, np.float32, constants)
    x = RNG.standard_normal(shape).astype(np.float32)
    most = x.max(1, keepdims=True)
    differences = (x - most).astype(np.float64)
    want = (differences * differences.sum(3, keepdims=True)).sum(1, keepdims=True) + most
    np.testing.assert_allclose(run(x)[0], want, rtol=1e-5)
