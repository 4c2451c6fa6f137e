import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from lamina.compiler.context import LaminaContext
from lamina.dialects.onnx.load import load_model
from lamina.dialects.onnx.wire import SELF, WireError, without_weights

BIG = np.random.default_rng(0).standard_normal((64, 33)).astype(np.float32)


def model():
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 64))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 33))],
        [numpy_helper.from_array(BIG, "w"), numpy_helper.from_array(BIG[0], "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_only_big_data_leaves_the_message():
    whole = model().SerializeToString()
    slim = onnx.ModelProto.FromString(without_weights(memoryview(whole)))
    w, b = slim.graph.initializer
    entries = {e.key: e.value for e in w.external_data}
    assert entries["location"] == SELF and not w.HasField("raw_data")
    offset, length = int(entries["offset"]), int(entries["length"])
    assert whole[offset : offset + length] == BIG.tobytes()
    assert b == model().graph.initializer[1]
    w.CopyFrom(model().graph.initializer[0])
    assert slim == model()


def test_weights_are_mapped(tmp_path):
    onnx.save(model(), tmp_path / "m.onnx")
    context = LaminaContext()
    load_model(tmp_path / "m.onnx", context)
    weight = context.weights.get("w")
    assert isinstance(weight, np.memmap) and np.array_equal(weight, BIG)


def test_a_location_behind_the_data_is_not_the_last_word(tmp_path):
    """ONNX Runtime's quantisation says for each tensor that its data are where they are."""
    said = model()
    said.graph.initializer[0].data_location = TensorProto.DEFAULT
    onnx.save(said, tmp_path / "m.onnx")
    context = LaminaContext()
    load_model(tmp_path / "m.onnx", context)
    weight = context.weights.get("w")
    assert isinstance(weight, np.memmap) and np.array_equal(weight, BIG)


def test_data_that_are_said_to_be_elsewhere_stay():
    said = model()
    said.graph.initializer[0].data_location = TensorProto.EXTERNAL
    whole = said.SerializeToString()
    assert onnx.ModelProto.FromString(without_weights(memoryview(whole))) == said


@pytest.mark.parametrize("length", range(1, 60, 7))
def test_bytes_cut_off_are_no_message(length):
    with pytest.raises(WireError):
        without_weights(memoryview(model().SerializeToString()[:-length]))
