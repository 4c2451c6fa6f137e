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
    complement,
    composed,
    concatenated,
    divided,
    flat,
    repeated,
    right_inverse,
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
    inverse = right_inverse(a)
    assert [a(inverse(i)) for i in range(inverse.size)] == list(range(a.size))
    strides = Layout(a.shape, like((rng.choice([0, 1, 3, 8, 40]) for _ in flat(a.shape)), a.shape))
    assert strides.places() == [strides(i) for i in range(a.size)] == [coalesced(strides)(i) for i in range(a.size)]


@pytest.mark.parametrize("seed", SEEDS)
def test_composition(seed):
    rng = random.Random(seed)
    outer = permuted(rng)
    inner = Layout(rng.choice([1, 2, 3, 4, 6]), rng.choice([1, 2, 3, 4, 8]))
    if rng.random() < 0.5:
        inner = concatenated(inner, Layout(rng.choice([1, 2, 4]), rng.choice([1, 2, 6])))
    if inner.cosize > outer.size:
        return
    try:
        both = composed(outer, inner)
    except LaminaError:
        return
    assert isinstance(inner.shape, int) or len(both) == len(inner)
    assert [both(i) for i in range(inner.size)] == [outer(inner(i)) for i in range(inner.size)]


def test_most_compositions_exist():
    made = 0
    for extent in (1, 2, 4, 8):
        for stride in (1, 2, 4, 8):
            inner = Layout(extent, stride)
            outer = Layout((4, (2, 8)), (16, (8, 1)))
            both = composed(outer, inner)
            assert both.places() == [outer(inner(i)) for i in range(extent)]
            made += 1
    assert made == 16


@pytest.mark.parametrize(
    ("tile", "times"),
    [(Layout(4, 1), 3), (Layout(4, 2), 4), (Layout((2, 4), (1, 6)), 3), (Layout((2, 2), (12, 1)), 6)],
)
def test_tiles_and_their_complement(tile, times):
    rest = complement(tile, 48)
    assert sorted(t + r for t in tile.places() for r in rest.places()) == list(range(48))
    whole = Layout((24, 2), (2, 1))
    parts = divided(whole, tile)
    assert sorted(parts.places()) == sorted(whole.places())
    assert parts[0].places() == [whole(i) for i in tile.places()]
    copies = repeated(tile, Layout(times, 1))
    assert len(set(copies.places())) == tile.size * times and copies[0] == tile


def test_what_is_no_layout():
    with pytest.raises(LaminaError, match="not nested alike"):
        Layout((2, 3), (1, (2, 3)))
    with pytest.raises(LaminaError, match="is no layout: stride 2 cuts a mode of 3"):
        composed(Layout((3, 4), (4, 1)), Layout(2, 2))
    with pytest.raises(LaminaError, match="has no complement"):
        complement(Layout((2, 2), (1, 1)), 8)
    assert column_major(()) == ()


@pytest.mark.parametrize(("span", "swizzle"), [(32, Swizzle(1, 4, 3)), (64, Swizzle(2, 4, 3)), (128, Swizzle(3, 4, 3))])
def test_swizzles(span, swizzle):
    places = [swizzle(i) for i in range(2048)]
    assert sorted(places) == list(range(2048)) and [swizzle(p) for p in places] == list(range(2048))
    assert places == swizzled(np.arange(2048), span).tolist()
    assert [swizzle.of_elements(2)(i) * 2 for i in range(1024)] == places[::2]


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
