"""Register tiles that are tiles of AMX: two of A times two of B into four of sums, then the epilogue row by row.

after (bfloat16, packed in panels of 32 columns and pairs along k):
    %sums:4 = affine.for %k = 0 to 1024 step 32 iter_args(...) -> (!amx.tile<16x16xf32>, ...) {
      %a0 = amx.tile_load %x[%row + %k], %x_stride : memref<131072xbf16> into !amx.tile<16x32xbf16>
      %a1 = ...                                                                          // the next 16 rows
      %b0 = amx.tile_load %w[%panel + %k * 32], %w_stride : ... into !amx.tile<16x32xbf16>
      %b1 = ...                                                                          // the next 16 columns
      %s00 = amx.tile_mulf %a0, %b0, %s ...
    amx.tile_store %s00, %sums[...] ...                          // of the tile alone; %y itself, without an epilogue
    affine.for %i = 0 to 32 { ... the epilogue on row %i ... }

All tiles of a kernel have one shape, of which LLVM finds a configuration: the last rows overlap with those before them,
the last columns are as many as a panel is filled up to and are not stored. So k must be a multiple of a tile's depth. A
is read in place, where its rows must be evenly apart, or from copies in the order of tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, VectorType, bf16, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from ....dialects import amx, memref
from ....dialects.affine.linear_forms import Linear
from ....dialects.amx.types import ROW_BYTES, ROWS
from .analysis import Contraction, Kernel
from .groups import GroupWriter, is_unsigned
from .loops import D
from .schedule import Schedule, ceil_div
from .spot import Columns, TilePlace
from .tile import Fetch, Left, Step, k_levels
from .tile_copies import can_copy_tiles, row_elements

COLUMNS = ROW_BYTES // 4  # sums in a row of a tile
TILE_ROWS = 2 * ROWS
FEATURES: dict[tuple[int, Attribute], str] = {(2, bf16): "amx-bf16", (4, i8): "amx-int8"}  # by group along k, elements
FEWEST_ROWS = 4  # a tile of fewer is mostly empty
COPY_COLUMNS = 256  # that pay for copying A; this and the next two are measured on Sapphire Rapids
FEWEST_STRIPS, MOST_STRIPS = 4, 8  # of a block: they share the fetching of panels, and leave room in the caches


def takes_tiles(kernel: Kernel, machine: Machine) -> bool:
    """Whether the machine's tiles can compute this contraction."""
    contraction = kernel.contraction
    panels = contraction.panels
    if panels is None or contraction.a.element != contraction.b.element:
        return False
    if not machine.has_tiles(FEATURES.get((panels.group, contraction.b.element), "")):
        return False
    steps = [row_step(contraction, operand.form) for operand in (contraction.a, contraction.c)]
    whole = contraction.sizes[contraction.k[-1]] % row_elements(contraction) == 0
    rows = contraction.extent(contraction.m)
    return None not in steps and whole and rows >= FEWEST_ROWS and _begins_at_zero(kernel)


