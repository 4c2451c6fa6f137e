"""linalg-deduplicate-kernels: equal kernels become one function.

before: call @kernel_0(%x, %a); call @kernel_1(%y, %b)   // the same body twice
after:  call @kernel_0(%x, %a); call @kernel_0(%y, %b)

Two kernels are equal when they print the same once their name and the names of their values are set aside.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.passes import ModulePass

from ...compiler.anonymous_text import anonymous_text
from .outline_kernels import KERNEL


@dataclass(frozen=True)
class DeduplicateKernels(ModulePass):
    """Keeps the first of every set of equal kernels and calls it instead of the others."""

    name = "linalg-deduplicate-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first: dict[str, str] = {}
        renamed: dict[str, str] = {}
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and KERNEL in function.attributes:
                name = function.sym_name.data
                kept = first.setdefault(anonymous_text(function), name)
                if kept != name:
                    renamed[name] = kept
                    function.detach()
                    function.erase()
        if not renamed:
            return
        for call in op.walk():
            if isinstance(call, func.CallOp) and (kept := renamed.get(call.callee.string_value())):
                call.properties["callee"] = SymbolRefAttr(kept)
