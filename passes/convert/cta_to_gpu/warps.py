"""Products by warps: a ring of stages that cp.async fills, ldmatrix, mma.sync."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    IndexType,
    i32,
)
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.affine import ForOp, LoadOp, YieldOp
from ....dialects.arith import BitcastOp
from ....dialects.cta import PipelineOp
from ....dialects.cta.ops import TF32
from ....dialects.gpu import BarrierOp
from ....dialects.gpu.ops import WARP
from ....dialects.nvgpu import AsyncGroupOp, AsyncWaitOp, LdMatrixOp, MmaSyncOp, RoundTf32Op
from ....dialects.nvgpu.matrices import LEFT, SUM
from ..contraction_to_cta.schedule import Schedule
from .copies import WIDEST, Copies, copies_of
from .epilogue import Epilogue
from .kernel import D0, Coordinate, Kernel, Slot

ROWS, COLUMNS = 16, 8  # of the result of an instruction
LANE = D0 % WARP
QUAD, IN_QUAD = LANE // 4, D0 % 4  # a thread's row, and its place among the four of a row


def write(
    kernel: Kernel, pipeline: PipelineOp, schedule: Schedule, corner: Sequence[SSAValue], epilogue: Epilogue
) -> None:
    """The loop over the sum, the stages of its ring filled ahead, and what follows it."""
    _Warps(kernel, pipeline, schedule).write(corner, epilogue)


class _Warps:
    def __init__(self, kernel: Kernel, pipeline: PipelineOp, schedule: Schedule):
        self.k, self.pipeline, self.s = kernel, pipeline, schedule
        self.copies, self.stage = copies_of(kernel, pipeline)
        self.shared = kernel.shared(self.stage * schedule.stages)
        element = self.copies[0].tile.element
        halves = "bf16" if isinstance(element, BFloat16Type) else "f16"
        self.kind = halves if isinstance(element, BFloat16Type | Float16Type) else TF32
        self.typed = kernel.shared_view(
            self.shared, 0, self.stage * schedule.stages // self.copies[0].tile.size, element
        )
        warp = D0 // WARP
        self.rows, self.columns = schedule.rows // schedule.down, schedule.columns // schedule.across
        self.row0 = warp // schedule.across * self.rows
        self.column0 = warp % schedule.across * self.columns
        self.chunk = WIDEST // self.copies[0].tile.size  # elements of 16 bytes: half the depth of an instruction

    def slot(self, number: SSAValue) -> Slot:
        """The stage of a step's number."""
        return Slot(self.k.apply(D0 % self.s.stages, number), self.stage)

    def fill(self, number: SSAValue) -> None:
        """Begins to bring the tiles of a step."""
        kernel = self.k
        slot, step = self.slot(number), kernel.apply(D0 * self.pipeline.step.value.data, number)
        for copy in self.copies:
            if copy.asynchronous:
                copy.begin(self.shared, slot, step)
            else:
                copy.keep(self.typed, slot, copy.fetch(step))

    def write(self, corner: Sequence[SSAValue], epilogue: Epilogue) -> None:
        """The loop and the epilogue."""
        kernel, stages, steps = self.k, self.s.stages, self.pipeline.steps
        for number in range(stages - 1):
            if number < steps:
                self.fill(kernel.number(number))
            kernel.put(AsyncGroupOp())
        zero = kernel.early(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(SUM, [0.0]))).result
        zeros = [zero] * (self.rows // ROWS * (self.columns // COLUMNS))
        block = Block(arg_types=[IndexType(), *(value.type for value in zeros)])
        with kernel.inside(block):
            number = block.args[0]
            kernel.put(AsyncWaitOp(stages - 2))
            kernel.put(BarrierOp())  # everybody's part of this step is there, and the stage before is used up
            ahead = kernel.plus(number, stages - 1)
            with kernel.when(kernel.below(ahead, steps)):
                self.fill(ahead)
            kernel.put(AsyncGroupOp())
            kernel.put(YieldOp.get(*self.products(self.slot(number), list(block.args[1:]))))
        sums = kernel.put(ForOp.of(0, steps, block, inits=zeros)).results
        self.finish(sums, corner, epilogue)

    def products(self, slot: Slot, sums: list[SSAValue]) -> list[SSAValue]:
        """What the warp adds of a stage; neighbouring instructions share a fragment, forth and back."""
        kernel = self.k
        across = self.columns // COLUMNS
        for depth in range(0, self.s.depth, 2 * self.chunk):
            left = [self.left(slot, row, depth) for row in range(0, self.rows, ROWS)]
            right = [part for column in range(0, self.columns, ROWS) for part in self.right(slot, column, depth)]
            for i, fragment in enumerate(left):
                order = range(across) if i % 2 == 0 else reversed(range(across))
                for j in order:
                    place = i * across + j
                    sums[place] = kernel.put(MmaSyncOp(fragment, right[j], sums[place], self.kind)).result
        return sums

    def left(self, slot: Slot, row: int, depth: int) -> SSAValue:
        """16 rows of the left operand."""
        copy = self.copies[0]
        low, high = LANE % 8, LANE // 16
        middle = LANE // 8 % 2
        if copy.along:
            return self.matrices(copy, slot, (low + middle * 8, row), (high * self.chunk, depth), False)
        if self.kind != TF32:
            return self.matrices(copy, slot, (middle * 8, row), (low + high * 8, depth), True)
        return self.numbers(copy, slot, [(r, d) for d in (0, 4) for r in (0, 8)], row, depth)

    def right(self, slot: Slot, column: int, depth: int) -> list[SSAValue]:
        """Two times eight columns of the right operand."""
        copy = self.copies[1]
        low, high = LANE % 8, LANE // 16
        middle = LANE // 8 % 2
        if not copy.along:
            both = self.matrices(copy, slot, (middle * self.chunk, depth), (low + high * 8, column), False)
        elif self.kind != TF32:
            both = self.matrices(copy, slot, (low + middle * 8, depth), (high * 8, column), True)
        else:
            both = self.numbers(copy, slot, [(d, c) for c in (0, 8) for d in (0, 4)], depth, column)
        return [self.k.part(both, places) for places in ([0, 1], [2, 3])]

    def matrices(
        self, copy: Copies, slot: Slot, row: tuple[AffineExpr, int], column: tuple[AffineExpr, int], turned: bool
    ) -> SSAValue:
        """Four matrices by ldmatrix; each thread tells where one of their rows begins."""
        first, second = self.warp_origin(copy)
        at = copy.tile.byte(Coordinate(first + row[0], row[1]), Coordinate(second + column[0], column[1]), slot)
        return self.rounded(self.k.put(LdMatrixOp(self.shared, at, turned)).result)

    def warp_origin(self, copy: Copies) -> tuple[AffineExpr, AffineExpr]:
        """Where the warp's part of an operand begins."""
        zero = D0 * 0
        return (self.row0, zero) if copy is self.copies[0] else (zero, self.column0)

    def numbers(self, copy: Copies, slot: Slot, places: Sequence[tuple[int, int]], row: int, column: int) -> SSAValue:
        """Four numbers of 32 bits, read one by one: an operand that lies turned."""
        kernel = self.k
        first, second = self.warp_origin(copy)
        own = (QUAD, IN_QUAD) if copy is self.copies[0] else (IN_QUAD, QUAD)
        found: SSAValue = kernel.put(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(LEFT, [0]))).result
        for i, (down, right) in enumerate(places):
            at = Coordinate(first + own[0], row + down), Coordinate(second + own[1], column + right)
            indices, map = copy.tile.index(*at, slot)
            number = kernel.put(LoadOp(self.typed, indices, map)).result
            bits = kernel.put(BitcastOp.create(operands=[number], result_types=[i32])).results[0]
            found = kernel.put(vector.InsertOp(bits, found, [i])).results[0]
        return self.rounded(found)

    def rounded(self, registers: SSAValue) -> SSAValue:
        """What the instruction takes: tf32 is rounded here, for it would be cut."""
        return self.k.put(RoundTf32Op(registers)).result if self.kind == TF32 else registers

    def finish(self, sums: Sequence[SSAValue], corner: Sequence[SSAValue], epilogue: Epilogue) -> None:
        """A thread has two neighbours in each of two rows of every result."""
        finish(self.k, sums, (self.row0, self.column0), self.columns, corner, epilogue)


def finish(
    kernel: Kernel,
    sums: Sequence[SSAValue],
    origin: tuple[AffineExpr, AffineExpr],
    columns: int,
    corner: Sequence[SSAValue],
    epilogue: Epilogue,
) -> None:
    """Two neighbours of two rows for each sum; sums follow each other along `columns`, then down."""
    across = columns // COLUMNS
    for place, value in enumerate(sums):
        down, right = place // across * ROWS, place % across * COLUMNS
        for half in range(2):
            part = kernel.part(value, [2 * half, 2 * half + 1])
            row = kernel.of_thread(origin[0] + QUAD + (down + 8 * half))
            column = kernel.of_thread(origin[1] + IN_QUAD * 2 + right)
            epilogue.finish(part, corner, row, column)
