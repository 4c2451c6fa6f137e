"""Places in DRAM: constants one behind the other, images where none that lives at the same time is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass
class Place:
    """Bytes that are in use from the step `first` to `last`; `start` is where they lie."""

    size: int
    first: int
    last: int
    start: int = -1


def aligned(size: int) -> int:
    """The next multiple of 64.

    >>> aligned(65)
    128
    """
    return -(-size // ALIGNMENT) * ALIGNMENT


def arrange(places: Sequence[Place], base: int) -> int:
    """Gives every place a start from `base` on, the largest first, each as low as it fits; returns the end."""
    done: list[Place] = []
    end = base
    for place in sorted(places, key=lambda p: -p.size):
        together = sorted((p for p in done if p.first <= place.last and place.first <= p.last), key=lambda p: p.start)
        start = base
        for other in together:
            if start + place.size <= other.start:
                break
            start = max(start, aligned(other.start + other.size))
        place.start = start
        done.append(place)
        end = max(end, aligned(start + place.size))
    return end
