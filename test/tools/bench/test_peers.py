import pytest

from lamina.compiler.diagnostics import LaminaError
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
