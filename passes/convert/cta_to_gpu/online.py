"""Programs whose loop maps and reduces tiles between its products: attention. Tiles stay in registers.

Warps have 16 rows each, so that what an instruction leaves is what the next one takes as its left operand; threads, of
which 16 share a row, bring such an operand to shared memory first. A left operand that was loaded before the loop is
read by warps into registers once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr, VectorType, f32, i64
from xdsl.ir import Block, Operation, SSAValue

from ....compiler.diagnostics import LaminaError
from ....dialects.affine import ForOp, MinOp, VectorLoadOp, VectorStoreOp, YieldOp
from ....dialects.cta import (
    DotOp,
    LoadOp,
    MapOp,
    NumbersOp,
    PipelineOp,
    ProgramOp,
    ReduceOp,
    ShareOp,
    StoreOp,
    ViewOp,
)
from ....dialects.cta import YieldOp as TileYieldOp
from ....dialects.gpu import BarrierOp
from ....dialects.gpu.ops import WARP
from ....dialects.nvgpu import MmaSyncOp
from ..contraction_to_cta.schedule import FMA, Schedule
from .fragments import COLUMNS, IN_QUAD, QUAD, ROWS, Fragments, joined, kind_of, packed, split
from .kernel import D0, Coordinate, Kernel, SharedTile, Slot
from .registers import Held, Registers, Spread
from .ring import Ring, Single, Stages

LANES = 4  # numbers that a thread reads at a time
NEIGHBOURS = 16  # threads that share a row


def reduces(program: ProgramOp) -> bool:
    """Whether a program is one of these."""
    return any(isinstance(op, ReduceOp) for op in program.walk())


def write(kernel: Kernel, program: ProgramOp, schedule: Schedule, corner: Sequence[SSAValue]) -> None:
    """The whole kernel, by threads or warps."""
    writer = _Threads if schedule.unit == FMA else _Warps
    writer(kernel, program, schedule, corner).write()


class Writer(ABC):
    """What threads, warps and warpgroups have in common."""

    def __init__(self, kernel: Kernel, program: ProgramOp, schedule: Schedule, corner: Sequence[SSAValue]):
        self.k, self.program, self.s = kernel, program, schedule
        self.tiles = Registers(kernel, self.spread(), corner)
        [self.pipeline] = [op for op in program.body.block.ops if isinstance(op, PipelineOp)]
        self.kept: list[LoadOp] = []
        for dot in self.dots():
            load = dot.lhs.owner
            if isinstance(load, LoadOp):
                self.kept.append(load)

    def dots(self) -> list[DotOp]:
        """The products of a step."""
        return [op for op in self.pipeline.consume.block.ops if isinstance(op, DotOp)]

    @abstractmethod
    def spread(self) -> Spread:
        """Who holds what."""

    @abstractmethod
    def dot(self, op: DotOp) -> None:
        """A product of what lies in shared memory or is held."""

    @abstractmethod
    def loop(self, op: PipelineOp) -> None:
        """The loop over the keys."""

    def share(self, op: ShareOp) -> None:
        """A tile that is held goes to shared memory."""
        raise LaminaError("warps take tiles from registers", where=op)

    def write(self) -> None:
        """All ops of the program in order."""
        for op in self.program.body.block.ops:
            if isinstance(op, PipelineOp):
                self.loop(op)
            elif op not in self.kept:
                self.one(op)

    def one(self, op: Operation) -> None:
        """One op outside or inside the loop."""
        match op:
            case ViewOp():
                _ = self.k.buffer(op.buffer)
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                self.k.arguments[op.result] = self.k.number(op.value.value.data)
            case arith.ConstantOp():
                self.tiles.constant(op)
            case MinOp():
                operands = [self.k.arguments[value] for value in op.operands]
                self.k.arguments[op.result] = self.k.put(MinOp(operands, op.map)).result
            case LoadOp():
                self.tiles.load(op)
            case NumbersOp():
                self.tiles.numbers(op)
            case MapOp():
                self.tiles.map(op)
            case ReduceOp():
                self.tiles.reduce(op)
            case ShareOp():
                self.share(op)
            case DotOp():
                self.dot(op)
            case StoreOp():
                self.tiles.store(op)
            case TileYieldOp():
                pass
            case _:
                raise LaminaError("threads that hold tiles cannot do this", where=op)


class _Step(Writer):
    """What threads and warps have in common: all that a step needs is there when it begins. `slot` is its stage."""

    stages: Stages
    slot: Slot

    def __init__(self, kernel: Kernel, program: ProgramOp, schedule: Schedule, corner: Sequence[SSAValue]):
        super().__init__(kernel, program, schedule, corner)
        self.right: dict[SSAValue, SharedTile] = {}

    @abstractmethod
    def first(self) -> None:
        """What is done once, when the tiles that are kept are there."""

    def loop(self, op: PipelineOp) -> None:
        """The pipeline: what is carried is held by threads from step to step."""
        consume = op.consume.block
        staged, carried = consume.args[1 : 1 + len(op.staged)], consume.args[1 + len(op.staged) :]
        self.right.update(zip(staged, (copy.tile for copy in self.stages.copies), strict=True))
        shapes = [self.tiles.types(value) for value in carried]

        def unpacked(values: Sequence[SSAValue], names: Sequence[SSAValue]) -> None:
            rest = iter(values)
            for name, shape in zip(names, shapes, strict=True):
                self.tiles.held[name] = [[next(rest) for _ in row] for row in shape]

        def body(slot: Slot, index: SSAValue, values: Sequence[SSAValue]) -> list[SSAValue]:
            self.slot = slot
            self.k.arguments[consume.args[0]] = index
            unpacked(values, carried)
            for inner in consume.ops:
                self.one(inner)
            last = consume.last_op
            assert last is not None
            return flat([self.tiles.held[value] for value in last.operands])

        inits = flat([self.tiles.held[value] for value in op.inits])
        unpacked(self.stages.run(inits, body, self.first), op.sums)


class _Warps(_Step):
    def __init__(self, kernel: Kernel, program: ProgramOp, schedule: Schedule, corner: Sequence[SSAValue]):
        super().__init__(kernel, program, schedule, corner)
        self.stages = Ring(kernel, self.pipeline, schedule.stages, self.kept)
        tile = self.stages.copies[0].tile
        typed = self.stages.typed(tile)
        self.fragments = Fragments(kernel, self.stages.shared, typed, kind_of(tile.element))
        self.left: dict[SSAValue, list[list[SSAValue]]] = {}  # of each 16 rows, of each step of the sum

    def spread(self) -> Spread:
        own = self.s.rows // self.s.down
        row = D0 // WARP * own + QUAD
        rows = tuple(Coordinate(row, down + half) for down in range(0, own, ROWS) for half in (0, 8))
        return Spread(rows, 4, IN_QUAD, 2)

    def first(self) -> None:
        own = self.s.rows // self.s.down
        for load, copy in zip(self.kept, self.stages.kept, strict=True):
            step = 2 * self.fragments.chunk
            self.left[load.result] = [
                [
                    self.fragments.left(copy.tile, self.stages.always, D0 // WARP * own, down, depth)
                    for depth in range(0, copy.tile.columns, step)
                ]
                for down in range(0, own, ROWS)
            ]

    def dot(self, op: DotOp) -> None:
        kernel, tile = self.k, self.right[op.rhs]
        left = self.left[op.lhs] if op.lhs in self.left else packed(kernel, self.tiles.held[op.lhs])
        sums = joined(kernel, self.tiles.held[op.acc])
        for number in range(len(left[0])):
            depth = number * 2 * self.fragments.chunk
            for column in range(0, tile.columns, ROWS):
                parts = self.fragments.right(tile, self.slot, D0 * 0, column, depth)
                for row, own in zip(left, sums, strict=True):
                    for j, part in enumerate(parts, column // COLUMNS):
                        own[j] = kernel.put(MmaSyncOp(row[number], part, own[j], self.fragments.kind)).result
        self.tiles.held[op.result] = split(kernel, sums)


class _Threads(_Step):
    def __init__(self, kernel: Kernel, program: ProgramOp, schedule: Schedule, corner: Sequence[SSAValue]):
        super().__init__(kernel, program, schedule, corner)
        shared = [op.result for op in self.pipeline.consume.block.ops if isinstance(op, ShareOp)]
        self.stages = Single(kernel, self.pipeline, 1, self.kept, shared)

    def spread(self) -> Spread:
        down = self.s.down
        rows = tuple(Coordinate(D0 // NEIGHBOURS * down, i) for i in range(down))
        return Spread(rows, NEIGHBOURS, D0 % NEIGHBOURS, LANES)

    def first(self) -> None:
        pass

    def share(self, op: ShareOp) -> None:
        kernel, tile = self.k, self.stages.tiles[op.result]
        pieces = self.tiles.spread.pieces(tile.columns)
        for row, parts in zip(self.tiles.spread.rows, self.tiles.held[op.value], strict=True):
            for piece, value in zip(pieces, parts, strict=True):
                indices, map_ = tile.index(row, piece, self.stages.always)
                store = VectorStoreOp(value, self.stages.typed(tile), indices, map_)
                store.attributes["alignment"] = IntegerAttr(self.tiles.spread.lanes(tile.columns) * tile.size, i64)
                kernel.put(store)
        kernel.put(BarrierOp())

    def dot(self, op: DotOp) -> None:
        kernel, right = self.k, self.right[op.rhs]
        kept = {load.result: copy.tile for load, copy in zip(self.kept, self.stages.kept, strict=True)}
        left = {**self.stages.tiles, **kept}[op.lhs]
        rows = self.tiles.spread.rows
        pieces = self.tiles.spread.pieces(right.columns)
        before = self.tiles.held[op.acc]
        inits = flat([before])
        block = Block(arg_types=[kernel.thread.type, *(value.type for value in inits)])
        sums: list[SSAValue] = list(block.args[1:])
        with kernel.inside(block):
            depth = block.args[0]
            lines = [self.read(left, row, Coordinate(D0 * 0), (depth, 1), LANES) for row in rows]
            for ahead in range(LANES):
                line = Coordinate(D0 * 0, ahead)
                step = right.layout.modes[0].pairs[0][1]
                across = [self.read(right, line, p, (depth, step), self.width(right)) for p in pieces]
                place = 0
                for row in lines:
                    element = kernel.put(vector.ExtractOp(row, [ahead], f32)).result
                    wide = kernel.put(vector.BroadcastOp(element, VectorType(f32, [self.width(right)]))).results[0]
                    for part in across:
                        fma = vector.FMAOp.create(operands=[wide, part, sums[place]], result_types=[wide.type])
                        sums[place] = kernel.put(fma).results[0]
                        place += 1
            kernel.put(YieldOp.get(*sums))
        totals = iter(kernel.put(ForOp.of(0, left.columns, block, step=LANES, inits=inits)).results)
        self.tiles.held[op.result] = [[next(totals) for _ in pieces] for _ in rows]

    def width(self, tile: SharedTile) -> int:
        """Neighbours of a row that a thread takes at a time."""
        return self.tiles.spread.lanes(tile.columns)

    def read(
        self, tile: SharedTile, row: Coordinate, column: Coordinate, along: tuple[SSAValue, int], lanes: int
    ) -> SSAValue:
        """Neighbours of a row of a tile; `along` moves it with the loop over the sum."""
        typed = self.stages.typed(tile)
        indices, map_ = tile.index(row, column, self.slot, along)
        load = VectorLoadOp(typed, indices, map_, VectorType(tile.element, [lanes]))
        load.attributes["alignment"] = IntegerAttr(lanes * tile.size, i64)
        return self.k.put(load).result


def flat(tiles: Sequence[Held]) -> list[SSAValue]:
    """All parts of tiles."""
    return [value for held in tiles for row in held for value in row]
