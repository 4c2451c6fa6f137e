"""Copies of the rows of A, in the order in which tiles read them.

    after (strips of two rows, blocks of k of four rounds):
        %copy: x[0, 0], x[1, 0], x[0, 1], x[1, 1], x[0, 2], ...

Rows of a large matrix lie far apart, often by a power of two: then they meet in few sets of each cache, and none of
them stays. What a task copies lies together, a strip behind another, and every panel of B finds it in L2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FixedBitwidthType, VectorType, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from .analysis import Contraction, Kernel, is_grouped
from .loops import D
from .schedule import ceil_div
from .spot import TilePlace
from .squares import transpose
from .tasks import Cover, Tasks
from .tile import Left, TileWriter, k_levels

COPIES = "lamina.copies"  # on a kernel: its last argument has room for the copies


def can_copy(contraction: Contraction) -> bool:
    """Whether tiles can read copies: f32, and one loop over k."""
    floats = all(operand.element == f32 for operand in (contraction.a, contraction.b, contraction.c))
    return floats and len(k_levels(contraction)) == 1 and not is_grouped(contraction)


def task_elements(kernel: Kernel, depth: int, strips: Sequence[Cover], tasks: Tasks, machine: Machine) -> int:
    """What one task's copies take: its strips, so much of k (0: all), and room for the last vector.

    Whole lines: what the next task has begins with one.
    """
    contraction = kernel.contraction
    assert isinstance(contraction.a.element, FixedBitwidthType)
    line = max(machine.vector_bytes, machine.cache_line) * 8 // contraction.a.element.bitwidth
    rows = sum(ceil_div(cover.tiles, tasks.row_blocks) * cover.size for cover in strips)
    return ceil_div(rows * (depth or contraction.extent(contraction.k)), line) * line + line


@dataclass(frozen=True)
class Copies:
    """Writes the copies and says where tiles find them; each task's begin at a multiple of `size` of `flat`."""

    writer: TileWriter
    flat: SSAValue
    strips: Sequence[Cover]
    tasks: Tasks
    size: int
    lanes: int

    def place(self, strips: Cover, own: SSAValue | None, task: SSAValue | None, block: SSAValue | None) -> SSAValue:
        """Where the copy of a strip, number `own` of its task, would begin if it held all of k up to this block."""
        before = [cover for cover in self.strips if cover.first < strips.first]
        rows = sum(ceil_div(cover.tiles, self.tasks.row_blocks) * cover.size for cover in before)
        depth = self._depth
        strip = strips.size * depth
        return self.writer.code.index(D(0) * self.size + D(1) * strip - D(2) * strip + rows * depth, task, own, block)

    def left(self, strips: Cover, place: SSAValue) -> Left:
        """How a tile of these strips reads the copy."""
        size = strips.size
        return Left(self.flat, [(place, row) for row in range(size)], D(1) * size)

    def fill(
        self,
        strips: Cover,
        source: TilePlace,
        place: SSAValue,
        block: SSAValue | None,
    ) -> None:
        """Copies one block of k of the strip that begins at `source`.

        Squares of it are turned in registers; where a vector is longer than the strip is high, what it writes beyond is
        written again by the next one.
        """
        code, size = self.writer.code, strips.size
        (total, step, _) = self.writer.levels[0]
        rows = self.writer.in_place(source, size)
        target = self.left(strips, place)
        depth, lanes = self._depth, self.lanes
        type_ = VectorType(f32, [lanes])
        by = lanes if step == 1 and size <= lanes and total % lanes == 0 and depth % lanes == 0 else 1

        def once(k: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if by == 1:
                for number in range(size):
                    at, offset = target.places[number]
                    code.store(rows.load(code, number, (k,)), self.flat, D(0) + target.steps + offset, at, k)
                return ()
            square = [
                code.load_vector(type_, rows.flat, D(0) + rows.steps + offset, at, k) for at, offset in rows.places
            ]
            square += [square[-1]] * (lanes - size)
            for ahead, column in enumerate(transpose(code, square)):
                code.store_vector(column, self.flat, D(0) + target.steps + ahead * size, place, k)
            return ()

        first, end = AffineExpr.constant(0), [AffineExpr.constant(total)]
        if block is not None:
            first = D(0) * depth
            end = [D(0) * depth + depth, *(end if total % depth else ())]
        code.serial(first, end, (block,), (), once, by)

    @property
    def _depth(self) -> int:
        """How much of k a copy has room for."""
        return self.writer.depth or self.writer.levels[0][0]
