"""Contractions write their results in the order in which the next op reads them.

before: %c = contraction -> tensor<heads x rows x columns>        maps (h, m, n, k) -> (h, m, n)
        %t = generic ins(%c) (m, h, n) -> (h, m, n)               a transposition, perhaps with more to do
after:  %c = contraction -> tensor<rows x heads x columns>        maps (h, m, n, k) -> (m, h, n)
        %t = generic ins(%c) (m, h, n) -> (m, h, n)               an epilogue, or nothing at all

And elementwise ops that follow take over the contraction's own domain where they differ by dimensions of one element,
so that they become epilogues too.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, TensorType
from xdsl.ir import Block, Operation
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.linalg import FillOp, GenericOp, IndexOp, YieldOp
from ...dialects.linalg.views import loop_ranges
from ...dialects.tensor import CollapseShapeOp, EmptyOp, ExpandShapeOp
from .generic_inputs import look_through_unit_reshape
from .grouping import is_elementwise, is_tiled_contraction
from .reshapes import element_type, reshape, tensor_shape


def settle_layouts(block: Block) -> None:
    """Permutes the result of every contraction whose only reader wants another order with the same last dimension."""
    for op in list(block.ops):
        if op.parent is not block or not isinstance(op, GenericOp) or not is_tiled_contraction(op):
            continue
        reader = _only_reader(op)
        if reader is not None:
            op = _settle(op, reader)
        while (reader := _only_reader(op)) is not None and (adopted := _adopt(op, reader)) is not None:
            op = adopted


def _only_reader(op: GenericOp) -> GenericOp | None:
    """The elementwise op that alone reads the result of `op`, as one of its inputs."""
    if not op.res or not op.res[0].has_one_use():
        return None
    use = next(iter(op.res[0].uses))
    reader = use.operation
    if isinstance(reader, GenericOp) and is_elementwise(reader) and use.index < len(reader.inputs):
        return reader
    return None


def _adopt(op: GenericOp, reader: GenericOp) -> GenericOp | None:
    """Rewrites `reader` over the dimensions of the result of `op`; None where these are not its own loops in order.

    Loops of one step are left out or put in; the old result is a view of the new one.
    """
    result = op.res[0]
    index = list(reader.operands).index(result)
    read, ranges = reader.maps[index], loop_ranges(reader)
    shape = tensor_shape(result)
    rank = len(shape)
    if read == AffineMap.identity(rank) and len(ranges) == rank:
        return reader
    if any(n != 1 and not _goes_through(e, n, ranges) for e, n in zip(read.results, shape, strict=True)):
        return None  # a part of it
    live = [d for d, n in enumerate(ranges) if n != 1]
    subscripts = [e.position for e in read.results if isinstance(e, AffineDimExpr) and ranges[e.position] != 1]
    if subscripts != live or len(reader.res) != 1 or any(isinstance(o, IndexOp) for o in reader.body.block.walk()):
        return None
    place = iter(d for d, n in enumerate(shape) if n != 1)
    dims: list[AffineExpr] = [AffineDimExpr(next(place)) if n != 1 else AffineConstantExpr(0) for n in ranges]
    maps = [_over(m, dims, rank) for m in reader.maps[: len(reader.inputs)]]
    maps[index] = AffineMap.identity(rank)
    old = reader.res[0]
    empty = EmptyOp([], TensorType(element_type(old), shape))
    identity = AffineMap.identity(rank)
    new = GenericOp.of(
        list(reader.inputs), [empty.tensor], [*maps, identity], ["parallel"] * rank, reader.detach_region(reader.body)
    )
    for inserted in (empty, new):
        inserted.location = reader.location
        Rewriter.insert_op(inserted, InsertPoint.before(reader))
    view = reshape(new.res[0], tensor_shape(old), reader)
    view.name_hint = old.name_hint
    old.replace_all_uses_with(view)
    reader.detach()
    reader.erase()
    for use in list(view.uses):
        user, owner = use.operation, view.owner
        if isinstance(user, GenericOp) and isinstance(owner, CollapseShapeOp | ExpandShapeOp):
            look_through_unit_reshape(user, use.index, owner)
    return new


def _goes_through(subscript: AffineExpr, size: int, ranges: tuple[int, ...]) -> bool:
    return isinstance(subscript, AffineDimExpr) and ranges[subscript.position] == size


def _over(map_: AffineMap, dims: list[AffineExpr], rank: int) -> AffineMap:
    return AffineMap(rank, 0, tuple(e.replace_dims_and_symbols(dims, []) for e in map_.results))


def _settle(op: GenericOp, reader: GenericOp) -> GenericOp:
    """Gives the result of `op` the order of the reader's loops; the op that then computes it."""
    index = list(reader.operands).index(op.res[0])
    read = reader.maps[index]
    order = [e.position for e in read.results if isinstance(e, AffineDimExpr)]
    rank = len(read.results)
    if sorted(order) != list(range(read.num_dims)) or len(order) != rank or (rank and order[-1] != rank - 1):
        return op
    return _permute(op, reader, index, order) if order != list(range(rank)) else op


def _permute(op: GenericOp, reader: GenericOp, index: int, order: list[int]) -> GenericOp:
    """Dimension j of the result becomes dimension order[j]."""
    fill = op.outputs[0].owner
    type_ = op.res[0].type
    if not isinstance(fill, FillOp):
        return op
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
    return new


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
