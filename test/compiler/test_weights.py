"""The weight store: equal arrays are kept once, and only equal ones."""

from __future__ import annotations

import numpy as np
import pytest

from lamina.compiler.weights import Deferred, WeightStore


def test_equal_arrays_have_one_key():
    store, rng = WeightStore(), np.random.default_rng(0)
    a = rng.standard_normal((300, 70), np.float32)
    key = store.add_equal(a, "a")
    assert store.add_equal(a.copy(), "b") == key == "a"
    assert store.add_equal(np.asfortranarray(a), "c") == key  # its elements, wherever they lie
    assert list(store) == ["a"]


@pytest.mark.parametrize("at", [0, 1, 10_499, 10_500, 14_000, 20_998, 20_999])
def test_one_bit_makes_another_array(at: int):
    store, a = WeightStore(), np.zeros((300, 70), np.float32)
    b = a.copy()
    b.reshape(-1)[at] = -0.0
    assert store.add_equal(a, "a") != store.add_equal(b, "b")


def test_types_shapes_and_repeated_elements_are_told_apart():
    store, one = WeightStore(), np.ones((8, 8), np.float32)
    others = [one.reshape(4, 16), one.view(np.int32), one.astype(np.float64), np.broadcast_to(np.float32(1), (8, 8))]
    keys = {store.add_equal(array, "w") for array in (one, *others)}
    assert len(keys) == 5
    assert store.add_equal(np.broadcast_to(np.float32(1), (8, 8)), "w") in keys
    assert store.add_equal(np.broadcast_to(np.float32(2), (8, 8)), "w") not in keys
    assert store.add_equal(np.zeros((0, 3), np.float32)) == store.add_equal(np.zeros((0, 3), np.float32))


def test_nan_equals_the_same_nan():
    store, a = WeightStore(), np.full(100, np.nan, np.float32)
    assert store.add_equal(a, "a") == store.add_equal(a.copy(), "b")


def test_arrays_that_are_not_made_yet_are_not_compared():
    store, a = WeightStore(), np.arange(100.0)
    store.add(Deferred(a.shape, a.dtype, lambda begin, end: a[begin:end]), "later")
    assert store.add_equal(a, "now") == "now"
