"""Drops ops whose results nobody uses and that change nothing, and blocks that no path reaches.

Before:
    %0 = arith.addi %a, %b : i32
    %1 = arith.muli %0, %b : i32
    return %a : i32

After:
    return %a : i32
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.rewriting import GreedyRewriter, pattern_table


@dataclass(frozen=True)
class DeadCodeElimination(ModulePass):
    """Drops ops that nobody would miss and unreachable blocks."""

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        GreedyRewriter(lamina_context(ctx), pattern_table(), fold=False).run(op)
