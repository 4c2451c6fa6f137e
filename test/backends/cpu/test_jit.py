"""Compiled models in this process: many callers at once, inputs of any layout, objects that are not complete."""

import threading
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.backends.cpu.emit import object_code, optimise, with_target
from lamina.backends.cpu.jit import link
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.machine import Machine

SOFTMAX = Path(__file__).parents[2] / "samples" / "linalg" / "softmax.mlir"


def softmax(x: np.ndarray) -> np.ndarray:
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def test_many_threads_call_one_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    model = lamina.compile(SOFTMAX, threads=2)
    wrong: list[int] = []

    def caller(seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal((2, 7, 33), dtype=np.float32)
        for _ in range(200):
            (y,) = model(x)
            if not np.allclose(y, softmax(x), rtol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=caller, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not wrong


def test_inputs_need_not_be_contiguous():
    model = lamina.compile(SOFTMAX, cache=False)
    x = np.random.default_rng(0).standard_normal((33, 7, 2), dtype=np.float32).T
    assert not x.flags.c_contiguous
    np.testing.assert_allclose(model(x)[0], softmax(x), rtol=1e-5)


def test_objects_that_are_not_complete_are_an_error():
    machine = Machine.host()
    text = "declare void @nobody_has_this()\ndefine void @f() {\n call void @nobody_has_this()\n ret void\n}"
    code = object_code(optimise(with_target(text, machine), machine), machine)
    with pytest.raises(LaminaError, match="the compiled code cannot be loaded"):
        link([code], ["f"])
