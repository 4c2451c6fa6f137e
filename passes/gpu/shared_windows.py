"""Which nests read windows that overlap, and the tile of points that a block takes of them.

A reading is a load, or a choice between loads and constants, whose coordinates are sums of loops. What a tile of points
reads of it is a box; the tile is that whose boxes are read with the fewest bytes, among those that leave room for other
blocks, reach no bank of shared memory twice at once and are enough for a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...compiler.dtypes import dtype_of
from ...compiler.effects import is_pure
from ...compiler.layouts import Swizzle
from ...compiler.walking import all_ops
from ...dialects.affine import ApplyOp, ForOp, IfOp, LoadOp, ParallelOp, StoreOp, YieldOp
from ...dialects.gpu.ops import WARP
from ...dialects.memref import LoadOp as MemRefLoadOp
from ...dialects.memref.views import root
from ..affine.accesses import Linear, defined_inside, linear_value, map_subscripts
from .bands import band_of, sizes_of
from .banks import WORD, Lanes, Numbers, asked_again, numbers_of, row_major, strides_of, swizzles_of, whole_banks
from .kernels import times_of
from .tiles_read import MANY, SECTOR, Source, limits_of, slowed

ROOM = 48 << 10  # bytes of shared memory: several blocks share a multiprocessor
THREADS = 256
FEW_THREADS = 512  # of a block, where blocks are few
LONGEST = 128  # of a tile's side
ALIKE = 1.01  # times the least cost, up to which tiles are told apart by what they move: nobody knows costs better
CLOSEST = 5  # tiles of the least cost with as many columns whose banks are looked at
AGAIN = 0.5  # of all time, that asking banks once more takes
LOOKED_AT = 8 * WARP  # of their points
GAPS = 4  # rows, or words of a gap inside of rows
GAIN = 1.1  # how many times fewer bytes are to be read than by a thread a point


@dataclass(frozen=True, eq=False)
class Reading:
    """An op that reads one element; `inputs` are its operands that the coordinates are, of a choice.

    `beside` are loads of the same buffer from which it differs by what is added to coordinates, and those sums.
    """

    op: LoadOp | IfOp
    coordinates: tuple[Linear, ...]
    inputs: tuple[SSAValue, ...]
    loops: tuple[ForOp, ...]  # around it, in the nest
    beside: tuple[tuple[LoadOp, tuple[int, ...]], ...] = ()

    @property
    def element(self) -> Attribute:
        """What is read."""
        return self.op.results[0].type

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return dtype_of(self.element).itemsize

    @property
    def trips(self) -> int:
        """How often a point reads it."""
        return prod(loop.trip_count or 0 for loop in self.loops)

    @property
    def spans(self) -> tuple[int, ...]:
        """Along each coordinate, from the first to the last that a point reads."""
        inner: dict[SSAValue, int] = {loop.variable: loop.trip_count or 0 for loop in self.loops}
        return tuple(
            1
            + sum(n * (inner[v] - 1) for v, n in coordinate.terms.items() if v in inner)
            + max((away[d] for _, away in self.beside), default=0)
            for d, coordinate in enumerate(self.coordinates)
        )

    @property
    def reads(self) -> tuple[tuple[LoadOp | IfOp, tuple[int, ...]], ...]:
        """All that read it, with what is added to coordinates."""
        return ((self.op, (0,) * len(self.coordinates)), *self.beside)

    def taken(self) -> Iterator[Numbers]:
        """Coordinates of some that a point reads, from the first one on: the ends of loops, and what is beside them."""
        ends = [sorted({0, 1, (loop.trip_count or 1) - 1}) for loop in self.loops]
        for numbers in product(*ends):
            at: dict[SSAValue, int] = {loop.variable: n for loop, n in zip(self.loops, numbers, strict=True)}
            places = [sum(n * at.get(v, 0) for v, n in each.terms.items()) for each in self.coordinates]
            yield np.array(places, dtype=np.int64)

    def box(self, sides: Mapping[SSAValue, int]) -> tuple[int, ...]:
        """What tiles of these sides read of it."""
        return tuple(side_of(each, span, sides) for each, span in zip(self.coordinates, self.spans, strict=True))

    def source(self, sizes: Mapping[SSAValue, int]) -> Source:
        """What all points of loops of these sizes read of it."""
        return Source(self.coordinates, self.spans, limits_of(self.op, self.coordinates), self.itemsize, sizes)

    def at(self, b: Builder, place: Sequence[SSAValue]) -> SSAValue:
        """The element at a place."""
        if isinstance(self.op, LoadOp):
            indices = cast("list[SSAValue[IndexType]]", list(place))
            identity = AffineMapAttr(AffineMap.identity(len(place)))
            return b.insert(LoadOp(self.op.memref, indices, identity)).result
        values = dict(zip(self.inputs, place, strict=True))
        return b.insert(self.op.clone(values)).results[0]


@dataclass(frozen=True, eq=False)
class Shared:
    """A reading whose box lies in shared memory, with gaps where `room` is more than that.

    Where there are `strides`, they say where elements of the box lie in a room of one dimension, but for what a
    `swizzle` exchanges. The box begins `lead` elements before what the first point reads. Where points in order read it
    `around`, so many numbers and then the first again, as many as lanes are there a second time: no warp turns back.
    """

    reading: Reading
    box: tuple[int, ...]
    room: tuple[int, ...]
    strides: tuple[int, ...] = ()
    lead: int = 0
    swizzle: Swizzle | None = None
    around: int = 0

    @property
    def nbytes(self) -> int:
        """That it takes."""
        return prod(self.room) * self.reading.itemsize

    def rooms(self) -> list[tuple[int, ...]]:
        """Without gaps, with gaps of whole sectors behind the innermost rows, and with some more of these."""
        if len(self.box) < 2 or self.nbytes < WARP * WORD:
            return [self.box]
        whole = SECTOR // self.reading.itemsize
        columns = [self.box[-1], *([self.box[-1] + whole] if self.box[-1] % whole == 0 else [])]
        return [(*self.box[:-2], self.box[-2] + gap, n) for n in columns for gap in range(GAPS)]


@dataclass(frozen=True, eq=False)
class Windows:
    """A nest whose blocks take a tile of points each."""

    variables: tuple[SSAValue, ...]
    sizes: tuple[int, ...]
    tile: tuple[int, ...]
    shared: tuple[Shared, ...]
    most: int = THREADS  # of a block
    first: tuple[int, int] | None = None  # where the first point is written, counted in points, and points of a sector
    lanes: Lanes | None = None  # the order in which they take points, where it is another than the tile's

    @property
    def counts(self) -> tuple[int, ...]:
        """Tiles along each dimension."""
        return tuple(-(-n // t) for n, t in zip(self.sizes, self.tile, strict=True))

    @property
    def threads(self) -> int:
        """Of a block."""
        return min(self.most, -(-self.numbers // WARP) * WARP)

    @property
    def numbers(self) -> int:
        """Of points of a tile that threads count; some are before the first, so that they begin with a sector."""
        count = prod(self.tile) + (self.first[1] - 1 if self.first is not None else 0)
        return count + (-count % self.lanes.whole if self.lanes is not None else 0)

    def side(self, coordinate: Linear, span: int) -> int:
        """Of what a tile reads, along a coordinate."""
        return side_of(coordinate, span, dict(zip(self.variables, self.tile, strict=True)))

    def last(self, coordinate: Linear, span: int, *, of_tiles: bool) -> int:
        """The largest that a coordinate is, of points that there are or of all that are in tiles."""
        ends = [c * t for c, t in zip(self.counts, self.tile, strict=True)] if of_tiles else self.sizes
        outer = dict(zip(self.variables, ends, strict=True))
        return (
            coordinate.constant + span - 1 + sum((outer[v] - 1) * n for v, n in coordinate.terms.items() if v in outer)
        )


@dataclass(frozen=True, eq=False)
class Points:
    """A nest whose points read, compute and write: its loops, what it reads and where it writes.

    It is a part of one that has so many `times` as many points. Some may read `anywhere`, as values say.
    """

    variables: tuple[SSAValue, ...]
    sizes: tuple[int, ...]
    readings: tuple[Reading, ...]
    stores: tuple[StoreOp, ...]
    times: int
    anywhere: bool

    def blocks(self, tile: Sequence[int]) -> int:
        """Of so many points each, in all."""
        return prod(-(-n // t) for n, t in zip(self.sizes, tile, strict=True)) * self.times

    def few(self, tile: Sequence[int], moved: float, threads: int = THREADS) -> float:
        """How many times slower where blocks of so many points, that move so many bytes, are too few for a GPU."""
        taps = prod(self.sizes) * sum(reading.trips for reading in self.readings)
        return slowed(moved * self.times, taps * self.times, self.blocks(tile), threads / THREADS)

    def threads(self, tile: Sequence[int]) -> int:
        """That blocks of so many points have at most."""
        return THREADS if self.blocks(tile) >= MANY else FEW_THREADS


def points_of(nest: ParallelOp) -> Points | None:
    """What a nest's points do; None where they do something else, or where a place is no sum of loops."""
    band = band_of(nest)
    sizes = sizes_of(band)
    if sizes is None:
        return None
    variables = tuple(v for loop in band for v in loop.body.block.args)
    ops = list(_inner(list(band[-1].body.block.ops), ()))
    stores = [op for op, loops in ops if isinstance(op, StoreOp) and not loops]
    if len(stores) != sum(isinstance(inner, StoreOp) for inner in all_ops(nest)) or not stores:
        return None
    known = StoreOp | LoadOp | MemRefLoadOp | ForOp | IfOp | YieldOp
    if not all(isinstance(op, known) or is_pure(op) for op, _ in ops):
        return None
    loaded = {root(op.memref) for op in all_ops(nest) if isinstance(op, LoadOp | MemRefLoadOp)}
    if any(root(op.memref) in loaded for op in stores):
        return None
    readings: list[Reading] = []
    for op, loops in ops:
        if isinstance(op, ForOp) and (op.constant_bounds() or (0, 0, 0))[::2] != (0, 1):
            return None
        if isinstance(op, LoadOp | IfOp):
            reading = _reading_of(op, loops, variables, nest)
            if reading is None:
                return None
            readings.append(reading)
    anywhere = any(isinstance(op, MemRefLoadOp) for op in all_ops(nest))
    return Points(variables, tuple(sizes), tuple(readings), tuple(stores), times_of(nest), anywhere)


