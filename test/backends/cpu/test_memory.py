"""Memory that compiled code works in begins where it should, and is as large as was asked for."""

import mmap

import numpy as np
import pytest

from lamina.backends.cpu import memory
from lamina.backends.cpu.memory import ALIGNMENT, LARGE, LARGE_PAGE, aligned_bytes, ask_for_large_pages
from lamina.compiler.diagnostics import LaminaError


@pytest.mark.parametrize("size", [1, 63, 100_000, LARGE - 1, LARGE, LARGE_PAGE, LARGE_PAGE + 1, 3 * LARGE_PAGE + 7])
def test_memory_begins_on_a_line_or_a_large_page(size):
    array = aligned_bytes(size)
    boundary = LARGE_PAGE if size >= LARGE and hasattr(mmap, "MADV_HUGEPAGE") else ALIGNMENT
    assert array.nbytes == size and array.ctypes.data % boundary == 0
    array[...] = 7  # all of it is ours
    assert array[-1] == 7


def test_memory_is_nobody_elses():
    arrays = [aligned_bytes(LARGE_PAGE + 1) for _ in range(3)]
    for number, array in enumerate(arrays):
        array[...] = number
    assert [int(array.min()) for array in arrays] == [int(array.max()) for array in arrays] == [0, 1, 2]


def test_without_large_pages(monkeypatch):
    """As on systems that have none, or whose kernel refuses."""
    monkeypatch.setattr(memory, "_ADVICE", None)
    assert aligned_bytes(LARGE_PAGE).ctypes.data % ALIGNMENT == 0
    monkeypatch.setattr(memory, "_ADVICE", 12345)
    assert aligned_bytes(LARGE_PAGE).nbytes == LARGE_PAGE


def test_more_memory_than_there_is():
    with pytest.raises(LaminaError, match=f"needs {1 << 60} bytes of memory at once"):
        aligned_bytes(1 << 60)


def test_what_is_mapped_from_a_file_stays_what_it_is(tmp_path):
    values = np.arange(LARGE_PAGE, dtype=np.uint32)
    path = tmp_path / "values"
    values.tofile(path)
    mapped = np.memmap(path, np.uint32, "r")
    ask_for_large_pages(mapped)
    ask_for_large_pages(values)  # its own memory: nothing to do
    ask_for_large_pages(np.zeros(0, np.uint8))
    assert np.array_equal(mapped, values)
