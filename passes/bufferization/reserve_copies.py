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
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.machine import Machine
from ...compiler.walking import all_ops
from ...dialects.memref import AllocOp
from ..convert.contraction_to_vector import copies_of
from ..convert.contraction_to_vector.copies import COPIES
from .layout import ALIGNMENT, SCRATCH


@dataclass(frozen=True)
class ReserveCopies(ModulePass):
    """Gives kernels that copy rows an argument more, and their calls an allocation."""

    name = "reserve-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        types = {
            function.sym_name.data: type_
            for function in op.ops
            if isinstance(function, FuncOp) and (type_ := _extend(function, machine)) is not None
        }
        if not types:
            return
        for call in [inner for inner in all_ops(op) if isinstance(inner, CallOp)]:
            if (type_ := types.get(call.callee.string_value())) is not None:
                alloc = AllocOp([], [], type_, IntegerAttr(ALIGNMENT, i64))
                alloc.location = call.location
                Rewriter.insert_op(alloc, InsertPoint.before(call))
                call.operands = [*call.operands, alloc.memref]


def _extend(function: FuncOp, machine: Machine) -> MemRefType | None:
    """The type of the argument that the kernel got; None where it copies nothing, or has it already."""
    type_ = None if COPIES in function.attributes else copies_of(function, machine)
    if type_ is None:
        return None
    block = function.body.block
    block.insert_arg(type_, len(block.args)).name_hint = "copies"
    scratch = function.attributes.get(SCRATCH)
    before = scratch.value.data if isinstance(scratch, IntegerAttr) else 0
    function.attributes |= {COPIES: UnitAttr(), SCRATCH: IntegerAttr(before + 1, i64)}
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [])
    if isinstance(attributes := function.properties.get("arg_attrs"), ArrayAttr):
        function.properties["arg_attrs"] = ArrayAttr([*attributes.data, DictionaryAttr({})])
    return type_
