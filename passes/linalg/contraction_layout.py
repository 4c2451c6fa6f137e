"""Contractions write their results in the order in which the next op reads them.

before: %c = contraction -> tensor<heads x rows x columns>        maps (h, m, n, k) -> (h, m, n)
        %t = generic ins(%c) (m, h, n) -> (h, m, n)               a transposition, perhaps with more to do
after:  %c = contraction -> tensor<rows x heads x columns>        maps (h, m, n, k) -> (m, h, n)
        %t = generic ins(%c) (m, h, n) -> (m, h, n)               an epilogue, or nothing at all
"""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, TensorType
from xdsl.ir import Block, Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.linalg import FillOp, GenericOp, YieldOp
from ...dialects.tensor import EmptyOp
from .grouping import is_elementwise, is_tiled_contraction


def settle_layouts(block: Block) -> None:
    """Permutes the result of every contraction whose only reader wants another order with the same last dimension."""
    for op in list(block.ops):
        if isinstance(op, GenericOp) and is_tiled_contraction(op) and op.res and op.res[0].has_one_use():
            reader = next(iter(op.res[0].uses)).operation
            if isinstance(reader, GenericOp) and is_elementwise(reader):
                _settle(op, reader)


def _settle(op: GenericOp, reader: GenericOp) -> None:
    index = list(reader.operands).index(op.res[0])
    if index >= len(reader.inputs):
        return
    read = reader.maps[index]
    order = [e.position for e in read.results if isinstance(e, AffineDimExpr)]
    rank = len(read.results)
    if sorted(order) != list(range(read.num_dims)) or len(order) != rank or (rank and order[-1] != rank - 1):
        return
    if order != list(range(rank)):
        _permute(op, reader, index, order)


def _permute(op: GenericOp, reader: GenericOp, index: int, order: list[int]) -> None:
    """Dimension j of the result becomes dimension order[j]."""
    fill = op.outputs[0].owner
    type_ = op.res[0].type
    if not isinstance(fill, FillOp):
        return
    source = [order.index(i) for i in range(len(order))]
    shape = [type_.get_shape()[j] for j in source]
    empty = EmptyOp([], TensorType(type_.element_type, shape))
    start = FillOp(fill.value, empty.tensor)
    old = op.maps[-1]
    maps = [*op.maps[:-1], AffineMap(old.num_dims, 0, tuple(old.results[j] for j in source))]
    new = GenericOp.of(list(op.inputs), [start.res[0]], maps, op.iterators, op.detach_region(op.body))
    for inserted in (empty, start, new):
        inserted.location = op.location
        Rewriter.insert_op(inserted, InsertPoint.before(op))
    reader.operands[index] = new.res[0]
    reader_maps = [AffineMapAttr(m) for m in reader.maps]
    reader_maps[index] = AffineMapAttr(AffineMap.identity(len(order)))
    reader.properties["indexing_maps"] = ArrayAttr(reader_maps)
    _erase_if_dead(op)
    _erase_if_dead(fill)
    if _is_copy(reader) and reader.res[0].type == new.res[0].type:
        reader.res[0].replace_all_uses_with(new.res[0])
        _erase_if_dead(reader)


def _erase_if_dead(op: Operation) -> None:
    if not any(result.uses for result in op.results):
        op.detach()
        op.erase()


def _is_copy(op: GenericOp) -> bool:
    body = op.body.block
    return (
        len(op.inputs) == 1
        and len(op.outputs) == 1
        and isinstance(body.first_op, YieldOp)
        and body.first_op.operands[0] is body.args[0]
        and op.maps[0] == op.maps[1]
    )
