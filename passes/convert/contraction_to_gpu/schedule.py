"""How a product is cut into tiles: data, chosen by the sizes of the result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """A block computes `rows` x `columns` of the result, `depth` steps of the sum at a time; a thread a part of it."""

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int

    @property
    def across(self) -> int:
        """Threads along the columns."""
        return self.columns // self.thread_columns

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.across * (self.rows // self.thread_rows)


LARGE = Schedule(128, 128, 16, 8, 8)
MIDDLE = Schedule(64, 64, 16, 4, 4)
SMALL = Schedule(32, 32, 16, 4, 4)
ENOUGH = 64  # blocks that keep most of a GPU busy: with fewer, smaller tiles


def choose(m: int, n: int) -> Schedule:
    """The largest tiles of which the result has enough.

    >>> choose(4096, 4096) is LARGE, choose(512, 768) is MIDDLE, choose(16, 100) is SMALL
    (True, True, True)
    """
    for schedule in (LARGE, MIDDLE):
        if -(-m // schedule.rows) * -(-n // schedule.columns) >= ENOUGH:
            return schedule
    return SMALL
