"""Nests that read along another dimension than they write: blocks turn tiles in shared memory.

A tile is 32 x 32 points. Lanes that are neighbours read neighbours of the source, meet, and write neighbours of the
result; rows of the tile are an odd number of words apart, so that a column lies in as many banks as a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr, IndexType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...compiler.dtypes import dtype_of
from ...dialects.affine import LoadOp, ParallelOp, StoreOp, YieldOp
from ...dialects.gpu import BarrierOp, BlockIdOp, ThreadIdOp
from .bands import band_of
from .nest_writer import NestWriter
from .tiles_read import SECTOR
from .widen_points import Linear, Walk, place_of, walk_of

SIDE = 32  # points along both sides of a tile
ROWS = 8  # of a tile that a block's threads take at a time
WORD = 4  # bytes of a bank of shared memory
LEAST = 8  # points along a side: tiles of fewer are mostly empty
_Index: TypeAlias = "SSAValue[IndexType]"
_Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"


@dataclass(frozen=True)
class Turn:
    """A nest with the dimension, besides the last one, along which some of its loads run."""

    walk: Walk
    dimension: int
    turned: tuple[Linear, ...]

    @property
    def outer(self) -> tuple[int, ...]:
        """The dimensions that tiles do not span."""
        return tuple(d for d in range(len(self.walk.sizes) - 1) if d != self.dimension)


def turn_of(nest: ParallelOp) -> Turn | None:
    """The turn that a nest is, None where it is none or too small for tiles."""
    walk = walk_of(nest)
    if walk is None:
        return None
    turned = tuple(a for a in walk.accesses if a.steps[-1] not in (0, 1))
    if not turned or any(isinstance(a.op, StoreOp) and (a in turned or a.steps[-1] != 1) for a in walk.accesses):
        return None
    if any(
        isinstance(a.op, StoreOp) and walk.sizes[-1] * dtype_of(a.op.memref.type).itemsize < SECTOR
        for a in walk.accesses
    ):
        return None  # rows of a tile would be parts of a sector
    for d, size in enumerate(walk.sizes[:-1]):
        if min(size, walk.sizes[-1]) >= LEAST and all(a.steps[d] == 1 for a in turned):
            return Turn(walk, d, turned)
    return None


def _stride(access: Linear) -> int:
    """Elements between rows of a tile in shared memory: an odd number of words where they are not longer."""
    return SIDE + max(1, WORD // dtype_of(access.op.memref.type).itemsize)


def emit_turn(nest: ParallelOp, turn: Turn) -> tuple[int, int]:
    """Puts what one thread does in the nest's place; the blocks and the threads of each."""
    _Tile(nest, turn).run()
    sizes = turn.walk.sizes
    tiles = -(-sizes[turn.dimension] // SIDE) * -(-sizes[-1] // SIDE) * prod(sizes[d] for d in turn.outer)
    return tiles, SIDE * ROWS


class _Tile(NestWriter):
    def __init__(self, nest: ParallelOp, turn: Turn):
        super().__init__(nest)
        self.turn = turn

    def run(self) -> None:
        """The loads along the source, the meeting, and the points along the result."""
        sizes, turn = self.turn.walk.sizes, self.turn
        block, thread = self.b.insert(BlockIdOp("x")).result, self.b.insert(ThreadIdOp("x")).result
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        down, across = -(-sizes[turn.dimension] // SIDE), -(-sizes[-1] // SIDE)
        self.lane, self.row = self.apply(d0 % SIDE, thread), self.apply(d0 // SIDE, thread)
        first_e = self.apply(d0 % across * SIDE, block)
        first_d = self.apply(d0 // across % down * SIDE, block)
        self.places: list[SSAValue] = [first_e] * len(sizes)  # the outer ones stay, the two of the tile are replaced
        for i, d in enumerate(turn.outer):
            below = across * down * prod(sizes[o] for o in turn.outer[i + 1 :])
            self.places[d] = self.apply(d0 // below % sizes[d], block)
        wanted = [(a.op.memref.type.element_type, [SIDE * _stride(a)]) for a in turn.turned]  # pyright: ignore[reportAttributeAccessIssue]
        rooms = dict(zip(turn.turned, self.rooms(wanted), strict=True))
        for part in range(0, SIDE, ROWS):
            at_d = self.apply(d0 + d1, first_d, self.lane)
            at_e = self.apply(d0 + d1 + part, first_e, self.row)
            self.where(self.inside(at_d, at_e), lambda part=part, d=at_d, e=at_e: self.bring(rooms, part, d, e))
        self.b.insert(BarrierOp())
        for part in range(0, SIDE, ROWS):
            at_d = self.apply(d0 + d1 + part, first_d, self.row)
            at_e = self.apply(d0 + d1, first_e, self.lane)
            self.where(self.inside(at_d, at_e), lambda part=part, d=at_d, e=at_e: self.points(rooms, part, d, e))
        self.erase_nest()

    def inside(self, at_d: SSAValue, at_e: SSAValue) -> list[tuple[SSAValue, int]]:
        """What says whether a point exists."""
        sizes = self.turn.walk.sizes
        both = (at_d, sizes[self.turn.dimension]), (at_e, sizes[-1])
        return [(at, size - 1) for at, size in both if size % SIDE]

    def indices(self, at_d: SSAValue, at_e: SSAValue) -> Sequence[SSAValue]:
        """A point's place in all dimensions."""
        found = list(self.places)
        found[self.turn.dimension], found[-1] = at_d, at_e
        return found

    def bring(self, rooms: dict[Linear, _Buffer], part: int, at_d: SSAValue, at_e: SSAValue) -> None:
        """One row of the source's into shared memory."""
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        for access, room in rooms.items():
            flat, operands, map = place_of(self.b, access, self.indices(at_d, at_e))
            value = self.b.insert(LoadOp(flat, operands, map)).result
            stride = _stride(access)
            where = AffineMapAttr(AffineMap(2, 0, (d0 * stride + d1 + part * stride,)))
            self.b.insert(StoreOp(value, room, cast("list[_Index]", [self.row, self.lane]), where))

    def points(self, rooms: dict[Linear, _Buffer], part: int, at_d: SSAValue, at_e: SSAValue) -> None:
        """One row of the result's: a column of shared memory, and what the nest does with it."""
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        accesses = {access.op: access for access in self.turn.walk.accesses}
        values: dict[SSAValue, SSAValue] = {}
        for op in band_of(self.nest)[-1].body.block.ops:
            if isinstance(op, LoadOp):
                room = rooms.get(accesses[op])
                if room is not None:
                    where = AffineMapAttr(AffineMap(2, 0, (d0 * _stride(accesses[op]) + d1 + part,)))
                    load = LoadOp(room, cast("list[_Index]", [self.lane, self.row]), where)
                else:
                    load = LoadOp(*place_of(self.b, accesses[op], self.indices(at_d, at_e)))
                values[op.result] = self._placed(load, op).results[0]
            elif isinstance(op, StoreOp):
                value = values.get(op.value, op.value)
                self._placed(StoreOp(value, *place_of(self.b, accesses[op], self.indices(at_d, at_e))), op)
            elif not isinstance(op, YieldOp):
                new = self._placed(op.clone(values), op)
                values.update(zip(op.results, new.results, strict=True))

    def _placed(self, op: Operation, like: Operation) -> Operation:
        op.location = like.location
        return self.b.insert(op)
