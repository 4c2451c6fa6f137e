"""What may be tried on a GPU: every schedule of a grid that kernels can be made of; and of those, what promises most.

The grid has all units, and tiles and parts of tiles in powers of two and what else units allow; `fault_of` says what of
it a problem cannot have on a machine. The filter orders what is left by an estimate, and keeps the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product

from ....compiler.diagnostics import LaminaError
from ....compiler.gpu import Gpu
from ....compiler.machine import Machine
from ....compiler.schedules import Entry
from ....passes.convert.contraction_to_cta.choice import STEPS
from ....passes.convert.contraction_to_cta.estimate import Estimate, ceil_div, estimate, room
from ....passes.convert.contraction_to_cta.given import (
    MOST_STAGES,
    UNITS,
    fault_of_numbers,
    fault_of_unit,
    given_schedule,
)
from ....passes.convert.contraction_to_cta.problem import Problem
from ....passes.convert.contraction_to_cta.schedule import FMA, ROW_BYTES, WORD, Schedule
from ....passes.convert.contraction_to_cta.splits import cuts

TILES = (16, 32, 64, 96, 128, 192, 256)  # rows or columns of a block
FEW_ROWS = 4  # of a block of threads, for results that are as good as vectors
STAGES = (1, 2, 3, 4, 6)  # of threads, where copies of elements go on by themselves
PARTS = (1, 2, 4, 8, 16)  # of a thread, or warps of a block
DEPTHS = (4, 8, 16, 32)  # of threads; of others what fills the rows of shared memory
OF_A_TILE = 2  # candidates with the same tile at most, with other parts: stages and depth are for the steps after
NEAR = 1.5  # how much worse than the best so far, as estimated, what is next to it may be


@dataclass(frozen=True)
class Candidate:
    """One way to compute a problem."""

    schedule: Schedule

    @property
    def entry(self) -> Entry:
        """As it stands in a file of schedules."""
        return Entry(asdict(self.schedule))

    def __str__(self) -> str:
        return str(self.entry)


def grid(unit: str, element_bytes: int) -> Iterator[Schedule]:
    """All schedules of a unit that there might be for such elements, whether they can be made or not."""
    depths = DEPTHS if unit == FMA else (ROW_BYTES // element_bytes,)
    stages = range(2, MOST_STAGES + 1)
    if unit == FMA:
        stages = STAGES if element_bytes >= WORD else STAGES[:1]
    heights = (FEW_ROWS, *TILES) if unit == FMA else TILES
    for rows, columns, depth, down, across, count in product(heights, TILES, depths, PARTS, PARTS, stages):
        yield Schedule(unit, rows, columns, depth, down, across, count)


@dataclass(frozen=True)
class Field:
    """The schedules of one problem, in the order of the filter."""

    problem: Problem
    machine: Machine
    precision: str
    gpu: Gpu

    @cached_property
    def ordered(self) -> dict[Schedule, Estimate]:
        """All that kernels can be made of, what promises most first."""
        problem, size = self.problem, self.problem.element_bytes
        units = [unit for unit in UNITS if fault_of_unit(unit, problem, self.machine, self.precision) is None]
        every = (schedule for unit in units for schedule in grid(unit, size))
        possible = (s for s in every if fault_of_numbers(s, size, self.machine) is None)
        whole = [s for s in possible if room(s, size, self.gpu)[0]]  # GPUs of an architecture have not all as much
        return self._in_order([*whole, *(more for s in whole for more in self._shared(s))])

    def _shared(self, whole: Schedule) -> Iterator[Schedule]:
        """The same with sums that several blocks share, where there are fewer tiles than blocks have room."""
        expected = self.expected(whole)
        if expected.waves < 1:
            least = STEPS * whole.depth
            yield from (replace(whole, splits=count) for count in self.cuts if self.problem.k >= count * least)

    @cached_property
    def cuts(self) -> list[int]:
        """Into how many parts the sum may be cut."""
        return list(cuts(self.problem, STEPS * min(DEPTHS)))

    def _in_order(self, found: Iterable[Schedule]) -> dict[Schedule, Estimate]:
        """What promises most first.

        Of equals what leaves room for most blocks, then what has most stages, as far as the sum has steps for them: how
        long memory takes is what the estimate knows least.
        """

        def key(each: tuple[Schedule, Estimate]) -> tuple[float, ...]:
            schedule, expected = each
            useful = min(schedule.stages, 1 + ceil_div(self.problem.k, schedule.depth))
            return expected.rank, -expected.blocks, -useful, schedule.staged_bytes(self.problem.element_bytes)

        return dict(sorted(((s, self.expected(s)) for s in found), key=key))

    def expected(self, schedule: Schedule) -> Estimate:
        """What the filter goes by."""
        return estimate(schedule, self.problem, self.gpu)

    def given(self, entry: Entry) -> Schedule | None:
        """What a file or the database says of the problem; None where no kernel can be made of it."""
        try:
            return given_schedule(entry, self.problem, self.machine, self.precision)
        except LaminaError:
            return None

    def kept(self, count: int, always: Sequence[Schedule] = ()) -> dict[Schedule, Estimate]:
        """The first `count`, but few of each tile, and those that are `always` kept, in order."""
        parts: dict[tuple[str, int, int], set[tuple[int, int]]] = {}
        first: list[Schedule] = []
        for s in self.ordered:
            seen = parts.setdefault((s.unit, s.rows, s.columns), set())
            if len(first) < count and len(seen) < OF_A_TILE and (s.down, s.across) not in seen:
                seen.add((s.down, s.across))
                first.append(s)
        return self._in_order(dict.fromkeys((*first, *always)))

    def beside(self, best: Schedule) -> list[Schedule]:
        """Those that differ from one in one number, or in tile and parts of one side, and do not promise much less."""
        limit = NEAR * self.expected(best).rank
        return [s for s, expected in self.ordered.items() if expected.rank <= limit and _near(s, best)]


def _near(a: Schedule, b: Schedule) -> bool:
    others = {name for name, value in asdict(a).items() if value != asdict(b)[name]}
    return len(others) == 1 or others in ({"rows", "down"}, {"columns", "across"})
