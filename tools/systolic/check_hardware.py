"""Holds the hardware against the models: random programs must give the same DRAM, cycles and marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...backends.systolic.verilator import QUICK, Run, run_all
from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.checker import check_program
from ...dialects.systolic.semantics import Chip
from ...dialects.systolic.timing import Timing, simulate
from .random_programs import DRAM_BYTES, RandomProgram, random_program

BATCH = 100


@dataclass(frozen=True)
class Verdict:
    """What was compared; `faults` tells of each program that differs."""

    programs: int
    instructions: int
    cycles: int
    faults: tuple[str, ...]


def compare(machine: SystolicMachine, seeds: Sequence[int], tell: Callable[[str], None] = lambda _: None) -> Verdict:
    """Runs random programs on the generated hardware of a machine and on the models."""
    instructions = cycles = 0
    faults: list[str] = []
    for start in range(0, len(seeds), BATCH):
        programs = [random_program(machine, seed) for seed in seeds[start : start + BATCH]]
        timings = [simulate(program.instructions, machine) for program in programs]
        jobs = [(p.instructions, p.dram, t.cycles + 1000) for p, t in zip(programs, timings, strict=True)]
        runs = run_all(machine, jobs, QUICK)
        for seed, program, timing, run in zip(seeds[start:], programs, timings, runs, strict=False):
            fault = _difference(machine, program, timing, run)
            if fault:
                faults.append(f"program {seed}: {fault}")
            instructions += len(timing.spans)
            cycles += timing.cycles
        tell(f"{machine.name}: {min(start + BATCH, len(seeds))} programs, {len(faults)} differ")
    return Verdict(len(seeds), instructions, cycles, tuple(faults))


def _difference(machine: SystolicMachine, program: RandomProgram, timing: Timing, run: Run) -> str:
    check_program(program.instructions, machine, DRAM_BYTES)
    dram = program.dram.copy()
    Chip(machine, dram).run(program.instructions)
    if run.trap:
        return f"the hardware trapped ({run.trap}) at cycle {run.cycles}"
    if run.cycles != timing.cycles:
        return f"{run.cycles} cycles, the model says {timing.cycles}"
    if not np.array_equal(run.dram, dram):
        return f"byte {int(np.argmax(run.dram != dram)):#x} of DRAM differs"
    if sorted((tag, cycle) for _, tag, cycle in run.marks) != sorted(timing.marks):
        return "marks differ"
    return ""
