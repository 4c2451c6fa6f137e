"""What of a model can be tuned on this CPU: schedules, and panels of several widths."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

from xdsl.dialects.builtin import StringAttr

from ....backends import Options, check_threads
from ....backends.cpu.jit import pool
from ....backends.cpu.target import CpuTarget
from ....compiler.machine import Machine
from ....compiler.program import Program
from ....compiler.schedules import SCHEDULE, Entry, Schedules
from ....passes.convert.contraction_to_vector import problem_of
from ....passes.convert.contraction_to_vector.amx_schedule import takes_tiles, tile_depth
from ....passes.convert.contraction_to_vector.analysis import analyse
from ....passes.convert.contraction_to_vector.schedule import Problem, Schedule, choose
from ...inputs import complete
from ...schedules import Problem as Group
from ...schedules import problems_of
from ..kernels import KernelBench
from ..models import ModelBench
from ..subjects import Subject, Subjects
from .candidates import Candidate, neighbours, other_lanes, with_lanes
from .kernels import Lowered, Maker


class CpuTuned:
    """This CPU with `threads` threads (None: all cores)."""

    def __init__(self, threads: int | None, precision: str = "f32"):
        check_threads(threads)
        self._target = CpuTarget()
        self.machine = self._target.machine
        self._options = Options(threads=threads or self.machine.cores, precision=precision)
        self.place = f"{self._options.threads} threads"
        self.database = self._target.database(self._options.threads)

    def canonical(self, program: Program) -> Program:
        """The program as it is lowered from again and again."""
        return self._target.lower(program, "stablehlo-canonical", self._options)

    def subjects(self, program: Program, known: Schedules) -> Subjects[Candidate]:
        """The problems of a canonical program; `known` schedules are tried first."""
        model = _Model(program, self._target, self._options)
        return Subjects([model.subject(group, known) for group in model.problems])

    def models(self, program: Program) -> ModelBench:
        """Measures the whole of a canonical program."""
        inputs = complete(program.signature, {}, 0)
        timer = time.thread_time if self._options.threads == 1 else time.perf_counter

        def made(schedules: Schedules) -> Callable[[], float]:
            """Not from the cache of models: that is for what people compile."""
            artefact = self._target.compile_artefact(program, replace(self._options, schedules=schedules))
            executable = self._target.load(artefact, self._options.threads)
            executable.run(inputs)

            def sample() -> float:
                begin = timer()
                executable.run(inputs)
                return timer() - begin

            return sample

        return ModelBench(made)


class _Model:
    """A program on the level of buffers, with panels of several widths.

    Panels of another width need the model lowered again, once for each width, when the first problem asks.
    """

    def __init__(self, program: Program, target: CpuTarget, options: Options):
        self._program, self._target, self._options = program, target, options
        self._pool = pool(options.threads or target.machine.cores, target.machine)
        self._default = self._lower(Schedules())
        self.problems = problems_of(self._default)
        self._widths: dict[int, tuple[Program, dict[str, Group]]] = {}

    def _lower(self, schedules: Schedules) -> Program:
        return self._target.buffers(self._program, replace(self._options, schedules=schedules))

    def subject(self, group: Group, known: Schedules) -> Subject[Candidate]:
        """A problem, with what begins its search."""
        make = Maker(partial(self._lowered, group), self._pool)
        bench = KernelBench(make, [group.calls[kernel.sym_name.data] for kernel in group.kernels])
        default = Candidate(group.lanes, _schedule_of(group))
        given = known.get(group.name)
        seed = Candidate.of(given, default) if given is not None else None
        return Subject(group, bench, default, [seed] if seed is not None else [], partial(self._steps, group))

    def _steps(self, group: Group, best: Candidate) -> list[Candidate]:
        machine = self._default.context.machine  # with as many cores as there will be threads
        problem = with_lanes(_problem(group, machine), best.lanes)
        found = [Candidate(best.lanes, s) for s in neighbours(best.schedule, problem, machine)]
        for lanes in other_lanes(best.lanes, machine, problem):
            found.append(Candidate(lanes, choose(with_lanes(problem, lanes), machine)))
        return found

    def _lowered(self, group: Group, lanes: int) -> Lowered | None:
        if lanes == group.lanes:
            return Lowered(self._default, tuple(group.kernels))
        if lanes not in self._widths:
            program = self._lower(Schedules({g.name: Entry({"lanes": lanes}) for g in self.problems if g.lanes}))
            self._widths[lanes] = program, {g.name: g for g in problems_of(program)}
        program, groups = self._widths[lanes]
        other = groups.get(group.name)
        same = other is not None and other.lanes == lanes and len(other.kernels) == len(group.kernels)
        return Lowered(program, tuple(other.kernels)) if other is not None and same else None


def _schedule_of(group: Group) -> Schedule:
    return Schedule.parse(cast("StringAttr", group.kernels[0].attributes[SCHEDULE]).data)


def _problem(group: Group, machine: Machine) -> Problem:
    kernel = analyse(group.kernels[0])
    problem = problem_of(kernel.contraction, group.lanes or 1, bool(kernel.packings))
    return replace(problem, tile=tile_depth(kernel.contraction)) if takes_tiles(kernel, machine) else problem