def tile_schedule(contraction: Contraction, chosen: Schedule, machine: Machine) -> Schedule:
    """Two rows of tiles, in blocks whose copies take a quarter of L2; the threads' parts are as `chosen` for vectors.

    Each strip of a block asks for its share of the next panel.
    """
    total = contraction.extent(contraction.m)
    rows, one_loop = min(TILE_ROWS, total), len(k_levels(contraction)) == 1
    copy = can_copy_tiles(contraction) and contraction.columns >= COPY_COLUMNS and rows == TILE_ROWS
    strips, row_blocks = ceil_div(total, rows), chosen.row_blocks
    if copy:
        strip_bytes = rows * contraction.extent(contraction.k) * ROW_BYTES // row_elements(contraction)
        together = min(max(machine.l2_bytes // 4 // strip_bytes, FEWEST_STRIPS), MOST_STRIPS)
        row_blocks = ceil_div(strips, together)
        if chosen.row_blocks % machine.cores == 0:
            row_blocks = min(strips, ceil_div(row_blocks, machine.cores) * machine.cores)
    ahead = next((n for n in (8, 4, 2) if n <= strips // row_blocks), 0) if one_loop else 0
    return replace(chosen, rows=rows, panels=1, row_blocks=row_blocks, depth=0, ahead=ahead, copy=int(copy))


def row_step(contraction: Contraction, form: Linear) -> int | None:
    """How many elements rows are apart in an array; None where they are not evenly so."""
    step = 0
    reach = 1
    for d in reversed(contraction.m):
        if reach == 1:
            step = form.coefficients[d]
        elif form.coefficients[d] != step * reach:
            return None
        reach *= contraction.sizes[d]
    return step


def _begins_at_zero(kernel: Kernel) -> bool:
    if kernel.fill is None or not isinstance(kernel.fill.value.owner, arith.ConstantOp):
        return False
    value = kernel.fill.value.owner.value
    return isinstance(value, IntegerAttr | FloatAttr) and value.value.data == 0


class AmxWriter(GroupWriter):
    """Writes tiles of `amx` where `GroupWriter` writes vectors."""

    sums: SSAValue | None = None

    def write(
        self,
        rows: int,
        panels: int,
        columns: Columns,
        operands: tuple[SSAValue | None, SSAValue | None, SSAValue | None],
        block: SSAValue | None,
        number: tuple[int, SSAValue | None],
        left: Left | None = None,
    ) -> None:
        place = TilePlace(self.code, self.contraction, columns, operands)
        height = min(rows, ROWS)
        firsts = list(dict.fromkeys((0, rows - height)))  # of rows: two tiles of one shape may overlap
        widths = range(0, columns.valid, COLUMNS)
        spots = [(first, width) for first in firsts for width in widths]
        type_ = amx.TileType.of((height, COLUMNS), self.sum_type)
        a, b_place = left or self.in_place(place, rows), self.b_place(place)
        apart = row_elements(self.contraction) if left else row_step(self.contraction, self.contraction.a.form)
        assert apart is not None

        start = self.lookahead.start(place, panels, number, None) if self.lookahead is not None else None

        def step(ks: Sequence[SSAValue], sums: Sequence[SSAValue], depth: int) -> list[SSAValue]:
            if start is not None:
                self.ask(start, depth, ks)
            lefts = {first: self.left((first, height), depth, a, apart, ks) for first in firsts}
            rights = {width: self.right(width, depth, b_place, ks) for width in widths}
            return [
                self.multiply(lefts[first], rights[width], total)
                for (first, width), total in zip(spots, sums, strict=True)
            ]

        sums = self.nest(step, (), [self.code(amx.TileZeroOp(type_)).res for _ in spots], None, None)
        beside = bool(self.kernel.epilogue) or columns.valid < place.panel_lanes
        self.settle(place, spots, sums, beside)
        if beside:
            self.finish_rows(rows, columns, operands)

    def nest(
        self,
        step: Step,
        ks: tuple[SSAValue, ...],
        sums: Sequence[SSAValue],
        block: SSAValue | None,
        fetch: Fetch | None,
    ) -> Sequence[SSAValue]:
        """As of vectors, but the innermost loop takes as much of k as a tile does; `step` is told how much."""
        if len(ks) < len(self.levels) - 1:
            return super(GroupWriter, self).nest(step, ks, sums, block, fetch)
        size, depth = self.levels[-1][0], ROWS * self.group

        def body(k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return step((*ks, k), carried, depth)

        return self.code.serial(AffineExpr.constant(0), AffineExpr.constant(size), (), sums, body, depth)

    def _can_ask(self, ahead: int) -> bool:
        return ahead > 1 and len(self.levels) == 1

    def ask(self, start: SSAValue, depth: int, ks: Sequence[SSAValue]) -> None:
        """Asks for this tile's share of the next panel: as much as it reads of its own, over how many tiles share."""
        panels, lookahead = self.contraction.panels, self.lookahead
        assert panels is not None and lookahead is not None
        line = row_elements(self.contraction)
        for first in range(0, depth * panels.lanes // lookahead.ahead, line):
            place = lookahead.walk // lookahead.ahead + D(0) + first
            self.code.prefetch(self.flats[self.contraction.b.value], place, start, *ks)

    def constant(self, number: int) -> SSAValue:
        """An index."""
        return self.code.index(AffineExpr.constant(number))

    def left(self, part: tuple[int, int], depth: int, a: Left, apart: int, ks: Sequence[SSAValue]) -> SSAValue:
        """Rows of A, so much of k, `apart` elements from one to the next."""
        first, count = part
        base, offset = a.places[first]
        where = self.code.index(D(0) + a.steps + offset, base, *ks)
        type_ = amx.TileType.of((count, depth), self.contraction.a.element)
        return self.code(amx.TileLoadOp(a.flat, [where], type_, self.constant(apart))).res

    def right(self, first: int, depth: int, b_place: SSAValue, ks: Sequence[SSAValue]) -> SSAValue:
        """So much of k of some columns of B, as it is packed: panels are filled up."""
        b, panels = self.contraction.b, self.contraction.panels
        assert panels is not None
        where = self.code.index(self.walk(2, 0) + first * panels.group, b_place, *ks)
        type_ = amx.TileType.of((depth // panels.group, COLUMNS * panels.group), b.element)
        stride = self.constant(panels.lanes * panels.group)
        return self.code(amx.TileLoadOp(self.flats[b.value], [where], type_, stride)).res

    def multiply(self, left: SSAValue, right: SSAValue, total: SSAValue) -> SSAValue:
        """One product of tiles."""
        if self.group == 2:
            return self.code(amx.TileMulFOp(left, right, total)).res
        argument = self.contraction.a_argument
        signs = {
            "zext_lhs": is_unsigned(self.contraction, argument),
            "zext_rhs": is_unsigned(self.contraction, 1 - argument),
        }
        return self.code(amx.TileMulIOp(left, right, total, **signs)).res

    def begin(self) -> None:
        """Room for the sums of a tile until the epilogue has them: C's own rows may lie in few sets of L1."""
        panels = self.contraction.panels
        assert panels is not None
        if self.kernel.epilogue or self.contraction.columns % panels.lanes:
            size = TILE_ROWS * panels.lanes
            self.sums = self.code(memref.AllocaOp.get(self.contraction.c.element, 64, [size])).memref

    def settle(
        self, place: TilePlace, spots: Sequence[tuple[int, int]], sums: Sequence[SSAValue], beside: bool
    ) -> None:
        """Stores the sums: where they belong, or `beside`, where the epilogue reads them."""
        c = self.contraction.c
        target, step = self.flats[c.value], row_step(self.contraction, c.form)
        if beside:
            assert self.sums is not None
            target, step = self.sums, place.panel_lanes
        assert step is not None
        for (row, column), total in zip(spots, sums, strict=True):
            if beside:
                where = self.constant(row * place.panel_lanes + column)
            else:
                where = self.code.index(place.position(c.form, row, 0) + column, *place.operands)
            self.code(amx.TileStoreOp(target, [where], total, self.constant(step)))

    def finish_rows(
        self,
        rows: int,
        columns: Columns,
        operands: tuple[SSAValue | None, SSAValue | None, SSAValue | None],
    ) -> None:
        """The epilogue, on one row after the other; only what are columns is stored."""
        batch, row, panel = operands
        panels = self.contraction.panels
        assert self.sums is not None and panels is not None
        sums, type_ = self.sums, VectorType(self.contraction.c.element, [columns.lanes])

        def body(i: SSAValue | None) -> None:
            at = self.code.index(D(0) + D(1), row, i) if row is not None and i is not None else row or i
            place = TilePlace(self.code, self.contraction, columns, (batch, at, panel))
            self.finish(place, [(0, 0)], [self.code.load_vector(type_, sums, D(0) * panels.lanes, i)])

        self.code.count(rows, body)
