"""What of a model can be tuned: its contraction problems, each with a search; and what a target gives for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from ...backends.tuning_database import TuningDatabase
from ...compiler.machine import Machine
from ...compiler.program import Program
from ...compiler.schedules import Schedules
from ..schedules import Problem
from .kernels import KernelBench
from .models import Comparer
from .rounds import Turn
from .search import C, Search


@dataclass(frozen=True)
class Subject(Generic[C]):
    """A problem of a model: how it is computed by default, what is tried first, and what beside a candidate."""

    problem: Problem
    bench: KernelBench[C]
    default: C
    seeds: Sequence[C]
    steps: Callable[[C], Sequence[C]]


@dataclass(frozen=True)
class Subjects(Generic[C]):
    """The problems of a model."""

    all: Sequence[Subject[C]]

    @property
    def problems(self) -> list[Problem]:
        """What they are, in the order in which they occur."""
        return [subject.problem for subject in self.all]

    def turns(self) -> list[Turn]:
        """A search for each, with its share of the time of all."""
        seconds = [subject.bench.seconds(subject.default) for subject in self.all]
        total = sum(seconds) or 1.0
        return [
            Turn(each.problem.name, time / total, Search(each.bench, each.default, each.steps, each.seeds))
            for each, time in zip(self.all, seconds, strict=True)
        ]

    def schedules(self, kept: Sequence[Turn]) -> Schedules:
        """The schedule of every problem: the best of those kept, the default of the others."""
        return Schedules({problem.name: problem.entry for problem in self.problems}).merged(won(kept))

    def faults(self) -> list[str]:
        """What was noticed of candidates that gave wrong numbers."""
        return [f"{each.problem.name}: {text}" for each in self.all for text in each.bench.problems]


def won(kept: Sequence[Turn]) -> Schedules:
    """The schedules of the searches that are kept."""
    return Schedules({turn.name: turn.search.best.entry for turn in kept})


class Tuned(Protocol):
    """A target whose schedules can be tuned, as this machine has it."""

    machine: Machine
    place: str  # what is measured on, in words
    database: TuningDatabase

    def canonical(self, program: Program) -> Program:
        """The program as it is lowered from again and again: what comes before is the same for all schedules."""
        ...

    def subjects(self, program: Program, known: Schedules) -> Subjects[Any]:
        """The problems of a canonical program; `known` schedules are tried first."""
        ...

    def models(self, program: Program) -> Comparer:
        """Measures the whole of a canonical program."""
        ...
