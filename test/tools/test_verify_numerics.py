"""A planted bug in a pass is found, and the pass that has it is named."""

import sys
from types import ModuleType

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.rewriter import Rewriter

import lamina
from lamina.dialects import arith, stablehlo
from lamina.passes import PASSES, all_passes
from lamina.tools.main import main
from lamina.tools.verify_numerics import find_culprit


def swap(module, before, after):
    """The bug: the first op of class `before` becomes one of class `after`."""
    for op in module.walk():
        if isinstance(op, before):
            new = after(*op.operands)
            new.location = op.location
            Rewriter.replace_op(op, new)
            return


def graph_bug(module):
    swap(module, stablehlo.AddOp, stablehlo.SubtractOp)


def loop_bug(module):
    swap(module, arith.AddfOp, arith.SubfOp)


def model():
    w = numpy_helper.from_array(np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32), "w")
    nodes = [
        helper.make_node("Softmax", ["x"], ["p"], "the_softmax", axis=-1),
        helper.make_node("MatMul", ["p", "w"], ["m"], "the_matmul"),
        helper.make_node("Add", ["m", "b"], ["y"], "the_sum"),
    ]
    values = {"x": (3, 5), "b": (3, 7), "y": (3, 7)}
    infos = {k: helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in values.items()}
    graph = helper.make_graph(nodes, "g", [infos["x"], infos["b"]], [infos["y"]], [w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


INPUTS = [np.random.default_rng(1).standard_normal(shape).astype(np.float32) for shape in ((3, 5), (3, 7))]


@pytest.fixture
def plant(monkeypatch):
    def put(heading, name, bug):
        table = next(group for title, group in PASSES.items() if title.startswith(heading))
        sound = all_passes()[name]()

        class Planted(sound):
            def apply(self, ctx, op):
                super().apply(ctx, op)
                bug(op)

        module = ModuleType("planted")
        module.Planted = Planted
        monkeypatch.setitem(sys.modules, "planted", module)
        monkeypatch.setitem(table, name, "planted:Planted")

    return put


def test_a_sound_pipeline_has_no_culprit():
    assert find_culprit(lamina.import_onnx(model()), INPUTS) is None


def test_a_pass_on_the_graph(plant):
    plant("stablehlo", "stablehlo-simplify", graph_bug)
    culprit = find_culprit(lamina.import_onnx(model()), INPUTS)
    assert culprit is not None and culprit.pass_name == "stablehlo-simplify"
    assert "the_sum" in culprit.where or "the_softmax" in culprit.where


@pytest.mark.parametrize("name", ["affine-loop-fusion", "affine-scalrep"])
def test_a_pass_on_loops(plant, name):
    plant("loops", name, loop_bug)
    culprit = find_culprit(lamina.import_onnx(model()), INPUTS)
    assert culprit is not None and culprit.pass_name == name and "@kernel" in culprit.where


def test_a_pass_that_cannot_be_left_out(plant):
    """A needed pass is found by interpreting the loops on both sides of it."""
    plant("vectors", "math-expand", loop_bug)
    culprit = find_culprit(lamina.import_onnx(model()), INPUTS)
    assert culprit is not None and "math-expand" in culprit.pass_name


def test_the_command(tmp_path, plant, capsys):
    import onnx

    onnx.save(model(), tmp_path / "m.onnx")
    assert main(["run", str(tmp_path / "m.onnx"), "--verify-numerics"]) == 0
    plant("loops", "affine-scalrep", loop_bug)
    assert main(["run", str(tmp_path / "m.onnx"), "--verify-numerics"]) == 1
    assert "pass 'affine-scalrep' changes the result" in capsys.readouterr().out
