"""What threads bring of the tiles of a step: pieces of each tile, from global into shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import AffineMapAttr, AnyFloat, DenseIntOrFPElementsAttr, IntegerAttr, VectorType, i32, i64
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects import scf
from ....dialects.affine import StoreOp, VectorLoadOp, VectorStoreOp
from ....dialects.cta import BorderAttr, LoadOp, PipelineOp, ViewOp, ViewType
from ....dialects.nvgpu import AsyncCopyOp
from .kernel import D0, STAGE_ALIGNMENT, Buffer, Coordinate, Global, Index, Kernel, SharedTile, Slot, along

WIDEST = 16  # bytes of an access
NARROWEST = 4  # bytes of an asynchronous copy
SECTOR = 32  # bytes that global memory moves at a time


@dataclass(frozen=True)
class Piece:
    """Neighbours that one thread brings: where they begin in the tile."""

    row: Coordinate
    column: Coordinate


class Copies:
    """The pieces of one tile, which the block's first `threads` bring, or all.

    `corner` says where in the view the tile of a step begins. With `singly` elements that are strewn in shared memory
    come one by one where they are large enough, so that no thread has to hold them on the way.
    """

    def __init__(
        self,
        kernel: Kernel,
        load: LoadOp,
        start: int,
        step: SSAValue,
        threads: int | None = None,
        *,
        singly: bool = False,
    ):
        self.kernel, self.load, self.step = kernel, load, step
        self.threads = threads or kernel.threads
        self.tile = SharedTile(kernel, load.result, start, self.threads)
        view = load.view.owner
        assert isinstance(view, ViewOp) and isinstance(view.result.type, ViewType)
        self.type = view.result.type
        self.source = Global(kernel, view.buffer, self.type)
        most = WIDEST // self.tile.size
        widths = [self.type.width(mode, most) for mode in (1, 2)]
        self.along = 1 if widths[1] >= widths[0] else 0  # the dimension in which neighbours are near in memory
        self.whole = self.tile.layout.modes[self.along].pairs[0][1] == 1  # neighbours are some in shared memory too
        single = singly and not self.whole and self.tile.size >= NARROWEST
        self.width = 1 if single else widths[self.along]
        self.asynchronous = (self.whole or single) and self.width * self.tile.size >= NARROWEST
        self.pieces = self._pieces()

    def _pieces(self) -> list[Piece]:
        """Neighbouring threads bring what is near in memory: whole lines where a piece stays one in shared memory.

        Where its elements are strewn, just a sector of each line, so that they go to different banks.
        """
        sizes = (self.tile.rows, self.tile.columns)
        across = sizes[self.along] // self.width  # pieces of a line
        threads = self.threads
        count = sizes[0] * sizes[1] // self.width
        if count % threads:
            raise ValueError(f"{count} pieces for {threads} threads")
        found: list[Piece] = []
        for number in range(count // threads):
            if not self.whole:
                line, place = _strewn(
                    number, threads, across, sizes[1 - self.along], SECTOR // (self.width * self.tile.size)
                )
            elif threads % across == 0:
                line, place = Coordinate(D0 // across, number * (threads // across)), Coordinate(D0 % across)
            elif across % threads == 0:
                per_line = across // threads
                line = Coordinate(D0 * 0, number // per_line)
                place = Coordinate(D0, number % per_line * threads)
            else:
                whole = D0 + number * threads
                line, place = Coordinate(whole // across), Coordinate(whole % across)
            run = Coordinate(place.thread * self.width, place.more * self.width)
            found.append(Piece(line, run) if self.along else Piece(run, line))
        return found

    def corner(self, step: SSAValue) -> list[SSAValue]:
        """Which matrix, and the row and the column where the tile of a step begins."""
        kernel = self.kernel
        return [step if value is self.step else kernel.arguments[value] for value in self.load.at]

    def _here(
        self, piece: Piece, corner: Sequence[SSAValue], known: dict[tuple[int, AffineExpr], SSAValue]
    ) -> tuple[list[Index], AffineMapAttr, SSAValue | None]:
        """A piece's place in the buffer, and whether that is in the matrix; None where it always is.

        Pieces that are a constant apart share what is computed for the first: `known`, of one step.
        """
        kernel = self.kernel
        at = [corner[0]]
        inside: list[SSAValue] = []
        for mode, start, coordinate in zip((1, 2), corner[1:], (piece.row, piece.column), strict=True):
            key = (mode, coordinate.thread)
            if key not in known:
                known[key] = kernel.both(start, kernel.of_thread(coordinate.thread))
            at.append(known[key])
            size = self.type.sizes[mode]
            tile = (self.tile.rows, self.tile.columns)[mode - 1]
            if size % tile:
                inside.append(kernel.below(known[key], max(size - coordinate.more, 0)))
        more = (0, piece.row.more, piece.column.more)
        inside += [self._within(border, at, more) for border in self.type.borders]
        indices, map = self.source.index(at, more)
        return indices, map, kernel.all_of(inside)

    def _within(self, border: BorderAttr, at: Sequence[SSAValue], more: Sequence[int]) -> SSAValue:
        """Whether a dimension of the buffer has a subscript; one that is negative is a large one.

        In 32 bits: those of many pieces are known at a time.
        """
        kernel = self.kernel
        subscript: SSAValue | None = None
        first = border.first.data
        for mode, value, extra in zip(border.layout.data.modes, at, more, strict=True):
            if all(stride == 0 for _, stride in mode.pairs):
                continue
            place = kernel.apply(along(mode, D0 + extra) + first, value)
            first = 0
            part = kernel.put(arith.IndexCastOp(place, i32)).result
            subscript = part if subscript is None else kernel.put(arith.AddiOp(subscript, part)).result
        assert subscript is not None
        return kernel.put(arith.CmpiOp(subscript, kernel.number(border.size.data, i32), "ult")).result

    def begin(self, shared: SSAValue, slot: Slot, step: SSAValue) -> None:
        """Begins to copy the pieces of a step to a stage."""
        kernel = self.kernel
        corner = self.corner(step)
        known: dict[tuple[int, AffineExpr], SSAValue] = {}
        for piece in self.pieces:
            indices, map, inside = self._here(piece, corner, known)
            target = self.tile.byte(piece.row, piece.column, slot)
            nbytes = self.width * self.tile.size
            valid = None
            if inside is not None:
                choice = arith.SelectOp(inside, kernel.number(nbytes, i32), kernel.number(0, i32))
                valid = kernel.put(choice).result
            index = kernel.apply(map.data.results[0], *indices)
            kernel.put(AsyncCopyOp(self.source.buffer, index, shared, target, nbytes, valid))

    def fetch(self, step: SSAValue) -> list[SSAValue]:
        """The pieces of a step in registers, zeros outside the matrix."""
        known: dict[tuple[int, AffineExpr], SSAValue] = {}
        return [self._fetched(*self._here(piece, self.corner(step), known)) for piece in self.pieces]

    def _fetched(self, indices: list[Index], map: AffineMapAttr, inside: SSAValue | None) -> SSAValue:
        kernel = self.kernel
        type_ = VectorType(self.tile.element, [self.width])
        load = VectorLoadOp(self.source.buffer, indices, map, type_)
        load.attributes["alignment"] = IntegerAttr(self.width * self.tile.size, i64)
        if inside is None:
            return kernel.put(load).result
        yes, no = Block([load, scf.YieldOp(load.result)]), Block()
        nothing = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(cast("VectorType[AnyFloat]", type_), [0.0]))
        no.add_ops([nothing, scf.YieldOp(nothing.result)])
        return kernel.either(inside, [type_], yes, no)[0]

    def keep(self, typed: Buffer, slot: Slot, values: Sequence[SSAValue]) -> None:
        """Pieces in registers go to a stage of shared memory, which is seen as elements."""
        kernel, tile = self.kernel, self.tile
        for piece, value in zip(self.pieces, values, strict=True):
            if self.width > 1 and self.whole:
                store = VectorStoreOp(value, typed, *tile.index(piece.row, piece.column, slot))
                store.attributes["alignment"] = IntegerAttr(self.width * tile.size, i64)
                kernel.put(store)
                continue
            for lane in range(self.width):
                part = kernel.put(vector.ExtractOp(value, [lane], tile.element)).result
                row, column = (piece.row, piece.column + lane) if self.along else (piece.row + lane, piece.column)
                kernel.put(StoreOp(part, typed, *tile.index(row, column, slot)))


def _strewn(number: int, threads: int, across: int, lines: int, sector: int) -> tuple[Coordinate, Coordinate]:
    """Which line, and which of its `across` pieces, a thread's piece of a number is: lines by sectors."""
    lanes = max(1, min(across, sector))
    if threads % lanes == 0 and lines % (threads // lanes) == 0:  # a constant from the thread's first
        first = number * (threads // lanes)
        return Coordinate(D0 // lanes, first % lines), Coordinate(D0 % lanes, first // lines * lanes)
    whole = D0 + number * threads
    return Coordinate(whole // lanes % lines), Coordinate(whole % lanes + whole // (lanes * lines) * lanes)


def copies_of(kernel: Kernel, pipeline: PipelineOp, *, singly: bool) -> tuple[list[Copies], int]:
    """What a pipeline's stages hold, one tile after the other, and the bytes of a stage; `singly` as of `Copies`."""
    found: list[Copies] = []
    start = 0
    for tile in pipeline.staged:
        load = tile.owner
        assert isinstance(load, LoadOp)
        found.append(Copies(kernel, load, start, pipeline.produce.block.args[0], singly=singly))
        start += found[-1].tile.nbytes
        start += -start % STAGE_ALIGNMENT
    return found, start
