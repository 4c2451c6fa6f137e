"""The last word: the whole model with the schedules found, against the default, taking turns on the same inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from ...compiler.schedules import Schedules
from .rounds import Turn
from .search import Ratio

CLEAR = 0.95  # time over that of the default below which a kernel's win is beyond doubt
LEAST, MOST = 7, 201  # pairs of runs


class Comparer(Protocol):
    """Compares whole models."""

    def ratio(self, schedules: Schedules, until: float) -> Ratio:
        """Time with these schedules over time with the default's; measures up to about `until`."""
        ...


class ModelBench:
    """Runs a model as it is compiled by default and with given schedules, alternating.

    `made` compiles it and runs it once; what it gives runs it again and tells the seconds that took.
    """

    def __init__(self, made: Callable[[Schedules], Callable[[], float]]):
        self._made = made
        self._default = made(Schedules())

    def ratio(self, schedules: Schedules, until: float) -> Ratio:
        """See `Comparer`."""
        both = (self._default, self._made(schedules))
        pairs: list[tuple[float, float]] = []
        while len(pairs) < LEAST or (time.perf_counter() < until and len(pairs) < MOST):
            times = [0.0, 0.0]
            for side in (0, 1) if len(pairs) % 2 else (1, 0):
                times[side] = both[side]()
            pairs.append((times[0], times[1]))
        return Ratio.of(pairs)


def keep_the_best(
    turns: Sequence[Turn], bench: Comparer, until: float, clock: Callable[[], float]
) -> tuple[list[Turn], float]:
    """The searches whose finds make the whole model faster, and time with them over time with the default.

    All of them, or those alone whose kernels won clearly, or none: a model is never left slower than it was.
    """
    found = [turn for turn in turns if turn.search.gain is not None]
    clear = [turn for turn in found if turn.search.gain is not None and turn.search.gain.value < CLEAR]
    choices = [each for each in (found, clear if clear != found else []) if each]
    for number, choice in enumerate(choices):
        now = clock()
        stop = now + max(0.0, until - now) / (len(choices) - number)
        schedules = Schedules({turn.name: turn.search.best.entry for turn in choice})
        ratio = bench.ratio(schedules, stop)
        if ratio.value <= 1:
            return choice, ratio.value
    return [], 1.0
