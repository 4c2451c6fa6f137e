"""Rows that are no whole sectors of memory: a block brings those of several teams into shared memory and back.

Before:
    affine.parallel (%i) = (0) to (72) {
      %row = affine.vector_load %x[%i, 0] : memref<72x9xf32>, vector<9xf32>
      ...
      affine.vector_store %q, %y[%i, 0] : memref<72x9xf32>, vector<9xf32>
    }
After, for a block of eight rows, whose first one is %r0, and the row %r of a team:
    affine.for %n = 0 to 1 {
      %e = affine.apply ... (%n * 128 + %thread)                          // one of 18 parts of 16 bytes
      affine.if (%e <= 17) { affine.vector_load %flat[%r0 * 9 + %e * 4] ... affine.vector_store %room[%e * 4] }
    }
    gpu.barrier
    %row = affine.load %room[%r * 9 + %lane]                              // as `gpu-distribute-tiles` has it
    ...
    gpu.barrier, and the same way back

Which rows a block takes is found by counting (`gpu.row_boxes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, MemRefType, VectorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...compiler.dtypes import dtype_of
from ...dialects.affine import LoadOp, MinOp, ParallelOp, StoreOp, VectorLoadOp, VectorStoreOp
from ...dialects.gpu import BarrierOp
from ...dialects.memref.views import collapse
from .nest_writer import NestWriter
from .row_boxes import Part, RowAccess, Staging

_Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"
_Index: TypeAlias = "SSAValue[IndexType]"
_Place: TypeAlias = "tuple[SSAValue, Sequence[SSAValue], AffineExpr]"


class Stager(NestWriter):
    """Writes what brings a block's rows into shared memory, and what takes them back."""

    def __init__(self, nest: ParallelOp, staging: Staging, block: SSAValue, thread: SSAValue):
        super().__init__(nest)
        self.box, self.staging, self.thread = staging.box, staging, thread
        box = self.box
        self.origin = self.digits(block, box.counts, box.box)
        team = self.apply(box.lanes.taken(AffineExpr.dimension(0) // box.team), thread)
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        self.inside: list[tuple[SSAValue, int]] = []  # what says whether the team's row exists
        self.local: list[SSAValue] = []
        order = sorted(range(len(box.box)), key=box.taken.__getitem__)
        digits = self.digits(team, [box.box[d] for d in box.taken])
        for origin, at, n, side in zip(self.origin, [digits[i] for i in order], box.sizes, box.box, strict=True):
            if n % side:  # all threads of a warp come to a shuffle: those behind the last row do it again
                self.inside.append((self.apply(d0 + d1, origin, at), n - 1))
                both = AffineMap(2, 0, (d1, AffineExpr.constant(n - 1) - d0))
                at = self.b.insert(MinOp([origin, at], AffineMapAttr(both))).results[0]
            self.local.append(at)
        below = [prod(box.sizes[i + 1 :]) for i in range(len(box.sizes))]
        expr: AffineExpr = AffineExpr.constant(0)
        for i, factor in enumerate(below):
            expr = expr + (AffineExpr.dimension(i) + AffineExpr.dimension(len(below) + i)) * factor
        self.row = self.apply(expr.simplify(2 * len(below), 0), *self.origin, *self.local)
        self.places = self._places()
        for part in staging.parts:
            if not part.written:
                self._move(part)
        self.b.insert(BarrierOp())

    def _places(self) -> dict[RowAccess, _Buffer]:
        """Shared memory for each part. What is written lies where a thread's own elements of the same form lay."""
        wanted: list[Part] = []
        same: dict[RowAccess, int] = {}
        again: set[int] = set()
        for part in self.staging.parts:
            forms = [(p.element, p.steps, p.step, p.gap, p.written) for p in wanted]
            held = part.element, part.steps, part.step, part.gap, False
            taken = next((i for i, form in enumerate(forms) if form == held and i not in again), len(wanted))
            if not part.written or not all(part.steps):
                taken = len(wanted)
            if taken == len(wanted):
                wanted.append(part)
            else:
                again.add(taken)
            same[part.op] = taken
        rooms = self.rooms([(part.element, [self.box.room(part)]) for part in wanted])
        return {op: rooms[i] for op, i in same.items()}

    @property
    def returns(self) -> bool:
        """Whether teams meet once more, for what they write."""
        return any(part.written for part in self.staging.parts)

    def holds(self, op: RowAccess) -> bool:
        """Whether what rows take there lies in shared memory."""
        return any(part.op is op for part in self.staging.parts)

    def place(self, op: RowAccess, lane: SSAValue, within: int) -> tuple[_Buffer, list[_Index], AffineMapAttr]:
        """Where what a lane takes of the team's row lies in shared memory, and so many elements behind it."""
        part = next(part for part in self.staging.parts if part.op is op)
        local = self.box.local(part)
        steps = [*((1, step) for step in local.values()), (1, self.box.width)]
        return self._at((self.places[op], [*(self.local[d] for d in local), lane], self._sum(steps) + within))

    def end(self) -> None:
        """What teams have written, to where it belongs."""
        if self.returns:
            self.b.insert(BarrierOp())
        for part in self.staging.parts:
            if part.written:
                self._move(part)

    def _move(self, part: Part) -> None:
        """All elements of a box from a buffer into shared memory, or back."""
        box, room, width = self.box, self.places[part.op], self.box.at_a_time(part)
        sides = box.sides(part)
        last = sides[-1]
        sizes = [*(side.count for side in sides[:-1]), last.count // width]
        flat = part.buffer
        assert isinstance(flat.type, MemRefType)
        rank = len(flat.type.get_shape())
        if rank > 1:
            flat = self.b.insert(collapse(flat, [list(range(rank))])).results[0]

        def elements(number: SSAValue, at: list[SSAValue]) -> None:
            count, threads = prod(sizes), box.rows * box.team
            inside = [(number, count - 1)] if count % threads else []
            steps = [width if side is last else 1 for side in sides]
            d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
            for side, digit, step in zip(sides, at, steps, strict=True):
                if side.cut is not None:
                    end = self.apply(d0 * step + d1 * side.each, digit, self.origin[side.cut])
                    inside.append((end, box.sizes[side.cut] * side.each - step))
            own = box.own(part)
            here = self._sum([*zip(steps, (s.local for s in sides), strict=True)])
            there = self._sum([*zip(steps, (s.apart for s in sides), strict=True), *((1, part.steps[d]) for d in own)])
            outside = (flat, [*at, *(self.origin[d] for d in own)], there + part.start)
            ways = (room, at, here), outside
            source, target = ways if part.written else ways[::-1]
            self.where(inside, lambda: self._copy(source, target, width))

        self.spread(sizes, self.thread, box.rows * box.team, elements)

    def _sum(self, factors: Sequence[tuple[int, int]]) -> AffineExpr:
        expr: AffineExpr = AffineExpr.constant(0)
        for i, (first, second) in enumerate(factors):
            expr = expr + AffineExpr.dimension(i) * (first * second)
        return expr

    def _at(self, place: _Place) -> tuple[_Buffer, list[_Index], AffineMapAttr]:
        """A place as an access takes it."""
        buffer, operands, expr = place
        map = AffineMap(len(operands), 0, (expr.simplify(len(operands), 0),))
        return cast("_Buffer", buffer), cast("list[_Index]", [*operands]), AffineMapAttr(map)

    def _copy(self, source: _Place, target: _Place, width: int) -> None:
        """So many elements from one place to another."""

        if width == 1:
            value = self.b.insert(LoadOp(*self._at(source))).result
            self.b.insert(StoreOp(value, *self._at(target)))
            return
        type_ = source[0].type
        assert isinstance(type_, MemRefType)
        load = VectorLoadOp(*self._at(source), VectorType(type_.element_type, [width]))
        store = VectorStoreOp(load.result, *self._at(target))
        for op in (load, store):
            op.attributes["alignment"] = IntegerAttr(width * dtype_of(type_).itemsize, i64)
        self.b.insert([load, store])
