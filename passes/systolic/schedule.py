"""How a contraction is cut into tiles, and which tiles stay on the chip: searched on a model of the units.

The units overlap, so a kernel takes as long as its busiest unit, and what comes before the first product and behind the
last. Candidates are all sizes of tiles that fit, in both orders of the loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import ceil

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ...dialects.tile import Ring
from .geometry import Windows

_MOST_N0, _MOST_N1 = 1023, 255
_MOST_SLOTS = 64  # of a ring that comes round: a semaphore counts the slots that are free
_INSTRUCTION = 2  # cycles that are counted for each tile of weights: small tiles keep the dispatcher busy


@dataclass(frozen=True)
class Schedule:
    """Tiles of `out` outputs, `planes` blocks of channels and `parts` blocks of filters.

    With `images_first` all filters are applied to one tile of the image before the next is loaded; without, it is the
    other way round. `slots` are those of the rings for patches, weights, sums and rows of the table.
    """

    out: tuple[int, int]
    planes: int
    parts: int
    images_first: bool
    slots: tuple[int, int, int, int]

    def rings(self, windows: Windows, machine: SystolicMachine) -> dict[str, Ring]:
        """Where the rings lie."""
        a, w, c = _rows(windows, machine, self.out, self.planes)
        patches, weights, sums, table = self.slots
        return {
            "a": Ring("spm", 0, a, patches),
            "w": Ring("spm", a * patches, w, weights),
            "c": Ring("acc", 0, c * self.parts, sums),
            "t": Ring("tab", 0, 1, table),
        }


def _rows(windows: Windows, machine: SystolicMachine, out: tuple[int, int], planes: int) -> tuple[int, int, int]:
    """Rows of a patch, of the weights of a block of filters, and of the sums of one."""
    height, width = windows.patch(out)
    return planes * height * width, planes * windows.tap_count * machine.rows, out[0] * out[1]


@cache
def search(windows: Windows, machine: SystolicMachine) -> Schedule:
    """The best schedule. Raises LaminaError for a problem of which not even the smallest tile fits."""
    best = min(
        _candidates(windows, machine), key=lambda s: (cycles(windows, s, machine), s.out, s.planes), default=None
    )
    if best is None:
        raise LaminaError(
            f"no tile of {windows} fits on machine '{machine.name}'", hint="a larger scratchpad, or another target"
        )
    return best


def _candidates(windows: Windows, machine: SystolicMachine) -> Iterator[Schedule]:
    planes_all, parts_all = ceil(windows.run / machine.rows), ceil(windows.filters / machine.cols)
    table = min(parts_all, machine.table_rows)
    for out in _tiles(windows, machine):
        for planes in _parts_of(planes_all):
            a, w, c = _rows(windows, machine, out, planes)
            if planes * windows.tap_count > _MOST_N1:
                continue
            chunks = ceil(planes_all / planes)
            for parts in _parts_of(parts_all) if chunks > 1 else (1,):
                sums = min(machine.acc_rows // (c * parts), 4)
                if sums < 1:
                    continue
                yield from _with_slots(windows, machine, out, planes, parts, (a, w, sums, table))


def _with_slots(
    windows: Windows,
    machine: SystolicMachine,
    out: tuple[int, int],
    planes: int,
    parts: int,
    sizes: tuple[int, int, int, int],
) -> Iterator[Schedule]:
    """Both orders; the operand that is used again and again stays on the chip if it fits, or comes in turns."""
    a, w, sums, table = sizes
    chunks = ceil(ceil(windows.run / machine.rows) / planes)
    images = ceil(windows.out[0] / out[0]) * ceil(windows.out[1] / out[1])
    blocks = ceil(windows.filters / machine.cols) * chunks
    room = machine.spm_rows
    for kept in dict.fromkeys((2, chunks + 1, 2 * chunks, images * chunks)):
        rest = room - kept * a
        if rest >= w and (kept <= _MOST_SLOTS or kept == images * chunks):
            weights = blocks if rest // w >= blocks else min(rest // w, _MOST_SLOTS)
            if weights >= min(2, blocks):
                yield Schedule(out, planes, parts, True, (kept, weights, sums, table))
                yield Schedule(out, planes, parts, False, (kept, weights, sums, table))


def _tiles(windows: Windows, machine: SystolicMachine) -> Iterator[tuple[int, int]]:
    """Heights and widths of tiles whose sums fit at least once; tiles of nearly equal size."""
    height, width = windows.out
    most = machine.acc_rows
    for columns in _parts_of(width):
        for rows in _parts_of(height):
            if rows * columns <= most and columns <= _MOST_N0 and rows <= _MOST_N1:
                patch = windows.patch((rows, columns))
                if patch[0] <= _MOST_N1 and patch[1] <= _MOST_N0 and patch[0] * patch[1] < machine.spm_rows:
                    yield rows, columns


def _parts_of(total: int) -> Iterator[int]:
    """Sizes of nearly equal parts, each at most four fifths of the one before.

    >>> list(_parts_of(10))
    [10, 5, 4, 3, 2, 1]
    """
    last = 2 * total
    for count in range(1, total + 1):
        size = ceil(total / count)
        if 5 * size <= 4 * last:
            yield size
            last = size


def cycles(windows: Windows, s: Schedule, machine: SystolicMachine) -> int:
    """About how many cycles a schedule takes."""
    planes_all, parts_all = ceil(windows.run / machine.rows), ceil(windows.filters / machine.cols)
    height, width = windows.out
    images = ceil(height / s.out[0]) * ceil(width / s.out[1])
    chunks = ceil(planes_all / s.planes)
    groups = ceil(parts_all / s.parts)
    taps = windows.tap_count
    tile = s.out[0] * s.out[1]
    whole = (height // s.out[0]) * (width // s.out[1])
    weight_tiles = planes_all * parts_all * taps
    products = whole * max(tile, machine.rows) * weight_tiles
    if images > whole:
        left = max((height * width - whole * tile) // (images - whole), machine.rows)
        products += (images - whole) * left * weight_tiles
    patch = windows.patch(s.out)
    lane = ceil(min(machine.rows, windows.run) / machine.read_bytes)
    loads_a = patch[0] * patch[1] * planes_all * lane
    loads_w = planes_all * taps * machine.rows * ceil(machine.cols / machine.read_bytes) * parts_all
    a_slots, w_slots = s.slots[:2]
    if s.images_first:
        rounds_a = images * (1 if a_slots >= chunks + (chunks > 1 or images > 1) or chunks == images == 1 else groups)
        rounds_w = 1 if w_slots >= parts_all * chunks else images
    else:
        rounds_w = 1 if w_slots > s.parts * chunks or w_slots >= parts_all * chunks else images
        rounds_a = images * (1 if a_slots >= images * chunks else groups)
    table = groups * s.parts * ceil(8 * machine.cols / machine.read_bytes)
    table *= 1 if s.slots[3] >= parts_all else images
    loads = rounds_a * loads_a + rounds_w * loads_w + table
    stores = height * width * parts_all * ceil(machine.cols / machine.write_bytes) + 6 * images * parts_all
    first = machine.dma_latency + patch[0] * patch[1] * lane + machine.rows * taps
    last = tile * ceil(machine.cols / machine.write_bytes) + machine.rows + machine.cols
    if s.slots[2] < 2:  # sums are stored before the next begin
        products += stores
    dispatched = _INSTRUCTION * images * weight_tiles
    return max(products, loads, stores) + dispatched + first + last
