"""The algebra of layouts against its definitions, by trying every coordinate."""

import random

import numpy as np
import pytest

from lamina.backends.cuda.emulator.layouts import swizzled
from lamina.backends.cuda.emulator.memory import conflicts
from lamina.backends.cuda.emulator.tensor import accumulator
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.layouts import (
    Layout,
    Swizzle,
    coalesced,
    column_major,
    concatenated,
    cut,
    flat,
)

SEEDS = range(60)


def nested(rng: random.Random, depth: int = 2):
    if depth == 0 or rng.random() < 0.4:
        return rng.choice([1, 2, 2, 3, 4, 4, 6, 8])
    return tuple(nested(rng, depth - 1) for _ in range(rng.randrange(1, 4)))


def like(values, pattern):
    return next(values) if isinstance(pattern, int) else tuple(like(values, item) for item in pattern)


def permuted(rng: random.Random) -> Layout:
    """A layout that fills memory without holes, its modes in any order."""
    shape = nested(rng)
    extents = flat(shape)
    strides = [0] * len(extents)
    step = 1
    for i in rng.sample(range(len(extents)), len(extents)):
        strides[i] = step
        step *= extents[i]
    return Layout(shape, like(iter(strides), shape))


@pytest.mark.parametrize("seed", SEEDS)
def test_by_trying_everything(seed):
    rng = random.Random(seed)
    a = permuted(rng)
    assert a.places() == [a(i) for i in range(a.size)] and sorted(a.places()) == list(range(a.cosize))
    assert coalesced(a).places() == a.places()
    assert [i for mode in concatenated(a, a).modes for i in mode.places()] == a.places() * 2
    strides = Layout(a.shape, like((rng.choice([0, 1, 3, 8, 40]) for _ in flat(a.shape)), a.shape))
    assert strides.places() == [strides(i) for i in range(a.size)] == [coalesced(strides)(i) for i in range(a.size)]


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_are_where_they_were(seed):
    layout = permuted(random.Random(seed))
    whole = [part for part in range(1, layout.size + 1) if cut(layout, part) is not None]
    assert {1, layout.size} <= set(whole) and all(layout.size % part == 0 for part in whole)
    for part in whole:
        inner, outer = cut(layout, part)
        assert [inner(i % part) + outer(i // part) for i in range(layout.size)] == layout.places()


def test_what_is_no_layout():
    with pytest.raises(LaminaError, match="not nested alike"):
        Layout((2, 3), (1, (2, 3)))
    assert column_major(()) == ()


@pytest.mark.parametrize(("span", "swizzle"), [(32, Swizzle(1, 4, 3)), (64, Swizzle(2, 4, 3)), (128, Swizzle(3, 4, 3))])
def test_swizzles(span, swizzle):
    places = [swizzle(i) for i in range(2048)]
    assert sorted(places) == list(range(2048)) and [swizzle(p) for p in places] == list(range(2048))
    assert places == swizzled(np.arange(2048), span).tolist()


def test_a_swizzled_tile_is_read_along_both_sides_without_conflicts():
    """Eight rows of 128 bytes: eight 16-byte chunks side by side, or one of each row, meet every bank once."""
    rows = Layout((64, 8), (2, 128))
    swizzle = Swizzle(3, 4, 3)
    down = np.array([swizzle(rows(0, row)) for row in range(8)])
    across = np.array([swizzle(rows(8 * chunk, 3)) for chunk in range(8)])
    assert conflicts(down, 16) == conflicts(across, 16) == 0
    assert conflicts(np.array([rows(0, row) for row in range(8)]), 16) == 7


def test_the_accumulators_of_a_warpgroup():
    """CUTLASS's layout of thread and value in a result of 64 rows is what the emulator has."""
    layout = Layout(((4, 8, 4), (2, 2, 4)), ((128, 1, 16), (64, 8, 512)))
    for value in range(16):
        row, column = accumulator(value)
        assert (row + 64 * column).tolist() == [layout(thread, value) for thread in range(128)]
