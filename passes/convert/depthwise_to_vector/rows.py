"""The rows under the windows of a block, copied to memory near the processor, with zeros around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, VectorType, f32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects import memref, vector
from ..contraction_to_vector.loops import D, Loops
from ..contraction_to_vector.schedule import ceil_div
from ..winograd_to_vector.tiles import between
from .analysis import Problem

Index = SSAValue | None


@dataclass(frozen=True)
class Slot:
    """A plane, and the row of the copy where its rows begin."""

    plane: SSAValue
    row: Index


@dataclass(frozen=True)
class Layout:
    """A row: for each phase of the stride `phase` columns, whole vectors of `lanes`, `pitch` in all."""

    lanes: int
    phase: int
    pitch: int

    @staticmethod
    def of(problem: Problem, lanes: int) -> Layout:
        """Room for all columns of the padded image, and of the windows."""
        c, phases = problem.convolution, problem.convolution.strides[1]
        needed = max((c.output[1] - 1) * phases + c.reach[1], problem.pad[1] + problem.size[1])
        phase = ceil_div(ceil_div(needed, phases), lanes) * lanes
        return Layout(lanes, phase, phase * phases)

    def column(self, column: int) -> int:
        """Where a column of the padded image lies in a row."""
        phase, place = column % (self.pitch // self.phase), column // (self.pitch // self.phase)
        return phase * self.phase + place


class Rows:
    """A copy of `count` rows in each of some slots; made on the stack where `code` stands."""

    def __init__(self, problem: Problem, code: Loops, layout: Layout, count: int, slots: int):
        self.problem, self.code, self.layout, self.count = problem, code, layout, count
        size = count * slots * layout.pitch
        self.copy = code(memref.AllocaOp.get(f32, 64, [size])).memref
        zero = code(arith.ConstantOp(FloatAttr(0.0, f32))).result
        self.zeros = code(vector.BroadcastOp(zero, VectorType(f32, [layout.lanes]))).vector
        code.count(size // layout.lanes, lambda i: code.store_vector(self.zeros, self.copy, D(0) * layout.lanes, i))

    def load(self, type_: VectorType, line: int, column: int, source: SSAValue) -> SSAValue:
        """Columns from a constant place after `source` on, `line` rows further."""
        place = D(0) + line * self.layout.pitch + self.layout.column(column)
        return self.code.load_vector(type_, self.copy, place, source)

    def fetch(self, image: SSAValue, slot: Slot, base: Index) -> Sequence[SSAValue]:
        """Copies what is under the windows of a block, whose first is `base`; zeros for rows outside the image."""
        top, height, stride = self.problem.pad[0], self.problem.size[0], self.problem.convolution.strides[0]
        first, end = D(0) * -stride + top, D(0) * -stride + (height + top)  # of the image, in rows of the slot
        zero, count = AffineExpr.constant(0), AffineExpr.constant(self.count)
        blank, copy = partial(self._blank, slot), partial(self._copy, image, slot, base)
        between(self.code, [zero], [count, first], base, blank)
        between(self.code, [zero, first], [count, end], base, copy)
        between(self.code, [zero, end], [count], base, blank)
        return ()

    def _blank(self, slot: Slot, row: SSAValue) -> None:
        pitch, lanes = self.layout.pitch, self.layout.lanes
        place = (D(0) + D(2)) * pitch + D(1) * lanes
        self.code.count(
            pitch // lanes, lambda i: self.code.store_vector(self.zeros, self.copy, place, row, i, slot.row)
        )

    def _copy(self, image: SSAValue, slot: Slot, base: Index, row: SSAValue) -> None:
        """One row of the image; its columns by phases of the stride."""
        (height, width), (top, left) = self.problem.size, self.problem.pad
        stride, phases = self.problem.convolution.strides
        lanes = widest(self.layout.lanes, width // phases)
        source = self.code.index((D(0) * height + D(1) * stride + D(2) - top) * width, slot.plane, base, row)
        type_, chunk = VectorType(f32, [lanes]), lanes * phases

        def at(step: AffineExpr, parity: int, chunks: Index) -> None:
            """The chunk that begins with column `step` * `phases` + `parity`."""
            first = D(0) + step * phases + parity
            parts = [self.code.load_vector(type_, image, first + i * lanes, source, chunks) for i in range(phases)]
            for phase, value in enumerate(self._phases(parts, type_, lanes)):
                place = (D(0) + D(2)) * self.layout.pitch + self.layout.column(parity + phase + left)
                self.code.store_vector(value, self.copy, place + step, row, chunks, slot.row)

        self.code.count(width // chunk, lambda i: at(D(1) * lanes, 0, i))
        if width % chunk:
            step, parity = divmod(width - chunk, phases)
            at(AffineExpr.constant(step), parity, None)

    def _phases(self, parts: Sequence[SSAValue], type_: VectorType, lanes: int) -> Sequence[SSAValue]:
        """Consecutive columns as every first and every second of two."""
        if len(parts) == 1:
            return parts
        first, second = parts
        masks = [DenseArrayBase.from_list(i64, list(range(phase, 2 * lanes, 2))) for phase in range(2)]
        return [self.code(vector.ShuffleOp(first, second, mask, result_type=type_)).result for mask in masks]


def widest(most: int, columns: int) -> int:
    """The lanes of the widest vector that so many columns fill."""
    return min(most, 1 << (columns.bit_length() - 1))
