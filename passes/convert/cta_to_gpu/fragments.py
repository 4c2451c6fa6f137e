"""Parts of tiles in the registers of a warp, as mma.sync wants its operands: out of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import BFloat16Type, DenseIntOrFPElementsAttr, Float16Type, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.affine import LoadOp
from ....dialects.arith import BitcastOp
from ....dialects.cta.ops import TF32
from ....dialects.gpu.ops import WARP
from ....dialects.nvgpu import LdMatrixOp, RoundTf32Op
from ....dialects.nvgpu.matrices import LEFT
from .copies import WIDEST
from .kernel import D0, Buffer, Coordinate, Kernel, SharedTile, Slot

ROWS, COLUMNS = 16, 8  # of the result of an instruction
LANE = D0 % WARP
QUAD, IN_QUAD = LANE // 4, D0 % 4  # a thread's row, and its place among the four of a row


def kind_of(element: Attribute) -> str:
    """What instructions call the type of operands."""
    halves = "bf16" if isinstance(element, BFloat16Type) else "f16"
    return halves if isinstance(element, BFloat16Type | Float16Type) else TF32


@dataclass(frozen=True)
class Fragments:
    """Reads operands of one type from shared memory, which `typed` shows as elements."""

    kernel: Kernel
    shared: SSAValue
    typed: Buffer
    kind: str

    @property
    def chunk(self) -> int:
        """Elements of 16 bytes: half the depth of an instruction."""
        return WIDEST // (4 if self.kind == TF32 else 2)

    def left(self, tile: SharedTile, slot: Slot, origin: AffineExpr, row: int, depth: int) -> SSAValue:
        """16 rows of a left operand, from a row and a step of the sum on; the warp's rows begin at `origin`."""
        low, high = LANE % 8, LANE // 16
        middle = LANE // 8 % 2
        if _runs_along_columns(tile):
            at = Coordinate(origin + (low + middle * 8), row), Coordinate(high * self.chunk, depth)
            return self._matrices(tile, slot, at, turned=False)
        if self.kind != TF32:
            at = Coordinate(origin + middle * 8, row), Coordinate(low + high * 8, depth)
            return self._matrices(tile, slot, at, turned=True)
        places = [(row + r, depth + d) for d in (0, 4) for r in (0, 8)]
        return self._numbers(tile, slot, (origin + QUAD, IN_QUAD), places)

    def right(self, tile: SharedTile, slot: Slot, origin: AffineExpr, column: int, depth: int) -> list[SSAValue]:
        """Two times eight columns of a right operand; the warp's columns begin at `origin`."""
        low, high = LANE % 8, LANE // 16
        middle = LANE // 8 % 2
        if not _runs_along_columns(tile):
            at = Coordinate(middle * self.chunk, depth), Coordinate(origin + (low + high * 8), column)
            both = self._matrices(tile, slot, at, turned=False)
        elif self.kind != TF32:
            at = Coordinate(low + middle * 8, depth), Coordinate(origin + high * 8, column)
            both = self._matrices(tile, slot, at, turned=True)
        else:
            places = [(depth + d, column + c) for c in (0, 8) for d in (0, 4)]
            both = self._numbers(tile, slot, (IN_QUAD, origin + QUAD), places)
        return [self.kernel.part(both, places) for places in ([0, 1], [2, 3])]

    def _matrices(self, tile: SharedTile, slot: Slot, at: tuple[Coordinate, Coordinate], *, turned: bool) -> SSAValue:
        """Four matrices by ldmatrix; each thread tells where one of their rows begins."""
        return self._rounded(self.kernel.put(LdMatrixOp(self.shared, tile.byte(*at, slot), turned)).result)

    def _numbers(
        self, tile: SharedTile, slot: Slot, origin: tuple[AffineExpr, AffineExpr], places: Sequence[tuple[int, int]]
    ) -> SSAValue:
        """Four numbers of 32 bits, read one by one: an operand that lies turned."""
        kernel = self.kernel
        found: SSAValue = kernel.put(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(LEFT, [0]))).result
        for i, (row, column) in enumerate(places):
            indices, map = tile.index(Coordinate(origin[0], row), Coordinate(origin[1], column), slot)
            number = kernel.put(LoadOp(self.typed, indices, map)).result
            bits = kernel.put(BitcastOp.create(operands=[number], result_types=[i32])).results[0]
            found = kernel.put(vector.InsertOp(bits, found, [i])).results[0]
        return self._rounded(found)

    def _rounded(self, registers: SSAValue) -> SSAValue:
        """What the instruction takes: tf32 is rounded here, for it would be cut."""
        return self.kernel.put(RoundTf32Op(registers)).result if self.kind == TF32 else registers


def _runs_along_columns(tile: SharedTile) -> bool:
    return tile.layout.modes[1].pairs[0][1] == 1
