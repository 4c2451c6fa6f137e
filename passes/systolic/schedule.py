"""The search for the best schedule of a contraction: all sizes of tiles that fit, in both orders of the loops."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import ceil, prod

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from .cost import Cost
from .geometry import Convolution, Windows
from .tiling import Schedule, rows_on_chip

_MOST_N0, _MOST_N1 = 1023, 255
_MOST_SLOTS = 64  # of a ring that comes round: a semaphore counts the slots that are free
_EDGE = 2  # times as many pixels as the array has rows: what the smallest tile has


@cache
def search(windows: Windows, machine: SystolicMachine) -> Schedule:
    """The best schedule. Raises LaminaError for a problem of which not even the smallest tile fits."""
    cost = Cost(windows, machine)
    outs = list(_tiles(windows, machine))
    least = [min(cost.least(out, edge) for edge in (0, _edge(windows, machine, out))) for out in outs]
    best: tuple[tuple[int, tuple[int, int], int], Schedule] | None = None
    for bound, out in sorted(zip(least, outs, strict=True)):
        if best is not None and bound > best[0][0]:
            break  # nothing that follows is better
        for s in _candidates(windows, machine, out):
            key = cost.cycles(s), s.out, s.planes
            if best is None or key < best[0]:
                best = key, s
    if best is None:
        raise LaminaError(
            f"not even the smallest tile fits on machine '{machine.name}': {windows.run} channels of windows of "
            f"{windows.taps[0]}x{windows.taps[1]}",
            hint="a larger scratchpad, or another target",
        )
    return best[1]


def entering(problem: Convolution, machine: SystolicMachine) -> Convolution:
    """A first layer as the array has the least to do: of the image as it is, or gathered by the host.

    Bytes that are more so count as the cycles in which the host writes them.
    """
    if problem.kernel[0] == 1:
        return problem
    gathered = problem.gathered()
    more = prod(gathered.image) * gathered.channels - prod(problem.image) * problem.channels
    plain, packed = (_estimate(p.windows(machine.rows), machine) for p in (problem, gathered))
    return gathered if packed + more // machine.write_bytes < plain else problem


def _estimate(windows: Windows, machine: SystolicMachine) -> int:
    return Cost(windows, machine).cycles(search(windows, machine))


def _candidates(windows: Windows, machine: SystolicMachine, out: tuple[int, int]) -> Iterator[Schedule]:
    """Schedules whose tiles have `out` outputs."""
    planes_all, parts_all = ceil(windows.run / machine.rows), ceil(windows.filters / machine.cols)
    table = min(parts_all, machine.table_rows)
    for planes in _parts_of(planes_all):
        a, w, c = rows_on_chip(windows, machine, out, planes)
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
    edge = _edge(windows, machine, out)
    bare = Schedule(out, planes, parts, True, (1, 1, 1, 1), edge)
    rows, columns = (sum(s.count for s in told) for told in bare.tiles(windows))
    images = rows * columns
    blocks = ceil(windows.filters / machine.cols) * chunks
    room = machine.spm_rows - 2 * len(windows.pieces) * out[0] * out[1]
    for kept in dict.fromkeys((2, chunks + 1, 2 * chunks, images * chunks)):
        rest = room - kept * a
        if rest >= w and (kept <= _MOST_SLOTS or kept == images * chunks):
            weights = blocks if rest // w >= blocks else min(rest // w, _MOST_SLOTS)
            if weights >= min(2, blocks):
                more = min((room - weights * w) // a, _MOST_SLOTS, images * chunks)
                slots = (max(kept, more), weights, sums, table)
                yield Schedule(out, planes, parts, True, slots, edge if weights >= blocks else 0)
                yield Schedule(out, planes, parts, False, slots, edge)


def _edge(windows: Windows, machine: SystolicMachine, out: tuple[int, int]) -> int:
    """The rows, or columns of a single row, of the smallest tile that is worth its weights."""
    wanted = _EDGE * machine.rows
    flat = windows.out[0] == 1
    edge, size = (wanted, out[1]) if flat else (ceil(wanted / out[1]), out[0])
    block = windows.pool[1 if flat else 0]
    edge = ceil(edge / block) * block
    return edge if edge < size else 0


def _tiles(windows: Windows, machine: SystolicMachine) -> Iterator[tuple[int, int]]:
    """Heights and widths of tiles whose sums fit at least once; tiles of nearly equal size."""
    (height, width), most = windows.kept, machine.acc_rows
    for kept_columns in _parts_of(width):
        for kept_rows in _parts_of(height):
            rows, columns = kept_rows * windows.pool[0], kept_columns * windows.pool[1]
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
