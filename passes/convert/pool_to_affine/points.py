"""The loops of a pool with channels last: for each place of the result vectors of channels under its window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ..contraction_to_vector.loops import D
from .analysis import Band, Blocks
from .nest import Index, Nest


class Points(Nest):
    """Writes the loops of a pool of images whose last dimension are channels."""

    def write(self) -> None:
        """All images, at the same time where there is enough work; of few images some rows at the same time."""
        outer = list(self.pool.outer)
        if not self.problem.is_parallel:
            self.nested(outer, self.image)
        elif self.problem.by_planes:
            self.parallel(outer, 1, lambda _: self.image())
        else:
            for blocks in self.problem.blocks:
                self.parallel(outer, blocks.count, partial(self.block, blocks))

    def image(self) -> None:
        """One image: its blocks one after another."""
        for blocks in self.problem.blocks:
            self.code.count(blocks.count, partial(self.block, blocks))

    def block(self, blocks: Blocks, index: Index) -> None:
        """The rows of one block, kind by kind."""
        first = D(0) * blocks.rows + blocks.first
        for band in blocks.bands:
            self.code.count(band.count, partial(self.row, first, band, index))

    def row(self, first: AffineExpr, band: Band, index: Index, row: Index) -> None:
        """One row of the result, of those of a kind that a block has: its places, kind by kind."""
        number = first + (D(1) + band.first)
        for columns in self.problem.columns:
            self.code.count(columns.count, partial(self.place, number, band, columns, [index, row]))

    def place(self, number: AffineExpr, band: Band, columns: Band, at: Sequence[Index], column: Index) -> None:
        """All channels of one place."""
        problem, rows, beside = self.problem, self.pool.rows, self.pool.columns
        across = D(2) + columns.first
        under = [
            (
                number * rows.stride + (above * rows.dilation - problem.above),
                across * beside.stride + (left * beside.dilation - problem.before),
            )
            for above in band.taps
            for left in columns.taps
        ]
        outer = [D(4 + d) for d in range(len(self.outer))]

        def once(channel: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            operands = [*at, column, channel, *self.outer]
            total = problem.start
            for place in under:
                total = self.combine(self.load(problem.image, [*outer, *place, D(3)], operands), total)
            self.finish(total, [*outer, number, across, D(3)], operands)
            return ()

        self.code.serial(AffineExpr.constant(0), AffineExpr.constant(self.pool.channels), (), (), once)
