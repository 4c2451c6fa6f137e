"""What an instruction is made of: fields of bits, each told once, from which everything else is generated."""

from __future__ import annotations

from dataclasses import dataclass

NONE = -1  # no semaphore, no configuration register


@dataclass(frozen=True)
class Field:
    """Some bits of an instruction or of a configuration register.

    `kind` is
      "unsigned" or "signed"   an integer; `least` is its smallest legal value
      "flag"                   one bit, printed by its name alone
      "choice"                 an index into `choices`
      "optional"               the top bit says whether there is a value below it; without one the value is NONE
      "register"               the number of an address register, printed behind its address: `dst=0x40+r3`
      "float"                  the 32 bits of an f32
    """

    name: str
    bits: int
    doc: str
    kind: str = "unsigned"
    default: int | None = None  # None: must be told
    least: int = 0
    choices: tuple[str, ...] = ()
    layout: str = ""  # of a configuration register that the value names
    hexadecimal: bool = False

    @property
    def low(self) -> int:
        """The smallest value."""
        if self.kind == "signed":
            return -(1 << (self.bits - 1))
        return NONE if self.kind == "optional" else self.least

    @property
    def high(self) -> int:
        """The greatest value."""
        if self.kind == "choice":
            return len(self.choices) - 1
        return (1 << (self.bits - 1 if self.kind in ("signed", "optional") else self.bits)) - 1

    def pack(self, value: int) -> int:
        """The bits of a value.

        >>> Field("s", 4, "", "signed").pack(-1), Field("w", 5, "", "optional").pack(3)
        (15, 19)
        """
        if self.kind == "optional":
            return 0 if value == NONE else (1 << (self.bits - 1)) | value
        return value & ((1 << self.bits) - 1)

    def unpack(self, bits: int) -> int:
        """The value of the bits; one outside `low` to `high` is illegal, which is not checked here."""
        top = 1 << (self.bits - 1)
        if self.kind == "signed":
            return bits - (1 << self.bits) if bits & top else bits
        if self.kind == "optional":
            return bits & (top - 1) if bits & top else (NONE if bits == 0 else NONE - 1)
        return bits


def count(name: str, bits: int, doc: str, default: int | None = None) -> Field:
    """How many there are of something: at least one."""
    return Field(name, bits, doc, default=default, least=1)


def address(name: str, bits: int, doc: str) -> tuple[Field, Field]:
    """An address and the register that is added to it; register 0 always holds 0."""
    return (
        Field(name, bits, doc, hexadecimal=True),
        Field(f"{name}_r", 4, f"The address register that is added to `{name}`.", "register", default=0),
    )


def config(name: str, layout: str, doc: str) -> Field:
    """The number of a configuration register that is laid out as `layout`."""
    return Field(name, 5, doc, layout=layout)


def optional_config(name: str, layout: str, doc: str) -> Field:
    """The number of a configuration register, or none."""
    return Field(name, 6, doc, "optional", default=NONE, layout=layout)


def choice(name: str, bits: int, choices: tuple[str, ...], doc: str) -> Field:
    """One of some words."""
    return Field(name, bits, doc, "choice", choices=choices)


def flag(name: str, doc: str) -> Field:
    """Yes or no."""
    return Field(name, 1, doc, "flag", default=0)


def signed(name: str, bits: int, doc: str, default: int | None = None) -> Field:
    """An integer in two's complement."""
    return Field(name, bits, doc, "signed", default=default)
