"""Contractions write their results in the order in which the next op reads them.

before: %c = contraction -> tensor<heads x rows x columns>        maps (h, m, n, k) -> (h, m, n)
        %t = generic ins(%c) (m, h, n) -> (h, m, n)               a transposition, perhaps with more to do
after:  %c = contraction -> tensor<rows x heads x columns>        maps (h, m, n, k) -> (m, h, n)
        %t = generic ins(%c) (m, h, n) -> (m, h, n)               an epilogue, or nothing at all

Parts of columns that are put elsewhere, as the features that a transposed convolution makes places of, are loops of
their own, so that the contraction puts them there:

before: %c = contraction -> tensor<56x56x128>                     maps (p, q, n, k) -> (p, q, n)
        %e = expand_shape %c into tensor<56x56x2x64>
        %t = generic ins(%e) (p, q, r, n) -> (p, r, q, n)
after:  %t = contraction -> tensor<56x2x56x64>                    maps (p, q, r, n, k) -> (p, r, q, n)

And elementwise ops that follow take over the contraction's own domain where they differ by dimensions of one element,
so that they become epilogues too.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.linalg import FillOp, GenericOp, IndexOp
from ...dialects.linalg.views import loop_ranges
from ...dialects.tensor import CollapseShapeOp, EmptyOp, ExpandShapeOp
from .generic_inputs import is_pure_movement, look_through_unit_reshape
from .grouping import is_elementwise, is_tiled_contraction
from .reshapes import element_type, expand, merged_dimensions, reshape, tensor_shape

FEWEST_COLUMNS = 16  # that lie together: of less a kernel would compute vectors of which it stores a part


def split_columns(block: Block) -> None:
    """Lets contractions write what is moved right away, part by part of their columns, where it is moved to.

    Only where those who read it see rows and parts as one: else they, or what they become, read it in any order.
    """
    for op in list(block.ops):
        if not isinstance(op, ExpandShapeOp) or not (op.src.has_one_use() and op.result.has_one_use()):
            continue
        producer, [use] = op.src.owner, op.result.uses
        if isinstance(producer, GenericOp) and is_tiled_contraction(producer) and producer.parent is block:
            mover = use.operation
            if isinstance(mover, GenericOp) and is_pure_movement(mover) and _merges(mover.res[0]):
                _split_columns(producer, op, mover)


def _merges(value: SSAValue) -> bool:
    """Whether dimensions of a value are one for what alone reads it, which then cannot read them in another order."""
    readers = [use.operation for use in value.uses]
    sizes = tensor_shape(value)
    return (
        len(readers) == 1
        and isinstance(reader := readers[0], CollapseShapeOp)
        and any(sum(sizes[i] != 1 for i in group) > 1 for group in merged_dimensions(reader))
    )


def _split_columns(op: GenericOp, view: ExpandShapeOp, mover: GenericOp) -> None:
    """Where the parts are whole columns of `op` and the last of them stays last."""
    fill, sizes, column = op.outputs[0].owner, tensor_shape(view.result), op.maps[-1].results[-1]
    *rows, columns = ([i for i in group if sizes[i] != 1] for group in merged_dimensions(view))
    moved = [i for i in _read_by_loops(mover) if sizes[i] != 1]
    if any(len(group) > 1 for group in rows) or len(columns) < 2 or moved[-1:] != columns[-1:]:
        return
    reading = [i for i, m in enumerate(op.maps[:-1]) if column in m.results]
    used = sum(column in e.dfs() for m in op.maps[:-1] for e in m.results)
    if not isinstance(column, AffineDimExpr) or len(reading) != 1 or used != 1:
        return  # it is part of a subscript
    if not isinstance(fill, FillOp) or sizes[columns[-1]] < FEWEST_COLUMNS:
        return
    at, more = column.position, len(columns) - 1
    rank = op.maps[0].num_dims + more
    renamed = [AffineExpr.dimension(d + more * (d > at)) for d in range(op.maps[0].num_dims)]
    parts = [AffineExpr.dimension(at + i) for i in range(len(columns))]

    def split(map_: AffineMap) -> list[list[AffineExpr]]:
        return [parts if e == column else [e.replace_dims_and_symbols(renamed, [])] for e in map_.results]

    *read, result = map(split, op.maps)
    inputs = list(op.inputs)
    lengths = [sizes[i] for i in columns]
    shape = tensor_shape(inputs[reading[0]])
    groups = [lengths if exprs is parts else [n] for exprs, n in zip(read[reading[0]], shape, strict=True)]
    inputs[reading[0]] = expand(inputs[reading[0]], groups, op)
    written = {group[0]: exprs[0] for group, exprs in zip(rows, result, strict=False) if group}
    written |= dict(zip(columns, parts, strict=True))
    alone = [exprs[0] for group, exprs in zip(rows, result, strict=False) if not group]  # of one step
    to = [*alone, *(written[i] for i in moved)]
    empty = EmptyOp([], TensorType(element_type(op.res[0]), [1] * len(alone) + [sizes[i] for i in moved]))
    start = FillOp(fill.value, empty.tensor)
    maps = [AffineMap(rank, 0, tuple(e for exprs in each for e in exprs)) for each in (*read, [to])]
    iterators = [*op.iterators[:at], *["parallel"] * more, *op.iterators[at:]]
    new = GenericOp.of(inputs, [start.res[0]], maps, iterators, op.body.clone())
    for inserted in (empty, start, new):
        inserted.location = op.location
        Rewriter.insert_op(inserted, InsertPoint.before(mover))
    mover.res[0].replace_all_uses_with(reshape(new.res[0], tensor_shape(mover.res[0]), mover))
    for old in (mover, view, op, fill):
        _erase_if_dead(old)


def _read_by_loops(mover: GenericOp) -> list[int]:
    """Which dimension of its operand each loop of a movement reads; none where it does more than permute them."""
    read = [e.position for e in mover.maps[0].results if isinstance(e, AffineDimExpr)]
    rank = mover.maps[0].num_dims
    if len(read) != len(mover.maps[0].results) or sorted(read) != list(range(rank)):
        return []
    return [read.index(d) for d in range(rank)] if mover.maps[1] == AffineMap.identity(rank) else []


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
    return is_pure_movement(op) and len(op.outputs) == 1 and op.maps[0] == op.maps[1]
