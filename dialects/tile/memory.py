"""Where pieces lie: memory spaces, and the rings of slots in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, MemRefType, StringAttr, i64
from xdsl.ir import Attribute, Operation

RINGS = "tile.rings"
SPACES = ("dram", "spm", "acc", "tab")


@dataclass(frozen=True)
class Ring:
    """Slots of `rows` rows each, one behind the other from row `base` of the memory `space`."""

    space: str
    base: int
    rows: int
    slots: int

    @property
    def end(self) -> int:
        """The row behind the last."""
        return self.base + self.rows * self.slots


def rings_attribute(rings: Mapping[str, Ring]) -> DictionaryAttr:
    """Rings by name as `{a = ["spm", [base, rows, slots]], ...}`."""

    def told(ring: Ring) -> Attribute:
        return ArrayAttr([StringAttr(ring.space), integers([ring.base, ring.rows, ring.slots])])

    return DictionaryAttr({name: told(ring) for name, ring in rings.items()})


def rings_of(function: Operation) -> dict[str, Ring]:
    """The rings that a function's attribute tells."""
    told = function.attributes.get(RINGS)
    rings: dict[str, Ring] = {}
    for name, entry in told.data.items() if isinstance(told, DictionaryAttr) else ():
        assert isinstance(entry, ArrayAttr)
        space, numbers = entry.data
        assert isinstance(space, StringAttr) and isinstance(numbers, DenseArrayBase)
        base, rows, slots = ints(numbers)
        rings[name] = Ring(space.data, base, rows, slots)
    return rings


def tile_type(shape: Sequence[int], element: Attribute, space: str) -> MemRefType:
    """A memref of a memory space."""
    return MemRefType(element, shape, memory_space=StringAttr(space))


def space_of(type_: Attribute) -> str:
    """The name of a memref's memory space, "" for what has none."""
    space = type_.memory_space if isinstance(type_, MemRefType) else None
    return space.data if isinstance(space, StringAttr) else ""


def rows_of(type_: Attribute) -> int:
    """How many rows of its memory a piece on the chip takes."""
    assert isinstance(type_, MemRefType)
    shape = type_.get_shape()
    return 1 if space_of(type_) == "tab" else prod(shape[:-1])


def integers(values: Sequence[int]) -> DenseArrayBase:
    """As an attribute."""
    return DenseArrayBase.from_list(i64, list(values))


def ints(attr: DenseArrayBase[Any]) -> tuple[int, ...]:
    """The integers of an attribute."""
    return tuple(int(v) for v in attr.get_values())
