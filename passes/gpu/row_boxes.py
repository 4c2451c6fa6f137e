"""Which rows a block takes together, so that what it moves begins and ends with sectors of memory.

A box of neighbouring rows may do so where rows do not; what several of its rows share, as heads do a mask, comes in
once. Which box is found by counting sectors. Rows whose numbers lie apart are taken with their neighbours, too: what
lies next to each other is one number of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations, product
from math import gcd, inf, prod
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap

from ...compiler.dtypes import dtype_of
from ...dialects.affine import ApplyOp, ParallelOp, VectorLoadOp, VectorStoreOp
from ...dialects.gpu.ops import WARP
from ...dialects.linalg.views import linear_form
from ...dialects.vector import GatherOp, ScatterOp, StepOp
from .banks import BANKS, WORD, Lanes
from .widen_points import coalesced

SECTOR = 32  # bytes: what global memory is read and written by
ACCESS_BYTES = 16
ROOM = 48 << 10  # bytes of shared memory: several blocks share a multiprocessor
MORE_ROOM = 100 << 10  # where there is no other way
MOST = 1024  # threads of a block
HELD = 1 << 13  # elements of rows that a block's registers hold, several times over
MORE_HELD = 1 << 14  # and where columns that it has more of share sectors
ENOUGH = 128  # threads that blocks should have
GAIN = 1.1  # how many times fewer sectors are to be moved than by teams on their own
ORDERS = 6  # of teams, that are looked at
CLOSE = 50  # parts of what must be moved: boxes that differ by less cost the same
RowAccess: TypeAlias = VectorLoadOp | VectorStoreOp | GatherOp | ScatterOp


@dataclass(frozen=True)
class Part:
    """What rows take of a buffer: elements between rows that are neighbours in each dimension, and along a row."""

    op: RowAccess
    steps: tuple[int, ...]
    step: int
    start: int
    gap: int = 0  # elements behind each row in shared memory

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return dtype_of(self.element).itemsize

    @property
    def buffer(self) -> SSAValue:
        """What rows take it of."""
        return self.op.base if isinstance(self.op, GatherOp | ScatterOp) else self.op.memref

    @property
    def element(self) -> Attribute:
        """The type of an element."""
        assert isinstance(self.buffer.type, MemRefType)
        return self.buffer.type.element_type

    @property
    def written(self) -> bool:
        """Whether rows are put there."""
        return isinstance(self.op, VectorStoreOp | ScatterOp)


@dataclass(frozen=True)
class Side:
    """A loop over a box: how often, elements between its steps in the buffer and in shared memory.

    `cut` is the dimension of rows whose end it may meet, each of which is so many of its steps.
    """

    count: int
    apart: int
    local: int
    cut: int | None = None
    each: int = 1


@dataclass(frozen=True)
class Box:
    """The rows of a block: so many of each dimension, and the length of a row."""

    sizes: tuple[int, ...]
    box: tuple[int, ...]
    length: int
    team: int
    width: int  # elements that a thread takes of a row at a time
    order: tuple[int, ...] = ()  # the dimensions in which teams take its rows, the last of which neighbours differ in
    apart: int = 1  # parts of its rows that neighbours take one each of, a row of the first, one of the second

    @property
    def rows(self) -> int:
        """Of a block."""
        return prod(self.box)

    @property
    def counts(self) -> tuple[int, ...]:
        """Boxes along each dimension."""
        return tuple(-(-n // b) for n, b in zip(self.sizes, self.box, strict=True))

    @property
    def taken(self) -> tuple[int, ...]:
        """The dimensions in which teams take rows."""
        return self.order or tuple(range(len(self.box)))

    @property
    def lanes(self) -> Lanes:
        """Which row a team takes, of those in order."""
        return Lanes(self.apart, self.rows // self.apart, 1)

    def own(self, part: Part) -> list[int]:
        """The dimensions along which rows take other places, those first whose neighbours are far apart."""
        return sorted((d for d, step in enumerate(part.steps) if step), key=lambda d: -part.steps[d])

    def local(self, part: Part) -> dict[int, int]:
        """Elements of shared memory between rows that are neighbours in these dimensions."""
        own = self.own(part)
        return {d: (self.length + part.gap) * prod(self.box[o] for o in own[i + 1 :]) for i, d in enumerate(own)}

    def room(self, part: Part) -> int:
        """Elements of shared memory."""
        return max((self.box[d] * step for d, step in self.local(part).items()), default=self.length)

    def with_gap(self, part: Part) -> Part:
        """The part with as many unused elements behind each row as keep the banks apart, where that costs no more."""
        wide, best = self.at_a_time(part), (inf, part)
        for gap in range(0, BANKS, self.width):
            this = replace(part, gap=gap)
            if best[0] and self.at_a_time(this) == wide:
                best = min(best, (self.asked_again(this), this), key=lambda found: found[0])
        return best[1]

    def asked_again(self, part: Part) -> int:
        """How often more than needed warps ask a bank, as they bring elements and as they take them."""
        local, sides, wide, again = self.local(part), self.sides(part), self.at_a_time(part), 0
        loops = [(side.count, side.local) for side in sides[:-1]]
        loops.append((sides[-1].count // wide, sides[-1].local * wide))
        rows = [(self.box[d], local.get(d, 0)) for d in self.taken]
        for first in range(0, self.rows * self.team, WARP):
            threads = range(first, first + WARP)
            brought = {t - first: _place(t, loops) for t in threads if t < prod(n for n, _ in loops)}
            active = [t for t in threads if t % self.team * self.width < self.length]
            starts = [_place(self.lanes.taken(t // self.team), rows) + t % self.team * self.width for t in active]
            taken = {t - first: start for t, start in zip(active, starts, strict=True)}
            again += _asked_again(brought, part.itemsize, wide) + _asked_again(taken, part.itemsize, self.width)
        return again

    def sides(self, part: Part) -> list[Side]:
        """The loops over all elements of a box, in the order of the buffer, neighbours made one where that may be."""
        local, own = self.local(part), self.own(part)
        cut = {d: d for d in own if self.sizes[d] % self.box[d]}
        loops = [Side(self.box[d], part.steps[d], local[d], cut.get(d)) for d in own]
        found: list[Side] = []
        for side in sorted([*loops, Side(self.length, part.step, 1)], key=lambda each: -each.apart):
            if found and side.cut is None:
                outer = found[-1]
                if outer.apart == side.count * side.apart and outer.local == side.count * side.local:
                    each = outer.each * side.count
                    found[-1] = Side(outer.count * side.count, side.apart, side.local, outer.cut, each)
                    continue
            found.append(side)
        return found

    def at_a_time(self, part: Part) -> int:
        """Elements of an access of 16 bytes, or less where a box does not begin and end with one."""
        sides = self.sides(part)
        if sides[-1].apart != 1 or sides[-1].local != 1:
            return 1
        numbers = [sides[-1].count, *self.starts(part), *(side.local for side in sides[:-1])]
        numbers += [self.sizes[side.cut] * side.each for side in sides[-1:] if side.cut is not None]
        return max(1, gcd(ACCESS_BYTES // part.itemsize, *numbers))

    def starts(self, part: Part) -> list[int]:
        """Numbers of elements that all stretches of a box begin at multiples of."""
        boxes = [part.steps[d] * self.box[d] for d in self.own(part) if self.sizes[d] > self.box[d]]
        return [part.start, *boxes, *(side.apart for side in self.sides(part)[:-1])]

    def sectors(self, part: Part) -> float:
        """That all blocks move: more than elements fill where stretches or requests of a warp begin inside one."""
        count = prod(side.count for side in self.sides(part))
        last = self.sides(part)[-1]
        whole = gcd(SECTOR, *(n * part.itemsize for n in (last.count * last.apart, *self.starts(part))))
        requests = max(count / (WARP * self.at_a_time(part)), count / (last.count if last.apart == 1 else 1))
        there = prod(n / (b * c) for n, b, c, s in zip(self.sizes, self.box, self.counts, part.steps, strict=True) if s)
        return there * prod(self.counts) * (count * part.itemsize + requests * (SECTOR - whole)) / SECTOR


@dataclass(frozen=True)
class Staging:
    """The box of rows that a block takes, and what it takes of buffers."""

    box: Box
    parts: tuple[Part, ...]


def part_of(op: RowAccess, variables: Sequence[SSAValue]) -> Part | None:
    """What rows, numbered by `variables`, take of a buffer; None where their places are no linear function."""
    if isinstance(op, GatherOp | ScatterOp):
        at, step = op.offsets[0].owner, step_of(op)
        return _part(op, at.map.data, at.operands, [1], step, variables) if isinstance(at, ApplyOp) and step else None
    assert isinstance(op.memref.type, MemRefType)
    shape = op.memref.type.get_shape()
    strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
    return _part(op, op.map.data, op.indices, strides, 1, variables)


def step_of(op: GatherOp | ScatterOp) -> int | None:
    """Elements between the lanes of an access, None where they are not a step times their numbers."""
    times = op.indices.owner
    if not isinstance(times, arith.MuliOp) or not isinstance(times.lhs.owner, StepOp):
        return None
    by = times.rhs.owner
    values = by.value if isinstance(by, arith.ConstantOp) else None
    return values.get_values()[0] if isinstance(values, DenseIntOrFPElementsAttr) and values.is_splat() else None  # pyright: ignore


def _part(
    op: RowAccess,
    map: AffineMap,
    operands: Sequence[SSAValue],
    strides: Sequence[int],
    step: int,
    variables: Sequence[SSAValue],
) -> Part | None:
    if any(index not in variables for index in operands):
        return None
    steps, start = dict.fromkeys(variables, 0), 0
    for expr, stride in zip(map.results, strides, strict=True):
        form = linear_form(expr)
        if form is None:
            return None
        for position, factor in form[0].items():
            steps[operands[position]] += factor * stride
        start += form[1] * stride
    return Part(op, tuple(steps.values()), step, start)


def staging_of(loop: ParallelOp, sizes: Sequence[int], length: int, team: int, width: int) -> Staging | None:
    """How rows go through shared memory; None where teams do as well on their own."""
    accesses = [op for op in loop.body.block.ops if isinstance(op, RowAccess)]
    parts = [part_of(op, loop.body.block.args) for op in accesses]
    found = [part for part in parts if part is not None]
    if not found or len(found) < len(parts):
        return None
    apart = any(part.step != 1 for part in found)
    if team > WARP and not apart:
        return None  # all threads of a block meet for a row
    team = min(team, WARP)
    if not any(step for part in found for step in part.steps):
        return None  # one row
    merged, steps = coalesced(sizes, [part.steps for part in found])
    found = [replace(part, steps=each) for part, each in zip(found, steps, strict=True)]
    counted = [part for part in found if any(part.steps)]  # what all rows share stays in a cache
    needed = sum(prod(n for n, s in zip(merged, p.steps, strict=True) if s) * length * p.itemsize for p in counted)
    staged = [part for part in found if not apart or not _whole_alone(part, length, team, width)]
    room, held = (MORE_ROOM, MORE_HELD) if apart else (ROOM, HELD)
    best: tuple[tuple[float, ...], float, Box] | None = None
    each = -(-length // (team * width)) * width  # elements of a thread
    for box in _boxes(merged, min(MOST, max(WARP, held // each)) // team):
        this = Box(merged, box, length, team, width)
        if this.rows * team % WARP or sum(this.room(p) * p.itemsize + 16 for p in staged) > room:
            continue
        cost = sum(this.sectors(part) for part in counted if part in staged)
        few = max(0, ENOUGH - this.rows * team)
        key = (round(cost * SECTOR / needed * CLOSE), few, this.rows * prod(this.counts), this.rows)
        if best is None or key < best[0]:
            best = key, cost, this
    alone = inf if apart else sum(_alone(part, merged, length, team, width) for part in counted)
    if best is None or alone <= GAIN * best[1]:
        return None
    return _apart(best[2], staged)


def _whole_alone(part: Part, length: int, team: int, width: int) -> bool:
    """Whether teams take whole sectors of their rows, which no others take."""
    numbers = (length, part.start, *part.steps, *([team * width] if team * width < length else []))
    return part.step == 1 and all(part.steps) and not any(n * part.itemsize % SECTOR for n in numbers)


def _apart(box: Box, parts: Sequence[Part]) -> Staging:
    """With gaps behind rows, and in the first order of teams, with which banks are asked no more than needed."""
    stagings: list[tuple[int, int, Staging]] = []
    orders = list(islice(permutations(range(len(box.box))), ORDERS))
    several = max(1, WARP // box.team)  # rows that a warp takes
    for number, (apart, order) in enumerate(product([1, *([several] if box.rows % several == 0 else [])], orders)):
        this = replace(box, order=order, apart=apart)
        placed = tuple(map(this.with_gap, parts))
        stagings.append((sum(map(this.asked_again, placed)), number, Staging(this, placed)))
        if not stagings[-1][0]:
            break
    return min(stagings, key=lambda each: each[:2])[2]


def _asked_again(places: Mapping[int, int], itemsize: int, width: int) -> int:
    """How often more than needed a bank is asked when lanes take elements at places, 128 bytes at a time."""
    nbytes = max(width * itemsize, WORD)
    lanes, again = WARP * WORD // nbytes, 0
    for first in range(0, WARP, lanes):
        starts = [place * itemsize // WORD for lane, place in places.items() if first <= lane < first + lanes]
        words = {start + i for start in starts for i in range(nbytes // WORD)}
        again += max(Counter(word % BANKS for word in words).values(), default=1) - 1
    return again


def _place(number: int, loops: Sequence[tuple[int, int]]) -> int:
    """What a number is in loops, each of so many steps of so much."""
    place = 0
    for count, step in reversed(loops):
        place += number % count * step
        number //= count
    return place


def _boxes(sizes: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Boxes of at most so many rows: whole dimensions, parts that divide them, powers of two."""
    if not sizes:
        yield ()
        return
    n = sizes[-1]
    powers = {1 << i for i in range(most.bit_length()) if 1 << i < 2 * n}
    for side in sorted({d for d in range(1, min(n, most) + 1) if n % d == 0} | powers):
        if side <= most:
            yield from ((*outer, side) for outer in _boxes(sizes[:-1], most // side))


def _alone(part: Part, sizes: Sequence[int], length: int, team: int, width: int) -> float:
    """Sectors that teams move on their own."""
    steps = [step for step in part.steps if step]
    whole = gcd(SECTOR, *(n * part.itemsize for n in (length, part.start, *steps)))
    requests = -(-length // (team * width)) * team / WARP
    return prod(sizes) * (length * part.itemsize + requests * (SECTOR - whole)) / SECTOR
