"""Nests whose points read windows that overlap: blocks take tiles of points and share in memory what these read.

Before:
    affine.parallel (%y, %x, %c) = (0, 0, 0) to (56, 56, 64) {
      %s = affine.for %i = 0 to 3 ... affine.for %j = 0 to 3 ... {
        %v = affine.load %image[%y + %i, %x + %j, %c]
        ...
      }
      affine.store %s, %result[%y, %x, %c]
    }
After, for a block of 14 x 14 x 32 points, whose first one is (%y0, %x0, %c0):
    affine.for %n = 0 to 32 {
      %e = affine.apply ... (%n * 256 + %thread)                              // one of 16 x 16 x 32 elements
      %v = affine.load %image[%y0 + %ye, %x0 + %xe, %c0 + %ce]
      affine.store %v, %shared[%ye, %xe, %ce]
    }
    gpu.barrier
    affine.for %n = 0 to 25 {
      %p = affine.apply ... (%n * 256 + %thread)                              // one of the points
      ... affine.load %shared[%yp + %i, %xp + %j, %cp] ...
    }

Each byte of the image is read once, but for what lies around a tile. So is everything else that points of a tile have
in common, as the weights of windows. What is read may be chosen by conditions (`gpu-fuse-points`): pads are made as
the tile comes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...compiler.layouts import Swizzle
from ...dialects.affine import ApplyOp, LoadOp, ParallelOp, StoreOp, YieldOp
from ...dialects.gpu import BarrierOp, BlockIdOp, ThreadIdOp
from ...dialects.gpu.ops import WARP
from .bands import band_of
from .banks import row_major
from .nest_writer import NestWriter
from .shared_windows import Shared, Windows

_Index: TypeAlias = "SSAValue[IndexType]"
_Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"


def emit_windows(nest: ParallelOp, windows: Windows) -> tuple[int, int]:
    """Puts what one thread does in the nest's place; the blocks and the threads of each."""
    _Tile(nest, windows).run()
    return prod(windows.counts), windows.threads


