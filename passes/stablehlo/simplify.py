"""Brings the hub program to its simplest form: algebra, shapes, and constants folded into weights.

Before (a convolution of a trained network):
    %0 = stablehlo.convolution(%x, %w) ...                      // %w, %s, %o, %m, %v constant
    %1 = "stablehlo.batch_norm_inference"(%0, %s, %o, %m, %v) ...
    %2 = stablehlo.reshape %1 : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>

After:
    %0 = stablehlo.convolution(%x, %scaled) ...
    %b = stablehlo.broadcast_in_dim %shift, dims = [1] ...
    %2 = stablehlo.add %0, %b : tensor<1x8x4x4xf32>

The rules are in `dialects/stablehlo/canonical`; each states what it does to floats.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.rewriting import GreedyRewriter
from ...dialects.stablehlo.canonical import simplifies


@dataclass(frozen=True)
class Simplify(ModulePass):
    """Simplifies algebra and shapes, and folds constant factors and batch normalisation into weights."""

    name = "stablehlo-simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        GreedyRewriter(ours, simplifies.patterns(ours.weights), fold=False).run(op)
