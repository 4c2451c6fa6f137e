"""The loops of a depthwise convolution: planes as tasks, blocks of rows, tiles of rows by a vector of columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from ....dialects import vector
from ..contraction_to_vector.epilogue import Epilogue, overlap_is_harmless, unread_arrays
from ..contraction_to_vector.loops import D, Loops
from ..contraction_to_vector.schedule import ceil_div
from ..contraction_to_vector.spot import Columns, TilePlace
from ..contraction_to_vector.tasks import Cover
from .analysis import Problem
from .rows import Index, Layout, Rows, Slot, widest

MOST_ROWS = 8  # of a tile: sums, the taps of a column of the window and a row under it stay in registers
MOST_PRODUCTS = 200  # of a tile, all of them written out
FEWEST_ROWS = 5  # where that leaves fewer, only the products with a column of the window are written out, of which
MOST_OF_COLUMN = 256  # there may be so many
MOST_PLANES = 8  # small ones, copied before their sums: what was stored has arrived when it is loaded


class Planes:
    """Writes the loops of one kernel."""

    def __init__(self, problem: Problem, code: Loops, machine: Machine):
        self.problem, self.code, self.machine = problem, code, machine
        self.kernel, self.convolution = problem.kernel, problem.convolution
        self.contraction = problem.kernel.contraction
        self.overlap = overlap_is_harmless(self.kernel)
        self.rows = self.tile_rows()
        self.cover = Cover(0, self.convolution.output[0], self.rows)
        self.layout = Layout.of(problem, machine.lanes(4))
        self.block = self.block_tiles()
        arrays = [problem.image, self.contraction.a.value, self.contraction.c.value]
        arrays += [value for op in self.kernel.epilogue for value in (*op.inputs, *op.outputs)]
        self.flats = {value: code.flat(value) for value in dict.fromkeys(arrays)}
        self.epilogue = Epilogue(self.kernel, self.flats)
        self.unread = unread_arrays(self.kernel)

    @property
    def loops_over_columns(self) -> bool:
        """Whether the columns of a window are a loop, each of which then reads a number further."""
        c = self.convolution
        return c.strides[1] == 1 and FEWEST_ROWS * c.window[0] * c.window[1] > MOST_PRODUCTS

    def tile_rows(self) -> int:
        """Rows of a tile: tiles of one size, which overlap where that does no harm, else divide the rows."""
        height = self.convolution.output[0]
        taps, columns = self.convolution.window
        wanted = MOST_OF_COLUMN // taps if self.loops_over_columns else MOST_PRODUCTS // (taps * columns)
        most = max(1, min(MOST_ROWS, wanted, height))
        if self.overlap:
            return ceil_div(height, ceil_div(height, most))
        return max(rows for rows in range(1, most + 1) if height % rows == 0)

    def source_rows(self, tiles: int) -> int:
        """Rows of the padded image under so many tiles."""
        return (tiles * self.rows - 1) * self.convolution.strides[0] + self.convolution.reach[0]

    def block_tiles(self) -> int:
        """Tiles whose rows fill half of the first-level cache; as even blocks as can be."""
        tiles, room = self.cover.tiles, self.machine.l1_bytes // 8 // self.layout.pitch
        most = max((t for t in range(1, tiles + 1) if self.source_rows(t) <= room), default=1)
        return ceil_div(tiles, ceil_div(tiles, most))

    def write(self) -> None:
        """All planes, in equal shares for the threads."""
        c = self.convolution
        planes = c.batch * c.channels
        work = planes * c.output[0] * c.output[1] * c.window[0] * c.window[1]
        cores = self.machine.cores if planes >= self.machine.cores and work >= self.machine.worth_forking else 1
        count, blocks = self.source_rows(self.block), ceil_div(self.cover.tiles, self.block)
        room = self.machine.l1_bytes // 8 // (count * self.layout.pitch)
        together = max(1, min(MOST_PLANES, room)) if blocks == 1 else 1

        def share(thread: Index) -> None:
            rows = Rows(self.problem, self.code, self.layout, count, together)
            low, high = (D(0) * planes) // cores, (D(0) * planes + planes) // cores

            def some(first: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                end = [D(0) + together, (D(1) * planes + planes) // cores]
                each = partial(self.code.serial, D(0), end, (first, thread), ())

                def slot(plane: SSAValue) -> Slot:
                    return Slot(plane, self.code.index((D(0) - D(1)) * count, plane, first) if together > 1 else None)

                def block(number: Index) -> None:
                    base, image = self.base(number), self.flats[self.problem.image]
                    each(lambda plane, _: rows.fetch(image, slot(plane), base))
                    each(lambda plane, _: self.tiles(rows, slot(plane), base, number))

                self.code.count(blocks, block)
                return ()

            self.code.serial(low, high, (thread,), (), some, together)

        if cores > 1:
            self.code.parallel(cores, share)
        else:
            share(None)

    def base(self, block: Index) -> Index:
        """The first row of sums of a block."""
        if block is None:
            return None
        last = self.convolution.output[0] - self.rows
        return self.code.least([D(0) * (self.block * self.rows), AffineExpr.constant(last)], block)

    def tiles(self, rows: Rows, slot: Slot, base: Index, block: Index) -> Sequence[SSAValue]:
        """The sums of a block."""
        runs = self.runs()

        def tile(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row = self.cover.start(self.code, number)
            for columns in runs:
                self.code.count(columns.panels, lambda i, run=columns: self.sums(rows, slot, base, row, run, i))
            return ()

        end = [D(0) * self.block + self.block, AffineExpr.constant(self.cover.tiles)]
        return self.code.serial(D(0) * self.block, end, (block,), (), tile)

    def runs(self) -> list[Columns]:
        """Vectors that cover a row: the last one overlaps where that does no harm, else they get narrower."""
        width = self.convolution.output[1]
        lanes = widest(self.layout.lanes, width)
        runs = [Columns(0, width // lanes, lanes, lanes)]
        first = width // lanes * lanes
        while first < width:
            narrow = widest(lanes, width - first)
            runs.append(Columns(width - lanes, 1, lanes, lanes) if self.overlap else Columns(first, 1, narrow, narrow))
            first += lanes if self.overlap else narrow
        return runs

    def sums(self, rows: Rows, slot: Slot, base: Index, row: Index, columns: Columns, panel: Index) -> None:
        """A vector of columns of the rows of a tile."""
        c, code, fill = self.convolution, self.code, self.kernel.fill
        type_, pitch = VectorType(f32, [columns.lanes]), self.layout.pitch
        start = ((D(0) - D(1)) * c.strides[0] + D(3)) * pitch + D(2) * columns.lanes + columns.first
        source = code.index(start, row, base, panel, slot.row)
        assert fill is not None
        sums: Sequence[SSAValue] = [code(vector.BroadcastOp(fill.value, type_)).vector] * self.rows

        def column(j: int, at: SSAValue, number: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            """The products with column `number` + `j` of the window, that is under the columns from `at` on."""
            totals, taps = list(sums), [self.tap(slot.plane, i, j, type_, number) for i in range(c.window[0])]
            for line, users in self.users().items():
                x = rows.load(type_, line, j * c.dilations[1], at)
                for r, i in users:
                    totals[r] = code(vector.FMAOp(taps[i], x, totals[r])).res
            return totals

        if self.loops_over_columns:
            zero, end = AffineExpr.constant(0), AffineExpr.constant(c.window[1])

            def shifted(j: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return column(0, code.index(D(0) + D(1) * c.dilations[1], source, j), j, sums)

            sums = code.serial(zero, end, (), sums, shifted)
        else:
            for j in range(c.window[1]):
                sums = column(j, source, None, sums)
        place = TilePlace(code, self.contraction, columns, (slot.plane, row, panel))
        for r, total in enumerate(sums):
            position = place.position(self.contraction.c.form, r, 0)
            for array, value in self.epilogue.apply(place, r, 0, total).items():
                if array not in self.unread:
                    code.store_vector(value, self.flats[array], position, *place.operands)

    def users(self) -> dict[int, list[tuple[int, int]]]:
        """For each row under a tile, in order, the row of sums and the row of the window that it is for."""
        c = self.convolution
        found: dict[int, list[tuple[int, int]]] = {}
        for r in range(self.rows):
            for i in range(c.window[0]):
                found.setdefault(r * c.strides[0] + i * c.dilations[0], []).append((r, i))
        return dict(sorted(found.items()))

    def tap(self, plane: SSAValue, i: int, j: int, type_: VectorType, number: Index) -> SSAValue:
        """One number of the channel's window in all lanes."""
        height, width = self.convolution.window
        channel = D(0) % self.convolution.channels if self.convolution.batch > 1 else D(0)
        place = channel * (height * width) + (i * width + j)
        if number is not None:
            place = place + D(1)
        value = self.code.load(self.flats[self.contraction.a.value], place, plane, number)
        return self.code(vector.BroadcastOp(value, type_)).vector
