"""The search for better schedules of one problem: downhill from the default, by measurement, until nothing wins.

Knows neither kernels nor clocks: a `Bench` compares two candidates, `Search.run` stops when it is told to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from ...compiler.schedules import Entry

MARGIN = 0.01  # what wins by less is not worth a line in the lock-file
ERRORS = 3.0  # how many standard errors of the measurement a win must exceed


@dataclass(frozen=True)
class Ratio:
    """Time of one thing over that of another: the median of pairs, and the standard error of the median."""

    value: float
    error: float

    @staticmethod
    def of(pairs: Sequence[tuple[float, float]]) -> Ratio:
        """From (time of the base, time of the other) measured next to each other.

        >>> Ratio.of([(2.0, 1.0), (4.0, 2.0), (1.0, 0.5)])
        Ratio(value=0.5, error=0.0)
        """
        logs = sorted(math.log(other / base) for base, other in pairs)
        middle = _median(logs)
        spread = 1.4826 * _median(sorted(abs(x - middle) for x in logs))
        return Ratio(math.exp(middle), 1.2533 * spread / math.sqrt(len(logs)))

    @property
    def wins(self) -> bool:
        """Whether the other is faster, by more than the margin and the noise."""
        return self.value + max(MARGIN, ERRORS * self.error) < 1


def _median(values: Sequence[float]) -> float:
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


class Candidate(Protocol):
    """One way to compute a problem; equal ones are the same way."""

    @property
    def entry(self) -> Entry:
        """As it stands in a file of schedules."""
        ...

    def __hash__(self) -> int: ...


C = TypeVar("C", bound=Candidate)
Tried = TypeVar("Tried", bound=Candidate, contravariant=True)


class Bench(Protocol[Tried]):
    """Measures candidates of one problem."""

    def compare(self, base: Tried, others: Sequence[Tried]) -> list[Ratio | None]:
        """The time of each of `others` over that of `base`, briefly; None for what cannot be compiled or is wrong."""
        ...

    def confirm(self, base: Tried, other: Tried) -> Ratio | None:
        """The same at length, over all kernels of the problem, independent of what was measured before."""
        ...


@dataclass
class Search(Generic[C]):
    """The state of the search for one problem; `run` goes on from where it stopped.

    `steps` gives what to try beside the best so far. A step is taken when it wins and a second measurement agrees.
    """

    bench: Bench[C]
    default: C
    steps: Callable[[C], Sequence[C]]
    seeds: Sequence[C] = ()
    batch: int = 4
    best: C = field(init=False)
    done: bool = False
    tried: set[C] = field(init=False)
    gain: Ratio | None = None  # of the best over the default, as confirmed at the end

    def __post_init__(self) -> None:
        self.best = self.default
        self.tried = {self.default}

    def run(self, time_is_up: Callable[[], bool]) -> None:
        """Searches until no neighbour wins or time is up."""
        self._around(self.seeds, time_is_up)
        while not self.done and not time_is_up():
            before = self.best
            self._around(self.steps(self.best), time_is_up)
            self.done = self.best == before and not time_is_up()

    def _around(self, candidates: Sequence[C], time_is_up: Callable[[], bool]) -> None:
        """Tries candidates in batches; the best of those that win becomes the best so far."""
        fresh = [c for c in dict.fromkeys(candidates) if c not in self.tried]
        winners: list[tuple[float, C]] = []
        base = self.best
        try:
            for start in range(0, len(fresh), self.batch):
                if time_is_up():
                    break
                group = fresh[start : start + self.batch]
                self.tried.update(group)
                for candidate, ratio in zip(group, self.bench.compare(base, group), strict=True):
                    if ratio is not None and ratio.wins:
                        winners.append((ratio.value, candidate))
            winners.sort(key=lambda each: each[0])
            for _, candidate in winners:
                ratio = self.bench.confirm(base, candidate)
                if ratio is not None and ratio.wins:
                    self.best = candidate
                    return
        except KeyboardInterrupt:
            if winners:
                self.best = min(winners, key=lambda each: each[0])[1]  # not confirmed: `settle` does
            raise

    def settle(self, *, measure: bool = True) -> None:
        """Confirms the best against the default once more, and goes back to the default where that does not win.

        Without `measure`, when there is no time for that, it goes back at once.
        """
        if measure and self.best != self.default:
            self.gain = self.bench.confirm(self.default, self.best)
        if self.gain is None or not self.gain.wins:
            self.best, self.gain = self.default, None
