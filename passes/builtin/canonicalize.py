"""Brings each op to its simplest form: folds constants, applies the patterns of the ops, drops dead code.

Before:
    %c = arith.constant 2 : i32
    %d = arith.constant 3 : i32
    %0 = arith.addi %c, %d : i32
    %1 = arith.muli %0, %x : i32

After (one constant of each kind, at the front of its function, constants on the right):
    %c5 = arith.constant 5 : i32
    %1 = arith.muli %x, %c5 : i32
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.rewriting import GreedyRewriter
from ...compiler.walking import all_ops
from ...dialects import load_canonical


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    """Folds constants, applies every op's canonicalisation patterns, drops dead code."""

    name = "canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for dialect in {inner.dialect_name() for inner in all_ops(op)}:
            load_canonical(dialect)
        GreedyRewriter(lamina_context(ctx)).run(op)
