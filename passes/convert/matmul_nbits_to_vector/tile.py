"""One register tile of a product with weights of a few bits: some rows times some panels, over all of k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, VectorType, f32, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from ....dialects import dot, vector, x86
from ....dialects.arith import shaped
from ....dialects.linalg_ext import MatmulNBitsOp
from ....dialects.linalg_ext.matmul_nbits import WORD, shape_of
from ..attention_to_vector.vectors import Vectors
from ..contraction_to_vector.loops import D, Loops

Strips = tuple[AffineExpr, Sequence[AffineExpr]]  # from one to before the least of some, over a number
Place = tuple[AffineExpr, tuple[SSAValue | None, ...]]  # in the left operand: an expression over values
MOST_AT_ONCE = 4  # words of a block that are written out one after the other
FEW_ROWS = 4  # fewer are multiplied while the weights come from memory
AHEAD = 12  # words of a panel that memory is asked for before they are needed


@dataclass(frozen=True)
class Problem:
    """The sizes of a product; `whole`: its left operand is bytes with scales; `narrow`: it is bfloat16."""

    rows: int
    columns: int
    blocks: int
    block: int
    panels: int
    lanes: int
    bits: int
    whole: bool
    narrow: bool

    @staticmethod
    def of(op: MatmulNBitsOp) -> Problem:
        """That of an op."""
        blocks, rows, block = shape_of(op.lhs)
        panels, _, lanes, _ = shape_of(op.rhs)
        columns = shape_of(op.output)[1]
        narrow = op.starts is None
        return Problem(rows, columns, blocks, block, panels, lanes, op.bits, op.lhs_scales is not None, narrow)

    @property
    def words(self) -> int:
        """Of a block, in each lane."""
        return self.block * self.bits // WORD

    @property
    def row_bytes(self) -> int:
        """Of a row of the left operand."""
        return self.blocks * self.block * (1 if self.whole else 2 if self.narrow else 4)

    @property
    def masked(self) -> int:
        """How many lanes of the last panel are columns; 0 for all."""
        return self.columns % self.lanes


def tiles(code: Loops, size: int, tile: int, number: SSAValue | None, body: Callable[[SSAValue | None], None]) -> None:
    """Where tile `number` of `size` things begins, counted from the end: a loop of one round, whose index it is."""
    if size == tile:
        body(None)
        return

    def once(first: SSAValue, _: Sequence[SSAValue]) -> tuple[()]:
        body(first)
        return ()

    end = AffineExpr.constant(size)
    code.serial([end - (D(0) + 1) * tile, AffineExpr.constant(0)], end, (number,), (), once, size)


class TileWriter:
    """Writes tiles of one size; `flats` are the op's operands as one dimension."""

    def __init__(
        self, code: Vectors, problem: Problem, flats: Sequence[SSAValue], tile: tuple[int, int], machine: Machine
    ):
        self.code = code
        self.problem = problem
        self.lhs, self.rhs, self.scales, *added, self.out = flats
        self.starts, self.lhs_scales = [*added, None, None][:2]
        self.rows, self.panels = tile
        self.table: SSAValue | None = None
        self.machine = machine
        self.spots = [(row, panel) for row in range(self.rows) for panel in range(self.panels)]
        self.floats = VectorType(f32, [problem.lanes])
        self.words = VectorType(i32, [problem.lanes])
        # what has fewer bits than a byte is the same with a sign, which AArch64 wants where it has no usdot
        self.unsigned = problem.bits == 8 or machine.triple.startswith("x86")

    def begin(self, strips: int) -> None:
        """Written once before so many strips of rows at most."""
        p = self.problem
        if not p.whole and p.bits < 8 and p.lanes == x86.LANES and "avx512f" in self.machine.features:
            less = 1 << (p.bits - 1) if p.narrow else 0
            numbers = [float(i % (1 << p.bits) - less) for i in range(x86.LANES)]
            attribute = DenseIntOrFPElementsAttr.from_list(self.floats, numbers)
            self.table = self.code(arith.ConstantOp(attribute)).result

    def strips(self, numbers: Strips, number: SSAValue | None, panel: SSAValue | None) -> None:
        """Strips of rows that begin at a panel."""
        p = self.problem
        if p.rows == self.rows:
            self.write(None, panel)
            return

        def strip(i: SSAValue, _: Sequence[SSAValue]) -> tuple[()]:
            tiles(self.code, p.rows, self.rows, i, lambda row: self.write(row, panel))
            return ()

        self.code.serial(*numbers, (number,), (), strip)

    def write(self, row: SSAValue | None, panel: SSAValue | None) -> None:
        """The tile that begins at a row and a panel (None: 0)."""
        code, p = self.code, self.problem
        zero = self.code.all_lanes(code(arith.ConstantOp(FloatAttr(0.0, f32))).result)

        def block(b: SSAValue, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.added(row, panel, b, totals)

        blocks = (AffineExpr.constant(0), AffineExpr.constant(p.blocks))
        self.finish(code.serial(*blocks, (), [zero] * len(self.spots), block), row, panel)

    def finish(self, totals: Sequence[SSAValue], row: SSAValue | None, panel: SSAValue | None) -> None:
        """Stores a tile, of the last panel what are columns."""
        p = self.problem
        for (i, j), total in zip(self.spots, totals, strict=True):
            place = self.place(i, j)
            if not p.masked or j < self.panels - 1:
                self.store(total, place, row, panel)
            elif panel is None:
                self.store_last(total, place, row, panel)
            else:
                last = (panel, p.panels - self.panels)
                self.code.choose(
                    last,
                    (),
                    lambda total=total, place=place: self.store_last(total, place, row, panel),
                    lambda total=total, place=place: self.store(total, place, row, panel),
                )

    def place(self, i: int, j: int) -> AffineExpr:
        """Where the results of a spot lie, over row and panel."""
        return (D(0) + i) * self.problem.columns + (D(1) + j) * self.problem.lanes

    def store(self, total: SSAValue, place: AffineExpr, row: SSAValue | None, panel: SSAValue | None) -> tuple[()]:
        """A vector of results."""
        self.code.store_vector(total, self.out, place, row, panel)
        return ()

    def store_last(self, total: SSAValue, place: AffineExpr, row: SSAValue | None, panel: SSAValue | None) -> tuple[()]:
        """Those of the last panel that are columns."""
        mask = self.code(vector.ConstantMaskOp(self.problem.masked, self.problem.lanes)).result
        self.code.store_vector(total, self.out, place, row, panel, mask=mask)
        return ()

    def added(
        self, row: SSAValue | None, panel: SSAValue | None, b: SSAValue, totals: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The totals with one more block."""
        code, p = self.code, self.problem
        sums = self.begun(row, b)
        whole = p.words <= MOST_AT_ONCE or p.words % MOST_AT_ONCE
        if whole:
            for word in range(p.words):
                sums = self.step(row, panel, b, (None, word), sums)
        else:

            def some(first: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
                for word in range(MOST_AT_ONCE):
                    held = self.step(row, panel, b, (first, word), held)
                return held

            ends = (AffineExpr.constant(0), AffineExpr.constant(p.words))
            sums = code.serial(*ends, (), sums, some, MOST_AT_ONCE)
        scales = self.block_scales(panel, b)
        if self.lhs_scales is None:
            return [
                self.code.multiply_add(s, scales[j], t) for (_, j), s, t in zip(self.spots, sums, totals, strict=True)
            ]
        mine = [
            self.code.all_lanes(code.load(self.lhs_scales, D(1) * p.rows + D(0) + i, row, b)) for i in range(self.rows)
        ]
        done: list[SSAValue] = []
        for (i, j), s, t in zip(self.spots, sums, totals, strict=True):
            real = self.made(shaped.SIToFPOp, s, self.floats)
            scaled = code(arith.MulfOp(real, scales[j])).result
            done.append(self.code.multiply_add(scaled, mine[i], t))
        return done

    def begun(self, row: SSAValue | None, b: SSAValue) -> list[SSAValue]:
        """What the sums of a block begin with."""
        found = self.row_starts(row, b)
        return [found[i] for i, _ in self.spots]

    def row_starts(self, row: SSAValue | None, b: SSAValue) -> list[SSAValue]:
        """What the sums of each row begin with."""
        assert self.starts is not None
        return [
            self.code.all_lanes(self.code.load(self.starts, D(1) * self.problem.rows + D(0) + i, row, b))
            for i in range(self.rows)
        ]

    def block_scales(self, panel: SSAValue | None, b: SSAValue) -> list[SSAValue]:
        """Of the columns of each panel."""
        lanes, apart = self.problem.lanes, self.problem.blocks * self.problem.lanes
        place = D(0) * apart + D(1) * lanes
        return [
            self.code.load_vector(self.floats, self.scales, place + j * apart, panel, b) for j in range(self.panels)
        ]

    def loaded(self, panel: SSAValue | None, b: SSAValue, word: tuple[SSAValue | None, int]) -> list[SSAValue]:
        """One word of each lane of each panel: the word number of a loop plus a constant."""
        code, p = self.code, self.problem
        all_words = p.blocks * p.words
        place = (D(0) * all_words + D(1) * p.words + D(2) + word[1]) * (4 * p.lanes)
        apart = all_words * 4 * p.lanes
        bytes_ = VectorType(i8, [4 * p.lanes])
        if p.rows < FEW_ROWS or p.narrow:
            for j in range(self.panels):
                code.prefetch(self.rhs, place + (j * apart + AHEAD * 4 * p.lanes), panel, b, word[0])
        rights = [code.load_vector(bytes_, self.rhs, place + j * apart, panel, b, word[0]) for j in range(self.panels)]
        return [code(vector.BitcastOp(right, self.words)).result for right in rights]

    def step(
        self,
        row: SSAValue | None,
        panel: SSAValue | None,
        b: SSAValue,
        word: tuple[SSAValue | None, int],
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """The sums with one more word of each lane."""
        p = self.problem
        rights = self.loaded(panel, b, word)
        each = WORD // p.bits  # elements in a word
        left = (D(1) * p.rows + D(0)) * p.block + (D(2) + word[1]) * each
        now = list(sums)
        for shift in range(0, 8, p.bits):
            now = (self.of_bytes if p.whole else self.of_floats)(rights, shift, (left, (row, b, word[0])), now)
        return now

    def of_bytes(self, rights: Sequence[SSAValue], shift: int, at: Place, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums with the elements that begin at bit `shift` of each byte, times four neighbours of every row."""
        code, p = self.code, self.problem
        bytes_ = VectorType(i8, [4 * p.lanes])
        few = VectorType(i8, [4])
        mask = ((1 << p.bits) - 1) * 0x01010101
        parts = [code(vector.BitcastOp(self.part(right, shift, mask), bytes_)).result for right in rights]
        lefts: list[SSAValue] = []
        for i in range(self.rows):
            place = at[0] + i * p.block + shift // p.bits * 4
            four = code.load_vector(few, self.lhs, place, *at[1])
            one = code(vector.BitcastOp(four, VectorType(i32, [1]))).result
            scalar = code(vector.ExtractOp(one, [0], i32)).result
            lefts.append(code(vector.BitcastOp(self.code.all_lanes(scalar), bytes_)).result)
        flags = {"unsigned_lhs": self.unsigned, "pairs_fit": p.bits < 8}
        return [
            code(dot.ProductOp(parts[j], lefts[i], s, **flags)).result
            for (i, j), s in zip(self.spots, sums, strict=True)
        ]

    def of_floats(self, rights: Sequence[SSAValue], shift: int, at: Place, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """The same with floats, one byte after the other."""
        code, p = self.code, self.problem
        now = list(sums)
        for byte in range(4):
            parts = [self.element(right, 8 * byte + shift) for right in rights]
            place = at[0] + (shift // p.bits * 4 + byte)
            lefts = [self.code.all_lanes(code.load(self.lhs, place + i * p.block, *at[1])) for i in range(self.rows)]
            now = [self.code.multiply_add(parts[j], lefts[i], s) for (i, j), s in zip(self.spots, now, strict=True)]
        return now

    def element(self, words: SSAValue, shift: int) -> SSAValue:
        """The one of every word that begins at bit `shift`, as a float: looked up where there is a table."""
        if self.table is None:
            return self.made(shaped.SIToFPOp, self.part(words, shift, (1 << self.problem.bits) - 1), self.floats)
        index = self.code(arith.ShRUIOp(words, self.number(shift))).result if shift else words
        return self.code(x86.PermuteOp(self.table, index)).result

    def part(self, words: SSAValue, shift: int, mask: int) -> SSAValue:
        """Bits of every word, from `shift` on, that the mask sets."""
        if shift:
            words = self.code(arith.ShRUIOp(words, self.number(shift))).result
        if not mask & (mask + 1) and shift + mask.bit_length() == WORD:  # the shift leaves nothing else
            return words
        return self.code(arith.AndIOp(words, self.number(mask))).result

    def number(self, value: int) -> SSAValue:
        """In every lane."""
        signed = value - (1 << WORD) if value >> (WORD - 1) else value
        return self.code.all_lanes(self.code(arith.ConstantOp(IntegerAttr(signed, i32))).result)

    def made(self, op: type[Operation], value: SSAValue, type_: VectorType) -> SSAValue:
        """The result of an op of one operand."""
        return self.code(op.create(operands=[value], result_types=[type_])).results[0]
