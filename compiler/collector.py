"""Python's cycle collector and IR: who builds much of it may ask for peace meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """No cycle collection inside: IR is all cycles that stay alive, and rescanning them as they grow costs a third.

    >>> with collector_paused():
    ...     gc.isenabled()
    False
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
