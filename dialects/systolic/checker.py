"""Proves that a program neither hangs nor races: whatever the units' speeds, it does what the interpreter says.

Programs decide nothing by data, so that following one to its end is a proof. Each semaphore has one unit that signals
and one that waits; the n-th wait is thus for the n-th signal, at any speed, and whether a program hangs does not depend
on speed either. For each instruction a vector tells how far every unit has completed for certain when it starts. Two
instructions race when they touch a row or byte, one of them writes, and neither is certain to precede the other; within
a unit instructions keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from .control import Issued, dispatch
from .encoding import Instruction
from .fields import NONE
from .instructions import UNITS
from .limits import check_all_limits, memory_rows
from .places import Place, places
from .timing import Span, time_of

MEMORIES = ("spm", "acc", "tab", "lut")
_UNIT = {unit: n for n, unit in enumerate(UNITS)}
_MM = _UNIT["mm"]
_Clock = npt.NDArray[np.int64]
_Orders = npt.NDArray[np.int32]


def check_program(program: Sequence[Instruction], machine: SystolicMachine, dram_bytes: int) -> None:
    """Raises LaminaError for a program that hangs, races or traps, naming the instructions."""
    check_all_limits(program, machine)
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


class _Shadow:
    """For each row of a memory, and each unit, which of its instructions wrote it last, and which read it last.

    Instructions are told by their places in their unit, from 1 on; 0 is nobody.
    """

    def __init__(self, rows: int):
        self.rows = rows
        self.written: list[_Orders | None] = [None] * len(UNITS)
        self.read: list[_Orders | None] = [None] * len(UNITS)

    def touch(self, unit: int, order: int, at: npt.NDArray[Any], writes: bool) -> None:
        """Writes down that an instruction touches rows."""
        table = self.written if writes else self.read
        orders = table[unit]
        if orders is None:
            orders = table[unit] = np.zeros(self.rows, np.int32)
        orders[at] = order

    def before(self, unit: int, at: npt.NDArray[Any], writes: bool) -> Iterator[tuple[int, npt.NDArray[np.int32]]]:
        """The other units whose instructions must precede one that touches rows, and the last of these by row."""
        for table in (self.written, self.read) if writes else (self.written,):
            for other, orders in enumerate(table):
                if orders is not None and other != unit:
                    yield other, orders[at]


class _Checker:
    """`clocks` has for each unit how far every unit has completed for certain when its next instruction starts."""

    def __init__(self, machine: SystolicMachine, dram_bytes: int, issued: Sequence[Issued]):
        self.machine = machine
        self.dram_bytes = dram_bytes
        self.clocks: list[_Clock] = [np.zeros(len(UNITS), np.int64) for _ in UNITS]
        self.signals: dict[int, list[_Clock]] = {}
        self.waits: dict[int, int] = {}
        self.loaded: list[_Clock] = []  # of wl, at completion
        self.taken: list[_Clock] = []  # of mm swap, at the start
        self.multiplied = 0  # how many mm have completed for certain when the next one starts
        self.visited: list[list[Issued]] = [[] for _ in UNITS]
        self.shadows = {memory: _Shadow(memory_rows(machine, memory)) for memory in MEMORIES}
        self.dram_index = self._stored_bytes(issued)

    def _stored_bytes(self, issued: Sequence[Issued]) -> npt.NDArray[np.int32]:
        """For each byte of DRAM 0, or its number among those that are ever stored: only these can race."""
        stored = np.zeros(self.dram_bytes, np.int32)
        for step in issued:
            if step.name == "st" and not step.instruction.to:
                stored[places(step, self.machine, self.dram_bytes)["dst"].at] = 1
        count = int(stored.sum())
        stored[stored != 0] = np.arange(1, count + 1)
        self.shadows["dram"] = _Shadow(count + 1)
        return stored

    def visit(self, issued: Issued) -> None:
        """Takes the next instruction."""
        if issued.name == "bar":
            for clock in self.clocks:
                clock[:] = [len(steps) for steps in self.visited]
            self.multiplied = len(self.visited[_MM])
            return
        i, unit = issued.instruction, _UNIT[issued.unit]
        clock = self.clocks[unit]
        for semaphore in (i.wait0, i.wait1):
            if semaphore != NONE:
                nth = self.waits.get(semaphore, 0)
                self.waits[semaphore] = nth + 1
                self._join(unit, self.signals[semaphore][nth])
        if issued.name == "wl" and self.loaded:
            self._join(unit, self.taken[len(self.loaded) - 1])
        elif issued.name == "mm" and i.swap:
            self._join(unit, self.loaded[len(self.taken)])
            self.taken.append(clock.copy())
            self.taken[-1][unit] = self.multiplied  # it starts before all of those in front of it have completed
        self.visited[unit].append(issued)
        clock[unit] = len(self.visited[unit])  # the unit's own order
        for place in places(issued, self.machine, self.dram_bytes).values():
            self._touch(issued, place, clock, unit)
        if i.signal0 != NONE or issued.name == "wl":
            done = clock.copy()
            for semaphore in (i.signal0, i.signal1):
                if semaphore != NONE:
                    self.signals.setdefault(semaphore, []).append(done)
            if issued.name == "wl":
                self.loaded.append(done)

    def _join(self, unit: int, known: _Clock) -> None:
        """The next instruction of a unit starts when all of this has completed."""
        np.maximum(self.clocks[unit], known, out=self.clocks[unit])
        if unit == _MM:
            self.multiplied = max(self.multiplied, int(known[_MM]))

    def _touch(self, issued: Issued, place: Place, clock: _Clock, unit: int) -> None:
        at: npt.NDArray[Any] = place.at.reshape(-1)
        if place.memory == "dram":
            at = self.dram_index[at if place.read is None else at[place.read.reshape(-1)]]
            at = at[at != 0]
        if not at.size:
            return
        shadow = self.shadows[place.memory]
        for other, orders in shadow.before(unit, at, place.writes):
            if int(orders.max()) > clock[other]:
                which = int(np.argmax(orders > clock[other]))
                raise self._race(issued, place, int(at[which]), self.visited[other][int(orders[which]) - 1])
        shadow.touch(unit, len(self.visited[unit]), at, place.writes)

    def _race(self, issued: Issued, place: Place, spot: int, other: Issued) -> LaminaError:
        if place.memory == "dram":
            spot = int(np.flatnonzero(self.dram_index == spot)[0])
        return LaminaError(
            f"race: instruction {issued.at} {'writes' if place.writes else 'reads'} {place.memory} {spot:#x}, which "
            f"instruction {other.at} touches",
            where=repr(issued),
            hint="a semaphore must order the two",
            notes=(repr(other),),
        )
