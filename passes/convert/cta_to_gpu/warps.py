"""Products by warps: a ring of stages that cp.async fills, ldmatrix, mma.sync."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.cta import PipelineOp
from ....dialects.gpu.ops import WARP
from ....dialects.nvgpu import MmaSyncOp
from ....dialects.nvgpu.matrices import SUM
from ..contraction_to_cta.schedule import Schedule
from .epilogue import Epilogue
from .fragments import COLUMNS, IN_QUAD, QUAD, ROWS, Fragments, kind_of
from .kernel import D0, Kernel, Slot
from .ring import Ring


def write(
    kernel: Kernel, pipeline: PipelineOp, schedule: Schedule, corner: Sequence[SSAValue], epilogue: Epilogue
) -> None:
    """The loop over the sum, the stages of its ring filled ahead, and what follows it."""
    _Warps(kernel, pipeline, schedule).write(corner, epilogue)


class _Warps:
    def __init__(self, kernel: Kernel, pipeline: PipelineOp, schedule: Schedule):
        self.k, self.s = kernel, schedule
        self.ring = Ring(kernel, pipeline, schedule.stages)
        tile = self.ring.copies[0].tile
        self.fragments = Fragments(kernel, self.ring.shared, self.ring.typed(tile), kind_of(tile.element))
        warp = D0 // WARP
        self.rows, self.columns = schedule.rows // schedule.down, schedule.columns // schedule.across
        self.row0 = warp // schedule.across * self.rows
        self.column0 = warp % schedule.across * self.columns

    def write(self, corner: Sequence[SSAValue], epilogue: Epilogue) -> None:
        """The loop and the epilogue."""
        zero = self.k.early(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(SUM, [0.0]))).result
        zeros = [zero] * (self.rows // ROWS * (self.columns // COLUMNS))
        sums = self.ring.run(zeros, lambda slot, _, sums: self.products(slot, list(sums)))
        finish(self.k, sums, (self.row0, self.column0), self.columns, corner, epilogue)

    def products(self, slot: Slot, sums: list[SSAValue]) -> list[SSAValue]:
        """What the warp adds of a stage; neighbouring instructions share a fragment, forth and back."""
        kernel = self.k
        across = self.columns // COLUMNS
        for depth in range(0, self.s.depth, 2 * self.fragments.chunk):
            lhs, rhs = (copy.tile for copy in self.ring.copies)
            left = [self.fragments.left(lhs, slot, self.row0, row, depth) for row in range(0, self.rows, ROWS)]
            right = [
                part
                for column in range(0, self.columns, ROWS)
                for part in self.fragments.right(rhs, slot, self.column0, column, depth)
            ]
            for i, fragment in enumerate(left):
                order = range(across) if i % 2 == 0 else reversed(range(across))
                for j in order:
                    place = i * across + j
                    sums[place] = kernel.put(MmaSyncOp(fragment, right[j], sums[place], self.fragments.kind)).result
        return sums


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
