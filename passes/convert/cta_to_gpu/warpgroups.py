"""Products by warpgroups: one thread lets the copy engine fill a ring of stages, the others multiply what is there.

A stage's products begin before those of the stage before are waited for, whose stage is given back then.

Blocks stay and take one tile after the other; the ring goes on from tile to tile, so that the next tile's operands come
while a result is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, DenseIntOrFPElementsAttr, IndexType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects.affine import ForOp, YieldOp
from ....dialects.cta import PipelineOp
from ....dialects.gpu.ops import WARP, WARPGROUP
from ....dialects.nvgpu import WarpgroupCommitOp, WarpgroupFenceOp, WarpgroupMmaOp, WarpgroupWaitOp
from ....dialects.nvgpu.matrices import SUM
from ..contraction_to_cta.schedule import Schedule
from .boxes import STEPS, Operand, Pipe
from .epilogue import Epilogue
from .fragments import kind_of
from .grid import Grid
from .kernel import D0, D1, Kernel
from .warps import finish

ROWS = 64  # of the result of one instruction


def write(kernel: Kernel, pipeline: PipelineOp, schedule: Schedule, grid: Grid, epilogue: Epilogue) -> list[Operation]:
    """The whole kernel. What the host has to make for it comes back: one tensor map an operand."""
    groups = _Warpgroups(kernel, pipeline, schedule, grid, epilogue)
    groups.pipe.roles(groups.copy, groups.multiply)
    return groups.pipe.made


def corners(
    kernel: Kernel, pipe: Pipe, operands: tuple[Operand, Operand], slots: tuple[SSAValue, SSAValue], group: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Where two tiles begin that the warpgroup of a number multiplies: its rows of the left one."""
    left, right = operands
    part = left.group(ROWS)
    a = kernel.apply(D0 * pipe.stage + D1 * part + (left.tile.start - part), slots[0], group)
    return a, kernel.apply(D0 * pipe.stage + right.tile.start, slots[1])


def products(
    kernel: Kernel,
    pipe: Pipe,
    operands: tuple[Operand, Operand],
    places: tuple[SSAValue, SSAValue],
    sums: Sequence[SSAValue],
) -> Sequence[SSAValue]:
    """Begins the products of two tiles, one instruction behind the other, added to the sums, if any."""
    left, right = operands
    for number in range(left.tile.columns // STEPS):
        product = WarpgroupMmaOp(
            pipe.shared,
            places,
            sums,
            count=right.tile.columns // 8,
            kind=kind_of(left.tile.element),
            offsets=[left.offset(number), right.offset(number)],
            leading=[left.leading, right.leading],
            turned=[left.turned, right.turned],
        )
        sums = kernel.put(product).results_
    return sums


class _Warpgroups:
    def __init__(self, kernel: Kernel, pipeline: PipelineOp, schedule: Schedule, grid: Grid, epilogue: Epilogue):
        self.k, self.pipeline, self.s, self.grid, self.epilogue = kernel, pipeline, schedule, grid, epilogue
        self.pipe = Pipe(kernel, pipeline, schedule.stages, schedule.down, [pipeline.staged])

    def tiles(self, block: Block) -> SSAValue:
        """A loop over the block's tiles; the ring's step is carried."""
        first, grid = self.grid.number, self.grid
        bound = AffineMapAttr(AffineMap(1, 0, (D0,)))
        zero = self.k.number(0)
        loop = ForOp.from_region([first], [], [zero], [IndexType()], bound, grid.tiles, Region(block), grid.blocks)
        return self.k.put(loop).results[0]

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
                self.pipe.fill(0, step, k)
                kernel.put(YieldOp.get(kernel.plus(step, 1)))
            kernel.put(YieldOp.get(*self.steps(inner, [outer.args[1]])))
        self.tiles(outer)

    def multiply(self, group: SSAValue) -> None:
        """What the warpgroups do that multiply."""
        kernel, s = self.k, self.s
        zero = kernel.early(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(SUM, [0.0]))).result
        zeros = [zero] * (s.columns // 8)
        outer = Block(arg_types=[IndexType(), IndexType()])
        with kernel.inside(outer):
            inner = Block(arg_types=[IndexType(), IndexType(), *(value.type for value in zeros)])
            with kernel.inside(inner):
                k, step, *sums = inner.args
                found = self.products(self.pipe.take(0, step), group, sums)
                with kernel.when(kernel.put(arith.CmpiOp(k, kernel.number(0), "ne")).result):
                    self.give_back_before(step)
                kernel.put(YieldOp.get(kernel.plus(step, 1), *found))
            step, *sums = self.steps(inner, [outer.args[1], *zeros])
            sums = kernel.put(WarpgroupWaitOp(sums)).results_
            self.give_back_before(step)
            corner = self.grid.enter(kernel, outer.args[0])
            row = D0 // WARPGROUP * ROWS - ROWS + D0 % WARPGROUP // WARP * 16
            finish(kernel, sums, (row, D0 * 0), s.columns, corner, self.epilogue)
            kernel.put(YieldOp.get(step))
        self.tiles(outer)

    def products(self, slot: SSAValue, group: SSAValue, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """What a stage adds: its instructions one behind the other, then a wait for those of the stage before.

        So there are always some to go on with; a stage is given back when the next one's have begun.
        """
        kernel = self.k
        left, right = self.pipe.parts[0]
        places = corners(kernel, self.pipe, (left, right), (slot, slot), group)
        sums = kernel.put(WarpgroupFenceOp(sums)).results_
        sums = products(kernel, self.pipe, (left, right), places, sums)
        kernel.put(WarpgroupCommitOp())
        return list(kernel.put(WarpgroupWaitOp(sums, groups=1)).results_)

    def give_back_before(self, step: SSAValue) -> None:
        """The stage of the step before is used up."""
        self.pipe.give_back(0, self.pipe.slot(self.k.plus(step, -1)))
