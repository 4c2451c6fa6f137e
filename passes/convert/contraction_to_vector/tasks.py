"""How the tiles of a contraction are shared out: covers of rows and of panels, and tasks for threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from .analysis import Contraction
from .loops import D, Loops
from .schedule import Schedule, ceil_div
from .spot import Columns

ONE_SIZE = 50  # tiles of one size may compute one in so many things twice


@dataclass(frozen=True)
class Cover:
    """`tiles` tiles of `size` that cover `count` things from `first` on, overlapping where it does not divide."""

    first: int
    count: int
    size: int

    @property
    def tiles(self) -> int:
        """How many tiles."""
        return ceil_div(self.count, self.size)

    def start(self, code: Loops, tile: SSAValue | None) -> SSAValue | None:
        """Where a tile begins, None for 0; the last one ends with the last thing."""
        if self.tiles == 1 and not self.first:
            return None
        place = D(0) * self.size + self.first
        if self.count % self.size == 0:
            return code.index(place, tile)
        return code.least([place, AffineExpr.constant(self.first + self.count - self.size)], tile)


def covers(count: int, size: int, overlap: bool) -> list[Cover]:
    """`count` things in as few tiles of at most `size` as possible.

    Where it does not divide, of two sizes one apart; of one size, with less code, where tiles may `overlap` and do so
    by little.
    """
    if not count:
        return []
    tiles = ceil_div(count, size)
    if count % tiles == 0 or (overlap and count > size and tiles * size - count <= count // ONE_SIZE):
        return [Cover(0, count, size if count % tiles else count // tiles)]
    small, larger = divmod(count, tiles)
    return [Cover(0, larger * (small + 1), small + 1), Cover(larger * (small + 1), (tiles - larger) * small, small)]


@dataclass(frozen=True)
class Tasks:
    """Batches, blocks of panels and blocks of rows: how many of each, and whether threads share them out.

    With `rows_first` a thread has all batches of some rows instead of some batches with all rows.
    """

    batch: int
    panel_blocks: int
    row_blocks: int
    fork: bool
    rows_first: bool = False

    @property
    def extents(self) -> tuple[int, int, int]:
        """Consecutive tasks, one thread's, share panels; or rows, and there is one block of panels."""
        if self.rows_first:
            return self.row_blocks, self.batch, self.panel_blocks
        return self.batch, self.panel_blocks, self.row_blocks

    def operands(self, indices: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
        """Batch, block of panels and block of rows by the indices of a task."""
        return (indices[1], indices[2], indices[0]) if self.rows_first else indices

    @property
    def at_once(self) -> int:
        """How many may run at the same time."""
        return prod(self.extents) if self.fork else 1

    @staticmethod
    def of(
        contraction: Contraction,
        schedule: Schedule,
        strips: Sequence[Cover],
        groups: Sequence[Cover],
        columns: Columns,
        machine: Machine,
    ) -> Tasks:
        """The tasks for these strips of rows and groups of panels."""
        batch = contraction.extent(contraction.batch)
        rows, panels = (sum(cover.count for cover in side) for side in (strips, groups))
        row_blocks = min(schedule.row_blocks, sum(cover.tiles for cover in strips))
        panel_blocks = min(schedule.panel_blocks, sum(cover.tiles for cover in groups))
        work = batch * rows * panels * columns.lanes * contraction.extent(contraction.k)
        shared = panel_blocks > 1  # for no other reason
        fork = shared or (batch * row_blocks > 1 and work >= machine.worth_forking)
        rows_first = batch > 1 and row_blocks > 1 and panel_blocks == 1 and batches_lie_in_rows(contraction)
        return Tasks(batch, panel_blocks, row_blocks, fork and machine.cores > 1, rows_first)


def batches_lie_in_rows(contraction: Contraction) -> bool:
    """Whether batches are neighbours in memory and rows are not, as groups of channels of a pixel."""
    steps = contraction.c.form.coefficients
    return bool(contraction.m) and all(steps[b] < steps[m] for b in contraction.batch for m in contraction.m)


def split(code: Loops, task: SSAValue, extents: tuple[int, int, int]) -> list[SSAValue | None]:
    """The indices that a task's number stands for, row-major; None where there is only 0."""
    indices: list[SSAValue | None] = []
    inner = extents[0] * extents[1] * extents[2]
    for position, extent in enumerate(extents):
        inner //= extent
        expr = D(0) // inner if inner > 1 else D(0)
        leading = all(e == 1 for e in extents[:position])
        indices.append(code.index(expr if leading else expr % extent, task) if extent > 1 else None)
    return indices


def share(
    code: Loops,
    count: int,
    blocks: int,
    block: SSAValue | None,
    body: Callable[[SSAValue | None], None],
    back: bool = False,
) -> None:
    """The rounds of `count` that fall to `block` of `blocks` equal shares, the last one first where it goes `back`."""
    if blocks == 1:
        code.count(count, lambda i: body(i if i is None or not back else code.index(D(0) * -1 + (count - 1), i)))
        return
    if blocks == count:
        body(block)
        return

    def once(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        mirrored = (D(1) * count) // blocks + (D(1) * count + count) // blocks - 1 - D(0)
        body(code.index(mirrored, i, block) if back else i)
        return ()

    code.serial((D(0) * count) // blocks, (D(0) * count + count) // blocks, (block,), (), once)
