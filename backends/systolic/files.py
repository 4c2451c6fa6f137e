"""The files that `lamina compile` writes for a systolic array: one binary for each part of a model that runs there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...compiler.artefact import written_whole
from ...compiler.program import Program
from .. import Options
from .parts import ArrayPart
from .target import SystolicTarget


def write_binary(program: Program, output: Path, detail: str, options: Options) -> list[str]:
    """Writes the program as `output`; of several, each behind its name. Comes back with what runs where, for people."""
    told: list[str] = []
    parts = SystolicTarget(detail).compile(program, replace(options, tell=told.append)).parts
    programs = [part for part in parts if isinstance(part, ArrayPart)]
    for part in programs:
        path = output if len(programs) == 1 else output.with_stem(f"{output.stem}.{part.name}")
        with written_whole(path) as file:
            file.write(part.binary.to_bytes())
        told.append(f"wrote {path}: {len(part.binary.instructions)} instructions for '{part.binary.machine.name}'")
    return told
