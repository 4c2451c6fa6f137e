"""Programs that run many times at once, in one process of the machine: a thread for each, exchanges in lock-step.

A process of such a program has two numbers: its replica and its partition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any

from .diagnostics import LaminaError

ProcessId = tuple[int, int]
"""Replica and partition."""


@dataclass(frozen=True)
class Grid:
    """How many replicas and partitions there are."""

    replicas: int = 1
    partitions: int = 1

    def ids(self) -> list[ProcessId]:
        """All processes, replica by replica."""
        return [(r, p) for r in range(self.replicas) for p in range(self.partitions)]


class Exchange:
    """Where processes meet. A meeting that cannot happen any more is an error in each of those that wait."""

    def __init__(self, grid: Grid):
        self.grid = grid
        self._changed = Condition()
        self._given: dict[Hashable, dict[ProcessId, Any]] = {}
        self._taken: dict[Hashable, int] = {}
        self._running = len(grid.ids())
        self._waiting: dict[ProcessId, tuple[Hashable, Sequence[ProcessId]]] = {}
        self._failed = False

    def meet(self, key: Hashable, me: ProcessId, group: Sequence[ProcessId], value: Any) -> list[Any]:
        """Gives `value`, waits for all of `group`, and returns what they gave, in the order of the group.

        Raises LaminaError when one of them has ended or waits elsewhere for ever.
        """
        with self._changed:
            given = self._given.setdefault(key, {})
            given[me] = value
            self._waiting[me] = (key, group)
            self._changed.notify_all()
            while any(other not in given for other in group):
                if self._failed or self._stuck():
                    self._failed = True
                    self._changed.notify_all()
                    raise LaminaError(f"replica {me[0]}, partition {me[1]} waits for processes that do not come")
                self._changed.wait()
            del self._waiting[me]
            values = [given[other] for other in group]
            self._taken[key] = self._taken.get(key, 0) + 1
            if self._taken[key] == len(group):
                del self._given[key], self._taken[key]
            return values

    def leave(self, failed: bool) -> None:
        """One process less."""
        with self._changed:
            self._running -= 1
            self._failed |= failed
            self._changed.notify_all()

    def _stuck(self) -> bool:
        """Whether everybody waits for somebody who is not there."""
        if len(self._waiting) < self._running:
            return False
        waits = self._waiting.values()
        return all(any(other not in self._given[key] for other in group) for key, group in waits)


@dataclass
class Process:
    """One of the processes, and where it meets the others."""

    id: ProcessId
    exchange: Exchange
    _times: dict[Hashable, int] = field(default_factory=dict["Hashable", int])

    @property
    def grid(self) -> Grid:
        """How many there are."""
        return self.exchange.grid

    def meet(self, place: Hashable, group: Sequence[ProcessId], value: Any) -> list[Any]:
        """What each of the group gives at this place of the program, where one may be many times."""
        times = self._times[place] = self._times.get(place, 0) + 1
        return self.exchange.meet((place, times, tuple(group)), self.id, group, value)


ALONE = Grid()


def alone() -> Process:
    """The only process of a program that runs once."""
    return Process((0, 0), Exchange(ALONE))


def run_processes(grid: Grid, run: Callable[[Process], Any]) -> list[Any]:
    """What `run` returns in each process, in the order of `Grid.ids`. Raises the first error of any."""
    exchange = Exchange(grid)
    results: dict[ProcessId, Any] = {}
    errors: dict[ProcessId, BaseException] = {}

    def work(process: Process) -> None:
        try:
            results[process.id] = run(process)
        except BaseException as error:  # told to the caller below
            errors[process.id] = error
        finally:
            exchange.leave(process.id in errors)

    threads = [Thread(target=work, args=(Process(id_, exchange),), daemon=True) for id_ in grid.ids()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        waited = [e for e in errors.values() if "do not come" not in str(e)]
        raise (waited or list(errors.values()))[0]
    return [results[id_] for id_ in grid.ids()]
