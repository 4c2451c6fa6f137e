"""Python's cycle collector and IR: who builds much of it may ask for peace meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
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


def without_collector(main: Callable[[], int]) -> int:
    """What the `main` of a process returns that ends then.

    Its garbage goes with it: none is looked for, not even at the end, when Python does once more.
    """
    gc.disable()
    try:
        return main()
    finally:
        gc.freeze()
