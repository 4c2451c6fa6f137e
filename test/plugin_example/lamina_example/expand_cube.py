"""Writes the third power as two products.

Before:
    %y = example.cube %x : tensor<4xf32>

After:
    %0 = arith.mulf %x, %x : tensor<4xf32>
    %y = arith.mulf %0, %x : tensor<4xf32>
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from lamina.compiler.conversion import RuleBuilder, Rules, convert
from lamina_example.dialect import CubeOp

RULES = Rules("example-expand-cube")


@RULES.lowers(CubeOp)
def cube(op: CubeOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    (x,) = operands
    return b(arith.MulfOp(b(arith.MulfOp(x, x)).result, x)).result


@dataclass(frozen=True)
class ExpandCube(ModulePass):
    """Writes example.cube as two products."""

    name = "example-expand-cube"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, RULES, illegal={"example"})
