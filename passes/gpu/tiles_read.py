"""What tiles of points read of a source, counted: what lies around a tile as often as tiles have it, pads never.

And how much slower few blocks are: a GPU's memory is busy from some tens of them on, and small kernels wait for their
launch far longer than for bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ...compiler.walking import all_ops
from ...dialects.affine import LoadOp
from ..affine.accesses import Linear, map_subscripts

SECTOR = 32  # bytes: what global memory is read and written by
ENOUGH = 32  # blocks that keep memory busy: a quarter of the multiprocessors
MANY = 64  # blocks that keep most multiprocessors busy
TAP = 0.25  # bytes that memory moves while all multiprocessors take a number from shared memory and combine it
LATENT = 8 << 20  # bytes that memory moves while a kernel is launched and its first bytes are on the way


def slowed(moved: float, taps: float, blocks: float, larger: float = 1) -> float:
    """How many times slower a kernel that moves so many bytes is than if its blocks were enough for a GPU.

    They are blocks of 256 threads, or so many times `larger` ones, which are more of them, as what is on the way at
    once counts; of what they take from shared memory none does more than a multiprocessor.

    >>> slowed(1 << 20, 0, 64), slowed(1 << 21, 0, 8), slowed(1 << 21, 0, 4, 2), slowed(1 << 26, 0, 8) > 3.5
    (1.0, 1.6, 1.6, True)
    """
    work = taps * TAP
    took = max(moved * max(1, ENOUGH / (blocks * larger)), work * max(1, MANY / blocks))
    return (LATENT + took) / (LATENT + max(moved, work))


def limits_of(op: Operation, coordinates: Sequence[Linear]) -> list[tuple[int, int] | None]:
    """The least and the largest of each coordinate that is read, of a load or of a choice between one and constants."""
    loads = [each for each in ([op] if isinstance(op, LoadOp) else all_ops(op)) if isinstance(each, LoadOp)]
    found: list[tuple[int, int] | None] = [None for _ in coordinates]
    if len(loads) != 1 or loads[0].map.data.num_symbols or not isinstance(loads[0].memref.type, MemRefType):
        return found
    [load] = loads
    shape: Sequence[int] = loads[0].memref.type.get_shape()
    subscripts = list(zip(map_subscripts(load.map.data, load.indices), shape, strict=True))
    for i, coordinate in enumerate(coordinates):
        same = next((each for each in subscripts if each[0] is not None and each[0].terms == coordinate.terms), None)
        if same is not None and same[0] is not None and coordinate.terms:
            before = coordinate.constant - same[0].constant
            found[i] = before, before + same[1] - 1
            subscripts.remove(same)
    return found


@dataclass(frozen=True, eq=False)
class Source:
    """What points of loops of these `sizes` read: coordinates, numbers that a point reads along each, and limits."""

    coordinates: tuple[Linear, ...]
    spans: tuple[int, ...]
    limits: Sequence[tuple[int, int] | None]
    itemsize: int
    sizes: Mapping[SSAValue, int]
    counted: dict[tuple[int, ...], list[int]] = field(default_factory=dict[tuple[int, ...], list[int]])

    def nbytes(self, tile: Mapping[SSAValue, int]) -> int:
        """That all tiles read, in sectors."""
        used = {v for coordinate in self.coordinates for v in coordinate.terms}
        again = prod(-(-n // tile[v]) for v, n in self.sizes.items() if v not in used)
        if not self.coordinates:
            return again * self.itemsize
        *outer, rows = (self.stretches(d, tile) for d in range(len(self.coordinates)))
        [whole] = self.stretches(len(outer), self.sizes)
        parts = [n * self.itemsize for n in rows]
        if len(parts) > 1 and (parts[0] % SECTOR or whole * self.itemsize % SECTOR):
            parts = [n + SECTOR for n in parts]
        return again * prod(map(sum, outer)) * sum(parts)

    def stretches(self, d: int, tile: Mapping[SSAValue, int]) -> list[int]:
        """How many numbers each tile reads along a coordinate."""
        coordinate, span = self.coordinates[d], self.spans[d]
        own = [(v, n) for v, n in coordinate.terms.items() if v in self.sizes]
        key = (d, *(tile[v] for v, _ in own))
        if key in self.counted:
            return self.counted[key]
        found = self.counted[key] = list[int]()
        for origin in product(*(range(0, self.sizes[v], tile[v]) for v, _ in own)):
            first = coordinate.constant + sum(at * n for at, (_, n) in zip(origin, own, strict=True))
            steps = ((min(tile[v], self.sizes[v] - at) - 1) * n for at, (v, n) in zip(origin, own, strict=True))
            last = first + span - 1 + sum(steps)
            low, high = self.limits[d] or (first, last)
            found.append(max(0, min(last, high) - max(first, low) + 1))
        return found
