"""Bytes read one after another, never beyond their end."""

from __future__ import annotations

import struct

from ..diagnostics import LaminaError


class Stream:
    """A stretch of a bytecode file. Whatever does not fit into it is a LaminaError with the offset in the file."""

    def __init__(self, data: memoryview, name: str, start: int = 0, end: int | None = None):
        self.data = data
        self.name = name
        self.at = start
        self.end = len(data) if end is None else end

    def fail(self, message: str, hint: str | None = None) -> LaminaError:
        """The error to raise here."""
        return LaminaError(message, where=f"{self.name}, byte {self.at}", hint=hint)

    def __len__(self) -> int:
        return self.end - self.at

    def byte(self) -> int:
        """The next byte."""
        if self.at >= self.end:
            raise self.fail("the bytecode ends too early")
        value = self.data[self.at]
        self.at += 1
        return value

    def take(self, length: int) -> memoryview:
        """The next `length` bytes, shared with the file."""
        return self.data[self.skip(length) : self.at]

    def skip(self, length: int) -> int:
        """Where the next `length` bytes start, which are passed over."""
        if length > self.end - self.at:
            raise self.fail(f"expected {length} more bytes, {self.end - self.at} are left")
        start = self.at
        self.at += length
        return start

    def part(self, length: int) -> Stream:
        """The next `length` bytes as a stretch of their own."""
        start = self.skip(length)
        return Stream(self.data, self.name, start, self.at)

    def varint(self) -> int:
        """An unsigned number of up to 64 bits; zeros at the end of the first byte count the bytes that follow it."""
        first = self.byte()
        if first & 1:
            return first >> 1
        if first == 0:
            return struct.unpack("<Q", self.take(8))[0]
        more = (first & -first).bit_length() - 1
        value = first | int.from_bytes(self.take(more), "little") << 8
        return value >> (more + 1)

    def signed(self) -> int:
        """A signed number whose lowest bit is its sign."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def flagged(self) -> tuple[int, bool]:
        """A number and the flag in its lowest bit."""
        value = self.varint()
        return value >> 1, bool(value & 1)

    def count(self) -> int:
        """How many things follow; each takes a byte at least, so that there cannot be more than bytes."""
        value = self.varint()
        if value > len(self):
            raise self.fail(f"{value} entries cannot fit into the {len(self)} bytes that are left")
        return value

    def text(self) -> str:
        """Characters up to a zero byte."""
        start = self.at
        while self.byte():
            pass
        return self.decoded(start, self.at - 1)

    def decoded(self, start: int, end: int) -> str:
        """The bytes between two places of the file as text."""
        return bytes(self.data[start:end]).decode("utf-8", "replace")

    def blob(self) -> memoryview:
        """A length and so many bytes."""
        return self.take(self.varint())

    def integer(self, width: int) -> int:
        """An integer of `width` bits, as a pattern of bits: it is not negative."""
        if width <= 8:
            return self.byte() & ((1 << width) - 1)
        if width <= 64:
            return self.signed() & ((1 << width) - 1)
        words = [self.signed() & (2**64 - 1) for _ in range(self.count())]
        return sum(word << (64 * i) for i, word in enumerate(words)) & ((1 << width) - 1)

    def align(self, alignment: int) -> None:
        """Passes over the padding up to a multiple of `alignment`, counted from the start of the file."""
        if alignment == 0 or alignment & (alignment - 1):
            raise self.fail(f"an alignment of {alignment} is no power of two")
        padding = -self.at % alignment
        if any(byte != 0xCB for byte in self.take(padding)):
            raise self.fail("expected padding of bytes 0xCB")
