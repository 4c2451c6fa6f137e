"""Ops whose subscripts are computed: dynamic slices, gather and scatter. Places are clamped as specified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, ModuleOp, UnitAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.traits import ConstantLike

from ....compiler.conversion import RuleBuilder
from ....compiler.traits import has
from ....compiler.weights import WeightStore
from ....dialects import stablehlo as hlo
from ....dialects.linalg import IndexOp, PackOp
from ....dialects.stablehlo.constants import constant_value, integer_of
from ....dialects.tensor import ExtractOp, ExtractSliceOp, InsertOp, InsertSliceOp
from ...bufferization.layout import are_rows
from ...linalg.fold_constants import grows
from ...linalg.hoist_constants import is_constant_argument
from ...stablehlo.integer_ranges import Range, value_range
from .rules import (
    PARALLEL,
    RULES,
    Scalars,
    constant_expr,
    d,
    empty,
    generic,
    is_unsigned,
    result_type,
    tensor_type,
)
from .scalars import scalar_region

IN_BOUNDS = "lamina.in_bounds"  # on an op within this pass: no start index need be clamped
_FOLDED = (PackOp, hlo.ReshapeOp, hlo.BitcastConvertOp)
VIEW = "lamina.view"  # on an op within this pass: what it cuts out is read where it lies


def note_bounds(module: ModuleOp, weights: WeightStore) -> None:
    """Marks the gathers whose start indices are known to be inside, while the ops that tell so are there."""
    for op in module.walk():
        if isinstance(op, hlo.GatherOp):
            shape, sizes = (
                tensor_type(op.operand).get_shape(),
                cast(Sequence[int], cast(Any, op.slice_sizes).get_values()),
            )
            limits = [shape[i] - sizes[i] for i in op.dimension_numbers.data.start_index_map]
            found = value_range(op.start_indices, lambda value: constant_value(value, weights))
            if limits and found is not None and found.within(Range(0, min(limits))):
                op.attributes[IN_BOUNDS] = UnitAttr()


def note_views(module: ModuleOp) -> None:
    """Marks the slices of constants whose elements are behind each other in memory."""
    for op in module.walk():
        if isinstance(op, hlo.DynamicSliceOp) and _is_fixed(op.operand):
            shape, sizes = (tensor_type(value).get_shape() for value in (op.operand, op.results[0]))
            if 0 not in sizes and are_rows(shape, sizes):
                op.attributes[VIEW] = UnitAttr()


def _is_fixed(value: SSAValue) -> bool:
    """Whether a value is a constant, or will be: in panels, where these are not much larger."""
    made = value.owner if isinstance(value.owner, Operation) else None
    if isinstance(made, _FOLDED):
        return _is_fixed(made.operands[0]) and not grows(made)
    return is_constant_argument(value) or (made is not None and has(made, ConstantLike))


def _as_index(s: Scalars, x: SSAValue, unsigned: bool) -> SSAValue:
    """An integer as an index; unsigned ones beyond the signed range become the largest."""
    bits = cast(IntegerType, x.type).width.data
    if bits < 64:
        x = s((arith.ExtUIOp if unsigned else arith.ExtSIOp)(x, i64))
    elif unsigned:
        x = s(arith.MinUIOp(x, s.constant(2**63 - 1, i64)))
    return s(arith.IndexCastOp(x, IndexType()))


def _clamped(s: Scalars, x: SSAValue, unsigned: bool, limit: int) -> SSAValue:
    """A start index moved into [0, limit]."""
    index = _as_index(s, x, unsigned)
    low = s(arith.MaxSIOp(index, s.constant(0, IndexType())))
    return s(arith.MinSIOp(low, s.constant(limit, IndexType())))


@RULES.lowers(hlo.DynamicSliceOp)
def dynamic_slice(op: hlo.DynamicSliceOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    source, *starts = operands
    type_ = result_type(op)
    rank = type_.get_num_dims()
    limits = [n - size for n, size in zip(tensor_type(source).get_shape(), type_.get_shape(), strict=True)]
    known = {i: integer_of(op.operands[1 + i]) for i, limit in enumerate(limits) if limit}
    moving = [i for i, start in known.items() if start is None]
    unsigned = is_unsigned(op, 1)
    if VIEW in op.attributes and moving:
        computed = iter(_offsets({i: starts[i] for i in moving}, limits, unsigned, b))
        offsets = [next(computed) if i in moving else min(max(known.get(i) or 0, 0), limits[i]) for i in range(rank)]
        return b(ExtractSliceOp(source, offsets, type_.get_shape(), [1] * rank, type_)).result

    def body(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        where = [s(IndexOp(i)) for i in range(rank)]
        for i, start in known.items():
            if start is not None and (first := min(max(start, 0), limits[i])):
                where[i] = s(arith.AddiOp(where[i], s.constant(first, IndexType())))
        for i, start in zip(moving, args, strict=False):
            where[i] = s(arith.AddiOp(_clamped(s, start, unsigned, limits[i]), where[i]))
        return [s(ExtractOp(source, where, tensor_type(source).element_type))]

    inputs = [starts[i] for i in moving]
    maps = [AffineMap(rank, 0, ())] * len(inputs) + [AffineMap.identity(rank)]
    return generic(b, inputs, [empty(b, type_)], maps, [PARALLEL] * rank, body)[0]


@RULES.lowers(hlo.DynamicUpdateSliceOp)
def dynamic_update_slice(op: hlo.DynamicUpdateSliceOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """An insertion at computed offsets: where nothing else reads the operand, it happens in its memory."""
    source, update, *starts = operands
    sizes = tensor_type(update).get_shape()
    limits = [n - size for n, size in zip(result_type(op).get_shape(), sizes, strict=True)]
    moving = [i for i, limit in enumerate(limits) if limit]
    if not moving:
        return update
    if 0 in sizes:
        return source
    offsets = _offsets({i: starts[i] for i in moving}, limits, is_unsigned(op, 2), b)
    static = [DYNAMIC_INDEX if i in moving else 0 for i in range(len(sizes))]
    return b(InsertSliceOp.get(update, source, sizes, static, offsets=offsets)).result


def _offsets(starts: Mapping[int, SSAValue], limits: Sequence[int], unsigned: bool, b: RuleBuilder) -> list[SSAValue]:
    """Start indices, by dimension, as indices that are moved into bounds."""
    scalars = Scalars(Block())
    found: list[SSAValue] = []
    for i, start in starts.items():
        read = scalars(ExtractOp(start, [], tensor_type(start).element_type))
        found.append(_clamped(scalars, read, unsigned, limits[i]))
    _move(scalars.block, b)
    return found


@RULES.lowers(hlo.GatherOp)
def gather(op: hlo.GatherOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """A generic over the result; the components of the index vectors are inputs, the operand is extracted from."""
    source, indices = operands
    n = op.dimension_numbers.data
    type_ = result_type(op)
    rank = type_.get_num_dims()
    shape = tensor_type(source).get_shape()
    sizes: Sequence[int] = cast(Any, op.slice_sizes).get_values()
    batch = [i for i in range(rank) if i not in n.offset_dims]
    index_rank = tensor_type(indices).get_num_dims()

    def component(j: int) -> AffineMap:
        exprs: list[AffineExpr] = [d(i) for i in batch]
        if n.index_vector_dim < index_rank:
            exprs.insert(n.index_vector_dim, constant_expr(j))
        return AffineMap(rank, 0, tuple(exprs))

    dropped = (*n.collapsed_slice_dims, *n.operand_batching_dims)
    offset_loop = dict(zip([i for i in range(len(shape)) if i not in dropped], n.offset_dims, strict=True))
    batch_loop = {
        dim: batch[at - (at > n.index_vector_dim)]
        for dim, at in zip(n.operand_batching_dims, n.start_indices_batching_dims, strict=True)
    }
    unsigned, inside = is_unsigned(op, 1), IN_BOUNDS in op.attributes

    def body(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        starts = dict(zip(n.start_index_map, args, strict=False))
        where: list[SSAValue] = []
        for dim, size in enumerate(shape):
            parts: list[SSAValue] = []
            if dim in starts and size != sizes[dim]:
                start = starts[dim]
                parts.append(
                    _as_index(s, start, unsigned) if inside else _clamped(s, start, unsigned, size - sizes[dim])
                )
            if dim in offset_loop and sizes[dim] > 1:
                parts.append(s(IndexOp(offset_loop[dim])))
            if dim in batch_loop:
                parts.append(s(IndexOp(batch_loop[dim])))
            place = parts[0] if parts else s.constant(0, IndexType())
            for part in parts[1:]:
                place = s(arith.AddiOp(place, part))
            where.append(place)
        return [s(ExtractOp(source, where, tensor_type(source).element_type))]

    count = len(n.start_index_map)
    maps = [*(component(j) for j in range(count)), AffineMap.identity(rank)]
    return generic(b, [indices] * count, [empty(b, type_)], maps, [PARALLEL] * rank, body)[0]


@RULES.lowers(hlo.ScatterOp)
def scatter(op: hlo.ScatterOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    """Loops over the updates, in order; one outside the operand leaves the element it would be clamped to as is."""
    count = len(op.results)
    inputs, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    n = op.scatter_dimension_numbers.data
    shape = tensor_type(inputs[0]).get_shape()
    update_shape = tensor_type(updates[0]).get_shape()
    if 0 in shape or 0 in update_shape:
        return inputs
    batch = [i for i in range(len(update_shape)) if i not in n.update_window_dims]
    dropped = (*n.inserted_window_dims, *n.input_batching_dims)
    window_loop = dict(zip([i for i in range(len(shape)) if i not in dropped], n.update_window_dims, strict=True))
    batch_loop = {
        dim: batch[at - (at > n.index_vector_dim)]
        for dim, at in zip(n.input_batching_dims, n.scatter_indices_batching_dims, strict=True)
    }
    unsigned = is_unsigned(op, count)
    region = op.regions[0].block
    index = IndexType()

    def element(s: Scalars, loops: Sequence[SSAValue], totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        at = [loops[i] for i in batch]
        where: list[SSAValue] = []
        inside: SSAValue | None = None
        for dim, size in enumerate(shape):
            parts: list[SSAValue] = []
            if dim in n.scatter_dims_to_operand_dims:
                which = s.constant(n.scatter_dims_to_operand_dims.index(dim), index)
                vector = list(at)
                if n.index_vector_dim < tensor_type(indices).get_num_dims():
                    vector.insert(n.index_vector_dim, which)
                start = s(ExtractOp(indices, vector, tensor_type(indices).element_type))
                parts.append(_as_index(s, start, unsigned))
            if dim in window_loop:
                parts.append(loops[window_loop[dim]])
            if dim in batch_loop:
                parts.append(loops[batch_loop[dim]])
            place = parts[0] if parts else s.constant(0, index)
            for part in parts[1:]:
                place = s(arith.AddiOp(place, part))
            if dim in n.scatter_dims_to_operand_dims:
                here = s(arith.CmpiOp(place, s.constant(size, index), "ult"))
                inside = here if inside is None else s(arith.AndIOp(inside, here))
                place = s(arith.SelectOp(here, place, s.constant(0, index)))
            where.append(place)
        old = [s(ExtractOp(t, where, tensor_type(t).element_type)) for t in totals]
        new = [s(ExtractOp(u, loops, tensor_type(u).element_type)) for u in updates]
        combined = scalar_region(s, region, [*old, *new])
        if inside is not None:
            combined = [s(arith.SelectOp(inside, c, o)) for c, o in zip(combined, old, strict=True)]
        return [s(InsertOp(c, t, where)) for c, t in zip(combined, totals, strict=True)]

    return loop_nest(b, update_shape, inputs, element)


def loop_nest(b: RuleBuilder, shape: Sequence[int], tensors: Sequence[SSAValue], element: Any) -> Sequence[SSAValue]:
    """scf.for loops over `shape` that carry `tensors`; `element(scalars, loops, tensors)` gives the next ones."""
    if not shape:
        block = Block()
        results = element(Scalars(block), [], tensors)
        _move(block, b)
        return results

    def level(s: Scalars, depth: int, loops: list[SSAValue], totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if depth == len(shape):
            return element(s, loops, totals)
        index = IndexType()
        bounds = [s.constant(v, index) for v in (0, shape[depth], 1)]
        body = Block(arg_types=[index, *(t.type for t in totals)])
        inner = level(Scalars(body), depth + 1, [*loops, body.args[0]], body.args[1:])
        body.add_op(scf.YieldOp(*inner))
        loop = scf.ForOp(bounds[0], bounds[1], bounds[2], totals, Region(body))
        s(cast(Operation, loop))
        return loop.results

    block = Block()
    results = level(Scalars(block), 0, [], tensors)
    _move(block, b)
    return results


def _move(block: Block, b: RuleBuilder) -> None:
    """Puts the ops of a block where the builder inserts."""
    for op in list(block.ops):
        op.detach()
        b(op)
