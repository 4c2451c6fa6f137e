"""The loops around the register tiles: tasks for threads, panels of B, strips of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from .analysis import Kernel
from .loops import D, Loops
from .schedule import SMALL, Schedule, ceil_div
from .spot import Columns
from .tile import TileWriter


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

    def start(self, tile: AffineExpr) -> AffineExpr:
        """Where a tile begins: evenly spread, the last one ends with the last thing."""
        if self.count % self.size == 0:
            return tile * self.size + self.first
        return (tile * (self.count - self.size)) // max(1, self.tiles - 1) + self.first


def covers(count: int, size: int, overlap: bool, first: int = 0) -> list[Cover]:
    """`count` things in tiles of `size`: one cover, or two where tiles must not overlap."""
    rest = count % size
    if not rest or (overlap and count > size):
        return [Cover(first, count, size)] if count else []
    whole = [Cover(first, count - rest, size)] if count > rest else []
    return [*whole, Cover(first + count - rest, rest, rest)]


def column_runs(kernel: Kernel, lanes: int) -> list[Columns]:
    """The whole panels, then what is left of the columns, in vectors just wide enough."""
    columns = kernel.contraction.columns
    whole, rest = divmod(columns, lanes)
    runs = [Columns(0, whole, lanes, lanes)] if whole else []
    if rest:
        runs.append(Columns(whole * lanes, 1, 1 << (rest - 1).bit_length(), rest))
    return runs


def emit(kernel: Kernel, schedule: Schedule, lanes: int, overlap: bool, cores: int) -> None:
    """Writes the tiles of `kernel` before its return."""
    contraction = kernel.contraction
    end = kernel.function.body.block.last_op
    assert isinstance(end, ReturnOp)
    code = Loops(InsertPoint.before(end))
    arrays = [contraction.a.value, contraction.b.value, contraction.c.value]
    arrays += [value for op in kernel.epilogue for value in (*op.inputs, *op.outputs)]
    flats = {value: code.flat(value) for value in dict.fromkeys(arrays)}
    writer = TileWriter(code, kernel, flats, schedule.unroll)
    rows = contraction.extent(contraction.m)
    for columns in column_runs(kernel, lanes):
        for group in covers(columns.panels, schedule.panels, overlap):
            for strip in covers(rows, schedule.rows, overlap):
                write_nest(writer, schedule, strip, group, columns, cores)


def write_nest(
    writer: TileWriter, schedule: Schedule, strips: Cover, groups: Cover, columns: Columns, cores: int
) -> None:
    """Batches, blocks of strips and blocks of groups as tasks; in each task groups outside, strips inside."""
    code = writer.code
    contraction = writer.contraction
    batch = contraction.extent(contraction.batch)
    row_blocks = min(schedule.row_blocks, strips.tiles)
    panel_blocks = min(schedule.panel_blocks, groups.tiles)

    def task(operands: Sequence[SSAValue | None]) -> None:
        """The tiles of one batch, block of rows and block of panels."""

        def by_group(group: SSAValue | None) -> None:
            panel = code.index(groups.start(D(0)), group) if groups.tiles > 1 or groups.first else None

            def by_strip(strip: SSAValue | None) -> None:
                row = code.index(strips.start(D(0)), strip) if strips.tiles > 1 or strips.first else None
                writer.write(strips.size, groups.size, columns, (operands[0], row, panel))

            share(code, strips.tiles, row_blocks, operands[2], by_strip)

        share(code, groups.tiles, panel_blocks, operands[1], by_group)

    extents = (batch, panel_blocks, row_blocks)  # consecutive tasks, one thread's, share panels
    tasks = batch * row_blocks * panel_blocks
    work = batch * strips.count * groups.count * columns.lanes * contraction.extent(contraction.k)
    if tasks > 1 and cores > 1 and work >= SMALL:
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
