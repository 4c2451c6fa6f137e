"""Changes of `.lamx` artefacts: of bytes, and of the numbers that say where the header is."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random

from .changes import changed_bytes

_START = struct.Struct("<8sQQ")  # as in compiler/artefact.py: magic, offset and length of the header


def changed_artefact(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """`data` with one change; a fifth of them where the header is told to be, a fifth in the header."""
    if dice.random() < 0.6 or len(data) < _START.size:
        return changed_bytes(dice, data, others)
    magic, where, length = _START.unpack(data[: _START.size])
    if dice.random() < 0.5:
        return data[:where] + changed_bytes(dice, data[where:], others)
    numbers = [where, length]
    numbers[dice.randrange(2)] = dice.choice((0, 1, where, length, len(data), 1 << 40, (1 << 64) - 1))
    return _START.pack(magic, *numbers) + data[_START.size :]
