"""About how many cycles a schedule takes.

The units overlap, so a kernel takes as long as its busiest unit, and what comes before the first product and behind the
last; of that there is less where the first and the last tile are small.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, prod

from ...compiler.systolic_machine import SystolicMachine
from .geometry import Windows
from .tiling import Schedule

_INSTRUCTION = 2  # cycles that are counted for each tile of weights: small tiles keep the dispatcher busy


class Cost:
    """The model for one contraction on one machine."""

    def __init__(self, windows: Windows, machine: SystolicMachine):
        self.windows, self.machine = windows, machine
        self.planes, self.parts = ceil(windows.run / machine.rows), ceil(windows.filters / machine.cols)
        self.weight_tiles = self.planes * self.parts * windows.tap_count
        self.pixel = ceil(min(machine.rows, windows.run) / machine.read_bytes)  # cycles for each plane
        self.weight_tile = machine.rows * ceil(machine.cols / machine.read_bytes)
        self.result = ceil(machine.cols / machine.write_bytes)  # cycles for each block of filters
        if windows.pieces:  # to the scratchpad, added or compared, and to DRAM
            self.result += 2
        self.cut: dict[tuple[tuple[int, int], int], tuple[int, int, list[tuple[int, int]]]] = {}
        self.ramps: dict[tuple[object, ...], int] = {}

    def _tiles(self, s: Schedule) -> tuple[int, int, list[tuple[int, int]]]:
        """How many tiles there are, how many products each tile of weights makes, and the sizes along the image."""
        key = s.out, s.edge
        if key not in self.cut:
            rows, columns = s.tiles(self.windows)
            count = sum(r.count for r in rows) * sum(c.count for c in columns)
            made = sum(r.count * c.count * max(r.size * c.size, self.machine.rows) for r in rows for c in columns)
            along = [(1, c.size) for c in columns] if self.windows.out[0] == 1 else [(r.size, s.out[1]) for r in rows]
            self.cut[key] = count, made, along
        return self.cut[key]

    def least(self, out: tuple[int, int], edge: int) -> int:
        """What no schedule whose tiles have these sizes goes below: the products, and their dispatch."""
        images, made, _ = self._tiles(Schedule(out, 1, 1, True, (1, 1, 1, 1), edge))
        return self.weight_tiles * (made + _INSTRUCTION * images)

    def cycles(self, s: Schedule) -> int:
        """The estimate."""
        windows, machine = self.windows, self.machine
        images, made, along = self._tiles(s)
        chunks, groups = ceil(self.planes / s.planes), ceil(self.parts / s.parts)
        a_slots, w_slots = s.slots[:2]
        if s.images_first:
            kept = a_slots >= chunks + (chunks > 1 or images > 1) or chunks == images == 1
            rounds_a = images * (1 if kept else groups)
            rounds_w = 1 if w_slots >= self.parts * chunks else images
        else:
            rounds_w = 1 if w_slots > s.parts * chunks or w_slots >= self.parts * chunks else images
            rounds_a = images * (1 if a_slots >= images * chunks else groups)
        table = groups * s.parts * ceil(8 * machine.cols / machine.read_bytes)
        table *= 1 if s.slots[3] >= self.parts else images
        loads = rounds_a * prod(windows.patch(s.out)) * self.planes * self.pixel
        loads += rounds_w * self.weight_tiles * self.weight_tile + table
        if windows.added:
            loads += prod(windows.out) * self.parts * ceil(machine.cols / machine.read_bytes)
        products = self.weight_tiles * made
        stores = prod(windows.out) * self.parts * self.result + 6 * images * self.parts
        if s.slots[2] < 2:  # sums are stored before the next begin
            products += stores
        key = s.out, s.edge, s.images_first or s.parts
        if key not in self.ramps:
            self.ramps[key] = self._ramps(s, along)
        return max(products, loads, stores) + _INSTRUCTION * images * self.weight_tiles + self.ramps[key]

    def _ramps(self, s: Schedule, tiles: list[tuple[int, int]]) -> int:
        """The cycles before the array is busy all the time, and those after it."""
        windows, machine = self.windows, self.machine
        weight_tiles = self.weight_tiles if s.images_first else self.planes * windows.tap_count * s.parts
        loaded = prod(windows.patch(tiles[0])) * self.pixel + self.weight_tile * windows.tap_count
        ready = begin = machine.dma_latency + loaded
        loaded += self.weight_tile * (weight_tiles - windows.tap_count)
        for tile, following in pairwise(tiles):
            now, then = prod(windows.patch(tile)), prod(windows.patch(following))
            loaded += (now * (self.planes - 1) + then) * self.pixel
            ready += weight_tiles * max(prod(tile), machine.rows)
            late = machine.dma_latency + loaded - ready
            if late <= 0:
                break
            ready, begin = ready + late, begin + late
        stored = 0  # what is not stored when the products of a tile are made
        for tile in tiles[-(len(tiles) + 1) // 2 :]:
            stored = max(0, stored - weight_tiles * prod(tile)) + min(s.parts, 2) * prod(tile) * self.result
        return begin + stored + machine.rows + machine.cols
