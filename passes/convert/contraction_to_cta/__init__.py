"""`convert-contraction-to-cta`: products of matrices become programs of blocks on tiles.

Before:
    linalg.fill ins(%zero) outs(%c)
    linalg.generic {... (m, k), (k, n) -> (m, n)} ins(%a, %b) outs(%c) { mulf, addf }
    linalg.generic {...} ins(%bias) outs(%c) { addf }
After:
    cta.program {sizes = array<i64: 1, 256, 256>, tile = array<i64: 1, 64, 64>, schedule = ...} do {
    ^bb0(%b: index, %m: index, %n: index):
      %left = cta.view %a : memref<256x1024xf32> to !cta.view<f32, (1,256,1024):(0,1024,1)>
      ...
      %sum = affine.for %k = 0 to 1024 step 16 iter_args(%acc = %zero) {
        %x = cta.load %left[%b, %m, %k]
        %y = cta.load %right[%b, %k, %n]
        %d = cta.dot %x, %y, %acc
        affine.yield %d
      }
      %beside = cta.load %bias[%b, %m, %n]
      %r = cta.map %sum, %beside ...
      cta.store %r, %result[%b, %m, %n]
      cta.yield
    }

Operands may lie in any order, batched, or be parts of matrices, and a convolution is a product whose left matrix is a
view of the image with windows for rows. What follows the product elementwise is part of the program. How large tiles
are, and whether threads, warps or warpgroups multiply, is data: `schedule`, which `gpu-schedule-contractions` has
written on the kernel (`cta.schedule`), or else is chosen here. A sum that several blocks share (`splits`) is two
kernels, see splits.py. Kernels of other types stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import dtype_of
from ....dialects.cta.ops import TF32
from .choice import default_schedule
from .emit import emit
from .problem import Problem, problem_of
from .schedule import MMA, SCHEDULE, Schedule
from .splits import PARTIAL_SUMS, add_sums, divided

__all__ = ["ConvertContractionToCta", "Schedule"]


@dataclass(frozen=True)
class ConvertContractionToCta(ModulePass):
    """Products of matrices become programs of blocks on tiles; `unit` (fma, mma, wgmma) overrides what multiplies."""

    name = "convert-contraction-to-cta"

    unit: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        for function in list(op.ops):
            if isinstance(function, FuncOp) and function.body.blocks and "lamina.kernel" in function.attributes:
                problem = problem_of(function)
                if problem is None:
                    continue
                given = function.attributes.get(SCHEDULE)
                if isinstance(given, DictionaryAttr):
                    schedule = Schedule.of(given)
                else:
                    schedule = replace(default_schedule(problem, ours.machine, ours.precision, self.unit), splits=1)
                if schedule.splits > 1:
                    problem = _shared(op, function, problem, schedule.splits)
                narrow = dtype_of(problem.left.element).itemsize < 4
                emit(function, problem, schedule, "" if narrow or schedule.unit != MMA else TF32)


def _shared(module: ModuleOp, function: FuncOp, problem: Problem, splits: int) -> Problem:
    """A product whose sum so many blocks share; a kernel behind it adds up what they leave.

    Raises LaminaError where there is no memory for that, or the sum cannot be cut so.
    """
    parts = divided(problem, splits, function.body.block.args[-1]) if PARTIAL_SUMS in function.attributes else None
    if parts is None:
        hint = "gpu-reserve-partial-sums gives memory to sums that can be cut"
        raise LaminaError(f"no memory for {splits} parts of a sum", where=function, hint=hint)
    add_sums(module, function, problem)
    return parts
