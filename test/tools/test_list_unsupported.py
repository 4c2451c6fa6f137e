"""`lamina import --list-unsupported`."""

import onnx
from onnx import TensorProto, helper

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
    assert first.startswith("example.Swirl (opset 1): 2 nodes: first:a at") and "third:y" in first
    assert second.startswith("example.Twist (opset 1): 1 node: second:b at")


def test_nothing_to_list(tmp_path, capsys):
    save(tmp_path / "good.onnx", helper.make_node("Relu", ["x"], ["y"]))
    assert main(["import", str(tmp_path / "good.onnx"), "--list-unsupported"]) == 0
    assert capsys.readouterr().out == ""
