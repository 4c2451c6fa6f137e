"""The last word: the whole model with the schedules found, against the default, taking turns on the same inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from ...backends import Options
from ...backends.cpu.target import CpuTarget, NativeExecutable
from ...compiler.program import Program
from ...compiler.schedules import Schedules
from ..inputs import complete
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
    """Runs a program as it is compiled by default and with given schedules, alternating."""

    def __init__(self, program: Program, target: CpuTarget, options: Options):
        self._program, self._target, self._options = program, target, options
        self._inputs = complete(program.signature, {}, 0)
        self._default = self._executable(Schedules())
        self._timer = time.thread_time if options.threads == 1 else time.perf_counter

    def _executable(self, schedules: Schedules) -> NativeExecutable:
        """Not from the cache of models: that is for what people compile."""
        artefact = self._target.compile_artefact(self._program, replace(self._options, schedules=schedules))
        return self._target.load(artefact, self._options.threads)

    def ratio(self, schedules: Schedules, until: float) -> Ratio:
        """See `Comparer`."""
        tuned = self._executable(schedules)
        pairs: list[tuple[float, float]] = []
        for executable in (self._default, tuned):
            executable.run(self._inputs)
        while len(pairs) < LEAST or (time.perf_counter() < until and len(pairs) < MOST):
            times = [0.0, 0.0]
            for side in (0, 1) if len(pairs) % 2 else (1, 0):
                begin = self._timer()
                (self._default, tuned)[side].run(self._inputs)
                times[side] = self._timer() - begin
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
