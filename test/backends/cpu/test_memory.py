"""Memory that compiled code works in begins where it should, and is as large as was asked for."""

import mmap
import re
from pathlib import Path

import numpy as np
import pytest

from lamina.backends.cpu import memory
from lamina.backends.cpu.memory import ALIGNMENT, LARGE, aligned_bytes, ask_for_large_pages, fresh
from lamina.compiler.artefact import LARGE_PAGE
from lamina.compiler.diagnostics import LaminaError

MAPS = Path("/proc/self/smaps")
HAS_LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage").exists()


def is_asked_for(array):
    """Whether the kernel was told that the array's memory is to be large pages."""
    address, inside = array.ctypes.data, False
    for line in MAPS.read_text().splitlines() if MAPS.exists() else ():
        if bounds := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return "hg" in line.split()
    return False


@pytest.mark.parametrize("size", [1, 63, 100_000, LARGE - 1, LARGE, LARGE_PAGE, LARGE_PAGE + 1, 3 * LARGE_PAGE + 7])
def test_memory_begins_on_a_line_or_a_large_page(size):
    array = aligned_bytes(size)
    boundary = LARGE_PAGE if size >= LARGE and hasattr(mmap, "MADV_HUGEPAGE") else ALIGNMENT
    assert array.nbytes == size and array.ctypes.data % boundary == 0
    array[...] = 7  # all of it is ours
    assert array[-1] == 7
    assert size < LARGE or not HAS_LARGE_PAGES or is_asked_for(array)
    assert fresh(size)[0].flags.owndata == (boundary == ALIGNMENT)  # small memory is what malloc has


def test_a_rest_below_half_a_page_stays_small():
    array = aligned_bytes(LARGE_PAGE + LARGE - 1)
    assert array[LARGE_PAGE:].ctypes.data % LARGE_PAGE == 0 or not hasattr(mmap, "MADV_HUGEPAGE")
    assert not is_asked_for(array[LARGE_PAGE:])


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
    assert not is_asked_for(mapped)
    ask_for_large_pages(mapped)
    assert not HAS_LARGE_PAGES or is_asked_for(mapped)
    ask_for_large_pages(values)  # its own memory: nothing to do
    ask_for_large_pages(np.zeros(0, np.uint8))
    assert np.array_equal(mapped, values)
