"""Timing a call: samples until a budget is spent, and what of them counts."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

Clock = Callable[[], float]
# "cpu" leaves out what other processes take, and also what this one waits: for one thread on a busy machine
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}


def best_time(run: Callable[[], Any], seconds: float = 0.05, least: int = 3) -> float:
    """Seconds of the best of several runs: at least `least` runs, and at least `seconds` of them."""
    return min(samples(run, time.perf_counter, seconds, least))


def median_time(run: Callable[[], Any], clock: Clock, seconds: float = 0.05, least: int = 1) -> float:
    """Seconds of the median run, the first fifth left out: caches and sleeping threads warm up in it."""
    taken = samples(run, clock, seconds, least)
    return statistics.median(taken[len(taken) // 5 :])


def samples(run: Callable[[], Any], clock: Clock, seconds: float, least: int) -> list[float]:
    """Seconds of each run, in order. Python's garbage collector waits meanwhile."""
    taken: list[float] = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        until = clock() + seconds
        while len(taken) < least or clock() < until:
            start = clock()
            run()
            taken.append(clock() - start)
    finally:
        if collecting:
            gc.enable()
    return taken
