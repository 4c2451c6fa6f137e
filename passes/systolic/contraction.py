"""The kernel of a convolution or product, as loops over tiles.

func.func private @k(%x: memref<1x8192xi8, "dram">, %w: memref<4x8x1x16x16xi8, "dram">,
                     %t: memref<4x16x2xi32, "dram">, %y: memref<1x64x64xi8, "dram">)
    attributes {systolic.machine = "gemmini16", tile.rings = {a = ["spm", array<i64: 0, 512, 2>], ...}}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from xdsl.dialects.builtin import FunctionType, StringAttr, i8, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from ...compiler.systolic_machine import SystolicMachine
from ...dialects import tile
from ...dialects.tile.memory import tile_type
from .geometry import Windows
from .names import MACHINE
from .nest import Nest, Segment, segments
from .schedule import Schedule

Post = tuple[int, int, int]  # zero point, least and greatest result


@dataclass(frozen=True)
class _Chunk:
    """Planes of channels that are loaded together: how many, and the bytes of each pixel in them."""

    planes: int
    run: int


@dataclass(frozen=True)
class Plus:
    """How the result is added to another image: with which factors, made what bytes, and as which addend."""

    factors: Sequence[float]
    post: Post
    behind: bool


def contraction_kernel(
    name: str,
    windows: Windows,
    schedule: Schedule,
    machine: SystolicMachine,
    pad: int,
    post: Post,
    plus: Plus | None = None,
) -> FuncOp:
    """The function; `pad` is what lies around the image."""
    planes, parts = ceil(windows.run / machine.rows), ceil(windows.filters / machine.cols)
    weights = [parts, planes, windows.tap_count, machine.rows, machine.cols]
    if windows.matrix:
        weights = [windows.run, windows.filters]
    types = [
        tile_type([windows.rows, windows.row_bytes], i8, "dram"),
        tile_type(weights, i8, "dram"),
        tile_type([parts, machine.cols, 2], i32, "dram"),
        *([tile_type([windows.out[0], windows.out[1] * windows.filters], i8, "dram")] if plus else []),
        tile_type([*windows.kept, windows.pitch], i8, "dram"),
    ]
    function = FuncOp(name, FunctionType.from_lists(types, []), visibility="private")
    function.attributes[MACHINE] = StringAttr(machine.name)
    function.attributes[tile.RINGS] = tile.rings_attribute(schedule.rings(windows, machine))
    for argument, hint in zip(function.args, "xwtry" if plus else "xwty", strict=True):
        argument.name_hint = hint
    _Builder(function, windows, schedule, machine, pad, post, plus).build()
    function.body.block.add_op(ReturnOp())
    return function


class _Builder:
    def __init__(
        self,
        function: FuncOp,
        windows: Windows,
        schedule: Schedule,
        machine: SystolicMachine,
        pad: int,
        post: Post,
        plus: Plus | None,
    ):
        self.nest = Nest(function.body.block)
        self.x, self.w, self.t, *self.residual, self.y = function.args
        self.plus = plus
        self.windows, self.schedule, self.machine = windows, schedule, machine
        self.pad, self.post = pad, post

    def build(self) -> None:
        """Loops over images and filters in the order of the schedule."""
        full, rest = divmod(self.windows.filters, self.machine.cols)
        filters = [(segment, self.machine.cols) for segment in segments(full, self.schedule.parts)]
        filters += [(Segment(full, 1, 1), rest)] if rest else []
        if self.schedule.images_first:
            for row, column, out in self._images():
                for segment, length in filters:
                    for block in self.nest.loop(segment):
                        self._tile(row, column, out, block, segment.size, length)
        else:
            for segment, length in filters:
                for block in self.nest.loop(segment):
                    for row, column, out in self._images():
                        self._tile(row, column, out, block, segment.size, length)

    def _images(self) -> Iterator[tuple[SSAValue, SSAValue, tuple[int, int]]]:
        """Row and column of the first output of each tile, and its size."""
        rows_of_tiles, columns_of_tiles = self.schedule.tiles(self.windows)
        for rows in rows_of_tiles:
            for row in self.nest.loop(rows):
                for columns in columns_of_tiles:
                    for column in self.nest.loop(columns):
                        yield row, column, (rows.size, columns.size)

    def _tile(
        self, row: SSAValue, column: SSAValue, out: tuple[int, int], block: SSAValue, count: int, length: int
    ) -> None:
        """All sums of one tile: every chunk of channels, then the table and the way out."""
        nest = self.nest
        sums = nest.add(tile.SumsOp("c", [count, *out, self.machine.cols]), "c")
        for chunk, segment, first in self._chunks():
            for plane in nest.loop(segment):
                self._chunk(sums, count, chunk, plane, (row, column), (block, length), out, not first)
        for part in range(count):
            number = nest.affine([(block, 1)], part)
            table = nest.add(tile.LoadOp(self.t, [number], "t", tile_type([self.machine.cols, 2], i32, "tab")), "t")
            at = row, column, nest.affine([(block, self.machine.cols)], part * self.machine.cols)
            source = sums, nest.constant(part)
            if self.plus is not None:
                total = self._added(source, table, at, out, length, self.plus)
                nest.add_op(tile.StoreOp((total, nest.constant(0)), self.y, at, length))
            elif self.windows.pool != (1, 1):
                kept = self._kept(source, table, out, length)
                pool = self.windows.pool
                blocks = nest.divided(row, pool[0]), nest.divided(column, pool[1]), at[2]
                nest.add_op(tile.StoreOp((kept, nest.constant(0)), self.y, blocks, length))
            else:
                nest.add_op(tile.StoreOp(source, self.y, at, length, table=table, post=self.post))

    def _kept(self, source: tuple[SSAValue, SSAValue], table: SSAValue, out: tuple[int, int], length: int) -> SSAValue:
        """The greatest of each block of the result."""
        nest, lanes, pool = self.nest, self.machine.lanes, self.windows.pool
        made = nest.add(tile.RequantizeOp(source, table, "b", lanes, length, self.post), "b")
        shape = [1, out[0] // pool[0], out[1] // pool[1], lanes]
        return nest.add(tile.MaxOp(made, "o", shape, (pool, pool, (1, 1))), "o")

    def _added(
        self,
        source: tuple[SSAValue, SSAValue],
        table: SSAValue,
        at: tuple[SSAValue, SSAValue, SSAValue],
        out: tuple[int, int],
        length: int,
        plus: Plus,
    ) -> SSAValue:
        """The sum of the result and the same piece of the other image."""
        nest, lanes, filters = self.nest, self.machine.lanes, self.windows.filters
        place = at[0], nest.affine([(at[1], filters), (at[2], 1)], 0)
        other = tile.PatchOp(
            self.residual[0], place, "r", [1, *out, lanes], steps=(1, filters), block=lanes, run=length, pad=0
        )
        addend = nest.add(other, "r")
        made = nest.add(tile.RequantizeOp(source, table, "b", lanes, length, self.post), "b")
        first, second = (addend, made) if plus.behind else (made, addend)
        return nest.add(tile.AddOp(first, second, "o", plus.factors, plus.post), "o")

    def _chunks(self) -> list[tuple[_Chunk, Segment, bool]]:
        """Chunks of planes as loops: the first, which begins the sums, alone."""
        rows, size, run = self.machine.rows, self.schedule.planes, self.windows.run
        planes = ceil(run / rows)
        whole = run // rows if self.windows.matrix else planes  # a matrix has no rows of zeros behind its last
        sizes = [(s, min(size, whole - s)) for s in range(0, whole, size)]
        sizes += [(whole, 1)] if whole < planes else []
        chunks = [(s, _Chunk(count, min(count * rows, run - s * rows))) for s, count in sizes]
        found: list[tuple[_Chunk, Segment, bool]] = [(chunks[0][1], Segment(0, 1, size), True)]
        for chunk, group in groupby(chunks[1:], lambda placed: placed[1]):
            starts = [start for start, _ in group]
            found.append((chunk, Segment(starts[0], len(starts), size), False))
        return found

    def _chunk(
        self,
        sums: SSAValue,
        count: int,
        chunk: _Chunk,
        plane: SSAValue,
        place: tuple[SSAValue, SSAValue],
        filters: tuple[SSAValue, int],
        out: tuple[int, int],
        accumulate: bool,
    ) -> None:
        nest, windows, machine = self.nest, self.windows, self.machine
        at = (
            nest.affine([(place[0], windows.advance[0])], windows.origin[0]),
            nest.affine([(place[1], windows.advance[1]), (plane, machine.rows)], windows.origin[1]),
        )
        shape = [chunk.planes, *windows.patch(out), machine.lanes]
        patch = tile.PatchOp(
            self.x, at, "a", shape, steps=windows.steps, block=machine.rows, run=chunk.run, pad=self.pad
        )
        window = windows.taps, windows.strides, windows.dilations
        pixels: SSAValue | None = None
        for part in range(count):
            weights = nest.add(self._weights(chunk, plane, filters, part), "w")
            if pixels is None:  # behind the weights, which take their way into the array meanwhile
                pixels = nest.add(patch, "p")
            nest.add_op(
                tile.ContractOp(pixels, weights, sums, nest.constant(part), window=window, accumulate=accumulate)
            )

    def _weights(
        self, chunk: _Chunk, plane: SSAValue, filters: tuple[SSAValue, int], part: int
    ) -> tile.LoadOp | tile.WeightsOp:
        """The weights of a chunk for a block of filters: the first block of the tile, and how many filters it has."""
        nest, machine, (block, length) = self.nest, self.machine, filters
        if self.windows.matrix:
            at = nest.affine([(plane, machine.rows)], 0), nest.affine([(block, machine.cols)], part * machine.cols)
            shape = [chunk.planes, 1, min(machine.rows, chunk.run), machine.cols]
            return tile.WeightsOp(self.w, at, "w", shape, length)
        type_ = tile_type([chunk.planes, self.windows.tap_count, machine.rows, machine.cols], i8, "spm")
        return tile.LoadOp(self.w, [nest.affine([(block, 1)], part), plane], "w", type_)
