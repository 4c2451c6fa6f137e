"""What may be tried next: schedules that differ from a given one in one number, or trade rows for panels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....compiler.schedules import Entry
from ....passes.convert.contraction_to_vector.schedule import Problem, Schedule, ceil_div, max_rows

LANES = "lanes"
MOST = {"unroll": 8, "panels": 8}  # beyond these there is only more code
BY_VECTORS = ("rows", "panels", "unroll")  # tiles of AMX have a size of their own


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
        whole = Entry({**default.entry.values, **entry.values})
        try:
            lanes = whole.number(LANES) if default.lanes else 0
            return Candidate(lanes, Schedule.parse(str(whole.without(LANES))))
        except LaminaError:
            return None

    def __str__(self) -> str:
        return str(self.entry)


def other_lanes(lanes: int, machine: Machine, problem: Problem) -> list[int]:
    """Widths of panels beside `lanes`: half and twice, from one vector up to four, no wider than the columns.

    None where tiles of AMX compute the problem: two tiles are as wide as a panel.
    """
    vector = machine.lanes(problem.element_bytes)
    if problem.tile:
        return []
    widths = (lanes // 2, lanes * 2) if lanes else ()
    return [n for n in widths if vector <= n <= 4 * vector and n < 2 * problem.columns]


def neighbours(schedule: Schedule, problem: Problem, machine: Machine) -> list[Schedule]:
    """Schedules one step from `schedule` whose tiles the registers can hold, or nearly."""
    found: dict[Schedule, None] = {}
    limits = {"rows": problem.rows, **MOST}
    for numbers in _steps(asdict(schedule), problem, machine):
        if any(value < 0 or value > limits.get(name, value) for name, value in numbers.items()):
            continue
        try:
            candidate = Schedule.parse(str(Entry(numbers)))
        except LaminaError:
            continue
        if candidate != schedule and (problem.tile or _fits(candidate, problem, machine)):
            found[candidate] = None
    return list(found)


def _steps(now: dict[str, int], problem: Problem, machine: Machine) -> Iterator[dict[str, int]]:
    for name, value in now.items():
        if problem.tile and name in BY_VECTORS:
            continue
        match name:
            case "rows":
                values = (value + 1, value - 1, value + 2, value - 2)
            case "panels":
                values = (value + 1, value - 1)
            case "panel_blocks":
                values = (value * 2, value // 2, 1, machine.cores)
            case "row_blocks":
                values = (value * 2, value // 2, value + machine.cores, 1)
            case "depth":
                values = _depths(value, problem)
            case "copy":  # room for copies is there where the default makes some
                values = (0,)
            case "ahead":
                values = _aheads(now, problem)
            case _:
                values = (value * 2, value // 2)
        yield from ({**now, name: other} for other in dict.fromkeys(values) if other != value)
    if problem.tile:
        return
    rows, panels = now["rows"], now["panels"]
    yield {**now, "rows": rows // 2, "panels": panels * 2}
    yield {**now, "rows": rows * 2, "panels": panels // 2}


def _depths(depth: int, problem: Problem) -> tuple[int, ...]:
    """None, half and twice; from none, half and a quarter of the loop over k, where sums may wait in the output.

    Of tiles besides one tile more and less: their blocks need not divide k; of one of several loops they do.
    """
    if not problem.loops or not (problem.in_memory or problem.tile):
        return ()
    size, tile = problem.loops[0], problem.tile
    if tile:
        if len(problem.loops) > 1:
            parts = [d for d in range(tile, problem.loops[-1] + 1, tile) if problem.loops[-1] % d == 0]
            return (0, *[d for d in parts if not depth or d < depth][-1:], *[d for d in parts if d > depth > 0][:1])
        half = (depth or size) // 2 // tile * tile
        return (0, half, depth * 2, depth - tile, depth + tile) if 0 < depth < size else (half,)
    found = (
        (0, _divisor(size, depth // 2), depth * 2) if depth else (_divisor(size, size // 2), _divisor(size, size // 4))
    )
    return tuple(d if d < size else 0 for d in found)


def _aheads(now: dict[str, int], problem: Problem) -> tuple[int, ...]:
    """None, half and twice; from none, as often as the tiles of a task need to ask for a panel each."""
    if not problem.packed or not problem.loops:
        return ()
    ahead, depth = now["ahead"], now["depth"]
    if problem.tile:
        return (0, ahead // 2, ahead * 2) if ahead else (2, 4, 8)
    run = depth if depth and len(problem.loops) == 1 else problem.loops[-1]
    strips = max(1, ceil_div(problem.rows, now["rows"]) // now["row_blocks"])
    return (0, ahead // 2, ahead * 2) if ahead else (_divisor(run, min(run, strips)),)


def _divisor(size: int, near: int) -> int:
    """The divisor of `size` that is nearest to `near`.

    >>> _divisor(96, 30)
    32
    """
    return min((d for d in range(1, size + 1) if size % d == 0), key=lambda d: abs(d - near), default=1)


def _fits(schedule: Schedule, problem: Problem, machine: Machine) -> bool:
    """Whether the sums stay in registers, one more row than the cost model allows included."""
    lanes = min(problem.lanes, problem.columns)
    vectors = ceil_div(lanes * problem.element_bytes, machine.vector_bytes) * schedule.panels
    return vectors <= machine.vector_registers // 2 and schedule.rows <= max_rows(machine, vectors) + 1


def with_lanes(problem: Problem, lanes: int) -> Problem:
    """The problem with panels of another width."""
    return replace(problem, lanes=lanes) if lanes else problem
