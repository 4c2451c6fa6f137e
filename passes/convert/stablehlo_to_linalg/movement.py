"""Ops that only move elements: copies with another subscript, reshapes as views, pads and concatenations."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, IndexType, IntegerAttr, IntegerType, TensorType, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....compiler.conversion import RuleBuilder
from ....dialects import stablehlo as hlo
from ....dialects.linalg import IndexOp
from ....dialects.stablehlo.attributes import ints
from ....dialects.tensor import CollapseShapeOp, ConcatOp, ExpandShapeOp, ExtractSliceOp, InsertSliceOp, PadOp, YieldOp
from .rules import (
    PARALLEL,
    RULES,
    Scalars,
    constant_expr,
    d,
    empty,
    filled,
    generic,
    movement,
    result_type,
    scalar_of,
    tensor_type,
)


@RULES.lowers(hlo.TransposeOp)
def transpose(op: hlo.TransposeOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    permutation = ints(op.permutation)
    return movement(b, operands[0], result_type(op), [d(permutation.index(i)) for i in range(len(permutation))])


@RULES.lowers(hlo.BroadcastInDimOp)
def broadcast_in_dim(op: hlo.BroadcastInDimOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = result_type(op)
    source = tensor_type(operands[0]).get_shape()
    dims = ints(op.broadcast_dimensions)
    shape = type_.get_shape()
    exprs = [d(dim) if size == shape[dim] else constant_expr(0) for dim, size in zip(dims, source, strict=True)]
    if not source and isinstance(operands[0].owner, arith.ConstantOp):
        return filled(b, scalar_of(b, operands[0]), type_)
    return movement(b, operands[0], type_, exprs)


@RULES.lowers(hlo.SliceOp)
def slice_(op: hlo.SliceOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    starts, strides = ints(op.start_indices), ints(op.strides)
    return sliced(b, operands[0], starts, result_type(op).get_shape(), strides)


def sliced(
    b: RuleBuilder, value: SSAValue, starts: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> SSAValue:
    """A copy that reads `value` at `i * stride + start`, so that it can fuse with its consumers.

    A subscript that is a loop by itself must run over the whole dimension. So the first `s` of `k * s` elements are
    read from a view of `k` rows; where not even that fits, a tensor.extract_slice stays.
    """
    type_ = tensor_type(value)
    target = TensorType(type_.element_type, sizes)
    if 0 in sizes:
        return empty(b, target)
    view: list[int] = []
    exprs: list[AffineExpr] = []
    for i, (n, start, size, stride) in enumerate(zip(type_.get_shape(), starts, sizes, strides, strict=True)):
        if stride == 1 and 0 < size < n and n % size == 0 and start % size == 0:
            view += [n // size, size]
            exprs += [constant_expr(start // size), d(i)]
            continue
        if size == 1:
            exprs.append(constant_expr(start))
        elif size == n or start > 0 or stride > 1:
            exprs.append(_tidy(d(i) * stride + start))
        else:
            slice_op = ExtractSliceOp(value, starts, sizes, strides, target)
            return b(slice_op).result
        view.append(n)
    return movement(b, reshaped(b, value, view), target, exprs)


@RULES.lowers(hlo.ReverseOp)
def reverse(op: hlo.ReverseOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return flipped(b, operands[0], set(ints(op.dimensions)))


def flipped(b: RuleBuilder, value: SSAValue, dims: set[int]) -> SSAValue:
    """A copy with the order of elements turned around along `dims`."""
    type_ = tensor_type(value)
    exprs = [d(i) * -1 + (size - 1) if i in dims and size > 1 else d(i) for i, size in enumerate(type_.get_shape())]
    return movement(b, value, type_, exprs)


def _tidy(expr: AffineExpr) -> AffineExpr:
    return expr.simplify(8, 0)


@RULES.lowers(hlo.IotaOp)
def iota(op: hlo.IotaOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = result_type(op)
    element = type_.element_type
    rank = type_.get_num_dims()

    def body(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        position = s(IndexOp(op.iota_dimension.value.data))
        if isinstance(element, IntegerType):
            return [s(arith.IndexCastOp(position, element))]
        return [s(arith.SIToFPOp(s(arith.IndexCastOp(position, i64)), cast(AnyFloat, element)))]

    return generic(b, [], [empty(b, type_)], [AffineMap.identity(rank)], [PARALLEL] * rank, body)[0]


@RULES.lowers(hlo.ReshapeOp)
def reshape(op: hlo.ReshapeOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return reshaped(b, operands[0], result_type(op).get_shape())


def reshaped(b: RuleBuilder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """`value` seen with another shape: at most one collapse_shape and one expand_shape, both free."""
    type_ = tensor_type(value)
    source = type_.get_shape()
    if source == tuple(shape):
        return value
    if 0 in shape:
        return empty(b, TensorType(type_.element_type, shape))
    if not source:
        return movement(b, value, TensorType(type_.element_type, shape), [])
    groups = _common_groups(source, shape)
    middle = [prod(source[i] for i in left) for left, _ in groups]
    if len(middle) != len(source):
        value = b(
            CollapseShapeOp.build(
                operands=[value],
                result_types=[TensorType(type_.element_type, middle)],
                properties={"reassociation": _reassociation([left for left, _ in groups])},
            )
        ).result
    if len(middle) != len(shape):
        right = _reassociation([right for _, right in groups])
        value = b(ExpandShapeOp(value, [], right, shape, TensorType(type_.element_type, shape))).result
    return value


def _reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(i, i64) for i in group]) for group in groups])


def _common_groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The finest pairing of runs of dimensions with equal products; trailing ones join the last run.

    A scalar as the target has no groups.
    """
    if not target:
        return []
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(source) and j < len(target):
        left, right = [i], [j]
        p, q = source[i], target[j]
        i, j = i + 1, j + 1
        while p != q:
            if p < q:
                p *= source[i]
                left.append(i)
                i += 1
            else:
                q *= target[j]
                right.append(j)
                j += 1
        groups.append((left, right))
    groups[-1][0].extend(range(i, len(source)))
    groups[-1][1].extend(range(j, len(target)))
    return groups


