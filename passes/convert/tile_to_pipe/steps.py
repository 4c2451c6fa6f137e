"""Steps: instructions with what they wait for, before they stand in an order; rings and who is in their slots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ....dialects.systolic.instructions import SPECS
from ....dialects.tile import Ring

Config = tuple[str, tuple[tuple[str, float], ...]]  # a layout and its fields
Values = tuple[int, ...]


@dataclass(eq=False, slots=True)
class Step:
    """An instruction to be: the values of its fields, the configurations that fields name, what it comes after."""

    kind: str
    values: Values
    configs: Sequence[tuple[int, Config]] = ()  # with the number of the field
    after: list[Step] = field(default_factory=list["Step"])
    place: int = -1  # among those that compute


def config(layout: str, **fields: float) -> Config:
    """A configuration with these fields."""
    return layout, tuple(sorted(fields.items()))


class Form:
    """An instruction of which all is known but some fields, that are told later: kernels have tens of thousands alike.

    >>> Form("wl", ("src",), rows=4)(64)
    (-1, -1, -1, -1, 64, 0, 4)
    """

    def __init__(self, kind: str, told: Sequence[str], /, **known: int | str):
        fields = SPECS[kind].fields
        self.names = [f.name for f in fields]
        self.values = [f.default or 0 for f in fields]
        for name, value in known.items():
            at = self.names.index(name)
            self.values[at] = fields[at].choices.index(value) if isinstance(value, str) else value
        self.open = [self.names.index(name) for name in told]

    def __call__(self, *told: int) -> Values:
        """The values of all fields, given those of the open ones."""
        values = self.values.copy()
        for at, value in zip(self.open, told, strict=True):
            values[at] = value
        return tuple(values)

    def configs(self, **named: Config) -> tuple[tuple[int, Config], ...]:
        """Configurations by the numbers of the fields that name them."""
        return tuple((self.names.index(name), value) for name, value in named.items())


@dataclass(eq=False, slots=True)
class Slot:
    """One slot of a ring: who lies there, who put it there (plane by plane), who read it last on each unit.

    Of sums `parts` has who wrote which part last.
    """

    base: int
    key: object = None
    writers: list[Step] = field(default_factory=list[Step])
    readers: dict[str, Step] = field(default_factory=dict[str, Step])
    parts: dict[int, Step] = field(default_factory=dict[int, Step])

    def take(self, key: object) -> list[Step]:
        """Gives the slot to another piece; returns what must be over before it is written."""
        over = [*self.readers.values(), *self.writers[-1:]]
        self.key, self.writers, self.readers, self.parts = key, [], {}, {}
        return over

    def read(self, step: Step, plane: int = -1) -> None:
        """`step` reads the piece, or one plane of it."""
        writers = self.writers
        if writers:
            writer = writers[plane if plane < len(writers) else -1]
            if writer.kind != step.kind and writer not in step.after:
                step.after.append(writer)
        self.readers[step.kind] = step

    def read_part(self, step: Step, part: int) -> None:
        """`step` reads one part of sums, or a piece that has no parts."""
        last = self.parts.get(part)
        if last is None:
            self.read(step)
        else:
            wait(step, [last])
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
        if slot.key is not None:
            self.found.pop((ring, slot.key), None)
        over = slot.take(key)
        if key is not None:
            self.found[ring, key] = slot
        return slot, over