def windows_of(nest: ParallelOp) -> Windows | None:
    """The tiles that a nest is done by; None where a thread a point does as well."""
    points = points_of(nest)
    windows = [r for r in points.readings if _overlaps(r, points.variables)] if points is not None else []
    if points is None or not windows:
        return None
    sizes = dict(zip(points.variables, points.sizes, strict=True))
    return _Choice(points, windows, {reading: reading.source(sizes) for reading in points.readings}).best()


def _inner(ops: Sequence[Operation], loops: tuple[ForOp, ...]) -> Iterator[tuple[Operation, tuple[ForOp, ...]]]:
    """Ops with the loops around them; what is in a choice is part of that."""
    for op in ops:
        yield op, loops
        if isinstance(op, ForOp):
            yield from _inner(list(op.body.block.ops), (*loops, op))


def _reading_of(
    op: LoadOp | IfOp, loops: tuple[ForOp, ...], variables: Sequence[SSAValue], nest: ParallelOp
) -> Reading | None:
    known = {*variables, *(loop.variable for loop in loops)}
    if isinstance(op, LoadOp):
        inputs: list[SSAValue] = []
        found = list(map_subscripts(op.map.data, op.indices)) if not op.map.data.num_symbols else [None]
    else:
        own = {result for inner in all_ops(op) if inner is not op for result in inner.results}
        outside = dict.fromkeys(v for inner in all_ops(op) for v in inner.operands if v not in own)
        inputs = _as_subscripts(op, [v for v in outside if isinstance(v.type, IndexType)])
        if len(op.results) != 1 or any(defined_inside(v, nest) for v in outside if v not in inputs):
            return None
        found = [linear_value(v) for v in inputs]
    coordinates = [each for each in found if each is not None]
    if len(coordinates) < len(found):
        return None
    if any(n < 0 or v not in known for each in coordinates for v, n in each.terms.items()):
        return None
    return Reading(op, tuple(coordinates), tuple(inputs), loops)


