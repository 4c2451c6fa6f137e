"""Places for buffers in one arena: what is alive at once does not overlap, and all take as few bytes as is found."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .layout import aligned

EFFORT = 1_000_000  # pairs of buffers looked at while searching: about half a second
COSTS_LITTLE = 100  # one part in so many more than is needed
SEED = 0  # the same plan every time: machine code is cached by it


@dataclass(frozen=True)
class Interval:
    """A buffer of `size` bytes that is alive in the ops `first` to `last`; `sparse`: little of it is touched."""

    size: int
    first: int
    last: int
    sparse: bool = False

    @property
    def life(self) -> int:
        """For how many ops it is alive."""
        return self.last - self.first + 1


# What is placed first gets the best place; no order is best for every network.
_ORDERS: tuple[Callable[[Interval], tuple[int, int]], ...] = (
    lambda i: (-i.size, i.first),
    lambda i: (-i.life, -i.size),
    lambda i: (-i.size * i.life, i.first),
    lambda i: (-i.size, -i.life),
    lambda i: (i.first, -i.size),
    lambda i: (i.last, -i.size),
)


def plan_offsets(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """Aligned offsets such that buffers alive at once do not overlap, and the bytes needed in all.

    >>> plan_offsets([Interval(100, 0, 1), Interval(64, 1, 2), Interval(100, 2, 3)])
    ([0, 128, 0], 192)

    Greedy in several orders, best fit; where none reaches the lower bound, the best order is changed at random. Sparse
    buffers come last where that costs little: what is touched, and so takes memory, lies together then.
    """
    if not intervals:
        return [], 0
    bound = lower_bound(intervals)
    rivals = _alive_at_once(intervals)
    if any(interval.sparse for interval in intervals):
        found, _ = _greedy(intervals, rivals, bound, apart=True)
        if found[1] <= bound + bound // COSTS_LITTLE:
            return found
    best, order = _greedy(intervals, rivals, bound, apart=False)
    return best if best[1] <= bound else _searched(intervals, rivals, order, best, bound)


def _alive_at_once(intervals: Sequence[Interval]) -> list[list[int]]:
    """For each buffer itself and those that are alive when it is, in time linear in how many that are together."""
    found = [[i] for i in range(len(intervals))]
    alive: list[int] = []
    for i in sorted(range(len(intervals)), key=lambda i: intervals[i].first):
        alive = [j for j in alive if intervals[j].last >= intervals[i].first]
        found[i] += alive
        for j in alive:
            found[j].append(i)
        alive.append(i)
    return found


def _greedy(
    intervals: Sequence[Interval], rivals: Sequence[Sequence[int]], bound: int, apart: bool
) -> tuple[tuple[list[int], int], list[int]]:
    """The best plan of the known orders, and the order; sparse buffers after all others where they lie `apart`."""
    best: tuple[list[int], int] | None = None
    best_order: list[int] = []
    for key in _ORDERS:
        order = sorted(
            range(len(intervals)), key=lambda i, key=key: (apart and intervals[i].sparse, *key(intervals[i]))
        )
        found = _place(intervals, rivals, order, best and best[1])
        if found is not None:
            best, best_order = found, order
            if best[1] <= bound:
                break
    assert best is not None
    return best, best_order


def _searched(
    intervals: Sequence[Interval],
    rivals: Sequence[Sequence[int]],
    order: list[int],
    best: tuple[list[int], int],
    bound: int,
) -> tuple[list[int], int]:
    """The best plan of orders in which one buffer after the other comes earlier, those at the top most often."""
    chance = random.Random(SEED)
    pairs = sum(map(len, rivals))
    for _ in range(EFFORT // max(1, pairs)):
        offsets, size = best
        top = [i for i, interval in enumerate(intervals) if offsets[i] + interval.size == size]
        moved = chance.choice(top if chance.random() < 0.5 else order)
        changed = [i for i in order if i != moved]
        changed.insert(chance.randrange(order.index(moved) + 1), moved)
        found = _place(intervals, rivals, changed, size + 1)
        if found is not None:
            best, order = found, changed
            if best[1] <= bound:
                break
    return best


def _place(
    intervals: Sequence[Interval], rivals: Sequence[Sequence[int]], order: Sequence[int], below: int | None
) -> tuple[list[int], int] | None:
    """Each buffer in turn in the tightest gap between those placed; None when that takes `below` bytes or more."""
    offsets = [-1] * len(intervals)
    top = 0
    for index in order:
        size = intervals[index].size
        taken = sorted((offsets[j], offsets[j] + aligned(intervals[j].size)) for j in rivals[index] if offsets[j] >= 0)
        best, best_gap, end = None, None, 0
        for start, stop in taken:
            gap = start - end
            if gap >= size and (best_gap is None or gap < best_gap):
                best, best_gap = end, gap
            end = max(end, stop)
        offsets[index] = end if best is None else best
        top = max(top, offsets[index] + size)
        if below is not None and top >= below:
            return None
    return offsets, top


def lower_bound(intervals: Sequence[Interval]) -> int:
    """The most bytes alive at once, each buffer rounded up to the alignment: no plan needs less, rounded up too."""
    changes = [(i.first, 1, aligned(i.size)) for i in intervals]
    changes += [(i.last + 1, 0, -aligned(i.size)) for i in intervals]
    return max(accumulate((nbytes for *_, nbytes in sorted(changes)), initial=0))
