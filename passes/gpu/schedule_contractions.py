"""`gpu-schedule-contractions`: every product is given its name and its schedule.

before: func.func private @kernel_5(...) attributes {lamina.kernel = "contraction"} {
after:  func.func private @kernel_5(...) attributes {lamina.kernel = "contraction",
            lamina.problem = "matmul bf16,bf16,f32 m4096 n4096 k4096",
            cta.schedule = {unit = "wgmma", rows = 128, columns = 256, depth = 64, down = 2, across = 1, stages = 4}} {

The schedule is the one that a file gives for the problem (`ctx.schedules`), else what its sizes and types suggest. It
stands in the IR so that people see it; `convert-contraction-to-cta` does what it says. A kernel that has a schedule
keeps it; kernels that are no products are left without.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.diagnostics import LaminaError
from ...compiler.schedules import PROBLEM
from ...dialects.linalg.problem_name import problem_name
from ..convert.contraction_to_cta.choice import default_schedule
from ..convert.contraction_to_cta.given import given_schedule
from ..convert.contraction_to_cta.problem import problem_of
from ..convert.contraction_to_cta.schedule import SCHEDULE


@dataclass(frozen=True)
class ScheduleContractions(ModulePass):
    """Writes names and schedules on kernels that are products."""

    name = "gpu-schedule-contractions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        for function in op.ops:
            if not isinstance(function, FuncOp) or "lamina.kernel" not in function.attributes:
                continue
            problem = problem_of(function) if function.body.blocks else None
            name = problem_name(problem.contraction) if problem is not None else None
            if problem is None or name is None:
                continue
            function.attributes[PROBLEM] = StringAttr(name)
            if SCHEDULE in function.attributes:
                continue
            schedule = default_schedule(problem, ours.machine, ours.precision)
            given = ours.schedules.get(name)
            if given is not None:
                try:
                    schedule = given_schedule(given, problem, ours.machine, ours.precision)
                except LaminaError:
                    if ours.schedules.strict:
                        raise
            function.attributes[SCHEDULE] = schedule.attribute
