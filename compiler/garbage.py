"""When Python looks for garbage: not while a program is compiled, which is many objects and little to collect."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_YOUNG = 50_000  # objects that a copy of this process makes before it looks for garbage among them


@contextmanager
def collected_after() -> Generator[None]:
    """Garbage is collected once, at the end, and no later call of what was compiled pauses for it.

    Only what was made meanwhile is looked at, not what the process holds besides.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect(1)


def collect_seldom() -> None:
    """For a copy of this process: what it shares with its parent is not copied by collections, and these are few."""
    gc.freeze()
    gc.enable()  # whatever its parent was at
    young, *older = gc.get_threshold()
    gc.set_threshold(max(young, _YOUNG), *older)
