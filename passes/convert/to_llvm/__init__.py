"""Everything left becomes the llvm dialect in one sweep: arith, math, memref, vector, amx, avx512, func and cf.

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
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ....compiler.context import LaminaContext
from ....compiler.conversion import convert
from ....compiler.walking import all_ops
from . import amx, arith, avx512, func, math, memref, nvgpu, vector
from .rules import RULES

__all__ = ["ConvertToLLVM", "amx", "arith", "avx512", "func", "math", "memref", "nvgpu", "vector"]

_ILLEGAL = {
    "arith",
    "math",
    "memref",
    "vector",
    "amx",
    "avx512",
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
            _prefer_width(op, ctx.machine.vector_bytes * 8)
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


def _prefer_width(module: ModuleOp, bits: int) -> None:
    """On machines with 512-bit registers LLVM halves wide vectors for some processors unless told otherwise."""
    if bits <= 256:
        return
    width = ArrayAttr([StringAttr("prefer-vector-width"), StringAttr(str(bits))])
    for function in module.ops:
        if isinstance(function, llvm.FuncOp) and function.body.blocks:
            function.attributes["passthrough"] = ArrayAttr[Attribute]([width])
