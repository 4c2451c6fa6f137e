"""Many rows of bfloat16: weights become tiles of AMX, a stretch of k at a time, for up to `STRIPS` strips of 32 rows.

for stretch of k:                       // whose tiles take a part of the second cache
  for word of it:  %unpacked[pair of k, column, 2] = bf16((elements - middle) * scale)
  for strip of rows:
    %s:4 = tiles of %sums[strip], 0 at first
    for 32 of k:  %s += two tiles of lhs times two of %unpacked
    %sums[strip] = %s
for strip of rows, row of it:  %out[row] = %sums[strip, row]

A tile's row has a pair of neighbours along k of each column: lanes are doubled first, so that the even ones look up
the first of a pair and the odd ones the second, and nothing has to be shuffled once it is narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, MemRefType, VectorType, bf16, f32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from ....dialects import amx, memref, vector, x86
from ....dialects.amx.types import ROW_BYTES, ROWS
from ....dialects.arith import shaped
from ..attention_to_vector.vectors import Vectors
from ..contraction_to_vector.loops import D
from .tile import WORD, Problem, Strips, TileWriter, tiles

ZERO = AffineExpr.constant(0)
MOST_ROWS = 2 * ROWS  # of a strip: two tiles, one above the other
DEPTH = ROW_BYTES // 2  # of k in a tile
STRIPS = 16  # for which weights are unpacked once, at most
FEWEST_STRIPS = 4  # the same, at least: unpacking takes about as long as the products of one
CACHE_SHARE = 16  # one part in so many of the second cache is for what is unpacked


class AmxWriter(TileWriter):
    """Writes strips of rows, over stretches of k."""

    def __init__(
        self, code: Vectors, problem: Problem, flats: Sequence[SSAValue], tile: tuple[int, int], machine: Machine
    ):
        super().__init__(code, problem, flats, (1, tile[1]), machine)  # results are written row by row
        self.height = tile[0]
        self.firsts = list(dict.fromkeys((0, self.height - ROWS)))  # of the rows of tiles, which may overlap
        self.width = self.panels * problem.lanes
        most = max(1, machine.l2_bytes // CACHE_SHARE // (2 * self.width * problem.block))
        blocks = problem.blocks
        self.held = max(d for d in range(1, min(most, blocks) + 1) if blocks % d == 0)  # blocks of a stretch

    @property
    def strips_at_once(self) -> int:
        """Of rows that stay in the second cache from one pair of panels to the next."""
        fit = self.machine.l2_bytes * 5 // 8 // (self.problem.row_bytes * self.height)
        return min(STRIPS, max(FEWEST_STRIPS, fit))

    def begin(self, strips: int) -> None:
        super().begin(strips)
        pairs = MemRefType(bf16, [self.held * self.problem.block * self.width])
        self.unpacked = self.code(memref.AllocaOp.get(pairs.element_type, 64, pairs.get_shape())).memref
        strips = min(strips, -(-self.problem.rows // self.height))
        self.sums = self.code.stack(strips * self.height * self.width)

    def strips(self, numbers: Strips, number: SSAValue | None, panel: SSAValue | None) -> None:
        code, p = self.code, self.problem

        def each(body: Callable[[SSAValue | None, SSAValue | None], None]) -> None:
            """The strips, by where they begin and where their sums do."""
            if p.rows == self.height:
                body(None, None)
                return

            def strip(i: SSAValue, _: Sequence[SSAValue]) -> tuple[()]:
                place = code.index(D(0) % self.strips_at_once, i)
                tiles(code, p.rows, self.height, i, lambda row: body(row, place))
                return ()

            code.serial(*numbers, (number,), (), strip)

        def stretch(k: SSAValue, _: Sequence[SSAValue]) -> tuple[()]:
            code.serial(D(0), D(0) + self.held, (k,), (), lambda b, _: self.unpack(panel, k, b))
            each(lambda row, place: self.multiply(row, place, k))
            return ()

        each(lambda _, place: self.clear(place))
        code.serial(ZERO, AffineExpr.constant(p.blocks), (), (), stretch, self.held)
        each(lambda row, place: self.write_rows(row, place, panel))

    def clear(self, place: SSAValue | None) -> None:
        """A strip's sums are nothing yet."""
        code = self.code
        zero = code.all_lanes(code.scalar(0.0))
        size = self.height * self.width

        def once(i: SSAValue, _: Sequence[SSAValue]) -> tuple[()]:
            code.store_vector(zero, self.sums, D(0) * size + D(1), place, i)
            return ()

        code.serial(ZERO, AffineExpr.constant(size), (), (), once, self.problem.lanes)

    def unpack(self, panel: SSAValue | None, first: SSAValue, b: SSAValue) -> tuple[()]:
        """A block's elements times their scales."""
        code, p = self.code, self.problem
        scales = [self.doubled(scale) for scale in self.block_scales(panel, b)]
        each = WORD // p.bits

        def word(w: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            words = [self.doubled(right) for right in self.loaded(panel, b, (w, 0))]
            for shift in range(0, 8, p.bits):
                for byte in (0, 2):
                    shifts = self.alternately(8 * byte + shift, 8 * byte + 8 + shift)
                    k = shift // p.bits * 4 + byte
                    start = ((D(1) - D(0)) * p.block + D(2) * each + k) * self.width
                    for j in range(self.panels):
                        values = [
                            code.times(self.less_middle(half, shifts), scale)
                            for half, scale in zip(words[j], scales[j], strict=True)
                        ]
                        row = code(x86.ToBFloat16Op(self.joined(*values))).result
                        code.store_vector(row, self.unpacked, start + 2 * j * p.lanes, first, b, w)
            return ()

        code.serial(ZERO, AffineExpr.constant(p.words), (), (), word)
        return ()

    def doubled(self, value: SSAValue) -> list[SSAValue]:
        """The lower half of the lanes, and the upper, each of them twice."""
        type_ = value.type
        assert isinstance(type_, VectorType)
        lanes = self.problem.lanes
        orders = ([lane // 2 + first for lane in range(lanes)] for first in (0, lanes // 2))
        masks = [DenseArrayBase.from_list(i64, order) for order in orders]
        return [self.code(vector.ShuffleOp(value, value, mask, result_type=type_)).result for mask in masks]

    def joined(self, lower: SSAValue, upper: SSAValue) -> SSAValue:
        """One vector behind the other."""
        both = 2 * self.problem.lanes
        order = DenseArrayBase.from_list(i64, list(range(both)))
        return self.code(vector.ShuffleOp(lower, upper, order, result_type=VectorType(f32, [both]))).result

    def alternately(self, even: int, odd: int) -> SSAValue:
        """Two numbers in turns."""
        numbers = DenseIntOrFPElementsAttr.from_list(self.words, [even, odd] * (self.problem.lanes // 2))
        return self.code(arith.ConstantOp(numbers)).result

    def less_middle(self, words: SSAValue, shifts: SSAValue) -> SSAValue:
        """The element of every word that begins at a bit of its own, less what stands for zero, as a float."""
        code, bits = self.code, self.problem.bits
        index = code(arith.ShRUIOp(words, shifts)).result
        if self.table is not None:
            return code(x86.PermuteOp(self.table, index)).result
        element = code(arith.AndIOp(index, self.number((1 << bits) - 1))).result
        return self.made(shaped.SIToFPOp, code(arith.SubiOp(element, self.number(1 << (bits - 1)))).result, self.floats)

    def multiply(self, row: SSAValue | None, place: SSAValue | None, first: SSAValue) -> None:
        """A strip's sums with one more stretch, from a block on."""
        code, p = self.code, self.problem
        sum_type = amx.TileType.of((ROWS, ROWS), f32)
        type_ = amx.TileType.of((ROWS, DEPTH), bf16)
        apart = [code.index(AffineExpr.constant(n)) for n in (self.width, p.block, 2 * self.width)]
        spots = [(f, j) for f in self.firsts for j in range(self.panels)]
        homes = [
            code.index(D(0) * (self.height * self.width) + (f * self.width + j * p.lanes), place) for f, j in spots
        ]
        sums = [code(amx.TileLoadOp(self.sums, [home], sum_type, apart[0])).res for home in homes]

        def block(b: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for k in range(0, p.block, DEPTH):
                lefts: dict[int, SSAValue] = {}
                rights: dict[int, SSAValue] = {}
                after: list[SSAValue] = []
                for (f, j), total in zip(spots, sums, strict=True):  # a product for each load that it waits for
                    if f not in lefts:
                        where = code.index((D(1) * p.rows + D(0) + f) * p.block + k, row, b)
                        lefts[f] = code(amx.TileLoadOp(self.lhs, [where], type_, apart[1])).res
                    if j not in rights:
                        where = code.index(((D(1) - D(0)) * p.block + k) * self.width + 2 * j * p.lanes, first, b)
                        rights[j] = code(amx.TileLoadOp(self.unpacked, [where], type_, apart[2])).res
                    after.append(code(amx.TileMulFOp(lefts[f], rights[j], total)).res)
                sums = after
            return sums

        sums = code.serial(D(0), D(0) + self.held, (first,), sums, block)
        for home, total in zip(homes, sums, strict=True):
            code(amx.TileStoreOp(self.sums, [home], total, apart[0]))

    def write_rows(self, row: SSAValue | None, place: SSAValue | None, panel: SSAValue | None) -> None:
        """The results of a strip, row by row."""
        code, p = self.code, self.problem

        def once(i: SSAValue, _: Sequence[SSAValue]) -> tuple[()]:
            start = (D(0) * self.height + D(1)) * self.width
            totals = [
                code.load_vector(self.floats, self.sums, start + j * p.lanes, place, i) for j in range(self.panels)
            ]
            self.finish(totals, code.index(D(0) + D(1), row, i), panel)
            return ()

        code.serial(ZERO, AffineExpr.constant(self.height), (), (), once)
