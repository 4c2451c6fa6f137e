"""Recognises the packing of a B known only at run time: a copy `to[.., n floordiv P, .., n mod P] = from[..]`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineMap

from ....dialects import linalg


@dataclass(frozen=True)
class Packing:
    """One copy into panels. Outer dimension i of `dest` is dimension `permutation[i]` of `source`; `position` is the
    tiled dimension of `source`, `lanes` the width of a panel. `fill` pads the last panel, if it is not whole."""

    op: linalg.GenericOp
    fill: linalg.FillOp | None
    permutation: tuple[int, ...]
    position: int
    lanes: int

    @property
    def source(self) -> SSAValue:
        """What is packed."""
        return self.op.inputs[0]

    @property
    def dest(self) -> SSAValue:
        """The panels."""
        return self.op.outputs[0]

    @property
    def padding(self) -> SSAValue | None:
        """What stands beyond the last column."""
        return self.fill.inputs[0] if self.fill else None


def packing_of(op: linalg.GenericOp, fills: list[linalg.FillOp]) -> Packing | None:
    """The packing that `op` is, with the one of `fills` that pads it; None when it is something else."""
    if len(op.inputs) != 1 or len(op.outputs) != 1:
        return None
    yielded, (read, write) = op.body.block.last_op, op.maps
    if not isinstance(yielded, YieldOp) or list(yielded.operands) != [op.body.block.args[0]]:
        return None
    if read != AffineMap.identity(read.num_dims) or not write.results:
        return None
    match write.results[-1]:
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mod, AffineDimExpr(tiled), AffineConstantExpr(lanes)):
            pass
        case _:
            return None
    panel = AffineBinaryOpExpr(AffineBinaryOpKind.FloorDiv, AffineDimExpr(tiled), AffineConstantExpr(lanes))
    permutation: list[int] = []
    for expression in write.results[:-1]:
        if expression == panel:
            permutation.append(tiled)
        elif isinstance(expression, AffineDimExpr):
            permutation.append(expression.position)
        else:
            return None
    if sorted(permutation) != list(range(read.num_dims)):
        return None
    fill = next((fill for fill in fills if fill.output is op.outputs[0]), None)
    return Packing(op, fill, tuple(permutation), tiled, lanes)
