"""`gpu-reserve-partial-sums`: products whose sum several blocks share get memory for what each of them adds up.

Before:
    func.call @kernel_0(%x, %w, %y) : (memref<64x4608xf32>, memref<4608x512xf32>, memref<64x512xf32>) -> ()
    func.func private @kernel_0(...) attributes {cta.schedule = {unit = "fma", ..., splits = 9 : i64}, ...}
After:
    %sums = memref.alloc() {alignment = 64 : i64} : memref<9x64x512xf32>
    func.call @kernel_0(%x, %w, %y, %sums) : (..., memref<9x64x512xf32>) -> ()
    func.func private @kernel_0(...) attributes {cta.partial_sums, lamina.scratch = 1 : i64, cta.schedule = ...}

It goes before plan-arena, which gives the allocations their places; `convert-contraction-to-cta` uses them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ..bufferization.more_scratch import allocate_at_calls, give_scratch
from ..convert.contraction_to_cta.problem import problem_of
from ..convert.contraction_to_cta.schedule import SCHEDULE, Schedule
from ..convert.contraction_to_cta.splits import PARTIAL_SUMS, partial_sums


@dataclass(frozen=True)
class ReservePartialSums(ModulePass):
    """Gives products whose sum is shared an argument more, and their calls an allocation."""

    name = "gpu-reserve-partial-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        types: dict[str, MemRefType] = {}
        for function in op.ops:
            if not isinstance(function, FuncOp) or PARTIAL_SUMS in function.attributes:
                continue
            given = function.attributes.get(SCHEDULE)
            schedule = Schedule.of(given) if isinstance(given, DictionaryAttr) else None
            if schedule is None or schedule.splits == 1 or (problem := problem_of(function)) is None:
                continue
            type_ = types[function.sym_name.data] = partial_sums(problem, schedule.splits)
            give_scratch(function, type_, "sums", PARTIAL_SUMS)
        allocate_at_calls(op, types)
