"""The memories of a GPU as NumPy arrays, with bounds that are checked and traffic that is counted."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.signature import Array

UNSIGNED: dict[int, type[np.unsignedinteger[Any]]] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

GLOBAL_BASE = 0x0000_7F00_0000_0000
SHARED_WINDOW = 0x0000_7E00_0000_0000  # generic addresses of shared memory; 16 MB a block of the cluster
PARAMETER_WINDOW = 0x0000_7D00_0000_0000
BLOCK_WINDOW = 1 << 24
SECTOR = 32  # bytes: what global memory is read and written by
BANKS = 32
PITCH = 1024  # at least, between shared memories of blocks that step together: what swizzles ask for
WARP = 32
POISON = 0xFF  # bytes of memory that nobody wrote: a NaN in every floating-point format


class MemoryFault(LaminaError):
    """An access that the hardware would refuse: out of bounds or misaligned."""


@dataclass
class Counters:
    """What a launch did: bytes that lanes asked for, and sectors, of 32 bytes, that had to move for them.

    `global_block_sectors` are those that are read when each block reads a sector once, as with a cache of its own; they
    are counted when nothing is late.
    """

    global_read_bytes: int = 0
    global_written_bytes: int = 0
    global_read_sectors: int = 0
    global_block_sectors: int = 0
    global_written_sectors: int = 0
    global_requests: int = 0
    shared_requests: int = 0
    bank_conflicts: int = 0
    instructions: dict[str, int] = field(default_factory=dict[str, int])
    _known: dict[tuple[bytes, int], tuple[int, int]] = field(
        default_factory=dict[tuple[bytes, int], tuple[int, int]], repr=False, compare=False
    )

    def count_shared(self, rows: Array, nbytes: int) -> None:
        """Adds requests of shared memory, the rows of `by_warps`; loops and blocks come to the same again and again."""
        key = rows.tobytes(), nbytes
        if key not in self._known:
            self._known[key] = int(np.count_nonzero((rows >= 0).any(1))), conflicts(rows, nbytes)
        asks, again = self._known[key]
        self.shared_requests += asks
        self.bank_conflicts += again

    @property
    def full_sectors(self) -> bool:
        """Whether every sector that moved was asked for whole."""
        moved = self.global_read_sectors + self.global_written_sectors
        return moved * SECTOR == self.global_read_bytes + self.global_written_bytes


class Memory:
    """A stretch of bytes at an address; accesses are those of one instruction, an address for each active lane."""

    def __init__(self, nbytes: int, base: int, what: str):
        self.what, self.base, self.nbytes = what, base, nbytes
        self.bytes: Array = np.full(nbytes + -nbytes % 16, POISON, np.uint8)
        self._views: dict[int, Array] = {}

    def view(self, width: int) -> Array:
        """All of it as elements of so many bytes, unsigned integers where NumPy has them."""
        if width not in self._views:
            self._views[width] = self.bytes.view(UNSIGNED.get(width, np.complex128))
        return self._views[width]

    def check(self, offsets: Array, nbytes: int, does: str) -> None:
        """Raises MemoryFault for an access outside or across its alignment, of a power of two of bytes."""
        bits, high = int(np.bitwise_or.reduce(offsets)), int(np.maximum.reduce(offsets)) + nbytes
        if bits < 0 or high > self.nbytes:
            at = int(offsets.min()) if bits < 0 else high - nbytes
            raise MemoryFault(f"{does} {nbytes} bytes at {at} of {self.what}, which has {self.nbytes}")
        if bits & (nbytes - 1):
            raise MemoryFault(
                f"{does} {nbytes} bytes at {self.what} + {int(offsets[offsets % nbytes != 0][0])}: misaligned"
            )

    def load(self, addresses: Array, width: int, count: int = 1) -> list[Array]:
        """`count` neighbouring elements of `width` bytes at each address, of int64."""
        offsets = addresses - self.base if self.base else addresses
        self.check(offsets, width * count, "reads")
        found = self.view(width * count)[offsets >> (width * count).bit_length() - 1]
        if count == 1:
            return [found]
        parts = found.view(UNSIGNED[width]).reshape(-1, count)
        return [parts[:, i] for i in range(count)]

    def store(self, addresses: Array, values: list[Array], width: int) -> None:
        """Writes neighbouring elements at each address; of lanes that write the same place, the last one stays."""
        offsets = addresses - self.base if self.base else addresses
        self.check(offsets, width * len(values), "writes")
        at = offsets >> width.bit_length() - 1
        view = self.view(width)
        for i, value in enumerate(values):
            view[at + i] = value


class SharedMemories(Memory):
    """The shared memories of blocks that do the same at the same time, each `pitch` bytes behind the one before.

    Of several that is a power of two.
    """

    def __init__(self, nbytes: int, count: int, what: str):
        self.each = nbytes
        self.pitch = max(PITCH, 1 << nbytes.bit_length()) if count > 1 else max(nbytes, 1)
        super().__init__(self.pitch * count if count > 1 else nbytes, 0, what)

    def has(self, addresses: Array) -> bool:
        """Whether all are addresses of one block's memory."""
        return int(np.maximum.reduce(addresses.view(np.uint64))) < self.each  # what is negative is large there

    def check_inside(self, addresses: Array) -> None:
        """Raises MemoryFault for addresses that are of no block's memory."""
        if not self.has(addresses):
            low, high = int(addresses.min()), int(addresses.max())
            at = low if low < 0 else high
            raise MemoryFault(f"address {at} of {self.what}, which has {self.each}")

    def check(self, offsets: Array, nbytes: int, does: str) -> None:
        """Raises MemoryFault for an access that does not lie in the memory of one block."""
        several = self.pitch < self.nbytes
        bits = int(np.bitwise_or.reduce(offsets))
        inside = bits & (self.pitch - 1) if several else bits  # or less: no offset has bits that are not among these
        if inside + nbytes > self.each:
            inside = int(np.maximum.reduce(offsets & (self.pitch - 1) if several else offsets))
            if several and inside + nbytes > self.each:
                raise MemoryFault(f"{does} {nbytes} bytes at {inside} of {self.what}, which has {self.each}")
        if not 0 <= bits < self.nbytes or inside + nbytes > self.each or bits & (nbytes - 1):
            super().check(offsets, nbytes, does)


