"""The few columns that whole panels leave over, where rows of A lie along k: lanes run along k instead.

after (rows of a tile, eight neighbours along k at a time, of one column):
    %sums = affine.for %k = 0 to 2048 step 8 iter_args(%s = ...) -> (vector<8xf32>) {
      %b = ... eight elements of the column
      %a = affine.vector_load %w[%row + %k] : vector<8xf32>
      %t = vector.fma %a, %b, %s : vector<8xf32>
    }
    %total = vector.reduction <add>, %sums : vector<8xf32> into f32

A panel of their own would load every element of A alone, each from another row, for a vector that is mostly empty.
Where strips of rows follow each other the elements of each column are put side by side once, before the first. 1 x 1
windows of 2048 channels on 7 x 7 points take 1.16 times less so than with elements one by one; measured on Zen 5.
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
from .analysis import Contraction, Kernel
from .loops import D, Loops
from .schedule import Schedule
from .spot import Columns, TilePlace, zero
from .tile import Fetch, Left, Step, TileWriter, k_levels

MOST_COLUMNS = 4
MOST_ROWS = 8  # of a tile of several columns
LONG = 256  # steps of k from which on several columns pay for their reductions
MOST_BESIDE = 1 << 13  # elements of columns that are put side by side: as much of the stack, and of L1
REASSOCIATED = FastMathFlagsAttr([FastMathFlag.REASSOC])


def are_few(kernel: Kernel, schedule: Schedule, columns: Columns, machine: Machine) -> bool:
    """Whether `columns` are few, of float32, and k is one loop along rows of A that takes whole vectors."""
    contraction, levels = kernel.contraction, k_levels(kernel.contraction)
    floats = all(operand.element == f32 for operand in (contraction.a, contraction.b, contraction.c))
    lanes = machine.lanes(4)
    even = len(levels) == 1 and levels[0][1] == 1 and levels[0][0] % lanes == 0 and schedule.depth % lanes == 0
    if not floats or not even or contraction.product is None or columns.panels > 1:
        return False
    several = contraction.extent(contraction.m) > MOST_ROWS and levels[0][0] >= LONG
    return columns.valid == 1 or (columns.valid <= MOST_COLUMNS and several and _can_lie_beside(contraction, columns))


def rows_of_few(columns: Columns, machine: Machine) -> int:
    """The rows of a tile of several columns: as many as there are registers for."""
    return max(1, min(MOST_ROWS, (machine.vector_registers - columns.valid - 2) // columns.valid))


def _can_lie_beside(contraction: Contraction, columns: Columns) -> bool:
    """Whether columns are the same for all tiles, and short enough to be put side by side."""
    (size, _, _), *_ = k_levels(contraction)
    return size * columns.valid <= MOST_BESIDE and contraction.extent(contraction.batch) == 1


class FewColumnsWriter(TileWriter):
    """Writes tiles of few columns; the sum of a row and a column is that of its lanes."""

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
        self.beside: SSAValue | None = None  # the elements of one column after the other

    def begin(self, strips: int) -> None:
        size, _, apart = self.levels[0]
        one = self.columns.valid == 1
        if one and (apart == 1 or strips == 1 or not _can_lie_beside(self.contraction, self.columns)):
            return
        code, b_flat = self.code, self.flats[self.contraction.b.value]
        place = self.b_place(TilePlace(code, self.contraction, self.columns, (None, None, None)))
        beside = code(memref.AllocaOp.get(f32, 64, [size * self.columns.valid])).memref

        def put(k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for column in range(self.columns.valid):
                code.store(code.load(b_flat, self.walk(2) + column, place, k), beside, D(0) + column * size, k)
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
            self.code(vector.InsertOp(self.code(vector.ExtractOp(each, [column], f32)).result, zeros, [0])).result
            for each in super().initials(place, spots, block)
            for column in range(self.columns.valid)
        ]

    @property
    def type(self) -> VectorType:
        """The partial sums of a row and a column."""
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
        code = self.code
        columns = [self.column(b_place, column, ks) for column in range(self.columns.valid)]
        rows = [
            code.load_vector(self.type, left.flat, D(0) + left.steps + offset, base, *ks)
            for base, offset in left.places
        ]
        pairs = [(rows[row], column) for row, _ in spots for column in columns]
        return [self.multiply_add(self.along, *pair, total) for pair, total in zip(pairs, sums, strict=True)]

    def column(self, b_place: SSAValue, column: int, ks: Sequence[SSAValue]) -> SSAValue:
        """So many elements of a column of B."""
        code, b_flat = self.code, self.flats[self.contraction.b.value]
        size, _, apart = self.levels[0]
        if self.beside is not None:
            return code.load_vector(self.type, self.beside, D(0) + column * size, *ks)
        if apart == 1:
            return code.load_vector(self.type, b_flat, self.walk(2), b_place, *ks)
        found = code(vector.BroadcastOp(zero(code, f32), self.type)).vector
        for lane in range(self.along):
            element = code.load(b_flat, self.walk(2) + lane * apart, b_place, *ks)
            found = code(vector.InsertOp(element, found, [lane])).result
        return found

    def finish(self, place: TilePlace, spots: Sequence[tuple[int, int]], sums: Sequence[SSAValue]) -> tuple[()]:
        return super().finish(place, spots, self._whole(place, sums))

    def keep(self, place: TilePlace, spots: Sequence[tuple[int, int]], sums: Sequence[SSAValue]) -> tuple[()]:
        return super().keep(place, spots, self._whole(place, sums))

    def _whole(self, place: TilePlace, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums of all lanes, as a vector of columns for each row."""
        code, type_ = self.code, VectorType(f32, [place.lanes])
        found: list[SSAValue] = []
        for first in range(0, len(sums), self.columns.valid):
            totals = [
                code(vector.ReductionOp(each, vector.CombiningKindFlag.ADD, None, REASSOCIATED)).dest
                for each in sums[first : first + self.columns.valid]
            ]
            row = code(vector.BroadcastOp(totals[0], type_)).vector
            for column, total in enumerate(totals[1:], 1):
                row = code(vector.InsertOp(total, row, [column])).result
            found.append(row)
        return found
