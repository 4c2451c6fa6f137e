"""`lamina import --list-unsupported`."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.tools.main import main


def save(path, *nodes):
    """A model of one input `x` and one output `y`."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "y")]
    versions = [helper.make_opsetid("", 20), helper.make_opsetid("example", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]), opset_imports=versions), path)


def test_operators_without_a_lowering_are_listed(tmp_path, capsys):
    path = tmp_path / "odd.onnx"
    save(
        path,
        helper.make_node("Swirl", ["x"], ["a"], "first", domain="example"),
        helper.make_node("Twist", ["a"], ["b"], "second", domain="example"),
        helper.make_node("Swirl", ["b"], ["y"], "third", domain="example"),
    )
    assert main(["import", str(path), "--list-unsupported"]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("example.Swirl (opset 1) of f32: has no lowering: 2 nodes: first:a at")
    assert "third:y" in first
    assert second.startswith("example.Twist (opset 1): has no lowering: 1 node: second:b at")


def test_attributes_and_types_are_listed_too(tmp_path):
    """Also behind a node that fails, and for any size of an open dimension."""
    path = tmp_path / "odd.onnx"
    nodes = [
        helper.make_node("Gelu", ["x"], ["a"], "first", approximate="wild"),
        helper.make_node("Cast", ["a"], ["i"], "second", to=TensorProto.INT32),
        helper.make_node("BitwiseXor", ["a", "a"], ["s"], "third"),
        helper.make_node("Add", ["s", "x"], ["y"], "fourth"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("x", "y")]
    versions = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]), opset_imports=versions), path)
    first, second = lamina.unsupported(path)
    assert first.node.startswith("first:a") and first.operator == "ai.onnx.Gelu" and first.version == 20
    assert "wild" in first.reason
    assert second.node.startswith("third:s") and second.types == ("f32",)
    with pytest.raises(lamina.LaminaError) as refusal:
        lamina.compile(path, "interpret", shapes={"n": 3})
    assert "2 nodes cannot be lowered" in str(refusal.value) and len(refusal.value.notes) == 2


def test_strings_are_listed(tmp_path):
    path = tmp_path / "text.onnx"
    ends = [helper.make_tensor_value_info(name, TensorProto.STRING, [1, 1, 2, 2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Resize", ["x", "", "", "n"], ["y"])], "g", ends[:1], ends[1:])
    graph.initializer.append(numpy_helper.from_array(np.array([1, 1, 2, 2]), "n"))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    [only] = lamina.unsupported(path)
    assert only.operator == "ai.onnx.Resize" and "strings" in only.reason


def test_nothing_to_list(tmp_path, capsys):
    save(tmp_path / "good.onnx", helper.make_node("Relu", ["x"], ["y"]))
    assert main(["import", str(tmp_path / "good.onnx"), "--list-unsupported"]) == 0
    assert capsys.readouterr().out == ""
