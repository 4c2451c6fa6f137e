"""Computes once what is computed twice.

Before:
    %0 = arith.addi %a, %b : i32
    %1 = arith.addi %b, %a : i32
    %2 = arith.muli %0, %1 : i32

After:
    %0 = arith.addi %a, %b : i32
    %2 = arith.muli %0, %0 : i32
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...compiler.cse import eliminate_common_subexpressions


@dataclass(frozen=True)
class CommonSubexpressionElimination(ModulePass):
    """Merges ops that compute the same from the same values."""

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        eliminate_common_subexpressions(op)
