"""linalg-schedule-contractions: every contraction kernel is given its name and its schedule.

before: func.func private @kernel_5(%x: memref<196x1024xf32>, ...) attributes {lamina.kernel = "contraction"} {
after:  func.func private @kernel_5(%x: memref<196x1024xf32>, ...) attributes {lamina.kernel = "contraction",
            lamina.problem = "matmul f32 m196 n256 k1024", lamina.schedule = "rows=6 panels=1 ..."} {

The schedule is the one that a file or the tuning database gives for the problem (`ctx.schedules`), else the cost
model's. It stands in the IR so that people see it, and so that the key of the kernel's object code holds it.
convert-contraction-to-vector does what it says. Kernels that cannot be tiled are left without.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.schedules import LANES, PROBLEM, SCHEDULE, Entry
from ...dialects.linalg.problem_name import problem_name
from ..convert.contraction_to_vector import default_schedule, depth_fault, panel_lanes, sum_bytes
from ..convert.contraction_to_vector.analysis import Kernel, Unsupported, analyse
from ..convert.contraction_to_vector.epilogue import check
from ..convert.contraction_to_vector.schedule import Schedule, ceil_div
from .pack_contractions import origin


@dataclass(frozen=True)
class ScheduleContractions(ModulePass):
    """Writes names and schedules on contraction kernels."""

    name = "linalg-schedule-contractions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = lamina_context(ctx)
        for function in op.body.block.ops:
            if not isinstance(function, FuncOp) or function.attributes.get("lamina.kernel") != StringAttr(
                "contraction"
            ):
                continue
            try:
                kernel = analyse(function)
                check(kernel)
            except Unsupported:
                continue
            name = name_of(kernel)
            if name is None:
                continue
            function.attributes[PROBLEM] = StringAttr(name)
            if SCHEDULE not in function.attributes:
                given = context.schedules.get(name)
                schedule = default_schedule(kernel, context.machine)
                if given is not None:
                    try:
                        schedule = given_schedule(given, kernel, schedule, context.machine)
                    except LaminaError:
                        if context.schedules.strict:
                            raise
                function.attributes[SCHEDULE] = StringAttr(str(schedule))


def name_of(kernel: Kernel) -> str | None:
    """The problem's name, as linalg-pack-contractions called it when it packed the right operand."""
    contraction = kernel.contraction
    constant = not any(packing.dest is contraction.b.value for packing in kernel.packings)
    right = origin(constant) if contraction.panels is not None else "in-place"
    return problem_name(contraction.op, right)


def given_schedule(entry: Entry, kernel: Kernel, default: Schedule, machine: Machine) -> Schedule:
    """The schedule of a file's entry; what it leaves out is as the cost model chose it.

    Raises LaminaError at the entry's line for numbers that are none of a schedule, or a tile that no machine can hold.
    """
    names = [each.name for each in fields(Schedule)]
    for name in entry.without(LANES).values:
        if name not in names:
            raise LaminaError(
                f"'{name}' is no part of a schedule", where=entry.where, hint=f"one of {', '.join((LANES, *names))}"
            )
        entry.number(name)
    numbers = {**Entry.parse(str(default)).values, **entry.without(LANES).values}
    try:
        schedule = Schedule.parse(" ".join(f"{name}={value}" for name, value in numbers.items()))
    except LaminaError as error:
        raise LaminaError(error.message, where=entry.where, hint=error.hint) from error
    contraction = kernel.contraction
    vectors = ceil_div(panel_lanes(contraction, machine) * sum_bytes(contraction), machine.vector_bytes)
    registers = schedule.rows * schedule.panels * vectors
    if registers > 4 * machine.vector_registers:
        raise LaminaError(
            f"a tile of {schedule.rows} rows and {schedule.panels} panels takes {registers} vector registers",
            where=entry.where,
            hint=f"the machine has {machine.vector_registers}",
        )
    fault = depth_fault(kernel, schedule, machine)
    if fault:
        raise LaminaError(fault, where=entry.where, hint="depth=0")
    return schedule
