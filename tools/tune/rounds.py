"""How the budget is spent: on each problem in turn, in proportion to its share of the model's time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...compiler.diagnostics import LaminaError
from .search import Search

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
CHECK_SHARE = 0.15  # of the budget, for the comparisons at the end


@dataclass
class Turn:
    """A problem's search and its share of the time of all problems."""

    name: str
    share: float
    search: Search[Any]


def parse_budget(text: str) -> float:
    """`5m`, `90s`, `1.5h` or `300` in seconds.

    >>> parse_budget("1.5m")
    90.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None or float(found[1]) <= 0:
        raise LaminaError(f"'{text}' is not a time", hint="for example 90s or 5m")
    return float(found[1]) * _UNITS[found[2]]


def spend(turns: Sequence[Turn], until: float, clock: Callable[[], float], tell: Callable[[Turn], None]) -> bool:
    """Searches until `until` or until no search finds more; the greatest share first. False when interrupted.

    Time that a search does not need goes to those after it, and what is left in the end to those that were cut short.
    """
    try:
        waiting = sorted(turns, key=lambda turn: -turn.share)
        while waiting and clock() < until:
            shares = sum(turn.share for turn in waiting)
            for turn in waiting:
                stop = clock() + (until - clock()) * turn.share / shares if shares > 0 else until
                shares -= turn.share
                turn.search.run(lambda stop=stop: clock() >= stop)
                tell(turn)
            waiting = [turn for turn in waiting if not turn.search.done]
    except KeyboardInterrupt:
        return False
    return True


def settle(turns: Sequence[Turn], until: float, clock: Callable[[], float]) -> None:
    """Confirms what was found, the greatest share first; what there is no time for is given up."""
    for turn in sorted(turns, key=lambda turn: -turn.share):
        turn.search.settle(measure=clock() < until)