@dataclass(frozen=True)
class Allocation:
    """A stretch of global memory."""

    name: str
    address: int
    nbytes: int


class GlobalMemory(Memory):
    """Global memory: allocations with unallocated gaps between them."""

    GAP = 512

    def __init__(self, capacity: int = 1 << 26):
        super().__init__(capacity, GLOBAL_BASE, "global memory")
        self.allocations: list[Allocation] = []
        self._starts: list[int] = []
        self._end = 0

    def allocate(self, nbytes: int, name: str = "") -> int:
        """The address of `nbytes` fresh bytes, all poison. Raises MemoryFault when there is no room."""
        start = self._end + -self._end % 256
        if start + nbytes + self.GAP > self.nbytes:
            raise MemoryFault(f"out of memory: {nbytes} bytes for '{name}' after {self._end}")
        self._end = start + nbytes + self.GAP
        found = Allocation(name or f"allocation {len(self.allocations)}", self.base + start, nbytes)
        self.allocations.append(found)
        self._starts.append(start)
        return found.address

    def upload(self, array: Array, name: str = "") -> int:
        """The address of a copy of an array."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        address = self.allocate(data.nbytes, name)
        self.bytes[address - self.base : address - self.base + data.nbytes] = data
        return address

    def download(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any] | type) -> Array:
        """A copy of the array that lies at an address."""
        nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        start = address - self.base
        return self.bytes[start : start + nbytes].copy().view(dtype).reshape(shape)

    def check(self, offsets: Array, nbytes: int, does: str) -> None:
        """Raises MemoryFault for an access that does not lie in one allocation."""
        first = bisect_right(self._starts, int(offsets[0])) - 1
        if first >= 0:  # all lanes in one allocation: the usual case
            inside, size = offsets - self._starts[first], self.allocations[first].nbytes
            bits = int(np.bitwise_or.reduce(inside))
            aligned = bits >= 0 and not bits & (nbytes - 1)
            if aligned and (bits + nbytes <= size or int(np.maximum.reduce(inside)) + nbytes <= size):
                return
        if int(np.bitwise_or.reduce(offsets)) & (nbytes - 1):
            raise MemoryFault(f"{does} {nbytes} bytes at a misaligned address of global memory")
        for offset in offsets.tolist():
            found = bisect_right(self._starts, offset) - 1
            inside = found >= 0 and offset + nbytes <= self._starts[found] + self.allocations[found].nbytes
            if not inside:
                near = self.allocations[found].name if found >= 0 else "anything"
                past = offset - self._starts[found] if found >= 0 else offset
                size = self.allocations[found].nbytes if found >= 0 else 0
                raise MemoryFault(f"{does} {nbytes} bytes at {past} of '{near}', which has {size}")


def by_warps(addresses: Array, lanes: Array, count: int) -> Array:
    """One row of 32 for each warp of `count` lanes, of which these ask for these addresses; -1 of those that do not."""
    if lanes.size == count and count % WARP == 0:
        return addresses.reshape(-1, WARP)
    rows = np.full(count + -count % WARP, -1, np.int64)
    rows[lanes] = addresses
    return rows.reshape(-1, WARP)


def requests(rows: Array) -> tuple[int, int, int]:
    """Of the rows of `by_warps`: how many warps ask, for how many different addresses, in how many sectors."""
    ordered = np.sort(rows, -1)
    asks = int(np.count_nonzero(ordered[:, -1] >= 0))
    return asks, int(np.count_nonzero(_firsts(ordered))), int(np.count_nonzero(_firsts(ordered // SECTOR)))


def conflicts(rows: Array, nbytes: int) -> int:
    """How many times more than needed the banks of shared memory are asked by warps, one a row of `by_warps`.

    Lanes are served 32 at a time for 4 bytes or fewer, 16 for 8 and 8 for 16 bytes; the same word counts
    once.
    """
    words = rows.reshape(-1, min(BANKS * 4 // max(nbytes, 4), rows.shape[-1])) // 4
    if nbytes > 4:
        parts = np.where(words[..., None] < 0, -1, words[..., None] + np.arange(nbytes // 4))
        words = parts.reshape(len(words), -1)
    ordered = np.sort(words, -1)
    group, at = np.nonzero(_firsts(ordered))
    asked = np.bincount(group * BANKS + ordered[group, at] % BANKS, minlength=len(words) * BANKS)
    return int(np.maximum(asked.reshape(-1, BANKS).max(1) - 1, 0).sum())


def _firsts(ordered: Array) -> Array:
    """Where in sorted rows a number stands that was not there before, and is none of -1."""
    found = ordered >= 0
    found[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return found
