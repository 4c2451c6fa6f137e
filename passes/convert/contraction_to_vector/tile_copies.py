"""Copies of the rows of A for tiles of AMX: each tile in one piece, row behind row.

    after (strips of 32 rows of bfloat16):
        %copy: x[0, 0:32], x[1, 0:32], ... x[31, 0:32], x[0, 32:64], ...

A tile's rows where they lie are as far apart as rows of A: a power of two brings all of them into a few sets of L1,
where they throw each other out before the tile is read again for the next panel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FixedBitwidthType, VectorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.amx.types import ROW_BYTES
from .analysis import Contraction
from .copies import Copies
from .loops import D
from .spot import TilePlace
from .tasks import Cover
from .tile import Left, k_levels


def can_copy_tiles(contraction: Contraction) -> bool:
    """Whether rows of A can be copied into tiles: they are contiguous, along one loop over k, and fill them."""
    levels = k_levels(contraction)
    return len(levels) == 1 and levels[0][1] == 1 and levels[0][0] % row_elements(contraction) == 0


def row_elements(contraction: Contraction) -> int:
    """How many elements of A are a row of a tile."""
    assert isinstance(contraction.a.element, FixedBitwidthType)
    return ROW_BYTES * 8 // contraction.a.element.bitwidth


@dataclass(frozen=True)
class TileCopies(Copies):
    """As `Copies`, in the order of tiles; all of k at once."""

    def left(self, strips: Cover, place: SSAValue) -> Left:
        row = row_elements(self.writer.contraction)
        return Left(self.flat, [(place, number * row) for number in range(strips.size)], D(1) * strips.size)

    def fill(self, strips: Cover, source: TilePlace, place: SSAValue, block: SSAValue | None) -> None:
        code, size, contraction = self.writer.code, strips.size, self.writer.contraction
        rows, target = self.writer.in_place(source, size), self.left(strips, place)
        row = row_elements(contraction)
        type_ = VectorType(contraction.a.element, [row])

        def once(k: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for (read, read_offset), (write, offset) in zip(rows.places, target.places, strict=True):
                values = code.load_vector(type_, rows.flat, D(0) + rows.steps + read_offset, read, k)
                code.store_vector(values, self.flat, D(0) + target.steps + offset, write, k)
            return ()

        code.serial(AffineExpr.constant(0), AffineExpr.constant(self._depth), (), (), once, row)

    @property
    def _depth(self) -> int:
        return self.writer.levels[0][0]
