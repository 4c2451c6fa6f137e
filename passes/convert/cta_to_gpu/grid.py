"""Which tile of the result a block computes."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ....dialects.cta import ProgramOp
from ....dialects.gpu import BlockIdOp
from .kernel import D0, Kernel

GROUP = 8  # rows of tiles that blocks with neighbouring numbers share, so that they find operands in the cache


class Grid:
    """The tiles of a program's result, taken by `blocks` blocks: one each, or by turns where they are fewer."""

    def __init__(self, kernel: Kernel, program: ProgramOp, most_blocks: int = 0):
        sizes, self.tile = program.extents
        self.counts = [-(-size // step) for size, step in zip(sizes, self.tile, strict=True)]
        self.tiles = prod(self.counts)
        self.blocks = min(self.tiles, most_blocks) if most_blocks else self.tiles
        self.program = program
        self.number: SSAValue = kernel.early(BlockIdOp("x")).result

    def enter(self, kernel: Kernel, number: SSAValue) -> list[SSAValue]:
        """Where the tile of a number begins: which matrix, row and column. The program's arguments are that now."""
        _, down, across = self.counts
        group = GROUP if down % GROUP == 0 else 1
        batch = D0 // (down * across)
        row = D0 // (group * across) % (down // group) * group + D0 % group
        column = D0 // group % across
        corner = [kernel.apply(expr * step, number) for expr, step in zip((batch, row, column), self.tile, strict=True)]
        kernel.arguments.update(zip(self.program.body.block.args, corner, strict=True))
        return corner
