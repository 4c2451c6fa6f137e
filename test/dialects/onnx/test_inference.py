"""Functions of ONNX that crash, or ask for more memory than there is: what is declared is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NoReturn

import onnx
import pytest

from lamina.compiler.workers import ProcessDied, apart
from lamina.dialects.onnx import inference

MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { t = Abs(x) y = Neg(t) }'
)


def crash(*_: object, **__: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def ask_for_memory(*_: object, **__: object) -> NoReturn:
    raise MemoryError("std::bad_alloc")


@pytest.fixture(params=[crash, ask_for_memory])
def end(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., NoReturn]:
    """How it ends, in a copy of this process, which has what is patched here."""
    monkeypatch.setattr(inference, "apart_from_server", apart)
    return request.param


def test_declared_types_are_left(end: Callable[..., NoReturn], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", end)
    assert {*inference.infer_value_types(MODEL, "model.onnx")} == {"x", "y"}
    inference.check_types(MODEL)


def test_models_that_cannot_be_upgraded(end: Callable[..., NoReturn], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(onnx.version_converter, "convert_version", end)
    with pytest.raises(ProcessDied, match=r"the process died|asked for more memory than there is") as told:
        inference.upgraded(MODEL, "model.onnx")
    assert told.value.where == "model.onnx"
