"""Applies one rule of the hub to a whole module, until it changes nothing."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...compiler.context import lamina_context
from ...compiler.rewriting import GreedyRewriter
from ...dialects.stablehlo.canonical.rules import Rule, RuleTable


def apply_rule(ctx: Context, module: ModuleOp, rule: Rule, *kinds: type[Operation]) -> None:
    """Rewrites the ops of these kinds."""
    ours, rules = lamina_context(ctx), RuleTable()
    rules(*kinds)(rule)
    GreedyRewriter(ours, rules.patterns(ours.weights), fold=False).run(module)
