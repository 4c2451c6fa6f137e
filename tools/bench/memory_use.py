"""How much memory of this process something took: the growth of its largest resident size (Linux)."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from pathlib import Path

STATUS = Path("/proc/self/status")


class MemoryUse:
    """Resident memory above what the process held when this was made. Zero where the system does not tell."""

    def __init__(self) -> None:
        _trim()  # else what an earlier case freed would hide what this one takes
        self._before = _kilobytes("VmRSS")
        self.again()

    def again(self) -> None:
        """From now on `peak_mb` is about what comes, still above the same start; what is free does not count."""
        _trim()
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")

    def peak_mb(self) -> float:
        """The largest growth so far, in MB."""
        return max(0, _kilobytes("VmHWM") - self._before) / 1e3


def _trim() -> None:
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _kilobytes(field: str) -> int:
    with suppress(OSError):
        for line in STATUS.read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
    return 0
