"""The loop nest of `linalg.pack`: for each tile, copy what lies inside of the source and pad the rest."""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet

from ....dialects.affine import IfOp, LoadOp, YieldOp
from ....dialects.linalg import PackOp
from .nests import Nest

__all__ = ["lower_pack"]


def lower_pack(op: PackOp) -> None:
    """One loop per dimension of the destination; `affine.if` where a tile may stick out of the source."""
    source_type, dest_type = op.source.type, op.dest.type
    assert isinstance(source_type, MemRefType) and isinstance(dest_type, MemRefType)
    shape, rank = dest_type.get_shape(), len(source_type.get_shape())
    loops = list(range(len(shape)))
    nest = Nest(op, loops, shape)
    subscripts: list[AffineExpr] = [AffineExpr.constant(0)] * rank
    for outer, dim in enumerate(op.permutation):
        subscripts[dim] = AffineExpr.dimension(outer)
    ragged: list[AffineConstraintExpr] = []
    for inner, (dim, tile) in enumerate(zip(op.positions, op.tiles, strict=True)):
        extent = source_type.get_shape()[dim]
        subscripts[dim] = subscripts[dim] * tile + AffineExpr.dimension(rank + inner)
        if extent % tile:
            rest = subscripts[dim] * -1 + (extent - 1)
            ragged.append(AffineConstraintExpr(AffineConstraintKind.ge, rest, AffineExpr.constant(0)))
    map = AffineMap(len(shape), 0, tuple(subscripts))
    innermost = len(loops)
    if not ragged:
        value = nest.load(op.source, map, {}, innermost)
    else:
        assert op.padding_value is not None
        value = nest.add(_guarded(nest, op, map, ragged, op.padding_value), innermost).results[0]
    nest.store(value, op.dest, AffineMap.identity(len(shape)), innermost)
    nest.close(1, innermost, [], [])
    nest.insert()


def _guarded(
    nest: Nest, op: PackOp, map: AffineMap, inside: list[AffineConstraintExpr], padding: SSAValue
) -> Operation:
    access, operands = nest.access(op.source, map, {})
    load = LoadOp(access.memref, operands, AffineMapAttr(access.map))
    then = Block([load, YieldOp.get(load.result)])
    otherwise = Block([YieldOp.get(padding)])
    indices = [nest.index[d] for d in nest.loops]
    condition = AffineSetAttr(AffineSet(len(indices), 0, tuple(inside)))
    return IfOp(condition, indices, [padding.type], Region(then), Region(otherwise))
