"""What may be tried next: schedules that differ from a given one in one number, or trade rows for panels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.schedules import Entry
from ...passes.convert.contraction_to_vector.schedule import Problem, Schedule, ceil_div, max_rows

LANES = "lanes"
MOST = {"unroll": 8, "panels": 8}  # beyond these there is only more code


@dataclass(frozen=True)
class Candidate:
    """One way to compute a problem. `lanes` 0: the right operand is not packed."""

    lanes: int
    schedule: Schedule

    @property
    def entry(self) -> Entry:
        """As it stands in a file of schedules."""
        numbers = Entry.parse(str(self.schedule)).values
        return Entry({LANES: self.lanes, **numbers} if self.lanes else numbers)

    @staticmethod
    def of(entry: Entry, default: Candidate) -> Candidate | None:
        """What an entry says, completed from `default`; None where it is no schedule."""
        numbers = {**default.entry.values, **entry.values}
        lanes = numbers.pop(LANES, 0)
        try:
            return Candidate(lanes if default.lanes else 0, Schedule.parse(str(Entry(numbers))))
        except LaminaError:
            return None

    def __str__(self) -> str:
        return str(self.entry)


def other_lanes(lanes: int, machine: Machine, problem: Problem) -> list[int]:
    """Widths of panels beside `lanes`: half and twice, from one vector up to four, no wider than the columns."""
    vector = machine.lanes(problem.element_bytes)
    widths = (lanes // 2, lanes * 2) if lanes else ()
    return [n for n in widths if vector <= n <= 4 * vector and n < 2 * problem.columns]


def neighbours(schedule: Schedule, problem: Problem, machine: Machine) -> list[Schedule]:
    """Schedules one step from `schedule` whose tiles the registers can hold, or nearly."""
    found: dict[Schedule, None] = {}
    for numbers in _steps(asdict(schedule), machine):
        limits = {"rows": problem.rows, **MOST}
        if any(value < 1 or value > limits.get(name, value) for name, value in numbers.items()):
            continue
        try:
            candidate = Schedule.parse(str(Entry(numbers)))
        except LaminaError:
            continue
        if candidate != schedule and _fits(candidate, problem, machine):
            found[candidate] = None
    return list(found)


def _steps(now: dict[str, int], machine: Machine) -> Iterator[dict[str, int]]:
    for name, value in now.items():
        match name:
            case "rows":
                values = (value + 1, value - 1, value + 2, value - 2)
            case "panels":
                values = (value + 1, value - 1)
            case "panel_blocks":
                values = (value * 2, value // 2, 1, machine.cores)
            case "row_blocks":
                values = (value * 2, value // 2, value + machine.cores, 1)
            case _:
                values = (value * 2, value // 2)
        yield from ({**now, name: other} for other in dict.fromkeys(values) if other != value)
    rows, panels = now["rows"], now["panels"]
    yield {**now, "rows": rows // 2, "panels": panels * 2}
    yield {**now, "rows": rows * 2, "panels": panels // 2}


def _fits(schedule: Schedule, problem: Problem, machine: Machine) -> bool:
    """Whether the sums stay in registers, one more row than the cost model allows included."""
    lanes = min(problem.lanes, problem.columns)
    vectors = ceil_div(lanes * problem.element_bytes, machine.vector_bytes) * schedule.panels
    return vectors <= machine.vector_registers // 2 and schedule.rows <= max_rows(machine, vectors) + 1


def with_lanes(problem: Problem, lanes: int) -> Problem:
    """The problem with panels of another width."""
    return replace(problem, lanes=lanes) if lanes else problem
