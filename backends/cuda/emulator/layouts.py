"""How tensor maps and swizzles place elements in shared memory (PTX ISA, 5.5)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.signature import Array

TENSOR_MAP_BYTES = 128
TURNS = 1024  # bytes after which swizzles begin again
_HEAD = struct.Struct("<4sBBHQ")  # mark, rank, bytes of an element, swizzle, address
_MARK = b"TMAP"


def swizzled(offset: Array, span: int) -> Array:
    """Where a byte lies: its 16-byte chunk within `span` bytes (32, 64, 128; 0: as it is) turned by its row."""
    if not span:
        return offset
    chunks = span // 16 - 1
    return offset ^ (offset >> 7 & chunks) << 4


@dataclass(frozen=True)
class TensorMap:
    """A tensor in global memory as the copy engine sees it: sizes from the innermost dimension out, strides in bytes.

    `strides` are those of all dimensions but the innermost; `box` is what one copy moves. A box that reaches outside
    reads zeros there, and writes nothing.
    """

    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_bytes: int
    swizzle: int = 0

    def __post_init__(self) -> None:
        """Raises LaminaError for what the driver would refuse."""
        inner = self.box[0] * self.element_bytes
        problems = [
            (not 1 <= len(self.sizes) <= 5, "1 to 5 dimensions"),
            (
                len(self.strides) != len(self.sizes) - 1 or len(self.box) != len(self.sizes),
                "a stride and a box for each",
            ),
            (self.address % 16 != 0, "an address that is a multiple of 16"),
            (any(s % 16 for s in self.strides), "strides that are multiples of 16"),
            (any(not 1 <= b <= 256 for b in self.box), "boxes of 1 to 256 elements a side"),
            (inner % 16 != 0, "rows of a box that are multiples of 16 bytes"),
            (bool(self.swizzle) and inner > self.swizzle, "rows of a box that fit the swizzle"),
            (self.swizzle not in (0, 32, 64, 128), "a swizzle of 32, 64 or 128 bytes"),
        ]
        for wrong, expected in problems:
            if wrong:
                raise LaminaError(f"not a tensor map: {self}", hint=f"expected {expected}")

    @property
    def box_bytes(self) -> int:
        """What one copy counts as, also where the box reaches outside."""
        return int(np.prod(self.box)) * self.element_bytes

    def encode(self) -> bytes:
        """The map as a kernel parameter of the emulator; the driver's own form is not public."""
        rank = len(self.sizes)
        numbers = [*self.sizes, *self.strides, *self.box]
        head = _HEAD.pack(_MARK, rank, self.element_bytes, self.swizzle, self.address)
        return (head + struct.pack(f"<{len(numbers)}Q", *numbers)).ljust(TENSOR_MAP_BYTES, b"\0")[:TENSOR_MAP_BYTES]

    @staticmethod
    def decode(data: bytes) -> TensorMap:
        """The map that `encode` wrote. Raises LaminaError for anything else."""
        mark, rank, element_bytes, swizzle, address = _HEAD.unpack_from(data)
        if mark != _MARK:
            raise LaminaError("this is not a tensor map")
        numbers = struct.unpack_from(f"<{3 * rank - 1}Q", data, _HEAD.size)
        return TensorMap(
            address, numbers[:rank], numbers[rank : 2 * rank - 1], numbers[2 * rank - 1 :], element_bytes, swizzle
        )

    def places(self, corner: Sequence[int], shared: int) -> tuple[Array, Array, Array]:
        """For each byte of the box at `corner`: its address in global memory, whether it is inside, and where in
        shared memory, from `shared` on, it lies."""
        indices, relative = _of_box(self.box, self.strides, self.element_bytes)
        steps = (self.element_bytes, *self.strides)
        addresses = relative + (self.address + sum(a * b for a, b in zip(corner, steps, strict=True)))
        offsets = shared // TURNS * TURNS + _turned(shared % TURNS, addresses.size, self.swizzle)
        inside = np.ones(indices.shape[1], np.bool_)
        for index, start, size, extent in zip(indices, corner, self.sizes, self.box, strict=True):
            if start < 0 or start + extent > size:
                at = index + start
                inside &= (at >= 0) & (at < size)
        return addresses, np.repeat(inside, self.element_bytes), offsets


@lru_cache(maxsize=64)
def _of_box(box: tuple[int, ...], strides: tuple[int, ...], element_bytes: int) -> tuple[Array, Array]:
    """Of a box at the beginning of a tensor: a column of indices an element, innermost first; each byte's place."""
    indices = np.indices(box[::-1]).reshape(len(box), -1)[::-1]
    where = sum(index * step for index, step in zip(indices, (element_bytes, *strides), strict=True))
    return indices, (np.asarray(where)[:, None] + np.arange(element_bytes)).reshape(-1)


@lru_cache(maxsize=64)
def _turned(first: int, count: int, swizzle: int) -> Array:
    return swizzled(first + np.arange(count), swizzle)
