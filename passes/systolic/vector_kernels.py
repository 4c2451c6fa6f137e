"""Kernels of the vector unit as loops over tiles: depthwise convolutions and means, pools, sums of images; copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

from xdsl.dialects.builtin import FunctionType, MemRefType, StringAttr, i8, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ...dialects import tile
from ...dialects.tile import Ring
from ...dialects.tile.memory import tile_type
from .contraction import Post
from .geometry import Windows
from .layers import MOST_WINDOW
from .names import MACHINE
from .nest import Nest, Segment, segments

_MOST_N0, _MOST_N1 = 1023, 255


def _function(
    name: str, machine: SystolicMachine, types: Sequence[MemRefType], rings: dict[str, Ring], hints: str
) -> FuncOp:
    function = FuncOp(name, FunctionType.from_lists(types, []), visibility="private")
    function.attributes[MACHINE] = StringAttr(machine.name)
    function.attributes[tile.RINGS] = tile.rings_attribute(rings)
    for argument, hint in zip(function.args, hints, strict=True):
        argument.name_hint = hint
    return function


def _tile(windows: Windows, most: int, room: int) -> tuple[int, int]:
    """The largest tile of at most `most` outputs whose patch takes at most `room` rows; nearly equal in size."""
    height, width = windows.out
    for columns in _sizes(width):
        for rows in _sizes(height):
            patch = windows.patch((rows, columns))
            fits = rows * columns <= most and patch[0] * patch[1] <= room
            if fits and max(rows, patch[0]) <= _MOST_N1 and max(columns, patch[1]) <= _MOST_N0:
                return rows, columns
    raise LaminaError(
        f"not even the smallest tile fits: windows of {windows.taps[0]}x{windows.taps[1]} in {room} rows",
        hint="a larger scratchpad, or another target",
    )


def _sizes(total: int) -> Iterator[int]:
    for count in range(1, total + 1):
        yield ceil(total / count)


def _blocks(channels: int, lanes: int) -> list[tuple[Segment, int]]:
    """Blocks of channels, and how many channels each has."""
    whole, rest = divmod(channels, lanes)
    found = [(Segment(0, whole, 1), lanes)] if whole else []
    return [*found, (Segment(whole, 1, 1), rest)] if rest else found


class _Images:
    """Loops over the tiles of an image, and the patches that they read."""

    def __init__(self, nest: Nest, windows: Windows, out: tuple[int, int]):
        self.nest, self.windows, self.out = nest, windows, out

    def __iter__(self) -> Iterator[tuple[SSAValue, SSAValue, tuple[int, int]]]:
        for rows in segments(self.windows.out[0], self.out[0]):
            for row in self.nest.loop(rows):
                for columns in segments(self.windows.out[1], self.out[1]):
                    for column in self.nest.loop(columns):
                        yield row, column, (rows.size, columns.size)

    def patch(
        self,
        x: SSAValue,
        at: tuple[SSAValue, SSAValue, SSAValue],
        size: tuple[int, int],
        *,
        ring: str = "a",
        lanes: tuple[int, int, int],
        pad: int,
        shift: tuple[int, int] = (0, 0),
    ) -> SSAValue:
        """Patch for the tile at row, column and block of channels; `lanes` are those of a row, a block, and in use."""
        windows, (row, column, block) = self.windows, at
        width, step, run = lanes
        place = (
            self.nest.affine([(row, windows.advance[0])], windows.origin[0] + shift[0]),
            self.nest.affine([(column, windows.advance[1]), (block, step)], windows.origin[1] + shift[1]),
        )
        shape = [1, *size, width]
        return self.nest.add(
            tile.PatchOp(x, place, ring, shape, steps=windows.steps, block=step, run=run, pad=pad), "p"
        )


def depthwise_kernel(name: str, windows: Windows, machine: SystolicMachine, pad: int, post: Post) -> FuncOp:
    """Sums of windows channel by channel; windows larger than the unit's are summed part by part."""
    lanes, taps = machine.cols, windows.tap_count
    parts = list(_parts(windows))
    largest = replace(windows, taps=max((p[1] for p in parts), key=lambda k: k[0] * k[1]))
    count = largest.tap_count
    out = _tile(largest, max(1, machine.acc_rows // 2), (machine.spm_rows - 2 * count) // 2)
    height, width = largest.patch(out)
    rings = {
        "a": Ring("spm", 0, height * width, 2),
        "w": Ring("spm", 2 * height * width, count, 2),
        "c": Ring("acc", 0, out[0] * out[1], min(2, machine.acc_rows // (out[0] * out[1]))),
        "t": Ring("tab", 0, 1, min(2, machine.table_rows)),
    }
    blocks = ceil(windows.filters / lanes)
    types = [
        tile_type([windows.rows, windows.row_bytes], i8, "dram"),
        tile_type([blocks, taps, lanes], i8, "dram"),
        tile_type([blocks, lanes, 2], i32, "dram"),
        tile_type([*windows.out, windows.filters], i8, "dram"),
    ]
    function = _function(name, machine, types, rings, "xwty")
    x, w, t, y = function.args
    nest = Nest(function.body.block)
    images = _Images(nest, windows, out)
    for segment, length in _blocks(windows.filters, lanes):
        for block in nest.loop(segment):
            for row, column, size in images:
                sums = nest.add(tile.SumsOp("c", [1, *size, lanes]), "c")
                for first, taps_here in parts:
                    part = replace(windows, taps=taps_here)
                    patch = images.patch(
                        x,
                        (row, column, block),
                        part.patch(size),
                        lanes=(machine.lanes, lanes, length),
                        pad=pad,
                        shift=(first[0] * windows.dilations[0], first[1] * windows.dilations[1] * windows.steps[1]),
                    )
                    type_ = tile_type([part.tap_count, lanes], i8, "spm")
                    weights = nest.add(tile.LoadOp(w, [block], "w", type_), "w")
                    window = taps_here, windows.strides, windows.dilations
                    nest.add_op(tile.DepthwiseOp(patch, weights, sums, window, accumulate=first != (0, 0)))
                table = nest.add(tile.LoadOp(t, [block], "t", tile_type([lanes, 2], i32, "tab")), "t")
                at = row, column, nest.affine([(block, lanes)], 0)
                nest.add_op(tile.StoreOp((sums, nest.constant(0)), y, at, length, table=table, post=post))
    function.body.block.add_op(ReturnOp())
    return function


def _parts(windows: Windows) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Parts of a window that the unit walks over at once: the first tap and the size of each."""
    for rows in range(0, windows.taps[0], MOST_WINDOW):
        for columns in range(0, windows.taps[1], MOST_WINDOW):
            size = min(MOST_WINDOW, windows.taps[0] - rows), min(MOST_WINDOW, windows.taps[1] - columns)
            yield (rows, columns), size


def max_pool_kernel(name: str, windows: Windows, machine: SystolicMachine, pad: int) -> FuncOp:
    """The greatest of windows."""
    lanes = machine.lanes
    out = _tile(windows, machine.spm_rows // 8, machine.spm_rows // 4)
    height, width = windows.patch(out)
    rings = {
        "a": Ring("spm", 0, height * width, 2),
        "o": Ring("spm", 2 * height * width, out[0] * out[1], 2),
    }
    types = [
        tile_type([windows.rows, windows.row_bytes], i8, "dram"),
        tile_type([*windows.out, windows.filters], i8, "dram"),
    ]
    function = _function(name, machine, types, rings, "xy")
    x, y = function.args
    nest = Nest(function.body.block)
    images = _Images(nest, windows, out)
    for segment, length in _blocks(windows.filters, lanes):
        for block in nest.loop(segment):
            for row, column, size in images:
                patch = images.patch(
                    x, (row, column, block), windows.patch(size), lanes=(lanes, lanes, length), pad=pad
                )
                window = windows.taps, windows.strides, windows.dilations
                best = nest.add(tile.MaxOp(patch, "o", [1, *size, lanes], window), "o")
                at = row, column, nest.affine([(block, lanes)], 0)
                nest.add_op(tile.StoreOp((best, nest.constant(0)), y, at, length))
    function.body.block.add_op(ReturnOp())
    return function


def add_kernel(
    name: str, pixels: int, channels: int, machine: SystolicMachine, factors: Sequence[float], post: Sequence[int]
) -> FuncOp:
    """The sum of two images in new scales."""
    lanes, windows = machine.lanes, _pixels(pixels, channels, channels)
    out = _tile(windows, min(256, machine.spm_rows // 6), machine.spm_rows // 6)
    rows = out[1]
    rings = {name: Ring("spm", 2 * i * rows, rows, 2) for i, name in enumerate("abo")}
    types = [*[tile_type([1, pixels * channels], i8, "dram")] * 2, tile_type([1, pixels, channels], i8, "dram")]
    function = _function(name, machine, types, rings, "aby")
    a, b, y = function.args
    nest = Nest(function.body.block)
    images = _Images(nest, windows, out)
    for segment, length in _blocks(channels, lanes):
        for block in nest.loop(segment):
            for row, column, size in images:
                loaded = [
                    images.patch(x, (row, column, block), size, ring=ring, lanes=(lanes, lanes, length), pad=0)
                    for x, ring in ((a, "a"), (b, "b"))
                ]
                total = nest.add(tile.AddOp(loaded[0], loaded[1], "o", factors, post), "o")
                at = row, column, nest.affine([(block, lanes)], 0)
                nest.add_op(tile.StoreOp((total, nest.constant(0)), y, at, length))
    function.body.block.add_op(ReturnOp())
    return function


def copy_kernel(name: str, pixels: int, channels: int, pitch: int, machine: SystolicMachine) -> FuncOp:
    """An image as the first channels of one that has `pitch`."""
    lanes, windows = machine.lanes, _pixels(pixels, channels, pitch)
    out = _tile(windows, machine.spm_rows // 4, machine.spm_rows // 4)
    types = [tile_type([1, pixels * channels], i8, "dram"), tile_type([1, pixels, pitch], i8, "dram")]
    function = _function(name, machine, types, {"a": Ring("spm", 0, out[1], 4)}, "xy")
    x, y = function.args
    nest = Nest(function.body.block)
    images = _Images(nest, windows, out)
    for segment, length in _blocks(channels, lanes):
        for block in nest.loop(segment):
            for row, column, size in images:
                patch = images.patch(x, (row, column, block), size, lanes=(lanes, lanes, length), pad=0)
                at = row, column, nest.affine([(block, lanes)], 0)
                nest.add_op(tile.StoreOp((patch, nest.constant(0)), y, at, length))
    function.body.block.add_op(ReturnOp())
    return function


def _pixels(pixels: int, channels: int, pitch: int) -> Windows:
    """Windows of one pixel of an image of one row."""
    return Windows(
        rows=1,
        row_bytes=pixels * channels,
        out=(1, pixels),
        run=channels,
        taps=(1, 1),
        steps=(1, channels),
        strides=(1, 1),
        dilations=(1, 1),
        advance=(1, channels),
        origin=(0, 0),
        filters=channels,
        pitch=pitch,
    )
