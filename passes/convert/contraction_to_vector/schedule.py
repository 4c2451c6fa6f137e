"""How a contraction is cut into register tiles and tasks: data, chosen by a small cost model, printable, editable."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields

from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine

SMALL = 200_000  # multiply-adds below which starting threads costs more than it brings
MIN_STRIPS = 16  # strips per block below which panels of B are fetched too often


@dataclass(frozen=True)
class Problem:
    """The numbers a schedule depends on. `lanes` is the panel width, `free_to_overlap` whether tiles may recompute."""

    batch: int
    rows: int
    columns: int
    depth: int
    element_bytes: int
    lanes: int
    free_to_overlap: bool = True


@dataclass(frozen=True)
class Schedule:
    """A tile of `rows` × `panels` panels stays in registers over all of k; blocks of tiles are tasks for threads.

    Rows and panels that do not divide the problem are covered by tiles that overlap.
    """

    rows: int
    panels: int = 1
    row_blocks: int = 1
    panel_blocks: int = 1
    unroll: int = 1

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in asdict(self).items())

    @staticmethod
    def parse(text: str) -> Schedule:
        """The schedule printed as `text`; what is left out has its default.

        >>> Schedule.parse("rows=6 row_blocks=4")
        Schedule(rows=6, panels=1, row_blocks=4, panel_blocks=1, unroll=1)
        """
        found = dict(re.findall(r"(\w+)\s*=\s*(\d+)", text))
        names = {field.name for field in fields(Schedule)}
        if "rows" not in found or set(found) - names or any(int(value) < 1 for value in found.values()):
            raise LaminaError(f"not a schedule: '{text}'", hint=f"for example '{Schedule(6)}'")
        return Schedule(**{name: int(value) for name, value in found.items()})


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def max_rows(machine: Machine, vectors: int) -> int:
    """The rows of a tile `vectors` registers wide that leave room for a row of B and a broadcast of A."""
    free = machine.vector_registers - vectors - machine.scratch_registers
    return max(1, min(12, free // vectors))


def tile_cycles(machine: Machine, rows: int, vectors: int) -> float:
    """Cycles per step of k: multiply-adds or their latency or the loads, and a share for bringing in the row of B."""
    return max(rows * vectors / machine.fma_ports, 4.0, (rows + vectors) / 2) + vectors / 3


def choose(problem: Problem, machine: Machine) -> Schedule:
    """The schedule for `problem`.

    Rows: the tile height for which covering all rows costs least. Panels: several side by side when rows are too few
    to hide the latency of the multiply-add. Blocks: rows of A that stay in L2 while the panels of B pass by;
    as many blocks as share out evenly over the cores.
    """
    vectors = ceil_div(min(problem.lanes, problem.columns) * problem.element_bytes, machine.vector_bytes)
    heights = range(1, min(problem.rows, max_rows(machine, vectors)) + 1)

    def cost(height: int) -> tuple[float, int]:
        return ceil_div(problem.rows, height) * tile_cycles(machine, height, vectors), -height

    rows = min(heights, key=cost)
    full = problem.columns // problem.lanes
    panels = max(1, min(max_rows(machine, vectors) // rows, full))
    if not problem.free_to_overlap:
        panels = max(p for p in range(1, panels + 1) if full % p == 0 or p == 1)
    row_blocks, panel_blocks = blocks(problem, machine, rows, ceil_div(problem.rows, rows), ceil_div(full, panels))
    return Schedule(rows, panels, row_blocks, panel_blocks)


def blocks(problem: Problem, machine: Machine, rows: int, strips: int, groups: int) -> tuple[int, int]:
    """How many blocks the strips and the groups of panels are cut into."""
    strip_bytes = rows * problem.depth * problem.element_bytes
    strips_in_cache = max(MIN_STRIPS, machine.l2_bytes * 4 // 5 // max(1, strip_bytes))
    row_blocks = ceil_div(strips, strips_in_cache)
    cores = machine.cores
    work = problem.batch * problem.rows * problem.columns * problem.depth
    if cores == 1 or work < SMALL or problem.batch % cores == 0 or problem.batch >= 4 * cores:
        return row_blocks, 1
    by_rows = ceil_div(strips, cores) * cores / strips  # time lost to uneven shares, 1 is none
    by_panels = ceil_div(groups, cores) * cores / max(groups, 1)
    wide = problem.columns > problem.rows and by_panels <= by_rows * 1.1  # sharing B out fetches less than sharing A
    if groups >= cores and (wide or by_panels < by_rows - 0.05 or strips < cores * 4):
        return row_blocks, cores
    return min(strips, ceil_div(row_blocks, cores) * cores), 1
