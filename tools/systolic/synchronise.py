"""Puts semaphores into a program without any, where and only where an order is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.control import Registers
from ...dialects.systolic.encoding import Instruction, instruction
from ...dialects.systolic.fields import NONE
from ...dialects.systolic.instructions import SEMAPHORES, UNITS
from ...dialects.systolic.limits import memory_rows
from ...dialects.systolic.places import Place, places

_UNIT = {unit: n for n, unit in enumerate(UNITS)}
_MM = _UNIT["mm"]


class _Step:
    """An instruction with the semaphores that it got so far; `done` tells what has completed when it completes."""

    def __init__(self, made: Instruction, unit: int, order: int):
        self.made = made
        self.unit = unit
        self.order = order
        self.waits: list[int] = []
        self.signals: list[int] = []
        self.done = np.zeros(len(UNITS), np.int64)

    def final(self) -> Instruction:
        """The instruction with its semaphores."""
        if self.unit < 0:
            return self.made
        values: dict[str, int] = {}
        for verb, told in (("wait", self.waits), ("signal", self.signals)):
            padded = [*sorted(told), NONE, NONE]
            values |= {f"{verb}0": padded[0], f"{verb}1": padded[1]}
        return self.made.changed(**values)


def synchronise(program: Sequence[Instruction], machine: SystolicMachine, dram_bytes: int) -> list[Instruction]:
    """The program (without loops) with semaphores; where none are left, with `bar`."""
    worker = _Synchroniser(machine, dram_bytes)
    for made in program:
        worker.take(made)
    return [step.final() for step in worker.steps]


class _Synchroniser:
    def __init__(self, machine: SystolicMachine, dram_bytes: int):
        self.machine = machine
        self.dram_bytes = dram_bytes
        self.registers = Registers()
        self.steps: list[_Step] = []
        self.units: list[list[_Step]] = [[] for _ in UNITS]
        self.clocks = [np.zeros(len(UNITS), np.int64) for _ in UNITS]
        self.semaphores: dict[tuple[int, int], int] = {}
        self.loaded: list[_Step] = []
        self.taken: list[npt.NDArray[np.int64]] = []
        self.multiplied = 0  # how many mm have completed for certain when the next one starts
        sizes = {memory: memory_rows(machine, memory) for memory in ("spm", "acc", "tab", "lut")} | {"dram": dram_bytes}
        self.written = {memory: np.zeros((len(UNITS), size), np.int64) for memory, size in sizes.items()}
        self.read = {memory: np.zeros((len(UNITS), size), np.int64) for memory, size in sizes.items()}

    def take(self, made: Instruction) -> None:
        """Takes the next instruction."""
        issued = self.registers.take(len(self.steps), made)
        if made.spec.name == "bar":
            self._barrier()
        if not issued.unit:
            self.steps.append(_Step(made, -1, 0))
            return
        unit = _UNIT[issued.unit]
        touched = list(places(issued, self.machine, self.dram_bytes).values())
        self._join_weights(made, unit)
        waits = self._missing(unit, touched)
        while len(waits) > 2:
            self._append(instruction("sync", unit=issued.unit)).waits += [waits.pop(), waits.pop()]
        if made.spec.name == "mm" and made.swap:
            self.taken.append(self.clocks[unit].copy())
            self.taken[-1][unit] = self.multiplied
        step = self._append(made)
        step.waits += waits
        for place in touched:
            table = self.written if place.writes else self.read
            table[place.memory][unit][self._spots(place)] = step.order
        if made.spec.name == "wl":
            self.loaded.append(step)

    def _append(self, made: Instruction) -> _Step:
        unit = _UNIT[made.spec.unit or UNITS[made.unit]]
        step = _Step(made, unit, len(self.units[unit]) + 1)
        self.units[unit].append(step)
        self.steps.append(step)
        self.clocks[unit][unit] = step.order
        step.done = self.clocks[unit].copy()
        return step

    def _barrier(self) -> None:
        for clock in self.clocks:
            clock[:] = [len(steps) for steps in self.units]
        self.multiplied = len(self.units[_MM])

    def _join_weights(self, made: Instruction, unit: int) -> None:
        if made.spec.name == "wl" and self.loaded:
            self._join(unit, self.taken[len(self.loaded) - 1])
        elif made.spec.name == "mm" and made.swap:
            self._join(unit, self.loaded[len(self.taken)].done)

    def _join(self, unit: int, known: npt.NDArray[np.int64]) -> None:
        np.maximum(self.clocks[unit], known, out=self.clocks[unit])
        if unit == _MM:
            self.multiplied = max(self.multiplied, int(known[_MM]))

    def _spots(self, place: Place) -> npt.NDArray[np.int64]:
        spots = place.at.reshape(-1)
        return spots if place.read is None else spots[place.read.reshape(-1)]

    def _missing(self, unit: int, touched: Sequence[Place]) -> list[int]:
        """The semaphores that must be waited for; their signals are put where they belong."""
        waits: list[int] = []
        needed = self._needed(unit, touched)
        new = {(source.unit, unit) for source in needed} - self.semaphores.keys()
        if len(self.semaphores) + len(new) > SEMAPHORES:
            self.steps.append(_Step(instruction("bar"), -1, 0))
            self._barrier()
            return []
        for source in needed:
            semaphore = self.semaphores.setdefault((source.unit, unit), len(self.semaphores))
            if len(source.signals) == 2:
                source = self._append(instruction("sync", unit=UNITS[source.unit]))
            source.signals.append(semaphore)
            waits.append(semaphore)
            self._join(unit, source.done)
        return waits

    def _needed(self, unit: int, touched: Sequence[Place]) -> list[_Step]:
        """The instructions that must have completed: of each unit the last one, unless another one's wait says so."""
        found: list[_Step] = []
        for other in range(len(UNITS)):
            tables = [(self.written[p.memory][other], p) for p in touched]
            tables += [(self.read[p.memory][other], p) for p in touched if p.writes]
            last = max((int(t[self._spots(p)].max(initial=0)) for t, p in tables), default=0)
            if other != unit and last > self.clocks[unit][other]:
                found.append(self.units[other][last - 1])
        return [s for s in found if not any(o is not s and o.done[s.unit] >= s.order for o in found)]
