"""Many rows of floats: weights are unpacked once for all of them, a stretch of k at a time, into memory of the thread.

for stretch of k:                       // that fits into the first cache
  for word of it:  %unpacked[k, ...] = elements * scale
  for tile of rows:
    sums = %sums of the tile, 0 at first; sums += starts * scales for each block
    for k:  sums += lhs[k, row] * %unpacked[k, ...]
    %sums = sums, %out in the end
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ..contraction_to_vector.loops import D
from .tile import WORD, Strips, TileWriter, tiles

ZERO = AffineExpr.constant(0)
STRIPS = 24  # tiles of rows for which weights are unpacked once


class UnpackedWriter(TileWriter):
    """Writes tiles of rows, over stretches of k."""

    def begin(self, strips: int) -> None:
        super().begin(strips)
        p = self.problem
        width = self.panels * p.lanes
        most = max(1, self.machine.l1_bytes * 3 // 4 // (4 * width * p.block))
        self.held = max(d for d in range(1, min(most, p.blocks) + 1) if p.blocks % d == 0)  # blocks of a stretch
        self.unpacked = self.code.stack(self.held * p.block * width)
        self.sums = self.code.stack(strips * self.rows * width)

    def strips(self, numbers: Strips, number: SSAValue | None, panel: SSAValue | None) -> None:
        code, p = self.code, self.problem

        def stretch(k: SSAValue, _: Sequence[SSAValue]) -> tuple[()]:
            code.serial(D(0), D(0) + self.held, (k,), (), lambda b, _: self.unpack(panel, k, b))

            def strip(i: SSAValue, _: Sequence[SSAValue]) -> tuple[()]:
                place = code.index(D(0) % STRIPS, i)
                tiles(code, p.rows, self.rows, i, lambda row: self.tile((row, place), panel, k))
                return ()

            code.serial(*numbers, (number,), (), strip)
            return ()

        code.serial(ZERO, AffineExpr.constant(p.blocks), (), (), stretch, self.held)

    def unpack(self, panel: SSAValue | None, first: SSAValue, b: SSAValue) -> tuple[()]:
        """A block's elements times their scales: a vector of each panel, k by k."""
        code, p = self.code, self.problem
        scales = self.block_scales(panel, b)
        each, width = WORD // p.bits, self.panels * p.lanes

        def word(w: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            rights = self.loaded(panel, b, (w, 0))
            for shift in range(0, 8, p.bits):
                for byte in range(4):
                    k = shift // p.bits * 4 + byte
                    for j, right in enumerate(rights):
                        scaled = code(arith.MulfOp(self.element(right, 8 * byte + shift), scales[j])).result
                        place = ((D(1) - D(0)) * p.block + D(2) * each + k) * width + j * p.lanes
                        code.store_vector(scaled, self.unpacked, place, first, b, w)
            return ()

        code.serial(ZERO, AffineExpr.constant(p.words), (), (), word)
        return ()

    def tile(self, at: tuple[SSAValue | None, SSAValue], panel: SSAValue | None, first: SSAValue) -> None:
        """A tile at a row, with sums of a number, with one more stretch from a block on."""
        code, p, blocks = self.code, self.problem, self.held
        row, number = at
        depth, width = p.block, self.panels * p.lanes
        spots = [(self.spots[n], (D(0) * self.rows + i) * width + j * p.lanes) for n, (i, j) in enumerate(self.spots)]

        def begin() -> list[SSAValue]:
            zero = code.all_lanes(code(arith.ConstantOp(FloatAttr(0.0, f32))).result)
            return [zero] * len(spots)

        def go_on() -> list[SSAValue]:
            return [code.load_vector(self.floats, self.sums, place, number) for _, place in spots]

        sums = code.choose((first, 0), [self.floats] * len(spots), begin, go_on)

        def block(b: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
            scales, starts = self.block_scales(panel, b), self.row_starts(row, b)
            held = [code.multiply_add(starts[i], scales[j], s) for (i, j), s in zip(self.spots, held, strict=True)]

            def step(k: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
                place = ((D(1) - D(0)) * p.block + D(2)) * width
                rights = [
                    code.load_vector(self.floats, self.unpacked, place + j * p.lanes, first, b, k)
                    for j in range(self.panels)
                ]
                place = (D(1) * p.rows + D(0)) * depth + D(2)
                lefts = [code.all_lanes(code.load(self.lhs, place + i * depth, row, b, k)) for i in range(self.rows)]
                return [code.multiply_add(lefts[i], rights[j], s) for (i, j), s in zip(self.spots, held, strict=True)]

            return code.serial(ZERO, AffineExpr.constant(p.block), (), held, step)

        sums = code.serial(D(0), D(0) + blocks, (first,), sums, block)

        def end() -> tuple[()]:
            self.finish(sums, row, panel)
            return ()

        def keep() -> tuple[()]:
            for (_, place), total in zip(spots, sums, strict=True):
                code.store_vector(total, self.sums, place, number)
            return ()

        code.choose((first, p.blocks - blocks), (), end, keep)
