"""The cycles of a program, instruction by instruction: exact, without stepping through cycles.

Each instruction's start is the latest of what it waits for. Instructions are handled as soon as everything they wait
for is known; where that never happens the program would hang, which is an error here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from .control import Issued, dispatch
from .encoding import Instruction
from .fields import NONE
from .instructions import SEMAPHORE_MOST, UNITS
from .timetable import DRAINS, latencies, row_bytes, steps


@dataclass(frozen=True)
class Span:
    """When an instruction ran: popped at `start`, last step at `end`, completed at `done`; `why` it did not start
    before, and for how long its unit stood still for that."""

    issued: Issued
    start: int
    end: int
    done: int
    stalled: int
    why: str


@dataclass(frozen=True)
class Timing:
    """The cycles of a program and where they went."""

    cycles: int
    machine: SystolicMachine
    spans: tuple[Span, ...] = field(repr=False)
    marks: tuple[tuple[int, int], ...] = ()  # (tag, cycle) of `sync mark`, in the order of units
    bars: tuple[int, ...] = ()  # the cycles at which `bar` and `halt` were passed

    @property
    def busy(self) -> dict[str, int]:
        """Steps per unit."""
        found = dict.fromkeys(UNITS, 0)
        for span in self.spans:
            found[span.issued.unit] += span.end - span.start
        return found

    @property
    def utilisation(self) -> float:
        """The share of cycles in which the array takes a row."""
        rows = sum(s.end - s.start for s in self.spans if s.issued.name == "mm")
        return rows / self.cycles if self.cycles else 0.0

    def stalls(self, unit: str) -> dict[str, int]:
        """The cycles in which a unit stood still, by what it waited for; `end` is after its last instruction."""
        found: Counter[str] = Counter()
        last = 0
        for span in self.spans:
            if span.issued.unit == unit:
                found[span.why] += span.stalled
                last = max(last, span.end)
        found["end"] = self.cycles - 1 - last
        return {why: cycles for why, cycles in found.items() if cycles > 0}

    @property
    def counters(self) -> dict[str, Any]:
        """What is reported of a run."""
        read, written = self._traffic()
        return {
            "cycles": self.cycles,
            "utilisation": self.utilisation,
            "busy": self.busy,
            "stalls": {unit: self.stalls(unit) for unit in UNITS},
            "dram_bytes_read": read,
            "dram_bytes_written": written,
            "instructions": len(self.spans),
            "marks": list(self.marks),
        }

    def _traffic(self) -> tuple[int, int]:
        read = written = 0
        for span in self.spans:
            issued = span.issued
            if issued.name == "ld":
                read += _read_bytes(issued)
            elif issued.name == "st" and not issued.instruction.to:
                written += issued.instruction.n1 * issued.instruction.n0 * row_bytes(issued)
        return read, written


def _read_bytes(issued: Issued) -> int:
    i = issued.instruction
    if "window" not in issued.configs:
        return i.n1 * i.n0 * row_bytes(issued)
    window, s0 = issued.configs["window"], issued.configs["stride"]["s0"]
    rows = max(0, min(window["y_hi"], i.n1) - window["y_lo"])
    return rows * sum(
        max(0, min(window["x_hi"] - i0 * s0, i.len) - max(window["x_lo"] - i0 * s0, 0)) for i0 in range(i.n0)
    )


def simulate(program: Iterable[Instruction], machine: SystolicMachine) -> Timing:
    """The timing of a program. Raises LaminaError where it hangs or the machine traps."""
    return time_of(list(dispatch(list(program))), machine)


def time_of(issued: list[Issued], machine: SystolicMachine) -> Timing:
    """The timing of what `dispatch` gave."""
    recurrence = _Recurrence(issued, machine)
    cycles = recurrence.solve()
    recurrence.check_semaphores()
    recurrence.spans.sort(key=lambda span: span.start)
    return Timing(cycles, machine, tuple(recurrence.spans), tuple(recurrence.marks), tuple(recurrence.bars))


class _Recurrence:
    """The state of the solution: for each unit the instructions that were dispatched and not yet started."""

    def __init__(self, issued: list[Issued], machine: SystolicMachine):
        self.issued = issued
        self.machine = machine
        self.latency = latencies(machine)
        self.queued: dict[str, list[tuple[Issued, int]]] = {unit: [] for unit in UNITS}  # with its dispatch cycle
        self.started: dict[str, list[int]] = {unit: [] for unit in UNITS}  # the pops
        self.free = dict.fromkeys(UNITS, 0)  # the earliest next pop
        self.signals: dict[int, list[int]] = {}
        self.waits: dict[int, list[int]] = {}
        self.signaller: dict[int, str] = {}
        self.waiter: dict[int, str] = {}
        self.weights: list[int] = []  # pops of wl
        self.swaps: list[int] = []  # pops of mm swap
        self.spans: list[Span] = []
        self.marks: list[tuple[int, int]] = []
        self.bars: list[int] = []
        self.last = -1  # the last completion

    def solve(self) -> int:
        """The cycles until the end."""
        clock = -1  # the last dispatch
        for issued in self.issued:
            if issued.unit:
                clock = self._push(issued, clock)
            elif issued.name in ("bar", "halt"):
                self._run()
                self._expect_idle(issued)
                clock = max(clock, self.last) + 1
                self.bars.append(clock)
            else:
                clock += 1
            if issued.name == "trap":
                raise LaminaError(f"trap: the program asks for trap {issued.instruction.code}", where=repr(issued))
        return clock + 1

    def _push(self, issued: Issued, clock: int) -> int:
        started, queue = self.started[issued.unit], self.queued[issued.unit]
        place = len(started) + len(queue) - self.machine.queue_depth
        if place >= len(started):
            self._run()
            if place >= len(started):
                raise self._hang(issued)
        clock = max(clock + 1, started[place] + 1) if place >= 0 else clock + 1
        queue.append((issued, clock))
        return clock

    def _run(self) -> None:
        """Starts whatever can be, in every unit, until nothing more can."""
        moved = True
        while moved:
            moved = False
            for unit in UNITS:
                queue = self.queued[unit]
                taken = 0
                while taken < len(queue) and self._start(*queue[taken]):
                    taken += 1
                if taken:
                    del queue[:taken]
                    moved = True

    def _start(self, issued: Issued, pushed: int) -> bool:
        """Starts an instruction, if everything that it waits for is known."""
        i, unit = issued.instruction, issued.unit
        start, why = pushed + 1, "dispatch"
        for semaphore in (i.wait0, i.wait1):
            if semaphore != NONE:
                nth = len(self.waits.get(semaphore, ()))
                signals = self.signals.get(semaphore, ())
                if nth >= len(signals):
                    return False
                if signals[nth] + 1 > start:
                    start, why = signals[nth] + 1, self.signaller[semaphore]
        if issued.name == "wl" and self.weights:
            if len(self.swaps) < len(self.weights):
                return False
            if self.swaps[len(self.weights) - 1] > start:
                start, why = self.swaps[len(self.weights) - 1], "mm"
        if issued.name == "mm" and i.swap:
            if len(self.weights) <= len(self.swaps):
                return False
            loaded = self.weights[len(self.swaps)] + self.machine.rows
            if loaded > start:
                start, why = loaded, "weights"
        self._finish(issued, max(start, self.free[unit]), why)
        return True

    def _finish(self, issued: Issued, start: int, why: str) -> None:
        i, unit = issued.instruction, issued.unit
        for semaphore in (i.wait0, i.wait1):
            if semaphore != NONE:
                self._claim(self.waiter, semaphore, issued, "waited for")
                self.waits.setdefault(semaphore, []).append(start)
        if issued.name == "wl":
            self.weights.append(start)
        elif issued.name == "mm" and i.swap:
            self.swaps.append(start)
        elif issued.name == "sync" and i.mark:
            self.marks.append((i.tag, start))
        end = start + steps(issued, self.machine)
        done = end + self.latency[unit]
        for semaphore in (i.signal0, i.signal1):
            if semaphore != NONE:
                self._claim(self.signaller, semaphore, issued, "signalled")
                self.signals.setdefault(semaphore, []).append(done)
        self.spans.append(Span(issued, start, end, done, start - self.free[unit], why))
        self.started[unit].append(start)
        self.free[unit] = done if unit in DRAINS else end
        self.last = max(self.last, done)

    def _claim(self, owners: dict[int, str], semaphore: int, issued: Issued, verb: str) -> None:
        owner = owners.setdefault(semaphore, issued.unit)
        if owner != issued.unit:
            raise LaminaError(
                f"semaphore {semaphore} is {verb} by {owner} and by {issued.unit}",
                where=repr(issued),
                hint="one unit signals a semaphore and one waits for it",
            )

    def _expect_idle(self, issued: Issued) -> None:
        if any(self.queued.values()):
            raise self._hang(issued)

    def _hang(self, issued: Issued) -> LaminaError:
        heads = [repr(queue[0][0]) for queue in self.queued.values() if queue]
        return LaminaError("the program hangs", where=repr(issued), notes=tuple(f"stuck: {head}" for head in heads))

    def check_semaphores(self) -> None:
        """Raises LaminaError where a semaphore overflows."""
        for semaphore, signals in self.signals.items():
            waits, taken = self.waits.get(semaphore, []), 0
            for nth, cycle in enumerate(signals):
                while taken < len(waits) and waits[taken] < cycle:
                    taken += 1
                if nth + 1 - taken > SEMAPHORE_MOST:
                    raise LaminaError(f"trap: semaphore {semaphore} overflows at cycle {cycle}")
