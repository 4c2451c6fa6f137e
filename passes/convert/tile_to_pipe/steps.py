"""Steps: instructions with what they wait for, before they stand in an order; rings and who is in their slots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....dialects.tile import Ring

Config = tuple[str, tuple[tuple[str, float], ...]]  # a layout and its fields


@dataclass(eq=False)
class Step:
    """An instruction to be: its fields, the configurations that fields name, and the steps it comes after."""

    kind: str
    fields: dict[str, Any]
    configs: dict[str, Config]
    after: list[Step] = field(default_factory=list["Step"])
    place: int = -1  # among those that compute


def config(layout: str, **fields: float) -> Config:
    """A configuration with these fields."""
    return layout, tuple(sorted(fields.items()))


@dataclass(eq=False)
class Slot:
    """One slot of a ring: who lies there, who put it there (plane by plane), who read it last on each unit."""

    base: int
    key: object = None
    writers: list[Step] = field(default_factory=list[Step])
    readers: dict[str, Step] = field(default_factory=dict[str, Step])

    def take(self, key: object) -> list[Step]:
        """Gives the slot to another piece; returns what must be over before it is written."""
        over = [*self.readers.values(), *self.writers[-1:]]
        self.key, self.writers, self.readers = key, [], {}
        return over

    def read(self, step: Step, plane: int | None = None) -> None:
        """`step` reads the piece, or one plane of it."""
        writers = self.writers[-1:] if plane is None or plane >= len(self.writers) else [self.writers[plane]]
        wait(step, writers)
        self.readers[step.kind] = step


def wait(step: Step, others: Iterable[Step]) -> None:
    """`step` comes after the others; its own unit is in order anyway."""
    for other in others:
        if other.kind != step.kind and other not in step.after:
            step.after.append(other)


class Rings:
    """Slots by ring, each taken in turn."""

    def __init__(self, rings: Mapping[str, Ring]):
        self.rings = rings
        self.slots = {name: [Slot(r.base + i * r.rows) for i in range(r.slots)] for name, r in rings.items()}
        self.turn = dict.fromkeys(rings, 0)
        self.found: dict[tuple[str, object], Slot] = {}

    def find(self, ring: str, key: object) -> Slot | None:
        """The slot in which this piece still lies."""
        return self.found.get((ring, key))

    def next(self, ring: str, key: object) -> tuple[Slot, list[Step]]:
        """The slot for another piece, and the steps that must be over before it is written."""
        slots = self.slots[ring]
        slot = slots[self.turn[ring]]
        self.turn[ring] = (self.turn[ring] + 1) % len(slots)
        self.found.pop((ring, slot.key), None)
        over = slot.take(key)
        if key is not None:
            self.found[ring, key] = slot
        return slot, over
