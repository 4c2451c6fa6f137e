"""Parts of tiles in the registers of a warp, as mma.sync and wgmma want them: out of shared memory, or of a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.affine import LoadOp
from ....dialects.arith import BitcastOp
from ....dialects.cta.ops import TF32
from ....dialects.gpu.ops import WARP
from ....dialects.nvgpu import LdMatrixOp, RoundTf32Op
from ....dialects.nvgpu.matrices import LEFT, SUM
from ....dialects.vector import ShuffleOp
from .copies import WIDEST
from .kernel import D0, Buffer, Coordinate, Kernel, SharedTile, Slot
from .registers import Held

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


def joined(kernel: Kernel, held: Held) -> list[list[SSAValue]]:
    """A tile that a thread holds as sums of products, for each 16 rows: of two rows, eight apart, two neighbours."""
    mask = DenseArrayBase.from_list(i64, list(range(4)))
    return [
        [kernel.put(ShuffleOp(up, low, mask, result_type=SUM)).results[0] for up, low in zip(upper, lower, strict=True)]
        for upper, lower in zip(held[::2], held[1::2], strict=True)
    ]


def split(kernel: Kernel, sums: Sequence[Sequence[SSAValue]]) -> Held:
    """Sums of products as a tile that a thread holds."""
    halves = [0, 1], [2, 3]
    return [[kernel.part(value, places) for value in own] for own in sums for places in halves]


def packed(kernel: Kernel, held: Held) -> list[list[SSAValue]]:
    """A tile of 16-bit numbers as left operands: what a thread has are the places that it must have."""
    found: list[list[SSAValue]] = []
    for upper, lower in zip(held[::2], held[1::2], strict=True):
        found.append([])
        for j in range(0, len(upper), 2):
            fragment: SSAValue = kernel.early(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(LEFT, [0]))).result
            for place, pair in enumerate((upper[j], lower[j], upper[j + 1], lower[j + 1])):
                bits = vector.BitcastOp.create(operands=[pair], result_types=[VectorType(i32, [1])])
                word = kernel.put(vector.ExtractOp(kernel.put(bits).results[0], [0], i32)).result
                fragment = kernel.put(vector.InsertOp(word, fragment, [place])).results[0]
            found[-1].append(fragment)
    return found