@RULES.lowers(hlo.ConcatenateOp)
def concatenate(op: hlo.ConcatenateOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    axis = op.dimension.value.data
    parts = [v for v in operands if tensor_type(v).get_shape()[axis]]
    type_ = result_type(op)
    if 0 in type_.get_shape():
        return empty(b, type_)
    return parts[0] if len(parts) == 1 else b(ConcatOp(parts, axis, type_)).result


@RULES.lowers(hlo.PadOp)
def pad(op: hlo.PadOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    low, high, interior = (ints(attr) for attr in (op.edge_padding_low, op.edge_padding_high, op.interior_padding))
    return padded(b, operands[0], scalar_of(b, operands[1]), low, high, interior)


def padded(
    b: RuleBuilder,
    value: SSAValue,
    filler: SSAValue,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
) -> SSAValue:
    """Edges and gaps of `filler` around the elements of `value`; negative edges cut elements off."""
    type_ = tensor_type(value)
    element = type_.element_type
    shape = type_.get_shape()
    gaps = interior or [0] * len(shape)
    if any(gaps):
        spread = [n + max(n - 1, 0) * g for n, g in zip(shape, gaps, strict=True)]
        target = TensorType(element, spread)
        if 0 in spread:
            value = empty(b, target)
        else:
            background = filled(b, filler, target)
            steps = [g + 1 for g in gaps]
            value = b(InsertSliceOp.from_static_parameters(value, background, [0] * len(shape), shape, steps)).result
        shape = spread
    final = [l + n + h for l, n, h in zip(low, shape, high, strict=True)]
    if 0 in final:
        return empty(b, TensorType(element, final))
    if 0 in shape:
        return filled(b, filler, TensorType(element, final))
    if any(n < 0 for n in (*low, *high)):
        starts = [max(-v, 0) for v in low]
        stops = [n + min(v, 0) for n, v in zip(shape, high, strict=True)]
        if any(start >= stop for start, stop in zip(starts, stops, strict=True)):
            return filled(b, filler, TensorType(element, final))
        kept = [stop - start for start, stop in zip(starts, stops, strict=True)]
        value = sliced(b, value, starts, kept, [1] * len(kept))
        low, high = [max(v, 0) for v in low], [max(v, 0) for v in high]
    if not any(low) and not any(high):
        return value
    block = Block(arg_types=[IndexType()] * len(shape))
    block.add_op(YieldOp(filler))
    return b(PadOp(value, [], [], Region(block), low, high, TensorType(element, final))).result
