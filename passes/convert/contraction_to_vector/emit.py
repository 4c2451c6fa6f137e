"""The loops around the register tiles: tasks for threads, panels of B, strips of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from ....compiler.machine import Machine
from .amx_tiles import AmxWriter, takes_tiles
from .analysis import Kernel
from .epilogue import overlap_is_harmless
from .groups import GroupWriter, is_grouped
from .loops import D, Loops
from .schedule import Schedule, ceil_div
from .spot import Columns
from .tile import TileWriter

NARROW_ROWS = 8  # of a tile of one vector, beyond which LLVM spills
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


def column_runs(kernel: Kernel, lanes: int) -> list[Columns]:
    """The whole panels, then what is left of the columns, in vectors just wide enough."""
    columns = kernel.contraction.columns
    whole, rest = divmod(columns, lanes)
    runs = [Columns(0, whole, lanes, lanes)] if whole else []
    if rest:
        runs.append(Columns(whole * lanes, 1, 1 << (rest - 1).bit_length(), rest))
    return runs


def emit(kernel: Kernel, schedule: Schedule, lanes: int, machine: Machine) -> None:
    """Writes the tiles of `kernel` before its return."""
    contraction = kernel.contraction
    end = kernel.function.body.block.last_op
    assert isinstance(end, ReturnOp)
    code = Loops(InsertPoint.before(end))
    arrays = [contraction.a.value, contraction.b.value, contraction.c.value]
    arrays += [value for op in kernel.epilogue for value in (*op.inputs, *op.outputs)]
    write_tiles(kernel, code, {value: code.flat(value) for value in dict.fromkeys(arrays)}, schedule, lanes, machine)


def write_tiles(
    kernel: Kernel, code: Loops, flats: Mapping[SSAValue, SSAValue], schedule: Schedule, lanes: int, machine: Machine
) -> None:
    """Writes the tiles of `kernel` where `code` stands; `flats` are its arrays as one dimension."""
    contraction = kernel.contraction
    tiles = takes_tiles(kernel, machine)
    writer = (AmxWriter if tiles else GroupWriter if is_grouped(contraction) else TileWriter)(
        code, kernel, flats, schedule
    )
    in_registers = not schedule.depth and not tiles  # sums that wait in memory are added to, and read again, once
    overlap = in_registers and overlap_is_harmless(kernel)
    for columns in column_runs(kernel, lanes):
        rows = schedule.rows
        if not tiles:  # as many sums where there are fewer columns
            rows = max(rows, min(NARROW_ROWS, rows * lanes // columns.lanes))
        strips = covers(contraction.extent(contraction.m), rows, overlap)
        groups = covers(columns.panels, schedule.panels, overlap)
        write_nest(writer, schedule, strips, groups, columns, machine)


def write_nest(
    writer: TileWriter,
    schedule: Schedule,
    all_strips: Sequence[Cover],
    all_groups: Sequence[Cover],
    columns: Columns,
    machine: Machine,
) -> None:
    """Batches, blocks of strips and blocks of groups as tasks; in each task blocks of k, groups, then strips."""
    code = writer.code
    contraction = writer.contraction
    batch = contraction.extent(contraction.batch)
    rows, panels = (sum(cover.count for cover in side) for side in (all_strips, all_groups))
    row_blocks = min(schedule.row_blocks, sum(cover.tiles for cover in all_strips))
    panel_blocks = min(schedule.panel_blocks, sum(cover.tiles for cover in all_groups))

    def task(operands: Sequence[SSAValue | None]) -> None:
        """The tiles of one batch, block of rows and block of panels."""

        def by_depth(block: SSAValue | None) -> None:
            def by_group(groups: Cover, group: SSAValue | None) -> None:
                panel = groups.start(code, group)

                def by_strip(strips: Cover, strip: SSAValue | None) -> None:
                    row = strips.start(code, strip)
                    before = sum(c.tiles for c in all_strips if c.first < strips.first)
                    own = strip
                    if row_blocks > 1 and strip is not None:
                        begin = (D(1) * strips.tiles) // row_blocks
                        own = code.index(D(0) - begin, strip, operands[2])
                    number = (before // row_blocks, own)
                    writer.write(strips.size, groups.size, columns, (operands[0], row, panel), block, number)

                for cover in all_strips:
                    share(code, cover.tiles, row_blocks, operands[2], partial(by_strip, cover))

            for cover in all_groups:
                share(code, cover.tiles, panel_blocks, operands[1], partial(by_group, cover))

        code.count(writer.depth_blocks, by_depth)

    extents = (batch, panel_blocks, row_blocks)  # consecutive tasks, one thread's, share panels
    tasks = batch * row_blocks * panel_blocks
    work = batch * rows * panels * columns.lanes * contraction.extent(contraction.k)
    if tasks > 1 and machine.cores > 1 and work >= machine.worth_forking:
        code.parallel(tasks, lambda i: task(split(code, i, extents)))
        return

    def each(chosen: tuple[SSAValue | None, ...]) -> None:
        if len(chosen) == len(extents):
            task(chosen)
        else:
            code.count(extents[len(chosen)], lambda i: each((*chosen, i)))

    each(())


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
    code: Loops, count: int, blocks: int, block: SSAValue | None, body: Callable[[SSAValue | None], None]
) -> None:
    """The rounds of `count` that fall to `block` of `blocks` equal shares."""
    if blocks == 1:
        code.count(count, body)
        return
    if blocks == count:
        body(block)
        return

    def once(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        body(i)
        return ()

    code.serial((D(0) * count) // blocks, (D(0) * count + count) // blocks, (block,), (), once)
