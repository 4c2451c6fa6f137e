"""AMX: a process asks for its tiles, and goes without where they are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lamina.backends import Options
from lamina.backends.cpu.aot import write_native
from lamina.backends.cpu.executable import NativeExecutable
from lamina.backends.cpu.target import CpuTarget
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.tile_permission import ask_for_tiles, usable
from lamina.tools.sources import read_program, whole

SAMPLE = Path(__file__).parents[2] / "samples" / "linalg" / "softmax.mlir"
FEATURES = {"avx2": True, "avx512f": True, "amx-tile": True, "amx-bf16": True, "amx-int8": False}


def test_refused_tiles_are_no_features():
    assert usable(FEATURES, lambda: True) == FEATURES
    refused = usable(FEATURES, lambda: False)
    assert refused["avx512f"] and not any(on for name, on in refused.items() if name.startswith("amx"))


def test_nobody_asks_where_there_are_none():
    def never() -> bool:
        raise AssertionError("asked")

    assert usable({"avx2": True, "amx-tile": False}, never) == {"avx2": True, "amx-tile": False}


def test_code_for_tiles_is_refused_where_they_are(monkeypatch: pytest.MonkeyPatch):
    artefact = CpuTarget("x86-64-avx2").compile_artefact(whole(read_program(str(SAMPLE))), Options(cache=False))
    monkeypatch.setattr("lamina.compiler.tile_permission.ask_for_tiles", lambda: False)
    NativeExecutable(artefact, 1)
    with pytest.raises(LaminaError, match="refuses this process the tiles of AMX"):
        NativeExecutable(replace(artefact, features=artefact.features + ",+amx-tile"), 1)


def test_asking_does_not_harm():
    assert ask_for_tiles() in (True, False)


def test_programs_in_c_ask_when_they_are_loaded(tmp_path: Path):
    program = whole(read_program(str(SAMPLE)))
    for target, asks in (("x86-64-amx", True), ("x86-64-avx512", False)):
        texts: list[str] = []
        for _ in range(2):
            write_native(program, tmp_path / "model.s", target, Options())
            texts.append((tmp_path / "model.s").read_text())
        assert ("init_array" in texts[0]) == asks
        assert texts[0] == texts[1]
