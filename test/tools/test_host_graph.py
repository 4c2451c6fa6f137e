"""Models with strings, sequences and optionals: host code between compiled pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import lamina
from lamina.compiler.diagnostics import LaminaError

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, None)


def model(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any]) -> Any:
    given, results = ([helper.make_value_info(name, kind) for name, kind in side.items()] for side in (inputs, outputs))
    graph = helper.make_graph(nodes, "g", given, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def strings(*values: str) -> np.ndarray[Any, Any]:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_a_sequence_between_compiled_pieces(target: str) -> None:
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("SequenceConstruct", ["x", "square"], ["pair"]),
        helper.make_node("SequenceInsert", ["pair", "x"], ["three"]),
        helper.make_node("ConcatFromSequence", ["three"], ["joined"], axis=0),
        helper.make_node("Neg", ["joined"], ["y"]),
    ]
    compiled = lamina.compile(model(nodes, {"x": FLOATS}, {"y": FLOATS}), target)
    for n in (2, 3, 2):
        x = np.arange(n, dtype=np.float32)
        [y] = compiled(x)
        np.testing.assert_array_equal(y, -np.concatenate([x, x * x, x]))


def test_a_loop_that_carries_a_sequence() -> None:
    """The trip count is an input; the body sees a value from outside."""
    info = helper.make_tensor_value_info
    sequence = helper.make_sequence_type_proto(FLOATS)
    body = helper.make_graph(
        [
            helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["f", "outer"], ["sum"]),
            helper.make_node("SequenceInsert", ["seq", "sum"], ["more"]),
            helper.make_node("Identity", ["c"], ["go"]),
        ],
        "body",
        [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), helper.make_value_info("seq", sequence)],
        [info("go", TensorProto.BOOL, []), helper.make_value_info("more", sequence)],
    )
    nodes = [
        helper.make_node("SequenceEmpty", [], ["none"], dtype=TensorProto.FLOAT),
        helper.make_node("Loop", ["n", "", "none"], ["all"], body=body),
    ]
    kinds = {"n": helper.make_tensor_type_proto(TensorProto.INT64, []), "outer": FLOATS}
    [found] = lamina.compile(model(nodes, kinds, {"all": sequence}), "interpret")(
        np.array(3), np.array([5], np.float32)
    )
    assert [row.tolist() for row in found] == [[5], [6], [7]]


def test_strings() -> None:
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    nodes = [
        helper.make_node("StringConcat", ["a", "b"], ["ab"]),
        helper.make_node("StringNormalizer", ["ab"], ["n"], case_change_action="UPPER", stopwords=["xy"]),
        helper.make_node("StringSplit", ["n"], ["parts", "count"], delimiter="-"),
    ]
    outputs = {"parts": text, "count": helper.make_tensor_type_proto(TensorProto.INT64, None)}
    compiled = lamina.compile(model(nodes, {"a": text, "b": text}, outputs), "interpret")
    parts, count = compiled(strings("a-", "x", "c"), strings("b-c", "y", "d"))
    assert parts.tolist() == [["A", "B", "C"], ["CD", "", ""]] and count.tolist() == [3, 1]


def test_what_is_refused_is_named() -> None:
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    nodes = [helper.make_node("Unique", ["a"], ["b"])]
    with pytest.raises(LaminaError, match="Unique at 'b'"):
        lamina.compile(model(nodes, {"a": text}, {"b": text}), "interpret")
    pair = [helper.make_node("SequenceConstruct", ["x"], ["s"]), helper.make_node("SequenceAt", ["s", "i"], ["y"])]
    kinds = {"x": FLOATS, "i": helper.make_tensor_type_proto(TensorProto.INT64, [])}
    with pytest.raises(LaminaError, match="SequenceAt at 'y'"):
        lamina.compile(model(pair, kinds, {"y": FLOATS}), "interpret")(np.array([1], np.float32), np.array(4))
