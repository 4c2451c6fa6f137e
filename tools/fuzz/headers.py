"""Changes of the header of `.lamx` artefacts, whose digest is made right again, and of where it is told to be."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from random import Random

from .changes import changed_bytes

_START = struct.Struct("<8sQQ32s")  # as in compiler/artefact.py: magic, offset, length and digest of the header


def changed_header(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """`data` with one change in its header; a fifth of them in where that is told to be."""
    magic, where, length, digest = _START.unpack(data[: _START.size].ljust(_START.size, b"\0"))
    if dice.random() < 0.2 or not _START.size <= where <= where + length <= len(data):
        numbers = [where, length]
        numbers[dice.randrange(2)] = dice.choice((0, 1, where, length, len(data), 1 << 40, (1 << 64) - 1))
        return _START.pack(magic, *numbers, digest) + data[_START.size :]
    header = changed_bytes(dice, data[where : where + length], others)
    start = _START.pack(magic, where, len(header), hashlib.sha256(header).digest())
    return start + data[_START.size : where] + header
