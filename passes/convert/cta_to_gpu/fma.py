"""Products by threads: outer products of a few rows and columns of what shared memory holds."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, VectorType, f32, i64
from xdsl.ir import Block, SSAValue

from ....dialects.affine import ForOp, VectorLoadOp, YieldOp
from ....dialects.arith import ExtFOp
from ....dialects.cta import PipelineOp
from ..contraction_to_cta.schedule import Schedule
from .epilogue import Epilogue
from .kernel import D0, Coordinate, Kernel, Slot
from .ring import Ring, Single

LANES = 4  # numbers that a thread reads at a time
UNROLL = 4  # steps of the sum written out


def write(
    kernel: Kernel, pipeline: PipelineOp, schedule: Schedule, corner: Sequence[SSAValue], epilogue: Epilogue
) -> None:
    """The loop over the sum, a ring of stages filled ahead or one that is filled by registers, and what follows it."""
    _Fma(kernel, pipeline, schedule).write(corner, epilogue)


class _Fma:
    def __init__(self, kernel: Kernel, pipeline: PipelineOp, schedule: Schedule):
        self.k, self.s = kernel, schedule
        self.stages = (Single if schedule.stages == 1 else Ring)(kernel, pipeline, schedule.stages)
        self.across = schedule.columns // schedule.across
        self.row = Coordinate(D0 // self.across * LANES)
        self.column = Coordinate(D0 % self.across * LANES)

    def groups(self, size: int, count: int) -> range:
        """Where each of a thread's groups of four begins: parts of the tile apart, so that no bank is asked twice."""
        return range(0, size, size // (count // LANES))

    def write(self, corner: Sequence[SSAValue], epilogue: Epilogue) -> None:
        """The loop and the epilogue."""
        s = self.s
        zero = self.k.early(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(VectorType(f32, [LANES]), [0.0])))
        zeros = [zero.result] * (s.down * s.across // LANES)
        sums = self.stages.run(zeros, lambda slot, _, sums: self.products(slot, sums))
        self.finish(sums, corner, epilogue)

    def products(self, slot: Slot, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """Outer products of what a stage holds, added to the sums."""
        kernel, s = self.k, self.s
        block = Block(arg_types=[IndexType(), *(value.type for value in sums)])
        totals: list[SSAValue] = list(block.args[1:])
        with kernel.inside(block):
            for extra in range(UNROLL):
                depth = (block.args[0], extra)
                rows = [self.read(0, self.row + start, slot, depth) for start in self.groups(s.rows, s.down)]
                columns = [self.read(1, self.column + start, slot, depth) for start in self.groups(s.columns, s.across)]
                place = 0
                for part in rows:
                    for lane in range(LANES):
                        element = kernel.put(vector.ExtractOp(part, [lane], f32)).result
                        wide = kernel.put(vector.BroadcastOp(element, VectorType(f32, [LANES]))).results[0]
                        for column in columns:
                            fma = vector.FMAOp.create(operands=[wide, column, totals[place]], result_types=[wide.type])
                            totals[place] = kernel.put(fma).results[0]
                            place += 1
            kernel.put(YieldOp.get(*totals))
        loop = ForOp.of(0, self.s.depth, block, step=UNROLL, inits=list(sums))
        return list(kernel.put(loop).results)

    def read(self, number: int, outer: Coordinate, slot: Slot, depth: tuple[SSAValue, int]) -> SSAValue:
        """Four neighbours of an operand's line at a step of the sum, in f32."""
        kernel, tile = self.k, self.stages.copies[number].tile
        step, extra = depth
        inner = Coordinate(D0 * 0, extra)
        row, column = (outer, inner) if number == 0 else (inner, outer)
        stride = tile.layout.modes[1 - number].pairs[0][1]
        indices, map = tile.index(row, column, slot, (step, stride))
        load = VectorLoadOp(self.stages.typed(tile), indices, map, VectorType(tile.element, [LANES]))
        load.attributes["alignment"] = IntegerAttr(LANES * tile.size, i64)
        value = kernel.put(load).result
        if tile.element == f32:
            return value
        return kernel.put(ExtFOp.create(operands=[value], result_types=[VectorType(f32, [LANES])])).results[0]

    def finish(self, sums: Sequence[SSAValue], corner: Sequence[SSAValue], epilogue: Epilogue) -> None:
        """Each row of four of the thread's sums."""
        kernel, s = self.k, self.s
        place = 0
        for down in self.groups(s.rows, s.down):
            for lane in range(LANES):
                for right in self.groups(s.columns, s.across):
                    row = kernel.of_thread((self.row + (down + lane)).expression)
                    column = kernel.of_thread((self.column + right).expression)
                    epilogue.finish(sums[place], corner, row, column)
                    place += 1
