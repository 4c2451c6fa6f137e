"""Products by warpgroups: one thread lets the copy engine fill a ring of stages, the others multiply what is there.

A stage has two barriers. `full` ends a phase when the bytes of all its tiles have come, `empty` when every warpgroup
that multiplies has given it back. Blocks stay and take one tile after the other; the ring goes on from tile to tile, so
that the next tile's operands come while a result is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    IndexType,
    i1,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects import scf
from ....dialects.affine import ForOp, YieldOp
from ....dialects.cta import LoadOp, PipelineOp, ViewOp, ViewType
from ....dialects.gpu import BarrierOp
from ....dialects.gpu.ops import WARP, WARPGROUP, SubgroupBroadcastOp
from ....dialects.nvgpu import (
    ArriveExpectOp,
    ArriveOp,
    CreateDescriptorOp,
    FenceInitOp,
    InitBarrierOp,
    MaxRegistersOp,
    TensorMapType,
    TmaLoadOp,
    TryWaitOp,
    WarpgroupCommitOp,
    WarpgroupFenceOp,
    WarpgroupMmaOp,
    WarpgroupWaitOp,
)
from ....dialects.nvgpu.matrices import SUM
from ..contraction_to_cta.schedule import ROW_BYTES, Schedule
from .epilogue import Epilogue
from .grid import Grid
from .kernel import D0, D1, STAGE_ALIGNMENT, Kernel, SharedTile
from .warps import finish

ROWS = 64  # of the result of one instruction
STEPS = 16  # of the sum
FEW, MANY = 40, 232  # registers of a thread that copies, and of one that multiplies
BARRIER_BYTES = 8
TOGETHER = 2  # warpgroups that multiply: then registers are short


@dataclass(frozen=True)
class Operand:
    """A tile of each stage: where in the stage, how it is brought, and whether rows in memory are steps of the sum."""

    load: LoadOp
    tile: SharedTile
    map: SSAValue
    boxes: tuple[tuple[int, int, int], ...]  # of each copy: its byte in the tile, its row and column
    turned: bool
    leading: int
    step: int  # bytes from one instruction's part to the next one's


def write(kernel: Kernel, pipeline: PipelineOp, schedule: Schedule, grid: Grid, epilogue: Epilogue) -> list[Operation]:
    """The whole kernel. What the host has to make for it comes back: one tensor map an operand."""
    groups = _Warpgroups(kernel, pipeline, schedule, grid)
    groups.write(epilogue)
    return groups.made


class _Warpgroups:
    def __init__(self, kernel: Kernel, pipeline: PipelineOp, schedule: Schedule, grid: Grid):
        self.k, self.pipeline, self.s, self.grid = kernel, pipeline, schedule, grid
        self.made: list[Operation] = []
        self.operands: list[Operand] = []
        start = 0
        for i, value in enumerate(pipeline.staged):
            self.operands.append(self._operand(value, start, turned_if_along=i == 1))
            start += self.operands[-1].tile.nbytes
            start += -start % STAGE_ALIGNMENT
        self.stage = start
        element = self.operands[0].tile.element
        self.kind = "bf16" if isinstance(element, BFloat16Type) else "f16"
        stages = schedule.stages
        self.shared = kernel.shared(stages * self.stage + 2 * stages * BARRIER_BYTES)
        count = (stages * self.stage + 2 * stages * BARRIER_BYTES) // BARRIER_BYTES
        self.barriers = kernel.shared_view(self.shared, 0, count, i64)
        self.first_barrier = stages * self.stage // BARRIER_BYTES

    def _operand(self, value: SSAValue, start: int, *, turned_if_along: bool) -> Operand:
        kernel = self.k
        load = value.owner
        assert isinstance(load, LoadOp)
        tile = SharedTile(kernel, value, start)
        view = load.view.owner
        assert isinstance(view, ViewOp) and isinstance(view.result.type, ViewType)
        along = 1 if tile.layout.modes[1].pairs[0][1] == 1 else 0
        turned = bool(along) == turned_if_along
        lines = (tile.rows, tile.columns)[1 - along]
        across = ROW_BYTES // tile.size
        panels = (tile.rows, tile.columns)[along] // across
        starts = [(panel * lines * ROW_BYTES, panel * across) for panel in range(panels)]
        boxes = tuple((place, 0, start) if along else (place, start, 0) for place, start in starts)
        descriptor = describe(view.buffer, view.result.type, along, (lines, across))
        self.made.append(descriptor)
        argument = kernel.body.insert_arg(descriptor.result.type, len(kernel.body.args))
        step = STEPS * ROW_BYTES if turned else STEPS * tile.size
        return Operand(load, tile, argument, boxes, turned, lines * ROW_BYTES if turned else 16, step)

    def full(self, slot: SSAValue) -> SSAValue:
        """The barrier of a stage that ends a phase when its tiles are there."""
        return self.k.plus(slot, self.first_barrier)

    def empty(self, slot: SSAValue) -> SSAValue:
        """The one that ends a phase when everybody has used them."""
        return self.k.plus(slot, self.first_barrier + self.s.stages)

    def write(self, epilogue: Epilogue) -> None:
        """Barriers, then the two roles."""
        kernel, stages = self.k, self.s.stages
        group = kernel.put(SubgroupBroadcastOp(kernel.of_thread(D0 // WARPGROUP))).result
        with kernel.when(kernel.below(kernel.thread, 1)):
            for number in range(stages):
                at = kernel.number(number)
                kernel.put(InitBarrierOp(self.barriers, self.full(at), 1))
                kernel.put(InitBarrierOp(self.barriers, self.empty(at), self.s.down))
            kernel.put(FenceInitOp())
        kernel.put(BarrierOp())
        produce, consume = Block(), Block()
        with kernel.inside(produce):
            if self.s.down >= TOGETHER:
                kernel.put(MaxRegistersOp(FEW, more=False))
            with kernel.when(kernel.below(kernel.thread, 1)):
                self.copy()
            kernel.put(scf.YieldOp())
        with kernel.inside(consume):
            if self.s.down >= TOGETHER:
                kernel.put(MaxRegistersOp(MANY, more=True))
            self.multiply(group, epilogue)
            kernel.put(scf.YieldOp())
        kernel.either(kernel.below(group, 1), [], produce, consume)

    def tiles(self, block: Block) -> SSAValue:
        """A loop over the block's tiles; the ring's step is carried."""
        first, grid = self.grid.number, self.grid
        bound = AffineMapAttr(AffineMap(1, 0, (D0,)))
        zero = self.k.number(0)
        loop = ForOp.from_region([first], [], [zero], [IndexType()], bound, grid.tiles, Region(block), grid.blocks)
        return self.k.put(loop).results[0]

    def slot(self, step: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The stage of a step of the ring, and how often the ring went round before."""
        kernel, stages = self.k, self.k.number(self.s.stages)
        return kernel.put(arith.RemUIOp(step, stages)).result, kernel.put(arith.DivUIOp(step, stages)).result

    def wait(self, barrier: SSAValue, parity: SSAValue) -> None:
        """Asks until the phase of a parity is over."""
        kernel = self.k
        before, after = Block(), Block([scf.YieldOp()])
        with kernel.inside(before):
            over = kernel.put(TryWaitOp(self.barriers, barrier, parity)).result
            goes_on = kernel.put(arith.XOrIOp(over, kernel.number(1, i1))).result
            kernel.put(scf.ConditionOp(goes_on))
        kernel.put(scf.WhileOp([], [], Region(before), Region(after)))

    def parity(self, rounds: SSAValue, flipped: bool) -> SSAValue:
        """Of how often the ring went round; flipped for those who may begin at once."""
        kernel = self.k
        one = kernel.number(1)
        low = kernel.put(arith.AndIOp(rounds, one)).result
        return kernel.put(arith.XOrIOp(low, one)).result if flipped else low

    def steps(self, block: Block, inits: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """A loop over the steps of the sum."""
        pipeline = self.pipeline
        return self.k.put(
            ForOp.of(0, pipeline.size.value.data, block, step=pipeline.step.value.data, inits=inits)
        ).results

    def copy(self) -> None:
        """What the one thread does that copies."""
        kernel = self.k
        outer = Block(arg_types=[IndexType(), IndexType()])
        with kernel.inside(outer):
            self.grid.enter(kernel, outer.args[0])
            inner = Block(arg_types=[IndexType(), IndexType()])
            with kernel.inside(inner):
                k, step = inner.args
                slot, rounds = self.slot(step)
                self.wait(self.empty(slot), self.parity(rounds, flipped=True))
                full = self.full(slot)
                nbytes = sum(operand.tile.rows * operand.tile.columns * operand.tile.size for operand in self.operands)
                kernel.put(ArriveExpectOp(self.barriers, full, nbytes))
                for operand in self.operands:
                    self.bring(operand, slot, full, k)
                kernel.put(YieldOp.get(kernel.plus(step, 1)))
            kernel.put(YieldOp.get(*self.steps(inner, [outer.args[1]])))
        self.tiles(outer)

    def bring(self, operand: Operand, slot: SSAValue, full: SSAValue, k: SSAValue) -> None:
        """The boxes of one tile."""
        kernel = self.k
        step = self.pipeline.produce.block.args[0]
        batch, row, column = (k if value is step else kernel.arguments[value] for value in operand.load.at)
        view = operand.load.view.type
        assert isinstance(view, ViewType)
        for place, down, right in operand.boxes:
            at = [kernel.plus(row, down), kernel.plus(column, right)]
            if not along_columns(operand):
                at.reverse()
            to = kernel.apply(D0 * self.stage + (operand.tile.start + place), slot)
            corner = [*matrix_of(kernel, view, batch), *at]
            kernel.put(TmaLoadOp(operand.map, corner, self.shared, to, self.barriers, full))

    def multiply(self, group: SSAValue, epilogue: Epilogue) -> None:
        """What the warpgroups do that multiply."""
        kernel, s = self.k, self.s
        zero = kernel.early(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(SUM, [0.0]))).result
        zeros = [zero] * (s.columns // 8)
        outer = Block(arg_types=[IndexType(), IndexType()])
        with kernel.inside(outer):
            inner = Block(arg_types=[IndexType(), IndexType(), *(value.type for value in zeros)])
            with kernel.inside(inner):
                _, step, *sums = inner.args
                slot, rounds = self.slot(step)
                self.wait(self.full(slot), self.parity(rounds, flipped=False))
                found = self.products(slot, group, sums)
                with kernel.when(kernel.below(kernel.of_thread(D0 % WARPGROUP), 1)):
                    kernel.put(ArriveOp(self.barriers, self.empty(slot)))
                kernel.put(YieldOp.get(kernel.plus(step, 1), *found))
            step, *sums = self.steps(inner, [outer.args[1], *zeros])
            corner = self.grid.enter(kernel, outer.args[0])
            row = D0 // WARPGROUP * ROWS - ROWS + D0 % WARPGROUP // WARP * 16
            finish(kernel, sums, (row, D0 * 0), s.columns, corner, epilogue)
            kernel.put(YieldOp.get(step))
        self.tiles(outer)

    def products(self, slot: SSAValue, group: SSAValue, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """What a stage adds: its instructions one behind the other, then a wait for all."""
        kernel = self.k
        left, right = self.operands
        part = ROWS * ROW_BYTES  # of a warpgroup's rows of A, or of its part of 64
        a = kernel.apply(D0 * self.stage + D1 * part + (left.tile.start - part), slot, group)
        b = kernel.apply(D0 * self.stage + right.tile.start, slot)
        sums = kernel.put(WarpgroupFenceOp(sums)).results_
        for number in range(self.s.depth // STEPS):
            product = WarpgroupMmaOp(
                self.shared,
                (a, b),
                sums,
                kind=self.kind,
                offsets=[number * left.step, number * right.step],
                leading=[left.leading, right.leading],
                turned=[left.turned, right.turned],
            )
            sums = kernel.put(product).results_
        kernel.put(WarpgroupCommitOp())
        return list(kernel.put(WarpgroupWaitOp(sums)).results_)


def along_columns(operand: Operand) -> bool:
    """Whether neighbours in memory are neighbours of a row."""
    return operand.tile.layout.modes[1].pairs[0][1] == 1


def describe(buffer: SSAValue, view: ViewType, along: int, box: tuple[int, int]) -> CreateDescriptorOp:
    """The tensor map of a view: which matrix, lines, neighbours within a line; boxes of lines and neighbours.

    Matrices that are one and the same have no dimension.
    """
    batch, *modes = view.layout.data.modes
    dimensions = [(size, stride, 1) for size, stride in reversed(batch.pairs) if stride and size > 1]
    for mode, extent in zip((modes[1 - along], modes[along]), box, strict=True):
        [(size, stride)] = mode.pairs
        dimensions.append((size, stride, extent))
    sizes, strides, boxes = zip(*dimensions, strict=True)
    return CreateDescriptorOp(buffer, sizes, strides, TensorMapType.of(boxes, view.element_type, ROW_BYTES))


def matrix_of(kernel: Kernel, view: ViewType, batch: SSAValue) -> list[SSAValue]:
    """The coordinates of a matrix in the tensor map."""
    found: list[SSAValue] = []
    covered = 1
    for size, stride in view.layout.data[0].pairs:
        if stride and size > 1:
            found.insert(0, kernel.apply(D0 // covered % size, batch))
        covered *= size
    return found
