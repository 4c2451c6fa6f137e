"""Compiles models for CUDA and tells what their kernels need: `python -m lamina.tools.cuda.compile_models [MODEL ...]`.

Without names: the nine networks inside the onnx package, and what lies in $LAMINA_MODELS. Each distinct kernel goes
through ptxas, where that is found; one that spills registers is an error, and the command's exit code 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...backends import Options
from ...backends.cuda.target import CudaTarget
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from .. import light_models
from ..sources import read_program

TARGETS = ("sm_80", "sm_90a")
HEAD = ("model", "target", "kernels", "launches", "most registers", "stack", "spilled", "seconds", "")


@dataclass(frozen=True)
class Row:
    """One model on one target; `told` is the error, where there was one."""

    model: str
    target: str
    kernels: int = 0
    launches: int = 0
    registers: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0
    seconds: float = 0
    told: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """As a line of the table."""
        numbers = (self.kernels, self.launches, self.registers, self.stack_bytes, self.spill_bytes)
        return (self.model, self.target, *map(str, numbers), f"{self.seconds:.0f}", self.told)


def compile_model(name: str, source: str, target: str, precision: str) -> Row:
    """A model through the whole pipeline, uncached."""
    start = time.perf_counter()
    try:
        program = read_program(source)
        assert isinstance(program, Program)
        _, built = CudaTarget(target).built(program, Options(cache=False, emulate=True, precision=precision))
    except LaminaError as error:
        return Row(name, target, seconds=time.perf_counter() - start, told=str(error))
    needs = [kernel.resources for kernel in built.kernels.values() if kernel.resources is not None]
    return Row(
        name,
        target,
        len(built.kernels),
        len(built.launches),
        max((each.registers for each in needs), default=0),
        sum(each.stack_bytes for each in needs),
        sum(each.spill_bytes for each in needs),
        time.perf_counter() - start,
        "" if len(needs) == len(built.kernels) else "not assembled: no ptxas",
    )


def all_models() -> dict[str, str]:
    """The models that the tests run, by name."""
    found = {name: str(light_models.path_of(name)) for name in light_models.NAMES}
    folder = os.environ.get("LAMINA_MODELS")
    for path in sorted(Path(folder).glob("*.onnx")) if folder else []:
        found[path.stem] = str(path)
    return found


def line(cells: Sequence[str]) -> str:
    """Cells below each other."""
    widths = (24, 8, 8, 9, 15, 6, 8, 8, 0)
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lamina.tools.cuda.compile_models", description=__doc__)
    parser.add_argument("models", nargs="*", help="names of models, or files")
    parser.add_argument("--target", action="append", choices=TARGETS, help="an architecture (default: all)")
    parser.add_argument("--precision", choices=("f32", "bf16", "tf32"), default="f32")
    given = parser.parse_args(arguments)
    known = all_models()
    names: list[str] = given.models
    wanted = {Path(name).stem: known.get(name, name) for name in names} or known
    print(line(HEAD))
    good = True
    for name, source in wanted.items():
        for target in given.target or TARGETS:
            row = compile_model(name, source, target, given.precision)
            good &= not row.told
            print(line(row.cells), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
