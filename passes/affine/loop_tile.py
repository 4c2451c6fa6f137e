"""`affine-loop-tile`: loops over a box become loops over tiles of it, so that what a tile touches stays in cache.

Before:                                        After (sizes=32,32):
    affine.for %i = 0 to 256 {                     affine.for %it = 0 to 8 {
      affine.for %j = 0 to 100 {                     affine.for %jt = 0 to 4 {
        %v = affine.load %x[%j, %i]                    affine.for %i = 0 to 32 {
        affine.store %v, %y[%i, %j]                      affine.for %j = 0 to min (%jt -> 32, 100 - %jt * 32) {
                                                           %v = affine.load %x[%jt * 32 + %j, %it * 32 + %i]
                                                           affine.store %v, %y[%it * 32 + %i, %jt * 32 + %j]

Without `sizes`, nests are tiled where one access runs along memory with the innermost loop and another with an
outer one (a transpose): these two loops, by about 32, so that they and what is left over are whole squares of vectors
(`affine-vectorize`), or no less than one: 1000 rows of 3000 numbers took 2.2 ms on Zen 4 with tiles of 40 rows and take
1.7 with 48, 64 rows of 50000 1.8 and 0.5, as their lines go past the caches whole. Rows of a result that lie a multiple
of a quarter of a page apart share few places of the first cache: on Zen 5, where they are made of short rows, a tile
fills four lines of each of 16 of them instead of two of 32, and of 12 heads 512 rows of 64 numbers are turned in 0.035
instead of 0.054 ms, of 8192 rows of 256 in 0.20 instead of 0.31; of 3136 rows, which share none, in 0.08 instead of
0.065, and they stay as they are. Tiles follow one another along what
is read, and loops around the two stay around the tiles. Of results that go to memory past the caches
(`affine-stream-stores`) a tile reads as many rows as the processor fetches ahead of at once: on Zen 4 4096 rows of 4096
numbers took 7.7 ms and take 6.6. Where a vector is half of a line, a tile is a line wide and has 64 rows: with rows
whole pages apart the first cache has no place for more lines (on Zen 3 these rows took 18.6 ms and take 12.3).
The loops must be permutable: no dependence goes backwards in any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, IndexType, ModuleOp
from xdsl.ir import Block, Region
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.dtypes import dtype_of
from ...compiler.machine import Machine
from ...dialects.affine import ForOp, LoadOp, StoreOp
from .dependence import is_permutable
from .loops import (
    all_loops,
    band,
    erase,
    functions,
    move_body,
    new_for,
    stores_large_rows,
    stride_along,
    substitute,
    terminated,
)

TILE = 32
VECTOR = 8  # elements of 4 bytes
PAGE = 4096  # bytes; what an address is within a page says which set of lines in L1 it may lie in
SHORT = 8 * TILE  # elements of a row of which a tile's rows fit in the first cache


@dataclass(frozen=True)
class LoopTile(ModulePass):
    """Permutable loops become loops over tiles; by themselves, transposes only."""

    name = "affine-loop-tile"

    sizes: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for function in functions(op):
            done: set[ForOp] = set()
            for loop in all_loops(function):
                if loop in done or loop.parent is None:
                    continue
                loops = band(loop)
                if loops[-1].inits:
                    loops.pop()
                done.update(loops)
                sizes = self._sizes(loops, machine)
                if any(sizes):
                    # each page of a batch is turned by itself: its tiles lie together in memory
                    first = 0 if self.sizes else next(i for i, size in enumerate(sizes) if size)
                    tile(loops[first:], sizes[first:])

    def _sizes(self, loops: Sequence[ForOp], machine: Machine) -> list[int]:
        if any(each.constant_bounds() is None for each in loops):
            return []
        if not self.sizes:
            return transpose_sizes(loops, machine)
        padded = [*self.sizes, *([0] * len(loops))]
        return padded[: len(loops)]


def transpose_sizes(loops: Sequence[ForOp], machine: Machine) -> list[int]:
    """32 for the innermost loop and an outer one that some access runs along instead, if both are long; else 0.

    Of large results, as `_streamed` says.
    """
    sizes = [0] * len(loops)
    if len(loops) < 2:
        return sizes
    last = loops[-1]
    ops = [op for op in last.body.walk() if isinstance(op, LoadOp | StoreOp)]
    if (last.trip_count or 0) < 2 * TILE or not any(stride_along(op, last.variable) == 1 for op in ops):
        return sizes
    for index, loop in enumerate(loops[:-1]):
        across = any(
            stride_along(op, loop.variable) == 1 and (stride_along(op, last.variable) or 0) >= TILE for op in ops
        )
        if across and (loop.trip_count or 0) >= 2 * TILE:
            whole = machine.lanes(4) if all(dtype_of(op.memref.type).itemsize == 4 for op in ops) else VECTOR
            sizes[index], sizes[-1] = (even_size(each.trip_count or 0, whole) for each in (loop, last))
            if machine.turns_by_lines and _rows_share_sets(ops, loop, last, whole):
                sizes[index], sizes[-1] = whole, even_size(last.trip_count or 0, whole, 2 * TILE)
            stored = next((op for op in ops if stores_large_rows(op, last.variable, machine)), None)
            if stored is not None:
                lanes = machine.lanes(dtype_of(stored.memref.type).itemsize)
                trips = loop.trip_count or 0, last.trip_count or 0
                sizes[index], sizes[-1] = _streamed((sizes[index], sizes[-1]), trips, lanes, machine)
            break
    return sizes


def _rows_share_sets(ops: Sequence[LoadOp | StoreOp], columns: ForOp, rows: ForOp, lanes: int) -> bool:
    """Whether short rows, whole vectors of four bytes each, become long ones that begin at few places of a page."""
    if (columns.trip_count or 0) % lanes or (rows.trip_count or 0) <= SHORT:
        return False
    if any(dtype_of(op.memref.type).itemsize != 4 for op in ops):
        return False
    read = [4 * (stride_along(op, rows.variable) or 0) for op in ops if isinstance(op, LoadOp)]
    written = [4 * (stride_along(op, columns.variable) or 0) for op in ops if isinstance(op, StoreOp)]
    short = 0 < max(read, default=0) <= PAGE // 4
    return short and all(apart and gcd(apart, PAGE) >= PAGE // 4 for apart in written)


def _streamed(sizes: tuple[int, int], trips: tuple[int, int], lanes: int, machine: Machine) -> tuple[int, int]:
    """How many columns and rows a tile reads whose result is large; `sizes` where others do not divide the loops."""
    columns, rows = sizes
    if machine.vectors_are_lines and machine.rows_fetched % lanes == 0:
        rows = machine.rows_fetched
    elif machine.vectors_are_half_lines:
        columns, rows = 2 * lanes, 2 * TILE if trips[1] % (2 * TILE) == 0 else TILE
    divides = trips[1] % rows == 0 and (columns == sizes[0] or trips[0] % columns == 0)
    return (columns, rows) if divides else sizes


def even_size(trips: int, square: int = VECTOR, near: int = TILE) -> int:
    """The size nearest to `near` of whole squares that leaves none that is cut; else one that divides `trips`, or
    leaves a vector at least.

    >>> even_size(4096), even_size(112), even_size(100), even_size(400)
    (32, 16, 40, 40)
    >>> even_size(400, square=16), even_size(1000, square=16), even_size(104, square=16)
    (16, 48, 32)
    """

    def faults(size: int) -> tuple[bool, bool, bool, int]:
        left = trips % size
        return size % square != 0 or 0 < left < square, 0 < left < VECTOR, left != 0, abs(size - near)

    return min(range(near // 2, 2 * near, VECTOR), key=faults)


def tile(loops: Sequence[ForOp], sizes: Sequence[int]) -> bool:
    """Tiles perfectly nested loops with constant bounds; a size of 0 leaves a loop whole. Tells whether it did."""
    if not is_permutable(loops):
        return False
    tiled = [i for i, size in enumerate(sizes) if size and (loops[i].trip_count or 0) > size]
    if not tiled:
        return False
    order = _order(loops, tiled)
    outermost = loops[0]
    outer = {i: Block(arg_types=[IndexType()]) for i in tiled}
    inner = [Block(arg_types=[IndexType()]) for _ in loops]
    for i, loop in enumerate(loops):
        bounds = loop.constant_bounds()
        assert bounds is not None
        inner[i].args[0].name_hint = loop.variable.name_hint
        lower, _, step = bounds
        if i in outer:
            index = (AffineExpr.dimension(0) * sizes[i] + AffineExpr.dimension(1)) * step + lower
            operands = [outer[i].args[0], inner[i].args[0]]
        else:
            index = AffineExpr.dimension(0) * step + lower
            operands = [inner[i].args[0]]
        substitute(loop.variable, index, operands, inner[-1])
    move_body(loops[-1].body.block, inner[-1])
    nest: ForOp | None = None
    for i in reversed(range(len(loops))):
        trips = loops[i].trip_count or 0
        if nest is not None:
            inner[i].add_op(nest)
        block = terminated(inner[i], outermost)
        if i not in outer:
            nest = new_for(0, trips, block, outermost)
        elif trips % sizes[i] == 0:
            nest = new_for(0, sizes[i], block, outermost)
        else:
            nest = _partial(trips, sizes[i], outer[i], block, outermost)
    for i in reversed(order):
        assert nest is not None
        outer[i].add_op(nest)
        trips = -(-(loops[i].trip_count or 0) // sizes[i])
        nest = new_for(0, trips, terminated(outer[i], outermost), outermost)
    assert nest is not None
    Rewriter.insert_op(nest, InsertPoint.before(outermost))
    erase(outermost)
    return True


def _order(loops: Sequence[ForOp], tiled: Sequence[int]) -> list[int]:
    """The loops over tiles, outermost first: along what is read goes last, since memory is fetched ahead of that.

    Stores can wait. But short rows that are written are filled at once, while the first cache has them.
    """
    accesses = [op for op in loops[-1].body.walk() if isinstance(op, LoadOp | StoreOp)]

    def runs_along(i: int, kind: type[LoadOp] | type[StoreOp]) -> bool:
        return any(stride_along(op, loops[i].variable) == 1 for op in accesses if isinstance(op, kind))

    if any(runs_along(i, StoreOp) and (loops[i].trip_count or 0) <= SHORT for i in tiled):
        return sorted(tiled, key=lambda i: runs_along(i, StoreOp))
    return sorted(tiled, key=lambda i: runs_along(i, LoadOp))


def _partial(trips: int, size: int, tile_block: Block, block: Block, like: ForOp) -> ForOp:
    """The loop inside of a tile that may stick out: up to the tile's size or what is left."""
    left = AffineExpr.dimension(0) * -size + trips
    upper = AffineMapAttr(AffineMap(1, 0, (AffineExpr.constant(size), left)))
    loop = ForOp.from_region([], [tile_block.args[0]], [], [], 0, upper, Region(block))
    loop.location = like.location
    return loop
