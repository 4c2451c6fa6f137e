"""Changes of bytes that know nothing of what the bytes mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

HOW_MANY = (1, 1, 1, 1, 2, 2, 4)  # changes of one file
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**62, 2**63, 2**64 - 1)
_LENGTHS = (1, 1, 2, 4, 8, 30, 200)


def changed_bytes(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """`data` with one change; pieces may come from one of `others`."""
    size = len(data)
    a, c = dice.randint(0, size), dice.randint(0, size)
    b = min(size, a + dice.choice(_LENGTHS))
    match dice.randrange(10):
        case 0:
            return _with_byte(data, a, lambda byte: byte ^ 1 << dice.randrange(8))
        case 1:
            return _with_byte(data, a, lambda _: dice.choice((0, 1, 127, 128, 255, dice.randrange(256))))
        case 2:
            return data[:a] + data[b:]
        case 3:
            return data[:b] + data[a:b] * dice.choice((1, 1, 1, 2, 300 // (b - a + 1))) + data[b:]
        case 4:
            return data[:a] + dice.randbytes(dice.choice((1, 2, 9))) + data[a:]
        case 5:
            low, high = sorted((a, c))
            return data[:low] + data[high:] if dice.random() < 0.2 else data[:a] + data[low:high] + data[b:]
        case 6:
            other = dice.choice(others)
            start = dice.randint(0, len(other))
            return data[:a] + other[start : start + dice.choice((10, 100, 1000))] + data[c if c > a else b :]
        case 7:
            width = dice.choice((1, 2, 4, 8))
            number = dice.choice(_NUMBERS) & ((1 << 8 * width) - 1)
            return data[:a] + number.to_bytes(width, dice.choice(("little", "big"))) + data[a + width :]
        case 8:
            return data[:a] if dice.random() < 0.3 else data[:a] + data[a:b][::-1] + data[b:]
        case _:
            return data[:a] + _varint(dice.choice(_NUMBERS)) + data[a + 1 :]


def _with_byte(data: bytes, at: int, new: Callable[[int], int]) -> bytes:
    if not data:
        return data
    at %= len(data)
    return data[:at] + bytes([new(data[at])]) + data[at + 1 :]


def _varint(number: int) -> bytes:
    """A number as protobuf and MLIR's bytecode nearly write it."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
