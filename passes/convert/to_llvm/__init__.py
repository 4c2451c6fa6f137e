"""Everything left becomes the llvm dialect in one sweep: arith, math, memref, vector, amx, x86, func and cf.

before:
    %x = memref.load %m[%i, %j] : memref<8x16xf32>
    %y = arith.addf %x, %x : f32
after:
    %p = llvm.getelementptr inbounds %m[%i, %j] : (!llvm.ptr, i64, i64) -> !llvm.ptr, !llvm.array<16 x f32>
    %x = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> f32
    %y = llvm.fadd %x, %x {fastmathFlags = #llvm.fastmath<contract>} : f32
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ....compiler.context import LaminaContext
from ....compiler.conversion import convert
from ....compiler.walking import all_ops
from . import amx, arith, func, math, memref, nvgpu, vector, x86
from .frames import describe_functions
from .rules import RULES

__all__ = ["ConvertToLLVM", "amx", "arith", "func", "math", "memref", "nvgpu", "vector", "x86"]

_ILLEGAL = {
    "arith",
    "math",
    "memref",
    "vector",
    "amx",
    "x86",
    "nvgpu",
    "func",
    "cf",
    "scf",
    "affine",
    "builtin.unrealized_conversion_cast",
}


@dataclass(frozen=True)
class ConvertToLLVM(ModulePass):
    """Everything left becomes the llvm dialect in one sweep."""

    name = "convert-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, RULES, illegal=_ILLEGAL)
        if isinstance(ctx, LaminaContext):
            describe_functions(op, ctx.machine)
            if ctx.machine.streams_stores:
                _drain(op)


def _drain(module: ModuleOp) -> None:
    """Stores past the caches keep no order with others: a function that has some waits for them before it returns."""
    for function in module.ops:
        inner = all_ops(function) if isinstance(function, llvm.FuncOp) else []
        if any(isinstance(op, llvm.StoreOp) and op.nontemporal is not None for op in inner):
            for op in inner:
                if isinstance(op, llvm.ReturnOp):
                    fence = llvm.CallIntrinsicOp("llvm.x86.sse.sfence", [], [])
                    fence.location = op.location
                    Rewriter.insert_op(fence, InsertPoint.before(op))
