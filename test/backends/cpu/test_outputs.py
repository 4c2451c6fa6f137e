"""Results' memory is used again, and never while anyone can still read it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lamina.backends.cpu.outputs import KEPT, OutputMemory

F32 = np.dtype(np.float32)
LARGE = (1, 50_000)


def test_memory_is_used_again_when_nobody_refers_to_it() -> None:
    memory = OutputMemory(LARGE, F32)
    first = memory.take()
    place = first.ctypes.data
    assert place % 64 == 0 and first.shape == LARGE and first.dtype == F32
    del first
    assert memory.take().ctypes.data == place


@pytest.mark.parametrize("beside", [0, 64, 1040, 4095, 7 << 40])
def test_large_results_begin_where_in_its_page_an_input_does(beside: int) -> None:
    """On a line all the same; memory that is used again moves to where this call's input is."""
    memory = OutputMemory(LARGE, F32)
    for address in (beside, beside + 100, 123):
        array = memory.take(address)
        array[...] = 1
        assert array.ctypes.data % 4096 == address % 4096 // 64 * 64
        del array


@pytest.mark.parametrize(
    "hold",
    [
        lambda array: array,
        lambda array: array[:, 10:],
        lambda array: array[0, ::2].reshape(5, -1),
        lambda array: array.view(np.int32).T,
        memoryview,
        lambda array: np.from_dlpack(array),
    ],
    ids=["array", "view", "view of a view", "other dtype", "buffer", "dlpack"],
)
def test_what_is_referred_to_is_left_alone(hold: Callable[[Any], Any]) -> None:
    memory = OutputMemory(LARGE, F32)
    array = memory.take()
    array[...] = 1
    held = hold(array)
    del array
    others = [memory.take() for _ in range(2 * KEPT)]
    for other in others:
        other[...] = 2
    assert np.all(np.asarray(held).view(F32) == 1)
    assert len({other.ctypes.data for other in others}) == len(others)


def test_what_is_held_for_ever_does_not_stop_the_recycling() -> None:
    memory = OutputMemory(LARGE, F32)
    held = [memory.take() for _ in range(3 * KEPT)]
    places = {memory.take().ctypes.data for _ in range(10)}
    assert len(places) == 1 and not places & {array.ctypes.data for array in held}


def test_what_was_used_last_is_used_first() -> None:
    """Two free ones that took turns would have each call write memory that caches have lost."""
    memory = OutputMemory(LARGE, F32)
    first, second = memory.take(), memory.take()
    place = second.ctypes.data
    del first, second
    assert {memory.take().ctypes.data for _ in range(4)} == {place}


def test_small_and_empty_results() -> None:
    for shape in ((), (0, 4), (3,)):
        assert OutputMemory(shape, F32).take().shape == shape
