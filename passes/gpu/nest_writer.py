"""What those share that write a parallel nest anew, for threads: where it stood, with its place in the model."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...compiler.locations import locate
from ...dialects.affine import ApplyOp, ParallelOp


class NestWriter:
    """Writes before `nest`, and takes it away at the end."""

    def __init__(self, nest: ParallelOp):
        self.nest = nest
        self.b = Builder(InsertPoint.before(nest))

    def apply(self, expr: AffineExpr, *operands: SSAValue) -> SSAValue:
        """A number computed from others."""
        return self.b.insert(ApplyOp(operands, AffineMapAttr(AffineMap(len(operands), 0, (expr,))))).results[0]

    def erase_nest(self) -> None:
        """Takes the nest away; what stands in its block without a place in the model gets that of the nest."""
        parent = self.nest.parent_block()
        for op in parent.ops if parent is not None else ():
            locate(op, self.nest.location)
        self.nest.detach()
        self.nest.erase()
