"""Register tiles that are tiles of AMX: two of A times two of B into four of sums, then the epilogue row by row.

after (bfloat16, packed in panels of 32 columns and pairs along k):
    %sums:4 = affine.for %k = 0 to 1024 step 32 iter_args(...) -> (!amx.tile<16x16xf32>, ...) {
      %a0 = amx.tile_load %x[%row + %k], %x_stride : memref<131072xbf16> into !amx.tile<16x32xbf16>
      %b0 = amx.tile_load %w[%panel + %k * 32], %w_stride : ... into !amx.tile<16x32xbf16>
      %s00 = amx.tile_mulf %a0, %b0, %s ...
      ...                                                        // the next 16 columns, then the next 16 rows with both
    amx.tile_store %s00, %sums[...] ...                          // of the tile alone; %y itself, without an epilogue
    affine.for %i = 0 to 32 { ... the epilogue on row %i ... }

All tiles of a kernel have one shape, of which LLVM finds a configuration: the last rows overlap with those before
them, the last columns are as many as a panel is filled up to and are not stored. A tile is as deep as an equal part
of the innermost loop over k, and `amx_schedule` says how high. A is read in place, or from copies in the order of
tiles; past L1, which belongs to what a panel has of a block of k, but of windows, whose neighbours read the same.
Between blocks the sums of a task's strips wait in memory of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.diagnostics import LaminaError
from ....dialects import amx, memref, vector
from .amx_schedule import COLUMNS, TILE_ROWS, row_step, tile_depth, tile_rows
from .groups import GroupWriter, is_unsigned
from .lookahead import Lookahead
from .loops import D
from .schedule import ceil_div
from .spot import Columns, TilePlace, zero
from .tile import Fetch, Left, Step
from .tile_copies import row_elements

MOST_SUMS = 4  # tiles of them at a time
MOST_WAITING = 32  # strips whose sums lie on the stack between blocks of k


@dataclass(frozen=True)
class Run:
    """One block of k, `depth` of it: whether it begins its sums, and whether it ends them."""

    depth: int
    begins: bool = True
    ends: bool = True


class AmxWriter(GroupWriter):
    """Writes tiles of `amx` where `GroupWriter` writes vectors."""

    panels_first = True  # a panel's block stays in L1 while all strips pass by
    sums: SSAValue | None = None
    zeros: SSAValue | None = None  # a row of them for each tile of sums
    run: Run | None = None  # None: all of k at once
    passes_by: bool = False  # whether strips of A take turns while a panel stays in L1

    @property
    def depth_blocks(self) -> int:
        """How many blocks of the innermost loop over k there are in all rounds of the others."""
        if not self.depth or not self.levels:
            return 1
        *outer, innermost = [level[0] for level in self.levels]
        return prod(outer) * ceil_div(innermost, self.depth)

    def over_depth(self, body: Callable[[SSAValue | None], None]) -> None:
        """The first and the last block are written apart: one begins the sums, the other ends them."""
        count, size = self.depth_blocks, self.levels[-1][0]
        if count == 1:
            body(None)
            return

        def once(block: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(block)
            return ()

        self.run = Run(self.depth, ends=False)
        body(self.constant(0))
        self.run = Run(self.depth, begins=False, ends=False)
        if count == 3:
            body(self.constant(1))
        elif count > 3:
            self.code.serial(AffineExpr.constant(1), AffineExpr.constant(count - 1), (), (), once)
        self.run = Run(size - (ceil_div(size, self.depth) - 1) * self.depth, begins=False)
        body(self.constant(count - 1))
        self.run = None

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
        height = min(rows, tile_rows(self.contraction))
        firsts = list(dict.fromkeys((0, rows - height)))  # of rows: two tiles of one shape may overlap
        widths = range(0, columns.valid, COLUMNS)
        spots = [(first, width) for first in firsts for width in widths]
        type_ = amx.TileType.of((height, COLUMNS), self.sum_type)
        b_place = self.b_place(place)
        apart = row_elements(self.contraction) if left else row_step(self.contraction, self.contraction.a.form)
        places = [left.places[first] for first in firsts] if left else self.a_places(place, firsts)
        flat, steps = (left.flat, left.steps) if left else (self.flats[self.contraction.a.value], self.steps(1))
        begins = dict(zip(firsts, places, strict=True))

        start = self.lookahead.start(place, panels, number, block) if self.lookahead is not None else None
        run = self.run or Run(self.levels[0][0])
        strip = self.strip(number) if self.run is not None else None  # where its sums wait
        depth = tile_depth(self.contraction)

        def step(ks: Sequence[SSAValue], sums: Sequence[SSAValue]) -> list[SSAValue]:
            if start is not None:
                self.ask(start, depth, ks)
            lefts: dict[int, SSAValue] = {}
            rights: dict[int, SSAValue] = {}
            after: list[SSAValue] = []
            for (first, width), total in zip(spots, sums, strict=True):  # a product for each load that it waits for
                if first not in lefts:
                    base, offset = begins[first]
                    where = self.code.index(D(0) + steps + offset, base, *ks)
                    lefts[first] = self.left(flat, where, (height, depth), apart)
                if width not in rights:
                    rights[width] = self.right(width, depth, b_place, ks)
                after.append(self.multiply(lefts[first], rights[width], total))
            return after

        sums = [
            self.zero(type_, which) if run.begins else self.waiting(type_, spot, strip)
            for which, spot in enumerate(spots)
        ]
        sums = self.nest(step, (), sums, block, None)
        beside = self.is_beside(columns)
        self.settle(place, spots, sums, strip, beside or not run.ends)
        if beside and run.ends:
            self.finish_rows(rows, columns, operands, strip)

    def nest(
        self,
        step: Step,
        ks: tuple[SSAValue, ...],
        sums: Sequence[SSAValue],
        block: SSAValue | None,
        fetch: Fetch | None,
    ) -> Sequence[SSAValue]:
        """As of vectors, but the innermost loop takes as much of k as a tile does, and blocks are of that."""
        *outer, (size, _, _) = self.levels
        depth, first = tile_depth(self.contraction), AffineExpr.constant(0)
        if self.run is not None:
            every = ceil_div(size, self.depth)
            first, size = D(0) % every * self.depth if outer else D(0) * self.depth, self.run.depth
            rounds = [level[0] for level in outer]
            inside = [every * prod(rounds[i + 1 :]) for i in range(len(outer))]
            ks = tuple(self.code.index(D(0) // n % count, block) for n, count in zip(inside, rounds, strict=True))
        if len(ks) < len(outer):
            return super(GroupWriter, self).nest(step, ks, sums, block, fetch)

        def body(k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return step((*ks, k), carried)

        return self.code.serial(first, first + size, (block,), sums, body, depth)

    def _can_ask(self, ahead: int) -> bool:
        behind = all(a[2] == b[0] * b[2] for a, b in pairwise(self.levels))
        return ahead > 1 and behind

    def _lookahead(self, ahead: int) -> Lookahead:
        rows = self.depth or prod(level[0] for level in self.levels)
        return Lookahead(self.code, self.contraction, self.flats, self.steps(2), rows, ahead, self.panels_first)

    def ask(self, start: SSAValue, depth: int, ks: Sequence[SSAValue]) -> None:
        """Asks for this tile's share of the next panel: as much as it reads of its own, over how many tiles share."""
        panels, lookahead = self.contraction.panels, self.lookahead
        assert panels is not None and lookahead is not None
        line = row_elements(self.contraction)
        for first in range(0, depth * panels.lanes // lookahead.ahead, line):
            place = lookahead.walk // lookahead.ahead + D(0) + first
            self.code.prefetch(self.flats[self.contraction.b.value], place, start, *ks, locality=2)

    def constant(self, number: int) -> SSAValue:
        """An index."""
        return self.code.index(AffineExpr.constant(number))

    def left(self, flat: SSAValue, where: SSAValue, shape: tuple[int, int], apart: int) -> SSAValue:
        """Rows of A, so much of k of each, `apart` elements from one to the next."""
        type_ = amx.TileType.of(shape, self.contraction.a.element)
        load = amx.TileLoadOp(flat, [where], type_, self.constant(apart), nontemporal=self.passes_by)
        return self.code(load).res

    def right(self, first: int, depth: int, b_place: SSAValue, ks: Sequence[SSAValue]) -> SSAValue:
        """So much of k of some columns of B, as it is packed: panels are filled up."""
        b, panels = self.contraction.b, self.contraction.panels
        assert panels is not None
        where = self.code.index(self.walk(2) + first * panels.group, b_place, *ks)
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

    def begin(self, strips: int) -> None:
        """Room for the sums of a tile until the epilogue has them: C's own rows may lie in few sets of L1.

        And for those of all strips of a task between blocks of k.
        """
        panels = self.contraction.panels
        assert panels is not None
        self.passes_by = strips > 1 and len(self.levels) == 1  # windows read what others have read
        self.zeros = self.code(memref.AllocaOp.get(self.sum_type, 64, [MOST_SUMS * COLUMNS])).memref
        row = VectorType(self.sum_type, [MOST_SUMS * COLUMNS])
        nothing = self.code(vector.BroadcastOp(zero(self.code, self.sum_type), row)).vector
        self.code.store_vector(nothing, self.zeros, AffineExpr.constant(0))
        if self.depth_blocks > 1 and strips > MOST_WAITING:
            raise LaminaError(
                f"the sums of {strips} strips would wait between blocks of k: at most {MOST_WAITING} may",
                where=self.contraction.op,
                hint="more row_blocks, or depth=0",
            )
        if self.is_beside(None) or self.depth_blocks > 1:
            size = TILE_ROWS * panels.lanes * (strips if self.depth_blocks > 1 else 1)
            self.sums = self.code(memref.AllocaOp.get(self.sum_type, 64, [size])).memref

    def zero(self, type_: amx.TileType, number: int) -> SSAValue:
        """A tile of zeros, from memory, each from elsewhere: of equal ones LLVM makes one, and copies it by memory."""
        assert self.zeros is not None
        return self.code(amx.TileLoadOp(self.zeros, [self.constant(number * COLUMNS)], type_, self.constant(0))).res

    def is_beside(self, columns: Columns | None) -> bool:
        """Whether sums of these columns, or of some, go elsewhere first: to an epilogue, or where some are none."""
        panels = self.contraction.panels
        assert panels is not None
        valid = self.contraction.columns % panels.lanes == 0 if columns is None else columns.valid == panels.lanes
        return bool(self.kernel.epilogue) or not valid

    def strip(self, number: tuple[int, SSAValue | None]) -> SSAValue:
        """Where the sums of this strip of a task wait."""
        panels = self.contraction.panels
        assert panels is not None
        before, own = number
        return self.code.index((D(0) + before) * (TILE_ROWS * panels.lanes), own)

    def waiting(self, type_: amx.TileType, spot: tuple[int, int], strip: SSAValue | None) -> SSAValue:
        """The sums so far."""
        panels = self.contraction.panels
        assert self.sums is not None and panels is not None
        where = self.code.index(D(0) + spot[0] * panels.lanes + spot[1], strip)
        return self.code(amx.TileLoadOp(self.sums, [where], type_, self.constant(panels.lanes))).res

    def settle(
        self,
        place: TilePlace,
        spots: Sequence[tuple[int, int]],
        sums: Sequence[SSAValue],
        strip: SSAValue | None,
        beside: bool,
    ) -> None:
        """Stores the sums: where they belong, or `beside`, where the next block or the epilogue reads them."""
        c = self.contraction.c
        target, step = self.flats[c.value], row_step(self.contraction, c.form)
        if beside:
            assert self.sums is not None
            target, step = self.sums, place.panel_lanes
        for (row, column), total in zip(spots, sums, strict=True):
            if beside:
                where = self.code.index(D(0) + row * place.panel_lanes + column, strip)
            else:
                where = self.code.index(place.position(c.form, row, 0) + column, *place.operands)
            self.code(amx.TileStoreOp(target, [where], total, self.constant(step)))

    def finish_rows(
        self,
        rows: int,
        columns: Columns,
        operands: tuple[SSAValue | None, SSAValue | None, SSAValue | None],
        strip: SSAValue | None,
    ) -> None:
        """The epilogue, on one row after the other; only what are columns is stored."""
        batch, row, panel = operands
        panels = self.contraction.panels
        assert self.sums is not None and panels is not None
        sums, type_ = self.sums, VectorType(self.sum_type, [columns.lanes])

        def body(i: SSAValue | None) -> None:
            at = self.code.index(D(0) + D(1), row, i) if row is not None and i is not None else row or i
            place = TilePlace(self.code, self.contraction, columns, (batch, at, panel))
            self.finish(place, [(0, 0)], [self.code.load_vector(type_, sums, D(0) * panels.lanes + D(1), i, strip)])

        self.code.count(rows, body)
