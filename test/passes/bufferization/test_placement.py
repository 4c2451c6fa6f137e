"""Plans of the arena: nothing alive at once overlaps, and the lower bound is reached where greedy orders miss it."""

from __future__ import annotations

import random

import pytest

from lamina.passes.bufferization.layout import aligned
from lamina.passes.bufferization.placement import Interval, lower_bound, plan_offsets


def check(intervals: list[Interval]) -> float:
    """How much longer the arena is than the bound, which is 1 for none."""
    offsets, size = plan_offsets(intervals)
    for i, (one, at) in enumerate(zip(intervals, offsets, strict=True)):
        assert at >= 0 and at == aligned(at) and at + one.size <= size
        for other, there in zip(intervals[:i], offsets[:i], strict=True):
            if one.first <= other.last and other.first <= one.last and one.size and other.size:
                assert at + one.size <= there or there + other.size <= at
    bound = lower_bound(intervals)
    assert aligned(size) >= bound
    return size / max(bound, 1)


@pytest.mark.parametrize("seed", range(40))
def test_nothing_alive_at_once_overlaps(seed: int):
    rng = random.Random(seed)
    count = rng.randrange(1, 40)
    starts = [rng.randrange(30) for _ in range(count)]
    check([Interval(rng.choice([0, 1, 63, 64, 65, 1000, 4096]), s, s + rng.randrange(12)) for s in starts])


def test_no_buffers():
    assert plan_offsets([]) == ([], 0) and lower_bound([]) == 0


def dense_block(layers: int) -> list[Interval]:
    """Each layer reads all outputs before it, through two short-lived buffers."""
    last = 3 * layers
    found = [Interval(64 * 32, 3 * i, last) for i in range(layers)]
    found += [Interval(64 * 32 * (i + 1), 3 * i, 3 * i + 1) for i in range(layers)]
    return found + [Interval(64 * 128, 3 * i + 1, 3 * i + 2) for i in range(layers)]


def residuals(blocks: int) -> list[Interval]:
    """A short path around two steps, channels doubling and area quartering."""
    found: list[Interval] = []
    for i in range(blocks):
        size = 64 * 4096 >> i
        found += [Interval(size, 3 * i, 3 * i + 3), Interval(size // 4, 3 * i + 1, 3 * i + 2)]
        found += [Interval(size // 4, 3 * i + 2, 3 * i + 3)]
    return found


@pytest.mark.parametrize("intervals", [dense_block(24), residuals(8)], ids=["dense", "residual"])
def test_networks_reach_the_bound(intervals: list[Interval]):
    assert check(intervals) <= 1.01


def test_searching_beats_the_orders():
    rng = random.Random(7)
    excess: list[float] = []
    for _ in range(10):
        starts = [rng.randrange(20) for _ in range(30)]
        excess.append(check([Interval(64 * rng.randrange(1, 40), s, s + rng.randrange(1, 8)) for s in starts]))
    assert sum(excess) / len(excess) < 1.01


def test_what_is_hardly_touched_lies_behind_the_rest():
    large = Interval(64 * 100, 1, 2, sparse=True)
    small = [Interval(64 * size, first, first + 1) for first, size in enumerate((10, 12, 8, 11))]
    offsets, size = plan_offsets([large, *small])
    assert size == lower_bound([large, *small])
    assert offsets[0] + large.size == size and max(offsets[1:]) < offsets[0]


def test_memory_goes_before_order():
    large = Interval(64 * 100, 1, 1, sparse=True)
    late = Interval(64 * 90, 2, 3)
    assert plan_offsets([large, late])[1] == large.size
