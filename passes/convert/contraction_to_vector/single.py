"""The one column that whole panels leave over, where rows of A lie along k: lanes run along k instead.

after (rows of a tile, eight neighbours along k at a time):
    %sums = affine.for %k = 0 to 2048 step 8 iter_args(%s = ...) -> (vector<8xf32>) {
      %b = ... eight elements of the column, one by one
      %a = affine.vector_load %w[%row + %k] : vector<8xf32>
      %t = vector.fma %a, %b, %s : vector<8xf32>
    }
    %total = vector.reduction <add>, %sums : vector<8xf32> into f32

A column of its own would load every element of A alone, each from another row. Where strips of rows follow each other
the column's elements are put side by side once, before the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import VectorType, f32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from ....dialects import memref, vector
from .analysis import Kernel
from .loops import D, Loops
from .schedule import Schedule
from .spot import Columns, TilePlace, zero
from .tile import Fetch, Left, Step, TileWriter, k_levels

MOST_BESIDE = 1 << 13  # elements of a column that are put side by side: as much of the stack, and of L1
REASSOCIATED = FastMathFlagsAttr([FastMathFlag.REASSOC])


def is_single(kernel: Kernel, schedule: Schedule, columns: Columns, machine: Machine) -> bool:
    """Whether `columns` are one, of float32, and k is one loop along rows of A that takes whole vectors."""
    contraction, levels = kernel.contraction, k_levels(kernel.contraction)
    floats = all(operand.element == f32 for operand in (contraction.a, contraction.b, contraction.c))
    lanes = machine.lanes(4)
    even = len(levels) == 1 and levels[0][1] == 1 and levels[0][0] % lanes == 0 and schedule.depth % lanes == 0
    return floats and even and columns.lanes == 1 and contraction.product is not None


class SingleWriter(TileWriter):
    """Writes tiles of one column; each row's sum is that of its lanes."""

    def __init__(
        self,
        code: Loops,
        kernel: Kernel,
        flats: Mapping[SSAValue, SSAValue],
        schedule: Schedule,
        columns: Columns,
        along: int,
    ):
        super().__init__(code, kernel, flats, schedule)
        self.columns = columns
        self.along = along  # lanes
        self.beside: SSAValue | None = None  # the column's elements, one after the other

    def begin(self, strips: int) -> None:
        size, _, step = self.levels[0]
        if step == 1 or strips == 1 or size > MOST_BESIDE or self.contraction.extent(self.contraction.batch) > 1:
            return
        code, b_flat = self.code, self.flats[self.contraction.b.value]
        place = self.b_place(TilePlace(code, self.contraction, self.columns, (None, None, None)))
        beside = code(memref.AllocaOp.get(f32, 64, [size])).memref

        def put(k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            code.store(code.load(b_flat, self.walk(2), place, k), beside, D(0), k)
            return ()

        code.serial(AffineExpr.constant(0), AffineExpr.constant(size), (), (), put)
        self.beside = beside

    def _can_ask(self, ahead: int) -> bool:
        return False

    def initials(
        self, place: TilePlace, spots: Sequence[tuple[int, int]], block: SSAValue | None
    ) -> Sequence[SSAValue]:
        zeros = self.code(vector.BroadcastOp(zero(self.code, f32), self.type)).vector
        return [
            self.code(vector.InsertOp(self.code(vector.ExtractOp(each, [0], f32)).result, zeros, [0])).result
            for each in super().initials(place, spots, block)
        ]

    @property
    def type(self) -> VectorType:
        """The partial sums of a row."""
        return VectorType(f32, [self.along])

    def nest(
        self,
        step: Step,
        ks: tuple[SSAValue, ...],
        sums: Sequence[SSAValue],
        block: SSAValue | None,
        fetch: Fetch | None,
    ) -> Sequence[SSAValue]:
        size = self.levels[0][0]
        first, end = AffineExpr.constant(0), [AffineExpr.constant(size)]
        if block is not None:
            first = D(0) * self.depth
            end = [first + self.depth, *(end if size % self.depth else ())]
        return self.code.serial(first, end, (block,), sums, lambda k, carried: step((k,), carried), self.along)

    def step(
        self,
        place: TilePlace,
        left: Left,
        b_place: SSAValue,
        spots: Sequence[tuple[int, int]],
        ks: Sequence[SSAValue],
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """The sums after so many more k."""
        code, column = self.code, self.column(b_place, ks)
        rows = [
            code.load_vector(self.type, left.flat, D(0) + left.steps + offset, base, *ks)
            for base, offset in left.places
        ]
        return [
            self.multiply_add(self.along, rows[row], column, total) for (row, _), total in zip(spots, sums, strict=True)
        ]

    def column(self, b_place: SSAValue, ks: Sequence[SSAValue]) -> SSAValue:
        """So many elements of B."""
        code, b_flat = self.code, self.flats[self.contraction.b.value]
        if self.beside is not None:
            return code.load_vector(self.type, self.beside, D(0), *ks)
        if self.levels[0][2] == 1:
            return code.load_vector(self.type, b_flat, self.walk(2), b_place, *ks)
        column = code(vector.BroadcastOp(zero(code, f32), self.type)).vector
        for lane in range(self.along):
            element = code.load(b_flat, self.walk(2) + lane * self.levels[0][2], b_place, *ks)
            column = code(vector.InsertOp(element, column, [lane])).result
        return column

    def finish(self, place: TilePlace, spots: Sequence[tuple[int, int]], sums: Sequence[SSAValue]) -> tuple[()]:
        return super().finish(place, spots, self._whole(sums))

    def keep(self, place: TilePlace, spots: Sequence[tuple[int, int]], sums: Sequence[SSAValue]) -> tuple[()]:
        return super().keep(place, spots, self._whole(sums))

    def _whole(self, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums of all lanes, as vectors of one."""
        return [
            self.code(
                vector.BroadcastOp(
                    self.code(vector.ReductionOp(each, vector.CombiningKindFlag.ADD, None, REASSOCIATED)).dest,
                    VectorType(f32, [1]),
                )
            ).vector
            for each in sums
        ]
