"""When Python looks for garbage: not while IR is built, which is many objects that stay and little to collect."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager

_YOUNG = 50_000  # objects that a copy of this process makes before it looks for garbage among them


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


@contextmanager
def collected_after() -> Generator[None]:
    """No cycle collection inside and one at the end: no later call of what was compiled pauses for it.

    Only what was made meanwhile is looked at, not what the process holds besides.
    """
    enabled = gc.isenabled()
    try:
        with collector_paused():
            yield
    finally:
        if enabled:
            gc.collect(1)


def without_collector(main: Callable[[], int]) -> int:
    """What the `main` of a process returns that ends then.

    Its garbage goes with it: none is looked for, not even at the end, when Python does once more.
    """
    gc.disable()
    try:
        return main()
    finally:
        gc.freeze()


def collect_seldom() -> None:
    """For a copy of this process: what it shares with its parent is not copied by collections, and these are few."""
    gc.freeze()
    gc.enable()  # whatever its parent was at
    young, *older = gc.get_threshold()
    gc.set_threshold(max(young, _YOUNG), *older)