def _as_subscripts(choice: IfOp, inputs: Sequence[SSAValue]) -> list[SSAValue]:
    """In the order of the dimensions that a choice loads by: neighbours of the last lie next to each other."""
    dimensions = dict.fromkeys(inputs, -1)
    for load in (op for op in all_ops(choice) if isinstance(op, LoadOp)):
        for dimension, expr in enumerate(load.map.data.results):
            waiting = [load.indices[used] for used in expr.used_dims()]
            while waiting:
                value = waiting.pop()
                if value in dimensions:
                    dimensions[value] = max(dimensions[value], dimension)
                elif isinstance(value.owner, ApplyOp):
                    waiting += value.owner.operands
    return sorted(inputs, key=dimensions.__getitem__)


def _overlaps(reading: Reading, variables: Sequence[SSAValue]) -> bool:
    """Whether windows of neighbouring points have elements in common."""
    for coordinate, span in zip(reading.coordinates, reading.spans, strict=True):
        outer = [n for v, n in coordinate.terms.items() if v in variables]
        if outer and span > max(outer):
            return True
    return False


@dataclass(frozen=True, eq=False)
class _Choice:
    points: Points
    windows: Sequence[Reading]
    sources: Mapping[Reading, Source]

    @property
    def variables(self) -> tuple[SSAValue, ...]:
        """Of the nest's loops."""
        return self.points.variables

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the nest's loops."""
        return self.points.sizes

    @property
    def readings(self) -> tuple[Reading, ...]:
        """All that its points read."""
        return self.points.readings

    def best(self) -> Windows | None:
        """The tile that costs least; of those that cost almost as little the one that moves least."""
        tiles = product(*(self._sides(d) for d in range(len(self.sizes))))
        costs = sorted(((cost, tile) for tile in tiles if (cost := self._cost(tile)) is not None), key=lambda c: c[0])
        if not costs:
            return None
        columns: dict[int, list[tuple[float, tuple[int, ...]]]] = {}
        for cost, tile in costs:
            columns.setdefault(tile[-1], []).append((cost, tile))
        close = [(cost, tile, *self._roomy(tile)) for each in columns.values() for cost, tile in each[:CLOSEST]]
        took = [cost * (1 + AGAIN * again) for cost, _, again, _ in close]
        alike = [each for each, cost in zip(close, took, strict=True) if cost <= ALIKE * min(took)]
        _, tile, _, shared = min(alike, key=lambda each: self._moved(each[1]) * (1 + AGAIN * each[2]))
        found = Windows(self.variables, self.sizes, tile, tuple(shared), self.points.threads(tile))
        asked = sum(map(self._asked, (s.reading for s in found.shared)))
        return found if asked >= GAIN * sum(self._bytes(s, found.tile) for s in found.shared) else None

    def _sides(self, d: int) -> Sequence[int]:
        size = self.sizes[d]
        if d == len(self.sizes) - 1:
            whole = SECTOR // max(reading.itemsize for reading in self.windows)
            parts = [n for n in range(whole, min(size, LONGEST), whole) if size % n == 0 or n & (n - 1) == 0]
            return [*parts, size] if size <= 2 * LONGEST else parts or [LONGEST]
        parts = dict.fromkeys(-(-size // k) for k in (*range(1, 9), 10, 12, 14, 16, 28, 32) if k <= size)
        return [n for n in parts if n <= LONGEST]

    def _box(self, reading: Reading, tile: Sequence[int]) -> tuple[int, ...]:
        sides = dict(zip(self.variables, tile, strict=True))
        return reading.box(sides)

    def _shared(self, tile: Sequence[int]) -> list[Shared]:
        """What a tile brings into shared memory: what its points have in common."""
        found: list[Shared] = []
        for reading in self.readings:
            box = self._box(reading, tile)
            if reading in self.windows or 2 * prod(box) <= prod(tile) * reading.trips:
                found.append(Shared(reading, box, box))
        return found

    def _bytes(self, shared: Shared, tile: Sequence[int]) -> int:
        """That all blocks read for it, in sectors."""
        return self.sources[shared.reading].nbytes(dict(zip(self.variables, tile, strict=True)))

    def _asked(self, reading: Reading) -> int:
        """Bytes that points read of it, each on its own."""
        return prod(self.sizes) * reading.trips * reading.itemsize

    def _written(self, store: StoreOp, tile: Sequence[int]) -> float:
        """Bytes that all blocks write, in sectors: rows of a tile may be parts of one."""
        row = tile[-1] * dtype_of(store.value.type).itemsize
        parts = -(-row // SECTOR) * SECTOR / row if tile[-1] < self.sizes[-1] else 1
        return prod(self.sizes) * dtype_of(store.value.type).itemsize * parts

    def _moved(self, tile: Sequence[int]) -> float:
        """Bytes that all blocks move."""
        shared = self._shared(tile)
        together = {each.reading for each in shared}
        moved = sum(self._bytes(each, tile) for each in shared)
        moved += sum(self._asked(reading) for reading in self.readings if reading not in together)
        return moved + sum(self._written(op, tile) for op in self.points.stores)

    def _cost(self, tile: Sequence[int]) -> float | None:
        """Bytes, more where blocks are too few for a GPU; None where there is no room."""
        if sum(each.nbytes + 16 for each in self._shared(tile)) > ROOM:
            return None
        moved = self._moved(tile)
        idle = prod(-(-n // t) * t / n for n, t in zip(self.sizes, tile, strict=True))  # threads without a point
        threads = max(THREADS, min(self.points.threads(tile), prod(tile)))
        return moved * (1 + 0.2 * (idle - 1)) * self.points.few(tile, moved, threads)

    def _roomy(self, tile: Sequence[int]) -> tuple[float, list[Shared]]:
        """The boxes with gaps that keep banks apart, and how often more than needed they are asked."""
        points = numbers_of(tile, LOOKED_AT)
        found: list[Shared] = []
        total = 0.0
        left = ROOM - sum(shared.nbytes + 16 for shared in self._shared(tile))
        for shared in self._shared(tile):
            size = shared.reading.itemsize
            terms = [[each.terms.get(v, 0) for v in self.variables] for each in shared.reading.coordinates]
            first = points @ np.array(terms, dtype=np.int64).reshape(-1, len(self.variables)).T
            asked = np.concatenate([first + taken for taken in shared.reading.taken()])
            rooms = [room for room in shared.rooms() if left + shared.nbytes >= prod(room) * size]
            again, _, room = min((asked_again(asked, row_major(room), size), prod(room), room) for room in rooms)
            best = replace(shared, room=room)
            for each in self._apart(shared, asked, tile, left) if again else ():
                again, best = min((again, best), each, key=lambda found: found[0])
                if not again:
                    break
            left -= best.nbytes - shared.nbytes
            total += again
            found.append(best)
        return total, found

    def _apart(self, shared: Shared, asked: Numbers, tile: Sequence[int], left: int) -> Iterator[tuple[float, Shared]]:
        """The box with places exchanged, or with gaps inside of rows, too.

        Banks may be asked again as it comes in, once for all its points.
        """
        box, size = shared.box, shared.reading.itemsize
        brought, often = numbers_of(box, LOOKED_AT), prod(box) / (prod(tile) * shared.reading.trips)
        room = (whole_banks(prod(box), size),)
        for swizzle in swizzles_of(size) if left + shared.nbytes >= room[0] * size else ():
            again = asked_again(asked, row_major(box), size, swizzle)
            again += often * asked_again(brought, row_major(box), size, swizzle)
            yield again, replace(shared, room=room, strides=row_major(box), swizzle=swizzle)
        for strides in strides_of(box, size, GAPS):
            room = (box[0] * strides[0],)
            if left + shared.nbytes >= room[0] * size:
                again = asked_again(asked, strides, size) + often * asked_again(brought, strides, size)
                yield again, replace(shared, room=room, strides=strides)


def side_of(coordinate: Linear, span: int, sides: Mapping[SSAValue, int]) -> int:
    """From the first to the last that a tile of these sides reads along a coordinate."""
    return span + sum(n * (sides[v] - 1) for v, n in coordinate.terms.items() if v in sides)
