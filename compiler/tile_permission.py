"""Tiles of AMX need the kernel's leave: Linux gives their registers to a process that asks, before it touches them."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Mapping

ARCH_PRCTL = 158  # the number of the system call on x86-64
ARCH_REQ_XCOMP_PERM = 0x1023
XFEATURE_XTILEDATA = 18


def ask_for_tiles() -> bool:
    """Whether this process, with the threads and processes that it makes, may use tiles. Asking again is harmless."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
        return False
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return libc.syscall(ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0
    except (OSError, AttributeError):
        return False


def usable(enabled: Mapping[str, bool], ask: Callable[[], bool] = ask_for_tiles) -> dict[str, bool]:
    """A processor's features without tiles where the kernel refuses them: code then goes without."""
    if not enabled.get("amx-tile") or ask():
        return dict(enabled)
    return {name: on and not name.startswith("amx-") for name, on in enabled.items()}
