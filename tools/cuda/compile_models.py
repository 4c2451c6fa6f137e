"""Compiles models for CUDA and tells what their kernels need: `python -m lamina.tools.cuda.compile_models [MODEL ...]`.

Without names: every model that the tests run (`every_model`). Models are worked on in as many processes as there are
cores, or $LAMINA_JOBS says; a kernel that several have, and any that the cache knows, is compiled once. Each goes
through ptxas, where that is found; one that spills registers is an error, and the command's exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from ...backends import Options
from ...backends.cuda.target import CudaTarget
from ...compiler.collector import collector_paused
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from ...compiler.workers import parallel_map, usable_cores
from .every_model import models_named
from .lowered_once import LoweredOnce

TARGETS = ("sm_80", "sm_90a")
HEAD = ("model", "target", "kernels", "launches", "most registers", "stack", "spilled", "CPU s", "")


@dataclass(frozen=True)
class Row:
    """One model on one target: its distinct kernels by content; `told` is the error, where there was one.

    `seconds` are those of the processor, without ptxas.
    """

    model: str
    target: str
    kernels: Sequence[str] = ()
    launches: int = 0
    registers: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0
    seconds: float = 0
    told: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """As a line of the table."""
        numbers = (len(self.kernels), self.launches, self.registers, self.stack_bytes, self.spill_bytes)
        return (self.model, self.target, *map(str, numbers), f"{self.seconds:.0f}", self.told)


def compile_model(name: str, load: Callable[[], Program], targets: Sequence[str], precision: str) -> Iterator[Row]:
    """A model through the whole pipeline, for one target after the other.

    Down to `linalg` no pass asks which architecture it is, but for units that all of them have: that is done once.
    """
    start = time.process_time()
    once = LoweredOnce(Options(precision=precision))
    try:
        program = CudaTarget(targets[0]).lower(load(), "linalg", once.options)
    except LaminaError as error:
        yield from (Row(name, target, seconds=time.process_time() - start, told=str(error)) for target in targets)
        return
    for target in targets:
        yield compile_kernels(name, program, target, once, start)
        start = time.process_time()


@collector_paused()
def compile_kernels(name: str, program: Program, target: str, once: LoweredOnce, start: float | None = None) -> Row:
    """A model from the level on which it stands; `start` is when work on it began, if that was before."""
    start = time.process_time() if start is None else start
    ours = CudaTarget(target)
    try:
        _, built = ours.built(once.lower(program, ours), once.options)
    except LaminaError as error:
        return Row(name, target, seconds=time.process_time() - start, told=str(error))
    needs = [kernel.resources for kernel in built.kernels.values() if kernel.resources is not None]
    return Row(
        name,
        target,
        list(built.kernels),
        len(built.launches),
        max((each.registers for each in needs), default=0),
        sum(each.stack_bytes for each in needs),
        sum(each.spill_bytes for each in needs),
        time.process_time() - start,
        "" if len(needs) == len(built.kernels) else "not assembled: no ptxas",
    )


def line(cells: Sequence[str]) -> str:
    """Cells below each other."""
    widths = (24, 8, 8, 9, 15, 6, 8, 8, 0)
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def summary(rows: Sequence[Row]) -> str:
    """What all rows say together: a kernel that two models share is counted once."""
    kernels = {kernel for row in rows for kernel in row.kernels}
    failed = sum(bool(row.told) for row in rows)
    spilled = sum(row.spill_bytes for row in rows)
    models = len({row.model for row in rows})
    return f"{models} models, {len(kernels)} distinct kernels, {spilled} bytes spilled, {failed} of {len(rows)} failed"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lamina.tools.cuda.compile_models", description=__doc__)
    parser.add_argument("models", nargs="*", help="names of models, or files")
    parser.add_argument("--target", action="append", choices=TARGETS, help="an architecture (default: all)")
    parser.add_argument("--precision", choices=("f32", "bf16", "tf32"), default="f32")
    given = parser.parse_args(arguments)
    models = list(models_named(given.models).items())
    jobs = min(usable_cores(), len(models))

    def compiled(number: int) -> bytes:
        if jobs > 1:
            os.environ["LAMINA_JOBS"] = "1"  # of a process of its own
        name, load = models[number]
        rows = compile_model(name, load, given.target or TARGETS, given.precision)
        return json.dumps([asdict(row) for row in rows]).encode()

    print(line(HEAD))
    rows: list[Row] = []
    for _, data in parallel_map(compiled, len(models), jobs, [name for name, _ in models]):
        for told in json.loads(data):
            rows.append(Row(**told))
            print(line(rows[-1].cells), flush=True)
    print(summary(rows))
    return 1 if any(row.told for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
