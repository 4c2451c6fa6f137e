"""The loops of a pool of planes: for each row of the result the columns under its windows, then the windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.affine.linear_forms import memref_shape
from ....dialects.memref import AllocaOp
from ...bufferization.layout import ALIGNMENT
from ..contraction_to_vector.loops import D, Loops
from .analysis import Band, Blocks, Problem
from .nest import Index, Nest


class Rows(Nest):
    """Writes the loops of a pool of planes."""

    def __init__(self, problem: Problem, code: Loops):
        super().__init__(problem, code)
        self.plane: Index = None  # among those that are taken together; `outer` has the others

    @property
    def rounds(self) -> list[int]:
        """How many times planes are taken together, by dimension."""
        *others, last = self.pool.outer or (1,)
        return [*others, last // self.problem.together]

    def write(self) -> None:
        """All planes, at the same time where there is enough work; of few planes some rows at the same time."""
        if not self.problem.is_parallel:
            rows = self.rows()
            self.nested(self.rounds, lambda: self.planes(rows))
        elif self.problem.by_planes:
            self.parallel(self.rounds, 1, lambda _: self.planes(self.rows()))
        else:
            for blocks in self.problem.blocks:
                self.parallel(self.rounds, blocks.count, partial(self.block_alone, blocks))

    def block_alone(self, blocks: Blocks, index: Index) -> None:
        """A block with memory of its own."""
        rows = self.rows()
        self.columns_around(rows)
        self.block(rows, blocks, index)

    def rows(self) -> SSAValue:
        """Memory for what the columns under a block come to."""
        count = max(blocks.rows for blocks in self.problem.blocks)
        shape = [self.problem.together, count, self.problem.pitch]
        return self.code(AllocaOp.get(self.problem.element, ALIGNMENT, shape)).memref

    def columns_around(self, rows: SSAValue) -> None:
        """What is beside the image, which stays."""
        before, width = self.problem.before, self.problem.size[1]
        places = [*range(before), *range(before + width, self.pool.columns.reach)]
        shape = memref_shape(rows)
        assert shape is not None
        constants = [AffineExpr.constant(place + self.problem.shift) for place in places]

        def once(plane: Index, row: Index) -> None:
            for place in constants:
                self.store(self.problem.start, rows, [D(0), D(1), place], [plane, row])

        if places:
            self.code.count(shape[0], lambda plane: self.code.count(shape[1], partial(once, plane)))

    def planes(self, rows: SSAValue) -> None:
        """Planes that are taken together: their blocks one after another."""
        self.columns_around(rows)
        for blocks in self.problem.blocks:
            self.code.count(blocks.count, partial(self.block, rows, blocks))

    def block(self, rows: SSAValue, blocks: Blocks, index: Index) -> None:
        """One block: what the columns under its windows come to, then the windows."""
        first = D(0) * blocks.rows + blocks.first

        def columns(band: Band, row: Index) -> None:
            self.columns(rows, first, band, [index, row])

        def all_columns() -> None:
            for band in blocks.bands:
                self.code.count(band.count, partial(columns, band))

        def all_windows() -> None:
            self.code.count(blocks.rows, lambda row: self.windows(rows, first + D(1), [index, row]))

        for part in (all_columns, all_windows):
            self.each(part)

    def each(self, body: Callable[[], None]) -> None:
        """Planes that are taken together, one after another."""

        def once(plane: Index) -> None:
            self.plane = plane
            body()

        self.code.count(self.problem.together, once)

    def columns(self, rows: SSAValue, first: AffineExpr, band: Band, place: Sequence[Index]) -> None:
        """What the columns under one row of the result come to: of the block and row at `place`."""
        problem, side = self.problem, self.pool.rows
        number = first + (D(1) + band.first)
        under = [number * side.stride + (tap * side.dilation - problem.above) for tap in band.taps]
        width = min(problem.size[1], self.pool.columns.reach - problem.before)

        def once(column: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            operands = [*place, column, self.plane, *self.outer]
            found = [self.load(problem.image, [*self.plane_place, above, D(2)], operands) for above in under]
            total = reduce(lambda total, value: self.combine(value, total), found)
            self.store(total, rows, [D(3), D(1) + band.first, D(2) + (problem.before + problem.shift)], operands)
            return ()

        if width > 0:
            self.code.serial(AffineExpr.constant(0), AffineExpr.constant(width), (), (), once)

    def windows(self, rows: SSAValue, number: AffineExpr, place: Sequence[Index]) -> None:
        """One row of the result, which is `number` of the block and row at `place`."""
        problem, side = self.problem, self.pool.columns

        def once(column: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            operands = [*place, column, self.plane, *self.outer]
            total = problem.start
            for tap in range(side.taps):
                element = D(2) * side.stride + (tap * side.dilation + problem.shift)
                total = self.combine(self.load(rows, [D(3), D(1), element], operands), total)
            self.finish(total, [*self.plane_place, number, D(2)], operands)
            return ()

        self.code.serial(AffineExpr.constant(0), AffineExpr.constant(side.output), (), (), once)

    @property
    def plane_place(self) -> list[AffineExpr]:
        """The outer dimensions, over block, row, column, plane among those taken together, and what is outside."""
        if not self.pool.outer:
            return []
        outer = [D(4 + d) for d in range(len(self.outer))]
        return [*outer[:-1], outer[-1] * self.problem.together + D(3)]
