"""convert-dsl-to-stablehlo: index notation becomes the hub ops that a person would have written.

before: %y = dsl.comprehension [2, 3] {
        ^bb0(%i: tensor<i64>, %j: tensor<i64>):
          %s = dsl.reduce sum [4] {
          ^bb1(%k: tensor<i64>):
            %a = dsl.access %x[%i, %k] : tensor<2x4xf32>
            %b = dsl.access %w[%k, %j] : tensor<4x3xf32>
            %p = stablehlo.multiply %a, %b : tensor<f32>
            dsl.yield %p : tensor<f32>
          } : tensor<f32>
          dsl.yield %s : tensor<f32>
        } : tensor<2x3xf32>
after:  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]

What does not depend on an index is hoisted; then the body is lifted from scalars to tensors, each value with just the
axes that it depends on. Nothing is ever made over all indices at once that a contraction or a window would not make.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ....compiler.context import lamina_context
from ....compiler.weights import WeightStore
from ....dialects.dsl import AccessOp, ComprehensionOp, ReduceOp
from ...builtin.inline import functions_of, inline_calls
from ...builtin.symbol_dce import drop_dead_symbols
from . import accesses, control, reductions
from .builder import Builder
from .hoisting import hoist
from .lifting import Lifter

CHAPTERS = (accesses, reductions, control)
INDEXED = (ComprehensionOp, ReduceOp, AccessOp)


@dataclass(frozen=True)
class ConvertDslToStablehlo(ModulePass):
    """Lowers index notation to hub ops; functions called inside of it are inlined there."""

    name = "convert-dsl-to-stablehlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        roots: list[Operation] = [inner for inner in op.walk() if isinstance(inner, INDEXED) and not _is_nested(inner)]
        if not roots:
            return
        functions = functions_of(op)
        if inline_calls(roots, functions):
            drop_dead_symbols(op)
        weights = lamina_context(ctx).weights
        for function in list(op.ops):
            for region in function.regions:
                for block in region.blocks:
                    _lower_block(block, weights)


def _is_nested(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, INDEXED):
        parent = parent.parent_op()
    return parent is not None


def _lower_block(block: Block, weights: WeightStore) -> None:
    """Lowers what stands in `block` and in the regions of other ops there."""
    pending = list(block.ops)[::-1]
    while pending:
        op = pending.pop()
        if not isinstance(op, INDEXED):
            for region in op.regions:
                for inner in region.blocks:
                    _lower_block(inner, weights)
            continue
        hoisted = hoist(op)
        if hoisted:
            pending += [op, *reversed(hoisted)]
            continue
        _lower(op, weights)


def _lower(op: ComprehensionOp | ReduceOp | AccessOp, weights: WeightStore) -> None:
    b = Builder(InsertPoint.before(op), op.location, weights)
    lifter = Lifter(op, b)
    lifted = lifter.comprehension(op) if isinstance(op, ComprehensionOp) else lifter.lift_op(op)[0]
    value = lifted.value
    value.name_hint = value.name_hint or op.result.name_hint
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()
