"""The schedules of a model as a file: `lamina compile MODEL -o model.schedules` writes it, `--schedules` reads it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Operation

from ..compiler.context import LaminaContext
from ..compiler.diagnostics import Diagnostic
from ..compiler.machine import Machine
from ..compiler.places import describe_location
from ..compiler.program import Program
from ..compiler.schedules import LANES, PROBLEM, SCHEDULE, Entry, Schedules


def add_schedules_argument(parser: argparse.ArgumentParser) -> None:
    """`--schedules FILE`."""
    parser.add_argument(
        "--schedules",
        type=Path,
        metavar="FILE",
        help="schedules to compile with, instead of those of the tuning database (docs/tuning.md)",
    )


def read_schedules(args: argparse.Namespace) -> Schedules | None:
    """What `--schedules` gives. Raises LaminaError with file and line for a file that is not right."""
    return None if args.schedules is None else Schedules.read(args.schedules)


def show_warnings(context: LaminaContext, command: str) -> None:
    """Prints the warnings of passes and targets on stderr."""

    def show(diagnostic: Diagnostic) -> None:
        if diagnostic.severity == "warning":
            print(f"lamina {command}: {diagnostic}", file=sys.stderr)

    context.diagnostics.listeners.append(show)


@dataclass
class Problem:
    """A contraction problem of a model: its kernels on the level of buffers, which share one schedule."""

    name: str
    kernels: list[func.FuncOp] = field(default_factory=list[func.FuncOp])
    told: list[Entry] = field(default_factory=list[Entry])  # by kernel
    calls: dict[str, int] = field(default_factory=dict[str, int])  # by kernel
    origin: str = ""

    @property
    def lanes(self) -> int:
        """The width of the panels of the right operand; 0 where it is not packed."""
        return self.told[0].number(LANES) if LANES in self.told[0].values else 0

    @property
    def entry(self) -> Entry:
        """What all kernels have in common."""
        first, *others = (each.values for each in self.told)
        return Entry({name: n for name, n in first.items() if all(other.get(name) == n for other in others)})


def problems_of(lowered: Program) -> list[Problem]:
    """The contraction problems of a program on the level of buffers, in the order in which they occur."""
    calls: dict[str, int] = {}
    for op in lowered.module.walk():
        if isinstance(op, func.CallOp):
            name = op.callee.string_value()
            calls[name] = calls.get(name, 0) + 1
    problems: dict[str, Problem] = {}
    for function in lowered.module.ops:
        name = function.attributes.get(PROBLEM)
        if not isinstance(function, func.FuncOp) or not isinstance(name, StringAttr):
            continue
        problem = problems.setdefault(name.data, Problem(name.data))
        told, contraction = _told(function)
        problem.kernels.append(function)
        problem.told.append(told)
        problem.calls[function.sym_name.data] = calls.get(function.sym_name.data, 0)
        problem.origin = problem.origin or describe_location(contraction.location)
    return list(problems.values())


def _told(kernel: func.FuncOp) -> tuple[Entry, Operation]:
    """The schedule that stands on a kernel, and its contraction; on a CPU with the width of packed panels first."""
    from ..passes.convert.contraction_to_vector.analysis import analyse  # heavy, and who gives schedules needs none

    given = kernel.attributes.get(SCHEDULE)
    if not isinstance(given, StringAttr):
        return _told_of_gpu(kernel)
    contraction = analyse(kernel).contraction
    numbers, panels = Entry.parse(given.data).values, contraction.panels
    return Entry(numbers if panels is None else {LANES: panels.lanes, **numbers}), contraction.op


def _told_of_gpu(kernel: func.FuncOp) -> tuple[Entry, Operation]:
    from ..passes.convert.contraction_to_cta.problem import problem_of
    from ..passes.convert.contraction_to_cta.schedule import SCHEDULE, Schedule

    product = problem_of(kernel)
    assert product is not None
    schedule = Schedule.of(cast("DictionaryAttr", kernel.attributes[SCHEDULE]))
    return Entry(asdict(schedule)), product.contraction


def schedules_text(
    problems: Sequence[Problem],
    schedules: Schedules,
    model: str,
    machine: Machine,
    *,
    remarks: Mapping[str, str],
    head: str,
    precision: str = "f32",
) -> str:
    """A file with the schedule of every problem; behind each `remarks`, how often it is called and where it is from."""
    told = {
        p.name: ", ".join(filter(None, (remarks.get(p.name), f"calls: {sum(p.calls.values())}", p.origin[:60])))
        for p in problems
    }
    name = machine.identity if machine.name == "host" else machine.name
    how = f"--target cuda:{name} " if machine.triple.startswith("nvptx64") else ""
    how += f"--precision {precision} " if precision != "f32" else ""
    replay = f"lamina compile {model} {how}--schedules THIS_FILE -o model.lamx"
    return schedules.format(told, "\n".join([f"Schedules of {model} for {name}.", head, f"To compile: {replay}"]))
