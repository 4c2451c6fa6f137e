"""Makes every convolution channels-last, and moves the transposes this needs down until they cancel.

Before (as ONNX has it):
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], ...
    %1 = stablehlo.maximum %0, %zero : tensor<1x64x56x56xf32>
    %2 = stablehlo.convolution(%1, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], ...

After (one transpose at the input, one at the end; weights are transposed at compile time):
    %t = stablehlo.transpose %x, dims = [0, 2, 3, 1] : ...
    %0 = stablehlo.convolution(%t, %w1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], ...
    %1 = stablehlo.maximum %0, %zero : tensor<1x56x56x64xf32>
    %2 = stablehlo.convolution(%1, %v1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], ...
    %3 = stablehlo.transpose %2, dims = [0, 3, 1, 2] : ...

A convolution without another before or after it stays as it is where that is as fast (`lone_convolutions.py`):
    %y = stablehlo.convolution(%x, %w) ... : (tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32>) -> tensor<1x256x56x56xf32>
becomes a product, %w as a matrix of 256 x 64 times %x as one of 64 x 3136.

The rules that move transposes are in `layout_rules.py` and `layout_reshape.py`; they work together with those of
`stablehlo-simplify`, so that what meets cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.rewriting import GreedyRewriter, Pattern
from ...dialects.stablehlo.canonical import simplifies
from .layout_reshape import moves_reshapes
from .layout_rules import moves_transposes
from .lone_convolutions import LoneConvolutions


@dataclass(frozen=True)
class PropagateLayout(ModulePass):
    """Convolutions channels-last (NHWC x HWIO -> NHWC in two dimensions), transposes moved until they cancel."""

    name = "stablehlo-propagate-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        lone = LoneConvolutions(op, ours.machine)
        tables = [table.patterns(ours.weights) for table in (simplifies, moves_transposes, moves_reshapes)]

        def patterns(op_type: type[Operation]) -> tuple[Pattern, ...]:
            shared = tuple(pattern for table in tables for pattern in table(op_type))
            return lone.patterns(ours.weights, op_type, shared)

        GreedyRewriter(ours, patterns, fold=False).run(op)
