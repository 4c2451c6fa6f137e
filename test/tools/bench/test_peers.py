import sys

import onnx
import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.tools.bench import models, peers_onnx
from lamina.tools.bench.peers import PEERS, Peer, chosen


def test_all_means_what_is_installed_without_ours():
    assert "onnxruntime" in chosen("all") and "lamina" not in chosen("all")


def test_a_peer_that_nobody_knows():
    with pytest.raises(LaminaError, match=r"no peer 'onyx' \(one of onnxruntime, openvino"):
        chosen("onnxruntime,onyx")


def test_a_peer_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(PEERS, "absent", Peer("nowhere:absent", ("a_module_nobody_has",)))
    with pytest.raises(LaminaError, match=r"'absent' is not installed \(it needs a_module_nobody_has\)"):
        chosen("absent")
    assert "absent" not in chosen("all")


def test_a_model_knows_the_module_that_it_is_for_peers_that_take_that(tmp_path):
    h = onnx.helper
    values = [h.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in "xy"]
    graph = h.make_graph([h.make_node("Neg", ["x"], ["y"])], "net", values[:1], values[1:])
    onnx.save(h.make_model(graph, ir_version=10), file := tmp_path / "net.onnx")
    assert models.case(str(file), {}).build().functions == {}
    made = models.case(str(file), {}, module=int).build()
    assert made.functions == {"torch_module": int} and list(made.inputs) == ["x"]
    file.rename(exported := file.with_name("resnet50.dynamo.onnx"))  # the name says which module it is
    assert "torch_module" in models.case(str(exported), {}).build().functions


def test_the_tools_of_peers_install_nothing(tmp_path, monkeypatch):
    tool = tmp_path / "convert"
    tool.write_text('#!/bin/sh\necho "pip finds nothing: $PIP_NO_INDEX" >&2\nexit 1\n')
    tool.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LaminaError, match=r"convert failed: .*pip finds nothing: 1"):
        peers_onnx._tool("convert")
