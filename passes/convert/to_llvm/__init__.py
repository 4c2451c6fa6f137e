"""Everything left becomes the llvm dialect in one sweep: arith, math, memref, vector, func and cf.

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
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....compiler.conversion import convert
from . import arith, func, math, memref, vector
from .rules import RULES

__all__ = ["ConvertToLLVM", "arith", "func", "math", "memref", "vector"]

_ILLEGAL = {"arith", "math", "memref", "vector", "func", "cf", "scf", "affine", "builtin.unrealized_conversion_cast"}


@dataclass(frozen=True)
class ConvertToLLVM(ModulePass):
    """Everything left becomes the llvm dialect in one sweep."""

    name = "convert-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, RULES, illegal=_ILLEGAL)
