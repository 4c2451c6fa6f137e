"""What of a model can be tuned on the GPU of this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr

from ....backends import Options
from ....backends.cuda import driver as drivers
from ....backends.cuda.architectures import Architecture
from ....backends.cuda.device import DeviceProgram, check_runs
from ....backends.cuda.driver import Driver, driver
from ....backends.cuda.target import CudaTarget
from ....compiler.diagnostics import LaminaError
from ....compiler.gpu import Gpu
from ....compiler.program import Program
from ....compiler.schedules import Schedules
from ....passes.convert.contraction_to_cta.problem import problem_of
from ....passes.convert.contraction_to_cta.schedule import SCHEDULE, Schedule
from ...inputs import complete
from ...schedules import Problem as Group
from ...schedules import problems_of
from ..kernels import ERRORS, SAMPLE, KernelBench
from ..models import ModelBench
from ..subjects import Subject, Subjects
from .candidates import Candidate, Field
from .kernels import Maker

KEEP = 24  # candidates of a problem that are measured, unless something else is asked for
OF_GPUS = {**ERRORS, 4: 1e-3}  # tensor cores round sums toward zero; another unit may round operands of f32, too


class CudaTuned:
    """The GPU of this machine, for code of the architecture behind the colon of `cuda:sm_90a`.

    Raises LaminaError where there is none, or one that does not run such code.
    """

    def __init__(self, detail: str, precision: str = "f32", keep: int = KEEP):
        self._target = CudaTarget(detail)
        try:
            self._driver = driver()
        except LaminaError as error:
            hint = "tuning measures; --list-candidates shows what it would measure, and needs no GPU"
            raise LaminaError(error.message, hint=hint) from error
        check_runs(self._driver, self._target.architecture)
        self._options, self._keep = Options(precision=precision), keep
        self.machine = self._target.architecture.machine
        self.place = f"{self._driver.name} ({self._target.architecture.name})"
        self.database = self._target.database(self._driver, precision)
        self._gpu = gpu_of(self._driver, self._target.architecture)

    def canonical(self, program: Program) -> Program:
        """The program as it is lowered from again and again."""
        return self._target.lower(program, "stablehlo-canonical", self._options)

    def subjects(self, program: Program, known: Schedules) -> Subjects[Candidate]:
        """The problems of a canonical program; `known` schedules are tried first."""
        lowered = by_default(self._target, program, self._options)
        found = fields_of(lowered, self._target.architecture, self._options.precision, self._gpu)
        return Subjects([self._subject(lowered, group, field, known) for group, field in found])

    def _subject(self, lowered: Program, group: Group, field: Field, known: Schedules) -> Subject[Candidate]:
        make = Maker(self._target, self._driver, lowered, group.kernels)
        bench = KernelBench(make, [group.calls[kernel.sym_name.data] for kernel in group.kernels], OF_GPUS)
        default = default_of(group)
        entry = known.get(group.name)
        given = field.given(entry) if entry is not None else None
        kept: list[Candidate] = []  # found when the first step asks

        def steps(best: Candidate) -> list[Candidate]:
            if not kept:
                kept.extend(map(Candidate, field.kept(self._keep)))
            return kept if best.schedule in (default, given) else [*kept, *map(Candidate, field.beside(best.schedule))]

        seeds = [Candidate(given)] if given is not None else []
        return Subject(group, bench, Candidate(default), seeds, steps)

    def models(self, program: Program) -> ModelBench:
        """Measures the whole of a canonical program, as the GPU has the time."""
        inputs = complete(program.signature, {}, 0)

        def made(schedules: Schedules) -> Callable[[], float]:
            model = self._target.compile(program, replace(self._options, schedules=schedules))
            assert isinstance(model, DeviceProgram)
            model.run(inputs)
            repeats = max(1, ceil(SAMPLE / max(1e-6, model.seconds(1))))
            return lambda: max(1e-9, model.seconds(repeats))

        return ModelBench(made)


def by_default(target: CudaTarget, program: Program, options: Options) -> Program:
    """A program on the level of buffers, whose products have the schedules that they get unasked."""
    return target.lower(program, "buffers", replace(options, schedules=Schedules()))


def default_of(group: Group) -> Schedule:
    """The schedule that stands on a problem's kernels."""
    return Schedule.of(cast("DictionaryAttr", group.kernels[0].attributes[SCHEDULE]))


def fields_of(lowered: Program, architecture: Architecture, precision: str, gpu: Gpu) -> Sequence[tuple[Group, Field]]:
    """The problems of a program on the level of buffers, each with its candidates."""
    found: list[tuple[Group, Field]] = []
    for group in problems_of(lowered):
        problem = problem_of(group.kernels[0])
        assert problem is not None
        found.append((group, Field(problem, architecture.machine, precision, gpu)))
    return found


def gpu_of(found: Driver, architecture: Architecture) -> Gpu:
    """The facts of a GPU as far as the driver tells them; rates are those of the architecture's largest."""
    told = {
        "processors": drivers.PROCESSORS,
        "registers": drivers.REGISTERS,
        "shared_bytes": drivers.SHARED_BYTES,
        "threads": drivers.THREADS,
        "blocks": drivers.BLOCKS,
    }
    facts = {name: found.attribute(number) for name, number in told.items()}
    return replace(architecture.gpu, **{name: fact for name, fact in facts.items() if fact > 0})
