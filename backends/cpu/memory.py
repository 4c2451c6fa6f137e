"""Memory that compiled code works in: begins on a cache line, in large pages where it is large.

A processor has at hand where some 2,000 pages lie; of 4 KB those are 8 MB, and what is not at hand takes as long as a
miss of the cache. Small pages are also scattered: their lines throw each other out of the second cache long before it
is full. 1024^3 in bfloat16 takes 1.88 ms by small pages and 1.50 by large ones; measured on Sapphire Rapids.
"""

from __future__ import annotations

import mmap
from contextlib import suppress

import numpy as np

from ...compiler.artefact import LARGE_PAGE
from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array

ALIGNMENT = 64
LARGE = LARGE_PAGE // 2  # bytes for which a large page pays
_ADVICE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)  # only Linux has it


def aligned_bytes(size: int) -> Array:
    """Fresh memory that starts on a cache line. Raises LaminaError where there is not so much."""
    raw, start = fresh(size)
    return raw[start : start + size]


def alignment_of(size: int) -> int:
    """What `fresh` memory of so many bytes is aligned to."""
    return ALIGNMENT if size < LARGE or _ADVICE is None else LARGE_PAGE


def fresh(size: int) -> tuple[Array, int]:
    """An array that owns fresh memory, and from where on `size` bytes of it may be used: the first place aligned so.

    What is beyond the last large page, if it is less than half of one, lies in small pages. Raises LaminaError where
    there is not so much memory.
    """
    try:
        alignment = alignment_of(size)
        if alignment == ALIGNMENT or _ADVICE is None:
            raw = np.empty(size + ALIGNMENT, np.uint8)
            return raw, -raw.ctypes.data % ALIGNMENT
        pages = (size + LARGE) // LARGE_PAGE * LARGE_PAGE
        length = LARGE_PAGE + max(pages, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)  # to begin on any page
        memory = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        raw = np.frombuffer(memory, np.uint8)
        start = -raw.ctypes.data % LARGE_PAGE
        with suppress(OSError):  # a kernel without large pages
            memory.madvise(_ADVICE, start, pages)
        return raw, start
    except (MemoryError, OSError) as error:
        raise LaminaError(f"the model needs {size} bytes of memory at once, more than there is") from error


def ask_for_large_pages(array: Array) -> None:
    """Asks for them where an array is mapped from a file; those that are not in memory yet are read so."""
    if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap) and _ADVICE is not None:
        with suppress(OSError):
            array.base.madvise(_ADVICE)
