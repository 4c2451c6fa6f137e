"""Runs programs: `run` takes a binary and inputs to outputs and counters, on one of the engines.

functional   the interpreter: outputs alone, fast
timing       the same, with the exact cycles of the machine and where they went, and what each layer moved
rtl          the generated hardware, simulated cycle by cycle; its cycles must be those of the timing engine, and what
             it leaves in DRAM what the interpreter leaves there
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...compiler.diagnostics import LaminaError
from ...dialects.systolic.semantics import Chip
from ...dialects.systolic.timing import simulate
from .binary import Binary
from .traffic import Ledger
from .verilator import run_all, simulator

Memory = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Outcome:
    """What a run gave: the bytes of each output buffer, all of DRAM, and what the engine counted."""

    outputs: Mapping[str, Memory]
    dram: Memory = field(repr=False)
    counters: Mapping[str, Any] = field(default_factory=dict)


def _functional(binary: Binary, dram: Memory) -> Mapping[str, Any]:
    Chip(binary.machine, dram).run(binary.instructions)
    return {}


def _timing(binary: Binary, dram: Memory) -> Mapping[str, Any]:
    timing, ledger = simulate(binary.instructions, binary.machine), Ledger(dram.size)
    Chip(binary.machine, dram).run(binary.instructions, ledger.watch)
    return timing.counters | {"layers": ledger.counters(timing.bars)}


def _rtl(binary: Binary, dram: Memory) -> Mapping[str, Any]:
    """Runs the hardware, as many cycles as the model says at most, so that a hang is noticed, and the interpreter."""
    timing = simulate(binary.instructions, binary.machine)
    simulator(binary.machine)  # built before the clock starts
    start = os.times().children_user
    outcome = run_all(binary.machine, [(binary.instructions, dram, timing.cycles + 1)])[0]
    speed = outcome.cycles / max(os.times().children_user - start, 0.01)  # of its own, whatever else runs
    outcome.check()
    if outcome.cycles != timing.cycles:
        raise LaminaError(f"the hardware took {outcome.cycles} cycles, the model says {timing.cycles}")
    Chip(binary.machine, dram).run(binary.instructions)
    if not np.array_equal(outcome.dram, dram):
        at = int(np.argmax(outcome.dram != dram))
        raise LaminaError(f"the hardware left {outcome.dram[at]} at {at:#x} of DRAM, the interpreter {dram[at]}")
    return timing.counters | {"rtl_cycles": outcome.cycles, "rtl_cycles_per_second": round(speed)}


ENGINES: dict[str, Callable[[Binary, Memory], Mapping[str, Any]]] = {
    "functional": _functional,
    "timing": _timing,
    "rtl": _rtl,
}


def run(binary: Binary, inputs: Mapping[str, npt.NDArray[Any]], engine: str = "functional") -> Outcome:
    """Runs a program on `engine`: each input's bytes go to its buffer, the rest of DRAM holds constants and zeros.

    Raises LaminaError for inputs that are missing, unknown or of another size, and where the machine traps.
    """
    if engine not in ENGINES:
        raise LaminaError(f"unknown engine '{engine}'", hint=f"one of {', '.join(ENGINES)}")
    dram = image(binary, inputs)
    counters = ENGINES[engine](binary, dram)
    outputs = {b.name: dram[b.address : b.address + b.size].copy() for b in binary.buffers if b.kind == "output"}
    return Outcome(outputs, dram, counters)


def image(binary: Binary, inputs: Mapping[str, npt.NDArray[Any]]) -> Memory:
    """DRAM as it is at the start."""
    wanted = {buffer.name: buffer for buffer in binary.buffers if buffer.kind == "input"}
    if set(inputs) != set(wanted):
        raise LaminaError(f"got inputs {sorted(inputs)}, expected {sorted(wanted)}")
    dram = np.zeros(binary.dram_bytes, np.uint8)
    for constant in binary.constants:
        dram[constant.address : constant.address + len(constant.data)] = np.frombuffer(constant.data, np.uint8)
    for name, array in inputs.items():
        buffer = wanted[name]
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if data.size != buffer.size:
            raise LaminaError(f"input '{name}' has {data.size} bytes, expected {buffer.size}")
        dram[buffer.address : buffer.address + buffer.size] = data
    return dram
