"""What of a model can be tuned: its contraction problems, each with a search and a bench of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from xdsl.dialects.builtin import StringAttr

from ...backends import Options
from ...backends.cpu.jit import pool
from ...backends.cpu.target import CpuTarget
from ...compiler.machine import Machine
from ...compiler.program import Program
from ...compiler.schedules import SCHEDULE, Entry, Schedules
from ...passes.convert.contraction_to_vector import problem_of
from ...passes.convert.contraction_to_vector.amx_tiles import takes_tiles, tile_depth
from ...passes.convert.contraction_to_vector.analysis import analyse
from ...passes.convert.contraction_to_vector.schedule import Problem, Schedule, choose
from ..schedules import Problem as Group
from ..schedules import problems_of
from .candidates import Candidate, neighbours, other_lanes, with_lanes
from .kernels import KernelBench, Lowered
from .rounds import Turn
from .search import Search


class Subjects:
    """The problems of `program` as `target` compiles it for `threads` threads; `known` schedules are tried first.

    Panels of another width need the model lowered again, once for each width, when the first problem asks.
    """

    def __init__(self, program: Program, target: CpuTarget, threads: int, known: Schedules):
        self._target = target
        self._options = Options(threads=threads)
        self._known = known
        self.hub = target.lower(program, "stablehlo-canonical", self._options)
        self._pool = pool(threads, target.machine)
        self._default = target.buffers(self.hub, Options(threads=threads, schedules=Schedules()))
        self.problems = problems_of(self._default)
        self._groups = {group.name: group for group in self.problems}
        self._widths: dict[int, tuple[Program, dict[str, Group]]] = {}
        self._benches: dict[str, KernelBench] = {}

    def turns(self) -> list[Turn]:
        """A search for each problem, with its share of the time of all."""
        seconds: dict[str, float] = {}
        searches: dict[str, Search] = {}
        for name, group in self._groups.items():
            lowered = partial(self._lowered, name)
            bench = KernelBench(lowered, [group.calls[k.sym_name.data] for k in group.kernels], self._pool)
            default = Candidate(group.lanes, _schedule_of(group))
            seconds[name] = bench.seconds(default)
            self._benches[name] = bench
            given = self._known.get(name)
            seed = Candidate.of(given, default) if given is not None else None
            steps = partial(self._steps, group)
            searches[name] = Search(bench, default, steps, [seed] if seed is not None else [])
        total = sum(seconds.values()) or 1.0
        return [Turn(name, seconds[name] / total, search) for name, search in searches.items()]

    def schedules(self, kept: Sequence[Turn]) -> Schedules:
        """The schedule of every problem: the best of those kept, the default of the others."""
        defaults = {name: group.entry for name, group in self._groups.items()}
        return Schedules(defaults).merged(self.won(kept))

    def won(self, kept: Sequence[Turn]) -> Schedules:
        """The schedules of the searches that are kept."""
        return Schedules({turn.name: turn.search.best.entry for turn in kept})

    def faults(self) -> list[str]:
        """What was noticed of candidates that gave wrong numbers."""
        return [f"{name}: {text}" for name, bench in self._benches.items() for text in bench.problems]

    def _steps(self, group: Group, best: Candidate) -> list[Candidate]:
        machine = self._default.context.machine  # with as many cores as there will be threads
        problem = with_lanes(_problem(group, machine), best.lanes)
        found = [Candidate(best.lanes, s) for s in neighbours(best.schedule, problem, machine)]
        for lanes in other_lanes(best.lanes, machine, problem):
            found.append(Candidate(lanes, choose(with_lanes(problem, lanes), machine)))
        return found

    def _lowered(self, name: str, lanes: int) -> Lowered | None:
        group = self._groups[name]
        if lanes == group.lanes:
            return Lowered(self._default, tuple(group.kernels))
        if lanes not in self._widths:
            wide = Schedules({n: Entry({"lanes": lanes}) for n, g in self._groups.items() if g.lanes})
            program = self._target.buffers(self.hub, Options(threads=self._options.threads, schedules=wide))
            self._widths[lanes] = program, {g.name: g for g in problems_of(program)}
        program, groups = self._widths[lanes]
        other = groups.get(name)
        same = other is not None and other.lanes == lanes and len(other.kernels) == len(group.kernels)
        return Lowered(program, tuple(other.kernels)) if other is not None and same else None


def _schedule_of(group: Group) -> Schedule:
    return Schedule.parse(cast("StringAttr", group.kernels[0].attributes[SCHEDULE]).data)


def _problem(group: Group, machine: Machine) -> Problem:
    kernel = analyse(group.kernels[0])
    problem = problem_of(kernel.contraction, group.lanes or 1)
    return replace(problem, tile=tile_depth(kernel.contraction)) if takes_tiles(kernel, machine) else problem
