"""Loops of ONNX that stay loops, and those that are unrolled, against ONNX Runtime."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.compiler.diagnostics import LaminaError
from lamina.dialects.stablehlo import WhileOp

RNG = np.random.default_rng(0)
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name: str, kind: int, shape: Any) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes: list[Any], inputs: list[Any], outputs: list[Any], **constants: Any) -> Any:
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def check(model: Any, inputs: list[np.ndarray], loops: int, target: str = "cpu") -> None:
    """Equal to ONNX Runtime; so many loops are left in the graph."""
    names = [each.name for each in model.graph.input]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    expected = cast(Any, session.run(None, dict(zip(names, inputs, strict=True))))
    for found, right in zip(lamina.compile(model, target)(*inputs), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)
    graph = lamina.lower(lamina.import_onnx(model), to="stablehlo")
    assert sum(isinstance(op, WhileOp) for op in graph.module.walk()) == loops


def loop(nodes: list[Any], *, stacked: bool = False, carried: Any = (3,), **given: Any) -> Any:
    """A Loop over `v`, a vector, and what `nodes` make of it: `next`, `goes_on` and `row`."""
    inputs = [value("i", INT, []), value("alive", BOOL, []), value("v", FLOAT, carried)]
    outputs = [
        value("goes_on", BOOL, []),
        value("next", FLOAT, None),
        *([value("row", FLOAT, None)] if stacked else []),
    ]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    results = ["y", "rows"] if stacked else ["y"]
    node = helper.make_node("Loop", ["trips", "start", "x"], results, body=body)
    wanted = [value(name, FLOAT, None) for name in results]
    constants = {"trips": np.array(9), "start": np.array(True)} | given
    known = {name: array for name, array in constants.items() if array is not None}
    inputs = [value("x", FLOAT, carried)]
    inputs += [value(name, BOOL if name == "start" else INT, []) for name, array in constants.items() if array is None]
    return model_of([node], inputs, wanted, **known)


GOES_ON = helper.make_node("Identity", ["alive"], ["goes_on"])
STEP = [
    helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
    helper.make_node("Sin", ["v"], ["s"]),
    helper.make_node("Add", ["s", "f"], ["next"]),
]
X = RNG.standard_normal(3).astype(np.float32)


@pytest.mark.parametrize(("trips", "loops"), [(0, 0), (1, 0), (4, 0), (5, 1), (300, 1), (5000, 1)])
def test_known_counts(trips: int, loops: int):
    check(loop([*STEP, GOES_ON], trips=np.array(trips)), [X], loops)


@pytest.mark.parametrize("trips", [3, 9])
def test_what_steps_give_is_stacked(trips: int):
    row = helper.make_node("ReduceSum", ["next"], ["row"], keepdims=1)
    check(loop([*STEP, GOES_ON, row], stacked=True, trips=np.array(trips)), [X], int(trips > 4))


@pytest.mark.parametrize("trips", [0, 3, 20])
def test_counts_that_are_inputs(trips: int):
    check(loop([*STEP, GOES_ON], trips=None), [X, np.array(trips)], 1)


@pytest.mark.parametrize("start", [False, True])
def test_conditions(start: bool):
    """A loop may end by what a step finds, or not begin."""
    end = [
        helper.make_node("ReduceMax", ["next"], ["m"], keepdims=0),
        helper.make_node("Less", ["m", "most"], ["goes_on"]),
    ]
    limit = helper.make_node("Constant", [], ["most"], value=numpy_helper.from_array(np.array(5, np.float32)))
    check(loop([*STEP, limit, *end], start=None), [X, np.array(start)], 1)
    check(loop([*STEP, limit, *end], start=None, trips=np.array(3)), [X, np.array(start)], 1)


def test_loops_without_an_end_are_refused():
    """Neither a count nor a step ends it: said when it is compiled, not waited for when it runs."""
    model = loop([*STEP, GOES_ON])
    model.graph.node[0].input[0] = ""
    with pytest.raises(LaminaError, match="loops of more than 1024 iterations"):
        lamina.compile(model, "cpu")


def test_steps_that_are_not_alike_are_unrolled():
    """A vector that grows, and a number of the counter that a size needs."""
    longer = [helper.make_node("Concat", ["v", "v"], ["next"], axis=0), GOES_ON]
    check(loop(longer, trips=np.array(6)), [X], 0)
    sized = [
        helper.make_node("Unsqueeze", ["i", "zero"], ["size"]),
        helper.make_node("Expand", ["half", "size"], ["many"]),
        helper.make_node("ReduceSum", ["many"], ["sum"], keepdims=0),
        helper.make_node("Add", ["v", "sum"], ["next"]),
        GOES_ON,
    ]
    check(loop(sized, trips=np.array(6), zero=np.array([0]), half=np.array(0.5, np.float32)), [X], 0)


def test_loops_in_loops():
    inner = helper.make_graph(
        [
            helper.make_node("Cos", ["w"], ["c"]),
            helper.make_node("Add", ["c", "v"], ["w2"]),
            helper.make_node("Identity", ["alive2"], ["on2"]),
        ],
        "inner",
        [value("j", INT, []), value("alive2", BOOL, []), value("w", FLOAT, (3,))],
        [value("on2", BOOL, []), value("w2", FLOAT, (3,))],
    )
    nodes = [helper.make_node("Loop", ["seven", "alive", "v"], ["next"], body=inner), GOES_ON]
    check(loop(nodes, seven=np.array(7)), [X], 2)


@pytest.mark.parametrize("length", [3, 8])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scans(length: int, reverse: int, axis: int):
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "row"], ["next"]),
            helper.make_node("Mul", ["next", "row"], ["out"]),
        ],
        "body",
        [value("sum", FLOAT, (2,)), value("row", FLOAT, (2,))],
        [value("next", FLOAT, (2,)), value("out", FLOAT, (2,))],
    )
    node = helper.make_node(
        "Scan",
        ["start", "x"],
        ["end", "outs"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=[reverse],
        scan_output_axes=[1 - axis],
        scan_output_directions=[1 - reverse],
    )
    shape = (length, 2) if axis == 0 else (2, length)
    outputs = [value("end", FLOAT, None), value("outs", FLOAT, None)]
    model = model_of([node], [value("start", FLOAT, (2,)), value("x", FLOAT, shape)], outputs)
    check(model, [X[:2], RNG.standard_normal(shape).astype(np.float32)], int(length > 4))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("operator", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
@pytest.mark.parametrize("wanted", [(True, True), (False, True), (True, False)], ids=["both", "last", "all"])
def test_long_sequences(operator: str, gates: int, direction: str, wanted: tuple[bool, bool]):
    """A loop for each direction, whatever the length."""
    count, size, batch = (2 if direction == "bidirectional" else 1), 37, 2
    x = RNG.standard_normal((50, batch, 19)).astype(np.float32)
    shapes = {"w": (count, gates * size, 19), "r": (count, gates * size, size), "b": (count, 2 * gates * size)}
    weights = {name: 0.3 * RNG.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    names = ["y" if wanted[0] else "", "last" if wanted[1] else ""]
    node = helper.make_node(operator, ["x", "w", "r", "b"], names, hidden_size=size, direction=direction)
    outputs = [value(name, FLOAT, None) for name in names if name]
    check(model_of([node], [value("x", FLOAT, x.shape)], outputs, **weights), [x], count)


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_sequences_of_one_step_are_no_loop(operator: str):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    weights = {"w": RNG.standard_normal((1, gates * 4, 3)), "r": RNG.standard_normal((1, gates * 4, 4))}
    node = helper.make_node(operator, ["x", "w", "r"], ["y"], hidden_size=4)
    constants = {name: array.astype(np.float32) for name, array in weights.items()}
    x = RNG.standard_normal((1, 2, 3)).astype(np.float32)
    check(model_of([node], [value("x", FLOAT, x.shape)], [value("y", FLOAT, None)], **constants), [x], 0)
