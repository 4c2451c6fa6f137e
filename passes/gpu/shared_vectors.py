"""What all rows read, as the scale of a norm, comes into shared memory once for the rows of a block.

How many rows a block has is found by counting: more of them read it seldom, and fewer blocks keep a GPU less busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...dialects.affine import ParallelOp, VectorLoadOp
from ...dialects.gpu.ops import WARP
from .row_boxes import ROOM, Box, Part, RowAccess, Staging, part_of
from .tiles_read import slowed

THREADS = 128  # of a block at least
USUAL = 256  # of a block, by which enough of them are counted
MOST = 512  # and at most, since rows are in registers


def sharing_of(
    loop: ParallelOp, sizes: Sequence[int], length: int, team: int, width: int, times: int
) -> Staging | None:
    """The rows of a block, and what of theirs is in shared memory; None where they have nothing in common.

    Of rows that are a part of so many `times` as many.
    """
    accesses = [op for op in loop.body.block.ops if isinstance(op, RowAccess)]
    parts = [part for op in accesses if (part := part_of(op, loop.body.block.args)) is not None]
    common = [Part(p.op, (0,), p.step, p.start) for p in parts if isinstance(p.op, VectorLoadOp) and not any(p.steps)]
    if not common or team > WARP or sum(length * p.itemsize + 16 for p in common) > ROOM:
        return None
    total = prod(sizes)
    own = sum(_rows_of(part, sizes) for part in parts if any(part.steps)) * length
    shared = sum(part.itemsize for part in common) * length
    counts = [n // team for n in (THREADS, 2 * THREADS, MOST) if n == THREADS or n // team <= total]

    def cost(rows: int) -> float:
        blocks = -(-total // rows)
        moved = own + blocks * shared
        return moved * slowed(moved * times, 0, blocks * times * rows * team / USUAL)

    rows = min(counts, key=cost)
    return Staging(Box((total,), (rows,), length, team, width), tuple(common)) if rows > 1 else None


def _rows_of(part: Part, sizes: Sequence[int]) -> int:
    """Bytes of all that rows take of it, for each number of a row."""
    return prod(n for n, step in zip(sizes, part.steps, strict=True) if step) * part.itemsize
