"""Where constants are: one section of bytes that `@main` is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from .layout import aligned


@dataclass(frozen=True)
class ConstantPart:
    """One weight's place in the section of constants, in bytes."""

    key: str
    offset: int
    size: int


@dataclass
class ConstantSection:
    """The layout of the constants: each weight once, in order of first use, aligned."""

    parts: list[ConstantPart] = field(default_factory=list[ConstantPart])
    size: int = 0

    def place(self, key: str, size: int) -> int:
        """The offset of weight `key`."""
        for part in self.parts:
            if part.key == key:
                return part.offset
        offset = aligned(self.size)
        self.parts.append(ConstantPart(key, offset, size))
        self.size = offset + size
        return offset