class _Tile(NestWriter):
    def __init__(self, nest: ParallelOp, windows: Windows):
        super().__init__(nest)
        self.w = windows

    def run(self) -> None:
        """What comes in, the meeting, and the points."""
        w = self.w
        block, self.thread = self.b.insert(BlockIdOp("x")).result, self.b.insert(ThreadIdOp("x")).result
        self.origin = dict(zip(w.variables, self.digits(block, w.counts, w.tile), strict=True))
        rooms = self.rooms([(shared.reading.element, shared.room) for shared in w.shared])
        for shared, room in zip(w.shared, rooms, strict=True):
            self.bring(shared, room)
        self.b.insert(BarrierOp())
        self.points(rooms)
        self.erase_nest()

    def bring(self, shared: Shared, room: _Buffer) -> None:
        """All elements of a box from where they are into shared memory."""
        reading = shared.reading

        sides = shared.box if shared.strides else shared.room
        lead = [0 for _ in shared.box[1:]] + [shared.lead for _ in shared.box[-1:]]

        def element(number: SSAValue, local: list[SSAValue]) -> None:
            there = local
            if shared.around:
                again = [each.terms for each in reading.coordinates]
                there = [self.apply(d0 % shared.around, at) if t else at for at, t in zip(local, again, strict=True)]
            count = prod(sides)
            inside = [(number, count - 1)] if count % self.w.threads else []
            gaps = zip(local, shared.box, sides, strict=True)
            inside += [(at, side - 1) for at, side, whole in gaps if whole > side]  # nothing lies in gaps
            place: list[SSAValue] = []
            each = zip(there, lead, shared.box, reading.coordinates, reading.spans, strict=True)
            for at, before, side, coordinate, span in each:
                terms = [(v, n) for v, n in coordinate.terms.items() if v in self.origin]
                where: AffineExpr = d0
                for position, (_, factor) in enumerate(terms):
                    where = where + AffineExpr.dimension(1 + position) * factor
                constant = coordinate.constant - before
                where = where + constant if constant else where
                place.append(self.apply(where, at, *(self.origin[v] for v, _ in terms)))
                more = side - before - self.w.side(coordinate, span)
                most = self.w.last(coordinate, span, of_tiles=False)
                if not shared.around and self.w.last(coordinate, span, of_tiles=True) + more > most:
                    inside.append((place[-1], most))
            self.where(inside, lambda: self.copy(shared, room, local, place))

        d0 = AffineExpr.dimension(0)
        self.spread(sides, self.thread, self.w.threads, element)

    def copy(self, shared: Shared, room: _Buffer, local: Sequence[SSAValue], place: Sequence[SSAValue]) -> None:
        """One element."""
        value = shared.reading.at(self.b, place)
        where = tuple(AffineExpr.dimension(d) for d in range(len(local)))
        operands, map = _in_room(self.b, shared, where, local)
        self.b.insert(StoreOp(value, room, operands, map))

    def points(self, rooms: Sequence[_Buffer]) -> None:
        """What the nest does for each point of the tile, with what it reads in shared memory."""
        w = self.w

        def point(number: SSAValue, _: list[SSAValue]) -> None:
            if w.lanes is not None:
                number = self.apply(w.lanes.taken(AffineExpr.dimension(0)), number)
            inside: list[tuple[SSAValue, int]] = []
            if before is not None:
                number = self.apply(AffineExpr.dimension(0) - AffineExpr.dimension(1), number, before)
                inside = [(self.apply(AffineExpr.dimension(0) * -1, number), 0)]
            local = self.digits(number, w.tile)
            count = prod(w.tile)
            inside += [(number, count - 1)] if count < w.numbers or count % w.threads else []
            d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
            place = [self.apply(d0 + d1, self.origin[v], at) for v, at in zip(w.variables, local, strict=True)]
            for at, size, side in zip(place, w.sizes, w.tile, strict=True):
                inside += [(at, size - 1)] if size % side else []
            for shared, room in zip(w.shared, rooms, strict=True):
                last = self.around(number, shared.around) if shared.around else local[-1]
                self.take(shared, room, dict(zip(w.variables, [*local[:-1], last], strict=True)))
            for variable, at in zip(w.variables, place, strict=True):
                variable.replace_all_uses_with(at)
            self.where(inside, self.move)

        before = self.before_first()
        self.spread((w.numbers,), self.thread, w.threads, point)

    def around(self, number: SSAValue, count: int) -> SSAValue:
        """Where a point finds what points read around: lanes of a warp next to each other."""
        d0, lane = AffineExpr.dimension(0), AffineExpr.dimension(1) % WARP
        return self.apply((d0 - lane) % count + lane, number, self.thread)

    def before_first(self) -> SSAValue | None:
        """Points between the begin of a sector and the first of the tile; None where tiles begin with sectors."""
        if self.w.first is None:
            return None
        start, whole = self.w.first
        first: AffineExpr = AffineExpr.constant(start)
        for d, step in enumerate(row_major(self.w.sizes)):
            first = first + AffineExpr.dimension(d) * step
        begin = self.apply(first, *(self.origin[v] for v in self.w.variables))
        return self.apply(AffineExpr.dimension(0) % whole, begin)

    def take(self, shared: Shared, room: _Buffer, local: Mapping[SSAValue, SSAValue]) -> None:
        """Lets what reads a box take it in shared memory."""
        coordinates = shared.reading.coordinates
        used = list(dict.fromkeys(v for coordinate in coordinates for v in coordinate.terms))
        for op, away in shared.reading.reads:
            results: list[AffineExpr] = []
            for coordinate, more in zip(coordinates, away, strict=True):
                expr: AffineExpr = AffineExpr.constant(more)
                for variable, factor in coordinate.terms.items():
                    expr = expr + AffineExpr.dimension(used.index(variable)) * factor
                results.append(expr)
            if shared.lead:
                results[-1] = results[-1] + shared.lead
            before = op.prev_op
            b = Builder(InsertPoint.before(op))
            load = b.insert(LoadOp(room, *_in_room(b, shared, results, [local.get(v, v) for v in used])))
            for made in _between(before, op):
                made.location = op.location
            op.results[0].replace_all_uses_with(load.result)
            op.detach()
            op.erase()

    def move(self) -> None:
        """The ops of the nest to where they are done now."""
        for op in list(band_of(self.nest)[-1].body.block.ops):
            if not isinstance(op, YieldOp):
                op.detach()
                self.b.insert(op)


def _between(before: Operation | None, end: Operation) -> Iterator[Operation]:
    """The ops behind one, or from the first of the block on, up to another."""
    op = before.next_op if before is not None else end.parent.first_op if end.parent is not None else None
    while op is not None and op is not end:
        yield op
        op = op.next_op


def _in_room(
    b: Builder, shared: Shared, place: Sequence[AffineExpr], operands: Sequence[SSAValue]
) -> tuple[list[_Index], AffineMapAttr]:
    """Where an element of a box lies in its room: numbers, and a map of them."""
    places = tuple(place)
    if shared.strides:
        flat: AffineExpr = AffineExpr.constant(0)
        for at, stride in zip(place, shared.strides, strict=True):
            flat = flat + at * stride
        places = (flat,)
    map = AffineMapAttr(AffineMap(len(operands), 0, tuple(each.simplify(len(operands), 0) for each in places)))
    if shared.swizzle is None:
        return cast("list[_Index]", list(operands)), map
    linear = b.insert(ApplyOp(operands, map)).result
    return [cast("_Index", _swizzled(b, linear, shared.swizzle))], AffineMapAttr(AffineMap.identity(1))


def _swizzled(b: Builder, place: SSAValue, swizzle: Swizzle) -> SSAValue:
    """Where a place goes."""

    def number(n: int) -> SSAValue:
        return b.insert(arith.ConstantOp(IntegerAttr(n, IndexType()))).result

    mask = (1 << swizzle.bits) - 1 << swizzle.base + swizzle.shift
    counted = b.insert(arith.AndIOp(place, number(mask))).result
    moved = b.insert(arith.ShRUIOp(counted, number(swizzle.shift))).result
    return b.insert(arith.XOrIOp(place, moved)).result
