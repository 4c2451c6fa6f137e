"""Whatever a case does, it is one outcome, and the cases after it run."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import monotonic

import numpy as np
import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.tools.fuzz.changes import changed_bytes
from lamina.tools.fuzz.kinds import Kind
from lamina.tools.fuzz.onnx_changes import changed_model
from lamina.tools.fuzz.tokens import LAM_WORDS, changed_tokens
from lamina.tools.fuzz.workers import Limits, Outcome, run_cases
from lamina.tools.main import main

LIMITS = Limits(seconds=0.2, memory=4 << 30)


def wait() -> None:
    while True:
        pass


def sleep() -> None:
    time.sleep(30)


def grow() -> None:
    np.zeros(8 << 30, np.uint8)


def refuse() -> None:
    raise LaminaError("no")


def be_silent() -> None:
    raise LaminaError("")


def fail() -> None:
    raise KeyError("x")


def recurse() -> None:
    recurse()


DEEDS: list[tuple[Callable[[], object], str]] = [
    (lambda: None, "ok"),
    (refuse, "refused"),
    (be_silent, "traceback"),
    (fail, "traceback"),
    (recurse, "traceback"),
    (lambda: exec("raise SystemExit"), "traceback"),
    (grow, "memory"),
    (wait, "hang"),
    (sleep, "hang"),
    (lambda: ctypes.string_at(0), "crash"),
    (lambda: os.abort(), "crash"),
    (lambda: os._exit(0), "crash"),
    (lambda: None, "ok"),
]


def outcomes(tmp_path: Path, numbers: range) -> list[Outcome]:
    def use(path: Path, reached: Callable[[str], None]) -> None:
        DEEDS[int(path.read_bytes())][0]()

    kind = Kind(".x", lambda many: [], (), use, "")
    return list(run_cases(kind, lambda n: str(n).encode(), iter(numbers), tmp_path, LIMITS, monotonic() + 60))


def test_every_end_is_an_outcome(tmp_path: Path) -> None:
    found = outcomes(tmp_path, range(len(DEEDS)))
    assert [(o.number, o.what) for o in found] == [(i, what) for i, (_, what) in enumerate(DEEDS)]
    assert "KeyError" in found[3].signature
    assert "in wait" in found[7].report  # a hang tells where
    assert found[9].signature.startswith("crash SIGSEGV")


def test_the_time_ends_it(tmp_path: Path) -> None:
    kind = Kind(".x", lambda many: [], (), lambda path, reached: None, "")
    assert not list(run_cases(kind, lambda n: b"", iter(range(5)), tmp_path, LIMITS, monotonic()))


@pytest.mark.parametrize("change", [changed_bytes, changed_model, lambda *a: changed_tokens(*a, LAM_WORDS.split())])
def test_changes_follow_from_their_seed_and_take_anything(change: Callable[..., bytes]) -> None:
    for data in (b"", b"\0", b"fn f(x: f32[3]) = x + 1\n"):
        made = [change(Random(n), data, [data]) for n in range(100)]
        assert made == [change(Random(n), data, [data]) for n in range(100)]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "check", "--quick", "--cases", "3", "--keep", str(tmp_path)]) == 0
    assert "check: 3 cases:" in capsys.readouterr().out
    assert main(["fuzz", "check", "--case", "1", "--quick", "--keep", str(tmp_path)]) == 0
    assert (tmp_path / "check-0-1.lam").exists()
    assert main(["fuzz", "nonsense"]) == 2


def test_what_is_mapped_before_is_no_case_s_memory(tmp_path: Path):
    """As where tests have imported PyTorch and JAX."""
    program = f"""
import mmap, sys
held = mmap.mmap(-1, 6 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # never touched
from lamina.tools.main import main
sys.exit(main(["fuzz", "check", "--quick", "--cases", "10", "--keep", {str(tmp_path)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert (done.returncode, "0 different findings" in done.stdout) == (0, True), done.stderr
