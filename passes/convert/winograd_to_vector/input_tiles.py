"""The input transform: V = BT d B of every tile."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....dialects.affine.linear_forms import memref_shape, row_major_strides
from ....dialects.linalg import WinogradInputTransformOp
from ....dialects.linalg.winograd import matrices
from ..contraction_to_vector.loops import D, Loops
from .tiles import Channels, Index, Run, Scratch, Walk, between, runs, transform


class InputTiles:
    """Writes the loops of one transform. `tiles` is where its result goes, in one dimension, `tile_strides` how."""

    def __init__(self, op: WinogradInputTransformOp, code: Loops, machine: Machine):
        image, tiles = memref_shape(op.input), memref_shape(op.output)
        if image is None or tiles is None:
            raise LaminaError("a transform of buffers that are not plain", where=op)
        self.code = code
        self.m, self.alpha = op.m, op.alpha
        self.top, self.left = op.padding
        self.matrix = matrices(op.m).input
        self.batch, self.height, self.width, count = image
        self.tile_rows, self.tile_columns = tiles[2:4]
        self.image_strides, self.tile_strides = row_major_strides(image), row_major_strides(tiles)
        self.work = 4 * prod(tiles)
        self.image, self.tiles = code.flat(op.input), code.flat(op.output)
        self.walk = Walk(code, Channels.of(count, machine))

        self.runs = runs(self.tile_columns, self.inside)

    def write(self, cores: int) -> None:
        """All rows of tiles."""
        self.walk.rows(self.batch, self.tile_rows, self.work, cores, lambda n, row: self.row(n, row, n, row))

    def inside(self, column: int) -> tuple[int, int]:
        """The columns of a tile that lie in the image."""
        start = column * self.m - self.left
        return min(self.alpha, max(0, -start)), max(0, min(self.alpha, self.width - start))

    def row(self, n: Index, row: Index, to_n: Index, to_row: Index) -> None:
        """One row of tiles of the image, and where it goes."""
        scratch = Scratch(self.code, self.alpha, self.alpha, self.walk.channels.type)

        self.clear(scratch, row)

        def tile(run: Run, column: Index) -> None:
            self.walk.channels.each(
                self.code, lambda c: self.tile(scratch, run, (n, row, column, c), (to_n, to_row, column, c))
            )

        self.walk.columns(self.runs, tile)

    def clear(self, scratch: Scratch, row: Index) -> None:
        """Zeros for the rows outside of the image: the same for all tiles of a row, which leave them as they are."""
        zero = self.walk.zero
        assert zero is not None
        none, all_ = AffineExpr.constant(0), AffineExpr.constant(self.alpha)
        first, last = self.rows_inside()

        def no_row(i: SSAValue) -> None:
            for j in range(self.alpha):
                scratch.store(zero, D(0), j, i)

        if self.top:
            between(self.code, [none], [all_, first], row, no_row)
        if (self.tile_rows - 1) * self.m + self.alpha > self.height + self.top:
            between(self.code, [none, last], [all_], row, no_row)

    def rows_inside(self) -> tuple[AffineExpr, AffineExpr]:
        """The rows of a tile from the first to the last that lie in the image, over the row of tiles."""
        start = AffineExpr.constant(self.top) - D(0) * self.m
        return start, start + self.height

    def tile(self, scratch: Scratch, run: Run, place: Sequence[Index], to: Sequence[Index]) -> None:
        """Both passes over one tile's vector of channels."""
        zero = self.walk.zero
        assert zero is not None
        first, last = self.rows_inside()
        none, all_ = AffineExpr.constant(0), AffineExpr.constant(self.alpha)
        walk_n, walk_h, walk_w, _ = self.image_strides

        def along_row(i: SSAValue) -> None:
            y, x = D(1) * self.m + D(4) - self.top, D(2) * self.m - self.left
            start = D(0) * walk_n + y * walk_h + x * walk_w + D(3)
            values = [
                self.walk.load(self.image, start + j * walk_w, *place, i) if run.low <= j < run.high else None
                for j in range(self.alpha)
            ]
            for j, value in enumerate(transform(self.code, self.matrix, values, zero)):
                scratch.store(value, D(0), j, i)

        def along_column(j: SSAValue) -> None:
            values = [scratch.load(i, D(0), j) for i in range(self.alpha)]
            walk_a, walk_b, walk_i, walk_j, walk_n, _ = self.tile_strides
            start = D(0) * walk_n + D(1) * walk_i + D(2) * walk_j + D(3) + D(4) * walk_b
            for a, value in enumerate(transform(self.code, self.matrix, values, zero)):
                self.walk.store(value, self.tiles, start + a * walk_a, *to, j)

        between(self.code, [none, first], [all_, last], place[1], along_row)
        between(self.code, [none], [all_], None, along_column)
