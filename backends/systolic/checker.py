"""Proves that a program neither hangs nor races: whatever the units' speeds, it does what the interpreter says.

Programs decide nothing by data, so that following one to its end is a proof. Each semaphore has one unit that signals
and one that waits; the n-th wait is thus for the n-th signal, at any speed, and whether a program hangs does not depend
on speed either. For each instruction a vector tells how far every unit has completed for certain when it starts. Two
instructions race when they touch a row or byte, one of them writes, and neither is certain to precede the other; within
a unit instructions keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.control import Issued, dispatch
from ...dialects.systolic.encoding import Instruction
from ...dialects.systolic.fields import NONE
from ...dialects.systolic.instructions import UNITS
from ...dialects.systolic.limits import check_limits, memory_rows
from ...dialects.systolic.places import Place, places
from .timing import Span, time_of

MEMORIES = ("spm", "acc", "tab", "lut")
_UNIT = {unit: n for n, unit in enumerate(UNITS)}
_Clock = npt.NDArray[np.int64]


def check_program(program: Sequence[Instruction], machine: SystolicMachine, dram_bytes: int) -> None:
    """Raises LaminaError for a program that hangs, races or traps, naming the instructions."""
    for at, instruction in enumerate(program):
        check_limits(instruction, machine, f"instruction {at}")
    issued = list(dispatch(program))
    spans = time_of(issued, machine).spans
    checker = _Checker(machine, dram_bytes, [span.issued for span in spans])
    for step in _in_order(issued, spans):
        checker.visit(step)


def _in_order(issued: Sequence[Issued], spans: Sequence[Span]) -> Iterator[Issued]:
    """An order in which everything comes behind what it waits for; barriers in their places."""
    starts = {id(span.issued): span.start for span in spans}
    group: list[Issued] = []
    for step in issued:
        if step.unit:
            group.append(step)
        elif step.name == "bar":
            yield from sorted(group, key=lambda s: (starts[id(s)], s.name == "wl"))
            yield step
            group = []
    yield from sorted(group, key=lambda s: (starts[id(s)], s.name == "wl"))  # a wl may start with the mm it waits for


@dataclass
class _Shadow:
    """For each row who wrote it last, as the number of that instruction, and which of each unit read it last."""

    writer: npt.NDArray[np.int32]
    readers: npt.NDArray[np.int32]  # [unit, row]

    @staticmethod
    def of(rows: int) -> _Shadow:
        return _Shadow(np.zeros(rows, np.int32), np.zeros((len(UNITS), rows), np.int32))


class _Checker:
    """Instructions are numbered from 1 in the order of visits; `order` is an instruction's place in its unit."""

    def __init__(self, machine: SystolicMachine, dram_bytes: int, issued: Sequence[Issued]):
        self.machine = machine
        self.dram_bytes = dram_bytes
        self.clocks: list[_Clock] = [np.zeros(len(UNITS), np.int64) for _ in UNITS]
        self.signals: dict[int, list[_Clock]] = {}
        self.waits: dict[int, int] = {}
        self.loaded: list[_Clock] = []  # of wl, at completion
        self.taken: list[_Clock] = []  # of mm swap, at the start
        self.visited: list[Issued | None] = [None]
        self.unit_of = np.zeros(len(issued) + 1, np.int64)
        self.order_of = np.zeros(len(issued) + 1, np.int64)
        self.orders = [0] * len(UNITS)
        self.shadows = {memory: _Shadow.of(memory_rows(machine, memory)) for memory in MEMORIES}
        self.dram_index = self._stored_bytes(issued)

    def _stored_bytes(self, issued: Sequence[Issued]) -> npt.NDArray[np.int32]:
        """For each byte of DRAM 0, or its number among those that are ever stored: only these can race."""
        stored = np.zeros(self.dram_bytes, np.int32)
        for step in issued:
            if step.name == "st" and not step.instruction.to:
                stored[places(step, self.machine, self.dram_bytes)["dst"].at] = 1
        count = int(stored.sum())
        stored[stored != 0] = np.arange(1, count + 1)
        self.shadows["dram"] = _Shadow.of(count + 1)
        return stored

    def visit(self, issued: Issued) -> None:
        """Takes the next instruction."""
        if issued.name == "bar":
            for clock in self.clocks:
                clock[:] = self.orders
            return
        i, unit = issued.instruction, _UNIT[issued.unit]
        clock = self.clocks[unit]
        for semaphore in (i.wait0, i.wait1):
            if semaphore != NONE:
                nth = self.waits.get(semaphore, 0)
                self.waits[semaphore] = nth + 1
                np.maximum(clock, self.signals[semaphore][nth], out=clock)
        if issued.name == "wl" and self.loaded:
            np.maximum(clock, self.taken[len(self.loaded) - 1], out=clock)
        elif issued.name == "mm" and i.swap:
            np.maximum(clock, self.loaded[len(self.taken)], out=clock)
            self.taken.append(clock.copy())
            self.taken[-1][unit] = 0  # it starts before the ones in front of it have completed
        self.orders[unit] += 1
        clock[unit] = self.orders[unit]  # the unit's own order
        self.visited.append(issued)
        number = len(self.visited) - 1
        self.unit_of[number], self.order_of[number] = unit, self.orders[unit]
        for place in places(issued, self.machine, self.dram_bytes).values():
            self._touch(number, place, clock, unit)
        done = clock.copy()
        for semaphore in (i.signal0, i.signal1):
            if semaphore != NONE:
                self.signals.setdefault(semaphore, []).append(done)
        if issued.name == "wl":
            self.loaded.append(done)

    def _touch(self, number: int, place: Place, clock: _Clock, unit: int) -> None:
        at: npt.NDArray[Any] = place.at.reshape(-1)
        if place.memory == "dram":
            at = self.dram_index[at if place.read is None else at[place.read.reshape(-1)]]
            at = at[at != 0]
        if not at.size:
            return
        shadow = self.shadows[place.memory]
        self._expect_before(number, shadow.writer[at], clock, place, at)
        if place.writes:
            for readers in shadow.readers:
                self._expect_before(number, readers[at], clock, place, at)
            shadow.writer[at] = number
        else:
            shadow.readers[unit][at] = number

    def _expect_before(
        self, number: int, others: npt.NDArray[np.int32], clock: _Clock, place: Place, at: npt.NDArray[Any]
    ) -> None:
        """Every one of `others` (0: nobody) must be certain to have completed."""
        late = self.order_of[others] > clock[self.unit_of[others]]
        if not late.any():
            return
        which = int(np.argmax(late))
        other = self.visited[int(others[which])]
        spot = int(at[which])
        if place.memory == "dram":
            spot = int(np.flatnonzero(self.dram_index == spot)[0])
        raise LaminaError(
            f"race: {repr(self.visited[number]).partition(':')[0]} {'writes' if place.writes else 'reads'} "
            f"{place.memory} {spot:#x}, which {repr(other).partition(':')[0]} touches",
            where=repr(self.visited[number]),
            hint="a semaphore must order the two",
            notes=(repr(other),),
        )
