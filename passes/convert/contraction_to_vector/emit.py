"""The loops around the register tiles: tasks for threads, panels of B, strips of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....dialects.affine.linear_forms import memref_shape
from ....dialects.llvm.text import ROLLED
from .amx_schedule import takes_tiles, tile_covers
from .amx_tiles import AmxWriter
from .analysis import Kernel, is_grouped
from .copies import COPIES, Copies, can_copy, task_elements
from .epilogue import overlap_is_harmless
from .few_columns import FewColumnsWriter, are_few, rows_of_few
from .groups import GroupWriter
from .loops import D, Loops
from .schedule import Schedule, ceil_div
from .spot import Columns, TilePlace
from .tasks import Cover, Tasks, covers, share, split
from .tile import TileWriter
from .tile_copies import TileCopies, can_copy_tiles

BACK = "lamina.back"  # a unit attribute of a kernel: panels of B go from the last to the first
NARROW_ROWS = 8  # of a tile of one vector, beyond which LLVM spills

Task: TypeAlias = "Callable[[Sequence[SSAValue | None], SSAValue | None], None]"


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
    flats = {value: code.flat(value) for value in dict.fromkeys(arrays)}
    room = kernel.function.body.block.args[-1] if COPIES in kernel.function.attributes else None
    write_tiles(kernel, code, flats, schedule, lanes, machine, room)


@dataclass(frozen=True)
class Share:
    """The strips of rows and groups of panels over a run of columns, and the tasks that share them out."""

    columns: Columns
    strips: Sequence[Cover]
    groups: Sequence[Cover]
    tasks: Tasks

    def strips_before(self, strips: Cover) -> int:
        """How many strips of a task come before those of this cover, at most."""
        return sum(ceil_div(c.tiles, self.tasks.row_blocks) for c in self.strips if c.first < strips.first)

    @property
    def most_strips(self) -> int:
        """How many strips a task has, at most."""
        return sum(ceil_div(cover.tiles, self.tasks.row_blocks) for cover in self.strips)


@dataclass(frozen=True)
class Part:
    """A run of columns: what writes its tiles, how they are shared out, the copies of rows that they read.

    The columns of `rest` are done strip by strip along with these.
    """

    writer: TileWriter
    share: Share
    copies: Copies | None
    rest: Part | None = None

    def begin(self) -> None:
        """What the writers want once before the tiles of each thread."""
        self.writer.begin(self.share.most_strips)
        if self.rest is not None:
            self.rest.begin()


def together(parts: Sequence[Part]) -> Sequence[Part]:
    """Columns that are left over go with the strips of the one group of panels: rows of A come from memory once."""
    if len(parts) != 2:
        return parts
    whole, rest = parts
    once = sum(cover.tiles for cover in whole.share.groups) == 1 and whole.copies is None
    if not once or whole.writer.panels_first or whole.share.strips != rest.share.strips:
        return parts
    return [replace(whole, rest=rest)]


def shares(kernel: Kernel, schedule: Schedule, lanes: int, machine: Machine) -> list[Share]:
    """One for each run of columns."""
    contraction = kernel.contraction
    tiles = takes_tiles(kernel, machine)
    in_registers = not schedule.depth and not tiles  # sums that wait in memory are added to, and read again, once
    overlap = in_registers and overlap_is_harmless(kernel)
    found: list[Share] = []
    for columns in column_runs(kernel, lanes):
        if tiles:  # of which there are eight registers
            strips, panels = tile_covers(contraction, schedule.rows), 1
        else:
            few = columns.valid > 1 and are_few(kernel, schedule, columns, machine)
            narrow = min(NARROW_ROWS, schedule.rows * lanes // columns.lanes)  # as many sums where columns are fewer
            rows = rows_of_few(columns, machine) if few else max(schedule.rows, narrow)
            strips, panels = covers(contraction.extent(contraction.m), rows, overlap), schedule.panels
        groups = covers(columns.panels, panels, overlap)
        tasks = Tasks.of(contraction, schedule, strips, groups, columns, machine)
        found.append(Share(columns, strips, groups, tasks))
    return found


def copied_elements(kernel: Kernel, schedule: Schedule, lanes: int, machine: Machine) -> int:
    """How many elements the copies of rows take that the schedule asks for, of all tasks at once; 0 for none."""
    tiles = takes_tiles(kernel, machine)
    can = can_copy_tiles if tiles else can_copy
    if not schedule.copy or not can(kernel.contraction) or kernel.contraction.columns < lanes:
        return 0
    first = shares(kernel, schedule, lanes, machine)[0]
    depth = 0 if tiles else schedule.depth
    return first.tasks.at_once * task_elements(kernel, depth, first.strips, first.tasks, machine)


def write_tiles(
    kernel: Kernel,
    code: Loops,
    flats: Mapping[SSAValue, SSAValue],
    schedule: Schedule,
    lanes: int,
    machine: Machine,
    room: SSAValue | None = None,
) -> None:
    """Writes the tiles of `kernel` where `code` stands; `flats` are its arrays as one dimension.

    Rows of A are copied into `room`, for whole panels. Raises LaminaError where they do not fit.
    """
    contraction = kernel.contraction
    tiles = takes_tiles(kernel, machine)
    writer = (AmxWriter if tiles else GroupWriter if is_grouped(contraction) else TileWriter)(
        code, kernel, flats, schedule
    )
    needed = copied_elements(kernel, schedule, lanes, machine) if room is not None else 0
    if tiles:
        kernel.function.attributes[ROLLED] = UnitAttr()  # a round has as many products as there are tiles of sums
    found: list[Part] = []
    for number, part in enumerate(shares(kernel, schedule, lanes, machine)):
        copies, own = None, writer
        if are_few(kernel, schedule, part.columns, machine):
            own = FewColumnsWriter(code, kernel, flats, schedule, part.columns, machine.lanes(4))
        if room is not None and needed and not number:
            if needed > prod(memref_shape(room) or ()):
                raise LaminaError(f"schedule '{schedule}': the copies of rows have no room", where=contraction.op)
            size = needed // part.tasks.at_once
            copies = (TileCopies if tiles else Copies)(writer, room, part.strips, part.tasks, size, machine.lanes(4))
        found.append(Part(own, part, copies))
    parts = together(found)
    first = parts[0].share.tasks
    forked = [part for part in parts if first.fork and part.share.tasks.extents == first.extents]
    if forked:
        write_forked(code, forked)
    for part in parts:
        if part not in forked:
            write_nest(part)


def write_forked(code: Loops, parts: Sequence[Part]) -> None:
    """Tasks that threads share out, of all columns at once: they start and meet once."""
    tasks = parts[0].share.tasks

    def forked(i: SSAValue) -> None:
        for part in parts:
            part.begin()
            task_of(part)(tasks.operands(split(code, i, tasks.extents)), i)

    code.parallel(prod(tasks.extents), forked)


def write_nest(part: Part) -> None:
    """Batches, blocks of strips and blocks of groups as tasks, shared out or one after the other."""
    code, tasks = part.writer.code, part.share.tasks
    if tasks.fork:
        write_forked(code, [part])
        return
    task = task_of(part)

    def each(chosen: tuple[SSAValue | None, ...]) -> None:
        if len(chosen) == len(tasks.extents):
            task(tasks.operands(chosen), None)
        else:
            code.count(tasks.extents[len(chosen)], lambda i: each((*chosen, i)))

    part.begin()
    each(())


def task_of(whole: Part) -> Task:
    """What a task does: blocks of k, groups, then strips; or groups, blocks of k, then strips."""
    writer, part, copies, rest = whole.writer, whole.share, whole.copies, whole.rest
    code, columns = writer.code, part.columns
    row_blocks, panel_blocks = part.tasks.row_blocks, part.tasks.panel_blocks
    back = BACK in writer.kernel.function.attributes

    def task(operands: Sequence[SSAValue | None], number: SSAValue | None) -> None:
        """The tiles of one batch, block of rows and block of panels."""

        def own(strips: Cover, strip: SSAValue | None) -> SSAValue | None:
            """The number of a strip among those of the task."""
            if row_blocks == 1 or strip is None:
                return strip
            return code.index(D(0) - (D(1) * strips.tiles) // row_blocks, strip, operands[2])

        def copy_rows(block: SSAValue | None) -> None:
            def copy(strips: Cover, strip: SSAValue | None) -> None:
                assert copies is not None
                place = copies.place(strips, own(strips, strip), number, block)
                source = TilePlace(code, writer.contraction, columns, (operands[0], strips.start(code, strip), None))
                copies.fill(strips, source, place, block)

            for cover in part.strips if copies is not None else ():
                share(code, cover.tiles, row_blocks, operands[2], partial(copy, cover))

        def all_strips(panels: int, panel: SSAValue | None, block: SSAValue | None) -> None:
            copied = None if writer.panels_first else block

            def by_strip(strips: Cover, strip: SSAValue | None) -> None:
                row, mine = strips.start(code, strip), own(strips, strip)
                before = part.strips_before(strips)
                left = copies and copies.left(strips, copies.place(strips, mine, number, copied))
                writer.write(strips.size, panels, columns, (operands[0], row, panel), block, (before, mine), left)
                if rest is not None:
                    rest.writer.write(strips.size, 1, rest.share.columns, (operands[0], row, None), block, (0, None))

            for cover in part.strips:
                share(code, cover.tiles, row_blocks, operands[2], partial(by_strip, cover))

        def all_panels(each: Callable[[int, SSAValue | None], None]) -> None:
            for cover in reversed(part.groups) if back else part.groups:
                one = partial(lambda groups, group: each(groups.size, groups.start(code, group)), cover)
                share(code, cover.tiles, panel_blocks, operands[1], one, back)

        def by_depth(block: SSAValue | None) -> None:
            copy_rows(block)
            all_panels(lambda panels, panel: all_strips(panels, panel, block))

        if writer.panels_first:
            copy_rows(None)
            all_panels(lambda panels, panel: writer.over_depth(partial(all_strips, panels, panel)))
        else:
            writer.over_depth(by_depth)

    return task
