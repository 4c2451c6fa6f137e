"""`reserve-copies`: kernels whose schedule copies rows of their left operand get memory for that from their caller.

Before:
    func.call @kernel_0(%x, %y) : (memref<2048x2048xf32>, memref<2048x2048xf32>) -> ()
    func.func private @kernel_0(...) attributes {lamina.schedule = "rows=6 ... depth=512 ... copy=1"}
After:
    %copies = memref.alloc() {alignment = 64 : i64} : memref<98312xf32>
    func.call @kernel_0(%x, %y, %copies) : (memref<2048x2048xf32>, memref<2048x2048xf32>, memref<98312xf32>) -> ()
    func.func private @kernel_0(...) attributes {lamina.copies, lamina.scratch = 1 : i64, ...}

It goes before plan-arena, which gives the allocations their places.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ..convert.contraction_to_vector import copies_of
from ..convert.contraction_to_vector.copies import COPIES
from .more_scratch import allocate_at_calls, give_scratch


@dataclass(frozen=True)
class ReserveCopies(ModulePass):
    """Gives kernels that copy rows an argument more, and their calls an allocation."""

    name = "reserve-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        types: dict[str, MemRefType] = {}
        for function in op.ops:
            if not isinstance(function, FuncOp) or COPIES in function.attributes:
                continue
            if (type_ := copies_of(function, machine)) is not None:
                give_scratch(function, type_, "copies", COPIES)
                types[function.sym_name.data] = type_
        allocate_at_calls(op, types)
