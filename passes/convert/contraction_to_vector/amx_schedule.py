"""Which contractions tiles of AMX compute, and how: how high and deep a tile is, strips, blocks of k.

The rows of a tile must be evenly apart in A and in C. Those of a matrix are, wherever a tile begins, and the last ones
may overlap with those before them. Of a window those of one row of the image are: a tile is an equal part of it, and
begins where a part does.

    28 x 28 points: 56 tiles of 14 rows, two of them a strip; 7 x 7 points: 7 tiles of 7

What is summed is cut into tiles where it lies without a gap in A: along a matrix's row, or the columns and channels of
one row of a window. A tile has an equal part of it: 32 of 64 numbers of bfloat16, 24 of 144.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd, prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, bf16, i8
from xdsl.ir import Attribute

from ....compiler.machine import Machine
from ....dialects.affine.linear_forms import Linear
from ....dialects.amx.types import FEWEST_ROWS, ROW_BYTES, ROWS, depth_of, rows_of
from .analysis import Contraction, Kernel
from .schedule import Schedule, ceil_div
from .tasks import Cover, covers
from .tile import k_levels
from .tile_copies import can_copy_tiles, row_elements

COLUMNS = ROW_BYTES // 4  # sums in a row of a tile
TILE_ROWS = 2 * ROWS
FEATURES: dict[tuple[int, Attribute], str] = {(2, bf16): "amx-bf16", (4, i8): "amx-int8"}  # by group along k, elements
COPY_COLUMNS = 256  # that pay for copying A, as callers need not align it; this and the next two are measured
FEWEST_STRIPS, MOST_STRIPS = 4, 8  # of a block: they share the fetching of panels, and leave room in the caches


def takes_tiles(kernel: Kernel, machine: Machine) -> bool:
    """Whether the machine's tiles can compute this contraction."""
    contraction = kernel.contraction
    panels = contraction.panels
    if panels is None or contraction.a.element != contraction.b.element or panels.lanes > 2 * COLUMNS:
        return False
    if not machine.has_tiles(FEATURES.get((panels.group, contraction.b.element), "")):
        return False
    return tile_depth(contraction) > 0 and tile_rows(contraction) >= FEWEST_ROWS and _begins_at_zero(kernel)


def tile_schedule(contraction: Contraction, chosen: Schedule, machine: Machine) -> Schedule:
    """Two rows of tiles; blocks of k of which a panel stays in L1, blocks of strips whose copies take half of L2.

    Each strip of a block asks for its share of what comes next of B. The threads' parts are as `chosen` for vectors.
    """
    total = contraction.extent(contraction.m)
    height, one_loop = tile_rows(contraction), len(k_levels(contraction)) == 1
    even = is_even(contraction)
    rows = min(TILE_ROWS if even else 2 * height, total)
    copy = can_copy_tiles(contraction) and contraction.columns >= COPY_COLUMNS and rows == TILE_ROWS
    depth = block_depth(contraction, machine)
    strips, row_blocks = ceil_div(total, rows), chosen.row_blocks
    if copy or depth:
        strip_bytes = rows * _row_reads(contraction) * ROW_BYTES // row_elements(contraction)
        together = min(max(machine.l2_bytes // 2 // strip_bytes, FEWEST_STRIPS), MOST_STRIPS)
        row_blocks = ceil_div(strips, together)
        if chosen.row_blocks % machine.cores == 0:
            row_blocks = min(strips, ceil_div(row_blocks, machine.cores) * machine.cores)
    ahead = next((n for n in (8, 4, 2) if n <= strips // row_blocks), 0) if one_loop or depth else 0
    return replace(chosen, rows=rows, panels=1, row_blocks=row_blocks, depth=depth, ahead=ahead, copy=int(copy))


def _row_reads(contraction: Contraction) -> int:
    """The elements of A that a row of sums takes, those that the next row takes as well left out."""
    *outer, (innermost, _, _) = k_levels(contraction)
    if not outer:
        return innermost
    return prod(level[0] for level in outer) * min(innermost, row_step(contraction, contraction.a.form))


def block_depth(contraction: Contraction, machine: Machine) -> int:
    """How much of the innermost loop over k goes into a block, such that a panel's stays in L1; 0: all of k.

    Two thirds of L1 where rows of A pass by; four fifths beside windows, of which A takes little: 3 x 3 of 64 channels
    on 56 x 56 points takes 98 microseconds so, and 126 by blocks.
    """
    panels = contraction.panels
    assert panels is not None
    step, levels = tile_depth(contraction), k_levels(contraction)
    several = len(levels) > 1
    bytes_ = panels.lanes * step * ROW_BYTES // row_elements(contraction)
    most = max(1, (machine.l1_bytes * 4 // 5 if several else machine.l1_bytes * 2 // 3) // bytes_)
    size = levels[-1][0] // step
    blocks = ceil_div(size, most)
    if contraction.extent(contraction.k) // step <= most:
        return 0
    if several:  # of one size
        blocks = next(n for n in range(blocks, size + 1) if size % n == 0)
    return ceil_div(size, blocks) * step


def tile_depth(contraction: Contraction) -> int:
    """How much of k is in a tile: an equal part of the innermost loop over it, in whole groups; 0 for none."""
    assert contraction.panels is not None
    return depth_of(k_levels(contraction)[-1][0], contraction.panels.group) if contraction.k else 0


def tile_rows(contraction: Contraction) -> int:
    """The rows of a tile: as many as are evenly apart, in A and in C, from each multiple of that on.

    Of a window's those of one row of the image, or an equal part of them: 14 of 28.
    """
    total, even = contraction.extent(contraction.m), _even_rows(contraction)
    return min(ROWS, total) if even == total else rows_of(even)


def is_even(contraction: Contraction) -> bool:
    """Whether all rows are evenly apart, in A and in C, so that tiles may begin anywhere."""
    return _even_rows(contraction) == contraction.extent(contraction.m)


def tile_covers(contraction: Contraction, rows: int) -> list[Cover]:
    """The strips of about so many rows, each one tile or two."""
    total = contraction.extent(contraction.m)
    if is_even(contraction):
        return covers(total, min(rows, TILE_ROWS), overlap=False)
    height = tile_rows(contraction)
    tiles = covers(total // height, 2 if rows >= 2 * height else 1, overlap=False)
    return [Cover(each.first * height, each.count * height, each.size * height) for each in tiles]


def _even_rows(contraction: Contraction) -> int:
    """How many rows are evenly apart in A and in C from each multiple of that on."""
    return gcd(*(_run(contraction, operand.form) for operand in (contraction.a, contraction.c)))


def row_step(contraction: Contraction, form: Linear) -> int:
    """How many elements the rows of a tile are apart in an array."""
    return next((form.coefficients[d] for d in reversed(contraction.m) if contraction.sizes[d] > 1), 0)


def _run(contraction: Contraction, form: Linear) -> int:
    """How many rows are evenly apart in an array from each multiple of that on."""
    step, run = row_step(contraction, form), 1
    for d in reversed(contraction.m):
        if run > 1 and form.coefficients[d] != step * run:
            return run
        run *= contraction.sizes[d]
    return run


def _begins_at_zero(kernel: Kernel) -> bool:
    if kernel.fill is None or not isinstance(kernel.fill.value.owner, arith.ConstantOp):
        return False
    value = kernel.fill.value.owner.value
    return isinstance(value, IntegerAttr | FloatAttr) and value.value.data == 0
