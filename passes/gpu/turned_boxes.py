"""Which nests read along another dimension than they write, and the tile that a block turns of them in shared memory.

As matrices, images of three channels, whose pads come with them, channels that are shuffled by fours, or dimensions in
another order. A tile is neighbouring points of the result, the last dimensions whole and a part of one more, or parts
of two dimensions, as 32 x 32, with those behind them whole. What it reads of a source is a box, which a block brings
into shared memory in the order of the source. The tile is that for which blocks move the fewest sectors, counted as
warps ask for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import prod
from typing import NamedTuple, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from ...compiler.dtypes import dtype_of
from ...compiler.layouts import Swizzle
from ...compiler.walking import all_ops
from ...dialects.affine import IfOp, LoadOp, ParallelOp, StoreOp
from ...dialects.gpu.ops import WARP
from ..affine.accesses import Linear, map_subscripts
from .banks import WORD, Lanes, Numbers, asked_again, numbers_of, row_major, strides_of, swizzles_of, whole_banks
from .kernels import LAUNCH
from .shared_windows import (
    ROOM,
    Points,
    Reading,
    Shared,
    Windows,
    points_of,
)
from .tiles_read import SECTOR

MOST = 4096  # points of a tile
SIDES = (8, 16, 32, 64)  # of tiles of parts of two dimensions
PARTS = (1, 2, 4, 8, 16, 32)  # of the second, where those behind it are whole
LEAST = 256  # points that tiles should have: as many threads
COUNTED = 1024  # points of a tile, and elements of a box, whose sectors are counted
CLOSEST = 8  # tiles of the least cost whose banks are looked at
AGAIN = 0.5  # of all time, that asking banks once more takes: a warp waits for memory far longer
ROWS = 4  # of a tile, or parts of one, that stretches of a warp may be apart
PHASES = 4  # begins of warps inside of a sector that are looked at
IDLE = 0.5  # of lanes that may have nothing to bring, where rows of a box are brought each on its own
GAIN = 1.1  # how many times fewer sectors are to be moved than by a thread a point
GAIN_ALONE = 2  # and where that takes a launch of its own
WASTE = 1.5  # times as many sectors as elements fill, from which on loads that differ by what is added come together
GAIN_SHARED = 1.05  # and than by a thread for several points, where points have something in common


@dataclass(frozen=True, eq=False)
class _Access:
    """Elements between neighbours along each loop, where the first point is, and bytes of an element."""

    steps: tuple[int, ...]
    start: int
    itemsize: int

    def sectors(self, points: Numbers) -> float:
        """That a point takes, of warps whose lanes are neighbours in this order."""
        return sectors_of((points @ np.array(self.steps, dtype=np.int64) + self.start) * self.itemsize)


@dataclass(frozen=True, eq=False)
class _Source:
    """A reading, how points walk it, and elements between neighbours along each of its coordinates."""

    reading: Reading
    access: _Access
    strides: tuple[int, ...]
    lead: int  # elements from the begin of a sector to what the first point reads
    aligned: bool  # whether that is so all along the other coordinates


class _Way(NamedTuple):
    """How a box may lie in shared memory: how often more than needed banks are asked, and elements that it takes."""

    again: float
    room: int
    strides: tuple[int, ...]
    swizzle: Swizzle | None
    box: tuple[int, ...]


def _by_rows(box: Sequence[int], taken: Numbers, itemsize: int) -> Iterator[_Way]:
    """Ways in which no warp brings parts of two rows, so that any gap may be behind them: some lanes do nothing."""
    lanes = WARP * max(1, WORD // itemsize)
    wide = (*box[:-1], box[-1] + -box[-1] % lanes)
    row = int(taken[:, -1].max()) + 1
    if wide == tuple(box) or wide[-1] > (1 + IDLE) * box[-1]:
        return
    for strides in strides_of((*box[:-1], row), itemsize):
        yield _Way(asked_again(taken, strides, itemsize), box[0] * strides[0], strides, None, wide)


def _strides(box: Sequence[int], itemsize: int) -> Iterator[tuple[int, ...]]:
    """Elements between neighbours of a box: side by side, and where they are parts of a word, with a word for each."""
    yield from strides_of(box, itemsize)
    if itemsize < WORD:
        yield from (tuple(step * (WORD // itemsize) for step in strides) for strides in strides_of(box, WORD))


def boxes_of(nest: ParallelOp, width: int = 1, alone: float | None = None) -> Windows | None:
    """The tiles that a nest is done by; None where a thread for so many points does as well.

    Where nothing is turned, but points have something in common, threads move `alone` so many sectors without.
    """
    points = points_of(nest)
    if points is None or prod(points.sizes) < 2 * WARP:
        return None
    plain = [_access_of(op, points.variables) for op in points.stores]
    sources: list[_Source] = []
    for reading in _together(points):
        source = _source_of(reading, points.variables)
        if source is None:
            load = _load_of(reading)
            plain.append(_access_of(load, points.variables) if load is not None and not reading.loops else None)
        else:
            sources.append(source)
    known = [access for access in plain if access is not None]
    if len(known) < len(plain):
        return None
    turned = any(_turned(source.access, points.sizes) or source.reading.beside for source in sources)
    shared = not points.anywhere and not all(all(source.access.steps) for source in sources)
    if not turned and (alone is None or not shared):
        return None
    gain = GAIN_ALONE if LAUNCH in nest.attributes else GAIN if turned else GAIN_SHARED
    if turned:  # a row that all have in common is read by each warp: its banks are not those that suit what is turned
        rows = [s for s in sources if len(s.reading.coordinates) < 2 and not s.reading.beside]
        known += [source.access for source in rows]
        sources = [source for source in sources if source not in rows]
    return _Choice(points, sources, known).best(width, gain, None if turned else alone)


def _together(points: Points) -> list[Reading]:
    """What points read; loads that alone move parts of sectors are one with those that differ by what is added."""
    groups: list[list[tuple[Reading, _Access]]] = []
    found: list[Reading] = []
    for reading in points.readings:
        access = _access_of(reading.op, points.variables) if isinstance(reading.op, LoadOp) else None
        if access is None or reading.loops or not _wasteful(access, points.sizes):
            found.append(reading)
            continue
        same = next((group for group in groups if _beside(group[0], (reading, access))), None)
        if same is not None:
            same.append((reading, access))
        else:
            groups.append([(reading, access)])
    for group in groups:
        first = min(group, key=lambda each: each[1].start)[0]
        away = [_away(first, other) for other, _ in group if other is not first]
        if len(group) > 1 and min(map(min, away)) >= 0:
            loads = [cast("LoadOp", other.op) for other, _ in group if other is not first]
            found.append(replace(first, beside=tuple(zip(loads, away, strict=True))))
        else:
            found += [reading for reading, _ in group]
    return found


def _wasteful(access: _Access, sizes: Sequence[int]) -> bool:
    """Whether neighbouring points, each on its own, ask for sectors of which they take a part."""
    return access.sectors(numbers_of(sizes, COUNTED)) * SECTOR > WASTE * access.itemsize


def _beside(first: tuple[Reading, _Access], other: tuple[Reading, _Access]) -> bool:
    """Whether two loads read the same buffer, but for what is added to coordinates."""
    loads = [reading.op for reading, _ in (first, other)]
    same = isinstance(loads[0], LoadOp) and isinstance(loads[1], LoadOp) and loads[0].memref is loads[1].memref
    return same and all(a.terms == b.terms for a, b in zip(first[0].coordinates, other[0].coordinates, strict=True))


def _away(first: Reading, other: Reading) -> tuple[int, ...]:
    return tuple(b.constant - a.constant for a, b in zip(first.coordinates, other.coordinates, strict=True))


def sectors_of(places: Numbers) -> float:
    """Sectors for each of these bytes, when warps ask for them in order."""
    asked = places // SECTOR
    whole = len(asked) // WARP * WARP
    rows = [np.sort(asked[:whole].reshape(-1, WARP), axis=1), np.sort(asked[None, whole:], axis=1)]
    found = sum(len(row) + int(np.count_nonzero(np.diff(row, axis=1))) for row in rows if row.size)
    return found / len(asked)


def _load_of(reading: Reading) -> LoadOp | None:
    """The one load of a reading."""
    if isinstance(reading.op, LoadOp):
        return reading.op
    loads = [op for op in all_ops(reading.op) if isinstance(op, LoadOp)]
    return loads[0] if len(loads) == 1 and not any(isinstance(op, IfOp) for op in all_ops(loads[0])) else None


def _subscripts(op: LoadOp | StoreOp, variables: Sequence[SSAValue]) -> list[tuple[Linear, int]] | None:
    """An access along each dimension of its buffer, with elements between neighbours there."""
    type_ = op.memref.type
    if not isinstance(type_, MemRefType) or not isinstance(type_.layout, NoneAttr) or op.map.data.num_symbols:
        return None
    found: list[tuple[Linear, int]] = []
    strides = row_major(type_.get_shape())
    for linear, stride in zip(map_subscripts(op.map.data, op.indices), strides, strict=True):
        if linear is None or any(v not in variables for v in linear.terms):
            return None
        found.append((linear, stride))
    return found


def _access_of(op: LoadOp | StoreOp, variables: Sequence[SSAValue]) -> _Access | None:
    found = _subscripts(op, variables)
    if found is None:
        return None
    steps = tuple(sum(linear.terms.get(v, 0) * stride for linear, stride in found) for v in variables)
    start = sum(linear.constant * stride for linear, stride in found)
    return _Access(steps, start, dtype_of(op.memref.type).itemsize)


def _source_of(reading: Reading, variables: Sequence[SSAValue]) -> _Source | None:
    """A reading as a box may be brought of it; None where its coordinates are not those of its source."""
    load = _load_of(reading)
    access = _access_of(load, variables) if load is not None and not reading.loops else None
    found = _subscripts(load, variables) if load is not None else None
    if access is None or found is None or not reading.coordinates:
        return None
    left = [(linear, stride) for linear, stride in found if linear.terms]
    start = access.start - sum(linear.constant * stride for linear, stride in left)
    strides: list[int] = []
    for coordinate in reading.coordinates:
        same = next((each for each in left if each[0].terms == coordinate.terms), None)
        if same is not None:
            left.remove(same)
            start += (same[0].constant - coordinate.constant) * same[1]
        elif coordinate.terms:
            return None
        strides.append(same[1] if same is not None else 0)
    if left:
        return None
    if reading.beside:  # coordinates are those of the buffer
        strides = [stride for _, stride in found]
    last = reading.coordinates[-1]
    whole = SECTOR // access.itemsize
    first = start + last.constant * strides[-1]  # of the first point, but for whole steps along other coordinates
    apart = [step for v, step in zip(variables, access.steps, strict=True) if v not in last.terms]
    aligned = strides[-1] == 1 and not any(step % whole for step in (*apart, access.start - first))
    return _Source(reading, access, tuple(strides), first % whole, aligned)


def _turned(access: _Access, sizes: Sequence[int]) -> bool:
    """Whether neighbouring points read numbers that lie apart, and points that lie apart neighbours."""
    steps = [step for step, size in zip(access.steps, sizes, strict=True) if step and size > 1]
    return bool(steps) and steps[-1] > 1 and 1 in steps


@dataclass(frozen=True, eq=False)
class _Choice:
    points: Points
    sources: Sequence[_Source]
    plain: Sequence[_Access]  # what points always take on their own, as what they write

    def best(self, width: int, gain: float, alone: float | None) -> Windows | None:
        """The tile that costs least, of those that move so many times fewer sectors than threads `alone` do."""
        sizes = self.points.sizes
        first = numbers_of(sizes, COUNTED, width)
        each = sum(access.sectors(first) for access in self.plain)
        each += sum(source.access.sectors(first) * len(source.reading.reads) for source in self.sources)
        most = (prod(sizes) * each / width if alone is None else alone) / gain
        moved = ((self._moved(tile), tile) for tile in self._tiles() if self._fits(tile))
        costs = [(sectors * self._slower(tile, sectors), tile) for sectors, tile in moved if sectors <= most]
        # of the same cost those first of the longest rows on both sides: lines of a cache are longer than sectors
        costs.sort(key=lambda each: (each[0], -min((n for n in each[1] if n > 1), default=1)))
        best: tuple[float, Windows] | None = None
        for cost, tile in costs[:CLOSEST]:
            if best is not None and best[0] <= cost:
                break
            roomy = self._roomy(tile)
            if roomy is None or not roomy[1]:  # no room; nothing comes in
                continue
            if best is None or cost * (1 + AGAIN * roomy[0]) < best[0]:
                found = Windows(self.points.variables, sizes, tile, roomy[1], first=self._first(tile), lanes=roomy[2])
                best = cost * (1 + AGAIN * roomy[0]), found
        return best[1] if best is not None else None

    def _first(self, tile: Sequence[int]) -> tuple[int, int] | None:
        """Where a result in the order of points begins, and points of a sector, where tiles begin inside of some."""
        sizes, stores = self.points.sizes, self.plain[: len(self.points.stores)]
        whole = SECTOR // stores[0].itemsize
        if len(stores) > 1 or stores[0].steps != row_major(sizes) or whole < 2:
            return None
        rows = next((d for d, n in enumerate(tile) if n > 1), len(tile) - 1)
        if tuple(tile[rows + 1 :]) != sizes[rows + 1 :]:
            return None  # a tile whose rows lie apart
        begins = [step * side for step, side, n in zip(row_major(sizes), tile, sizes, strict=True) if side < n]
        return (stores[0].start, whole) if any(n % whole for n in (*begins, stores[0].start)) else None

    def _tiles(self) -> Iterator[tuple[int, ...]]:
        """Tiles of neighbours, dimensions from the last one on and parts of one more, or parts of two dimensions.

        Dimensions behind the second are whole, as rows of images that are one after the other.
        """
        sizes = self.points.sizes
        for d, size in enumerate(sizes):
            inner = prod(sizes[d + 1 :])
            sides = {-(-size // k) for k in range(1, 33)} | {1 << i for i in range(13)}
            for side in sorted(n for n in sides if n <= size and n * inner <= MOST and (n > 1 or d == 0)):
                yield (*(1 for _ in sizes[:d]), side, *sizes[d + 1 :])
        for d in range(len(sizes) - 1):
            if any(source.access.steps[d] == 1 for source in self.sources):
                for last, size in enumerate(sizes[d + 1 :], d + 1):
                    inner = prod(sizes[last + 1 :])
                    for side, row in product(SIDES, SIDES if last == len(sizes) - 1 else PARTS):
                        if side <= sizes[d] and row < size and side * row * inner <= MOST:
                            between = (1 for _ in sizes[d + 1 : last])
                            yield (*(1 for _ in sizes[:d]), side, *between, row, *sizes[last + 1 :])

    def _fits(self, tile: Sequence[int]) -> bool:
        return sum(prod(self._box(s, tile)) * s.access.itemsize + 16 for s in self._shared(tile)) <= ROOM

    def _shared(self, tile: Sequence[int]) -> list[_Source]:
        """What comes through shared memory: what is turned, and what points of a tile have in common."""
        return [
            source
            for source in self.sources
            if _turned(source.access, self.points.sizes)
            or source.reading.beside
            or 2 * prod(self._box(source, tile)) <= prod(tile)
        ]

    def _lead(self, source: _Source, tile: Sequence[int]) -> int | None:
        """Elements before what the first point of any tile reads that its sector has; None where that differs."""
        whole = SECTOR // source.access.itemsize
        terms = source.reading.coordinates[-1].terms
        loops = zip(self.points.variables, tile, self.points.sizes, strict=True)
        cut = [n * terms.get(v, 0) for v, n, size in loops if n < size]
        return source.lead if source.aligned and not any(n % whole for n in cut) else None

    def _whole(self, source: _Source, tile: Sequence[int]) -> bool:
        """Whether tiles have whole rows of a source, which begin at the same place of a sector."""
        terms = source.reading.coordinates[-1].terms
        loops = zip(self.points.variables, tile, self.points.sizes, strict=True)
        return self._lead(source, tile) is not None and not any(n < size for v, n, size in loops if v in terms)

    def _box(self, source: _Source, tile: Sequence[int]) -> tuple[int, ...]:
        """What a tile reads, in whole sectors where all its rows begin at the same place of one."""
        sides = dict(zip(self.points.variables, tile, strict=True))
        box = list(source.reading.box(sides))
        lead = self._lead(source, tile)
        if lead is not None:
            box[-1] += lead
            box[-1] += -box[-1] % (SECTOR // source.access.itemsize)
        return tuple(box)

    def _moved(self, tile: Sequence[int]) -> float:
        """Sectors that all blocks move, each as many as the second along every dimension."""
        points = self.points
        blocks = prod(-(-n // t) for n, t in zip(points.sizes, tile, strict=True))
        origin = np.array([t if t < n else 0 for n, t in zip(points.sizes, tile, strict=True)], dtype=np.int64)
        shared = self._shared(tile)
        alone = [*self.plain, *(source.access for source in self.sources if source not in shared)]
        moved = 0.0
        if self._first(tile) is not None:  # each block writes parts of a sector at its ends
            moved, alone = blocks * (1 + prod(tile) * alone[0].itemsize / SECTOR), alone[1:]
        moved += prod(points.sizes) * sum(each.sectors(numbers_of(tile, COUNTED) + origin) for each in alone)
        for source in shared:
            box, access = self._box(source, tile), source.access
            begin = (
                int(origin @ np.array(access.steps, dtype=np.int64)) + access.start - (self._lead(source, tile) or 0)
            )
            places = numbers_of(box, COUNTED) @ np.array(source.strides, dtype=np.int64) + begin
            moved += blocks * prod(box) * sectors_of(places * access.itemsize)
        return moved

    def _slower(self, tile: Sequence[int], sectors: float) -> float:
        """How many times: where threads have no point, and where blocks are too few for a GPU or too small."""
        sizes = self.points.sizes
        idle = prod(-(-n // t) * t / n for n, t in zip(sizes, tile, strict=True))
        few = self.points.few(tile, sectors * SECTOR) * max(1, LEAST / prod(tile)) ** 0.25
        return (1 + 0.2 * (idle - 1)) * few

    def _roomy(self, tile: Sequence[int]) -> tuple[float, tuple[Shared, ...], Lanes | None] | None:
        """How often more than needed a point asks banks, with the gaps and lanes for which that is least.

        None where there is no room.
        """
        best: tuple[float, tuple[Shared, ...], Lanes | None] | None = None
        for lanes in (None, *self._orders(tile)):
            again, shared = self._placed(tile, lanes)
            fits = sum(each.nbytes + 16 for each in shared) <= ROOM
            if fits and (best is None or again < best[0]):
                best = again, shared, lanes
            if best is not None and not best[0]:
                break
        return best

    def _orders(self, tile: Sequence[int]) -> Iterator[Lanes]:
        """Other orders of a tile's points in which warps still take whole sectors of what is not shared."""
        count, shared = prod(tile), self._shared(tile)
        alone = [*self.plain, *(source.access for source in self.sources if source not in shared)]
        whole = SECTOR // min(access.itemsize for access in self.plain[: len(self.points.stores)])
        rows = sorted({prod(tile[d:]) * n for d in range(1, len(tile)) for n in range(1, ROWS + 1)})
        for run, apart in product((n for n in (whole, 2 * whole) if n < WARP), rows):
            lanes = Lanes(WARP // run, apart, run)
            if apart % run == 0 and (count % lanes.whole == 0 or self._first(tile) is not None):
                first, other = (self._warps(tile, n, count) for n in (None, lanes))
                if all(access.sectors(other) <= access.sectors(first) for access in alone):
                    yield lanes

    def _warps(self, tile: Sequence[int], lanes: Lanes | None, most: int) -> Numbers:
        """Points as warps take them, of tiles that begin at several places of a sector where they begin inside."""
        count, before = prod(tile), self._first(tile)
        numbers = np.arange(min(most, count) if lanes is None else count + -count % lanes.whole)
        numbers = (numbers if lanes is None else lanes.taken(numbers))[:most]
        begins = range(0, before[1], max(1, before[1] // PHASES)) if before is not None else (0,)
        every = np.concatenate([(numbers - begin)[: max(1, len(numbers) // WARP) * WARP] for begin in begins])
        return np.stack(np.unravel_index(every.clip(0, count - 1), tuple(tile)), axis=1).astype(np.int64)

    def _placed(self, tile: Sequence[int], lanes: Lanes | None) -> tuple[float, tuple[Shared, ...]]:
        """The same of points that lanes take in this order."""
        total, found = 0.0, list[Shared]()
        points = self._warps(tile, lanes, COUNTED)
        for source in self._shared(tile):
            reading, lead = source.reading, self._lead(source, tile) or 0
            box = self._box(source, tile)
            terms = [[each.terms.get(v, 0) for v in self.points.variables] for each in reading.coordinates]
            first: Numbers = points @ np.array(terms, dtype=np.int64).T
            first[:, -1] += lead
            taken = np.concatenate([first + np.array(away, dtype=np.int64) for _, away in reading.reads])
            brought, often = numbers_of(box, COUNTED), prod(box) / prod(tile)
            size, ways = reading.itemsize, list[_Way]()
            exchanged = ((row_major(box), swizzle) for swizzle in swizzles_of(size))
            for strides, swizzle in chain(((s, None) for s in _strides(box, size)), exchanged):
                again = asked_again(taken, strides, size, swizzle)
                again += often * asked_again(brought, strides, size, swizzle)
                room = box[0] * strides[0]
                ways.append(
                    _Way(again, whole_banks(room, size) if swizzle is not None else room, strides, swizzle, box)
                )
                if not again:
                    break
            if min(way.again for way in ways) and self._whole(source, tile):
                ways += _by_rows(box, taken, size)
            best = min(ways, key=lambda way: (way.again, way.swizzle is not None, way.room, way.strides))
            if best.again and lanes is None and (around := self._around(source, tile)):
                row = tuple(around + WARP - 1 if each.terms else 1 for each in reading.coordinates)
                found.append(Shared(reading, row, (prod(row),), row_major(row), around=around))
                continue
            total += best.again
            found.append(Shared(reading, best.box, (best.room,), best.strides, lead, best.swizzle))
        return total, tuple(found)

    def _around(self, source: _Source, tile: Sequence[int]) -> int:
        """After how many points of a tile, in order, a source is read from its begin on again; 0 where it is not."""
        row = tile[-1] if tile[-1] == self.points.sizes[-1] else 0
        alone = [each.terms for each in source.reading.coordinates if each.terms] == [{self.points.variables[-1]: 1}]
        return row if alone and not self._lead(source, tile) else 0
