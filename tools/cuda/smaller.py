"""A kernel at extents at which the emulator runs it in a moment, with the edges and alignments that it has.

Of a product, rows, columns and steps of the sum stay what they are modulo the tile that its schedule takes, and are
more than one tile, or more steps than there are stages; where blocks share a sum, more than one step of each of the
fewest parts that it may have, which are as long as before modulo a step. Of other kernels each extent stays what it
is modulo the largest power of two for which few enough points are left; the last ones of arrays stay whole sectors,
if they are. What is reduced over stays as it is, since that says how many threads do it, unless points are too many
even then. Where windows overlap, images stay large and have few channels, since what tiles share is around them; and
a kernel tells how many `times` as many points it had, for tiles are to be those of blocks that are enough for a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...compiler.dtypes import dtype_of
from ...dialects.linalg import GenericOp
from ...dialects.linalg.contraction import match_contraction
from ...dialects.linalg_ext import AttentionOp
from ...dialects.tensor import ExtractOp
from ...passes.convert.contraction_to_cta.schedule import Schedule
from .extents import Extent, Extents, with_extents

POINTS = 1 << 15  # of the loops of an op in a kernel that is no product, and elements of an array
TABLE = 1 << 22  # elements of an array that values index: rows that nobody asks for cost nothing
MODULI = (128, 64, 32, 16, 8, 4, 2)
ALIGNED = 8  # elements of 16 bits in an access of 16 bytes: extents of products stay what they are modulo that
SHORT = 16  # extents of products that stay
SECTOR = 32  # bytes: what global memory is read and written by
BUSY = 64  # times as many points, from which on all GPUs are busy
WINDOWS = 8  # times as many points as others, each of which is combined of several
TRIED = 1 << 13  # products of extents
CHOICES = 128  # of an extent that are looked through, beside what it is


def smaller(kernel: FuncOp, schedule: Schedule | None) -> FuncOp:
    """The kernel at smaller extents; `schedule` says how it is cut into tiles if it is a product."""
    extents = Extents(kernel)
    sizes = _of_product(extents, schedule) if schedule is not None else _of_others(extents)
    return with_extents(kernel, sizes) if sizes is not None else kernel.clone()


def fewest_splits(splits: int, loops: int = 1) -> int:
    """Of how many parts a sum over so many loops is to be, instead of `splits`. Parts of windows stay whole rows.

    >>> fewest_splits(1), fewest_splits(9), fewest_splits(9, loops=3), fewest_splits(12, loops=3)
    (1, 2, 3, 2)
    """
    return min(splits, 2) if loops == 1 else next((n for n in range(2, splits + 1) if splits % n == 0), 1)


def times(kernel: FuncOp, cut: FuncOp) -> int:
    """How many times as many points a kernel has; where no windows overlap the power of four below that will do."""
    found = min(BUSY, max(1, points(kernel) // points(cut)))
    return found if _images(Extents(kernel)) else 1 << (found.bit_length() - 1 & ~1)


def summed(kernel: FuncOp) -> int:
    """How many products each result of a kernel is the sum of; 1 where it is no product."""
    op = next(op for op in kernel.body.block.ops if isinstance(op, GenericOp | AttentionOp))
    loops = match_contraction(op) if isinstance(op, GenericOp) else None
    ranges = Extents(kernel).sizes
    return prod(ranges[op, d] for d in loops.k) if loops is not None else 1


def points(kernel: FuncOp) -> int:
    """How often the body of that op runs whose body runs most often."""
    extents = Extents(kernel)
    return _points(extents, extents.sizes)


def _points(extents: Extents, sizes: Mapping[Extent, int]) -> int:
    arrays = [_elements(value, sizes) for value in extents.kernel.body.block.args]
    return max([_runs(extents, sizes), *arrays])


def _runs(extents: Extents, sizes: Mapping[Extent, int]) -> int:
    ops = [op for op in extents.kernel.body.block.ops if isinstance(op, GenericOp)]
    return max([0, *(prod(sizes[op, d] for d in range(len(op.iterators))) for op in ops)])


def _rank(value: SSAValue) -> int:
    return len(value.type.get_shape()) if isinstance(value.type, TensorType) else 0


def _elements(array: SSAValue, sizes: Mapping[Extent, int]) -> int:
    return prod(n for (of, _), n in sizes.items() if of is array)


def _few(extents: Extents, sizes: Mapping[Extent, int], more: int = 1) -> bool:
    arrays = extents.kernel.body.block.args
    tables = {array for array in arrays if any(isinstance(use.operation, ExtractOp) for use in array.uses)}
    small = all(_elements(array, sizes) <= (TABLE if array in tables else POINTS * more) for array in arrays)
    return small and _runs(extents, sizes) <= POINTS * more


def _of_product(extents: Extents, schedule: Schedule) -> Mapping[Extent, int] | None:
    op = next(op for op in extents.kernel.body.block.ops if isinstance(op, GenericOp | AttentionOp))
    chosen: dict[Extent, int] = {}
    free = extents.free()
    for role in _roles(op, schedule):
        own = [extents.first((op, d))[0] for d in role.dims]
        open = [extent for extent in dict.fromkeys(own) if extent in free and extent not in chosen]
        chosen.update(_fewest(extents, [(op, d) for d in role.dims], {e: free[e] for e in open}, chosen, role))
    return extents.solved({**free, **chosen})


@dataclass(frozen=True)
class _Role:
    """Loops that are cut together, into `parts` instead of `whole`; each stays what it is modulo the tile."""

    dims: Sequence[int]
    tile: int
    least: int
    parts: int = 1
    whole: int = 1

    def fits(self, count: int, total: int) -> bool:
        """Whether so many points do for all that there are."""
        enough = total // self.whole * self.parts
        return (count - enough) % (self.tile * self.parts) == 0 and count >= min(enough, self.least)


def _roles(op: GenericOp | AttentionOp, schedule: Schedule) -> Sequence[_Role]:
    """What loops are for; of attention columns stay as they are."""
    depth, steps = schedule.depth, (schedule.stages + 1) * schedule.depth + 1
    if isinstance(op, AttentionOp):
        m, _, keys, _ = range(op.loops - 4, op.loops)
        return _Role(range(m), 1, 2), _Role([m], schedule.rows, schedule.rows + 1), _Role([keys], depth, steps)
    loops = match_contraction(op)
    if loops is None:
        return ()
    rows = _Role(loops.m, schedule.rows, schedule.rows + 1)
    columns = _Role(loops.n, schedule.columns, schedule.columns + 1)
    parts = fewest_splits(schedule.splits, len(loops.k))
    sums = _Role(loops.k, depth, max(steps, 2 * depth * parts + 1), parts, schedule.splits)
    return _Role(loops.batch, 1, 2), rows, columns, sums


def _fewest(
    extents: Extents,
    loops: Sequence[Extent],
    open: Mapping[Extent, int],
    chosen: Mapping[Extent, int],
    role: _Role,
) -> Mapping[Extent, int]:
    """What the extents that are `open` become, so that `loops` run as seldom as may be."""

    def runs(sizes: Mapping[Extent, int]) -> int:
        firsts = [(extents.sizes[loop], *extents.first(loop)) for loop in loops]
        return prod(sizes[first] + more if first in sizes else n for n, first, more in firsts)

    total = runs({**chosen, **open})
    found: Mapping[Extent, int] = dict(open)
    aligned = [_choices(n, role.tile) for n in open.values()]
    last = _last(extents)
    other = [_others(n) if e not in last else choices for (e, n), choices in zip(open.items(), aligned, strict=True)]
    for ranges in (aligned, other):
        for sizes in product(*ranges):
            these = dict(zip(open, sizes, strict=True))
            count = runs({**chosen, **these})
            if role.fits(count, total) and count < runs({**chosen, **found}):
                found = these
        if found != dict(open) or role.tile == 1 or prod(map(len, other)) > TRIED:
            break
    return found


def _choices(size: int, tile: int) -> list[int]:
    """What an extent may become.

    >>> _choices(12, 1), _choices(12, 32), _choices(36, 32)
    ([2, 12], [12], [4, 12, 20, 28, 36])
    """
    if tile == 1:
        return [min(size, 2), size]
    return [size] if size <= SHORT else [*range(size % ALIGNED or ALIGNED, size, ALIGNED)][:CHOICES] + [size]


def _others(size: int) -> list[int]:
    """The same where none of those will do, as of 27 x 27 points, 25 more than eleven tiles of 64: 9 x 17."""
    return [*range(2, min(size, CHOICES)), size]


def _last(extents: Extents) -> set[Extent]:
    """Of neighbours in memory: accesses are as wide as these allow."""
    return {extents.first((array, _rank(array) - 1))[0] for array in extents.kernel.body.block.args if _rank(array)}


def _of_others(extents: Extents) -> Mapping[Extent, int] | None:
    free, reduced = extents.free(), _reduced(extents)
    last = _last(extents)
    images = _images(extents)
    narrowest = min(dtype_of(array.type).itemsize for array in extents.kernel.body.block.args)
    found: Mapping[Extent, int] | None = None
    for kept, more, least in (
        *([(reduced, WINDOWS, dict.fromkeys(free.keys() - images, 1))] if images else []),
        (reduced, 1, {}),
        (set[Extent](), 1, {}),
    ):
        for whole in (SECTOR // narrowest, 1):
            for modulus in MODULI:
                moduli = {e: max(least.get(e, modulus), whole if e in last else 1) for e in free}
                sizes = extents.solved({e: n if e in kept else _cut(n, moduli[e]) for e, n in free.items()})
                found = sizes or found
                if sizes is not None and _few(extents, sizes, more):
                    return sizes
    return found


def _reduced(extents: Extents) -> set[Extent]:
    ops = [op for op in extents.kernel.body.block.ops if isinstance(op, GenericOp)]
    return {extents.first((op, d))[0] for op in ops for d, kind in enumerate(op.iterators) if kind == "reduction"}


def _images(extents: Extents) -> set[Extent]:
    """What windows walk, each of which is combined."""
    reduced = _reduced(extents)
    walked = [{extents.first(part)[0] for part, _ in each.parts} for each in extents.sums if not each.exact]
    return {extent for parts in walked if parts & reduced for extent in parts - reduced}


def _cut(size: int, modulus: int) -> int:
    """More than `modulus`, and the same modulo that.

    >>> _cut(300, 128), _cut(256, 128), _cut(56, 16), _cut(7, 4)
    (172, 256, 24, 7)
    """
    return size if size <= 2 * modulus else modulus + (size % modulus or modulus)
