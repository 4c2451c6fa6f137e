"""Recognises the packing of a B known only at run time: a copy `to[.., n floordiv P, .., n mod P] = from[..]`.

Or, in groups of G along k, `to[.., n floordiv P, .., k floordiv G, n mod P, k mod G] = from[..]`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineMap

from ....dialects import linalg


@dataclass(frozen=True)
class Packing:
    """One copy into panels. Outer dimension i of `dest` is dimension `permutation[i]` of `source`; `position` is the
    tiled dimension of `source`, `lanes` the width of a panel. `fill` pads the last panel, if it is not whole.
    `group` neighbours along dimension `along` of `source` lie in one lane."""

    op: linalg.GenericOp
    fill: linalg.FillOp | None
    permutation: tuple[int, ...]
    position: int
    lanes: int
    along: int = -1
    group: int = 1

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
    tiles: dict[int, int] = {}
    for expression in write.results[-2:]:
        match expression:
            case AffineBinaryOpExpr(AffineBinaryOpKind.Mod, AffineDimExpr(tiled), AffineConstantExpr(size)):
                tiles[tiled] = size
            case _:
                pass
    permutation: list[int] = []
    for expression in write.results[: -len(tiles) or None]:
        match expression:
            case AffineDimExpr(dim) if dim not in tiles:
                permutation.append(dim)
            case AffineBinaryOpExpr(AffineBinaryOpKind.FloorDiv, AffineDimExpr(dim), AffineConstantExpr(size)) if (
                tiles.get(dim) == size
            ):
                permutation.append(dim)
            case _:
                return None
    if not tiles or sorted(permutation) != list(range(read.num_dims)):
        return None
    (position, lanes), (along, group) = [*tiles.items(), (-1, 1)][:2]
    fill = next((fill for fill in fills if fill.output is op.outputs[0]), None)
    return Packing(op, fill, tuple(permutation), position, lanes, along, group)
