"""Views: which buffer a memref value is a view of, and where an index of the view lies in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerAttr, MemRefType, i64
from xdsl.dialects.memref import (
    AssumeAlignmentOp,
    CastOp,
    CollapseShapeOp,
    ExpandShapeOp,
    MemorySpaceCastOp,
    ReinterpretCastOp,
    SubviewOp,
    ViewOp,
)
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

VIEW_OPS = (
    AssumeAlignmentOp,
    CastOp,
    CollapseShapeOp,
    ExpandShapeOp,
    MemorySpaceCastOp,
    ReinterpretCastOp,
    SubviewOp,
    ViewOp,
)


def root(value: SSAValue) -> SSAValue:
    """The buffer behind all views: a function argument, an allocation, or whatever else makes memory."""
    while isinstance(value, OpResult) and _is_view(type(value.op)):
        value = value.op.operands[0]
    return value


@cache
def _is_view(cls: type[Operation]) -> bool:
    """Asked for every access, of few classes."""
    return issubclass(cls, VIEW_OPS)


def kept_dims(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The dimensions of a slice of `sizes` that its rank-reduced `shape` keeps.

    >>> kept_dims([1, 4, 1, 8], [4, 1, 8])
    [1, 2, 3]
    """
    kept: list[int] = []
    missing = len(sizes) - len(shape)
    for dim, size in enumerate(sizes):
        position = len(kept)
        same = position < len(shape) and shape[position] == size
        if missing and size == 1 and not (same and _fits(sizes[dim + 1 :], shape[position + 1 :])):
            missing -= 1
            continue
        kept.append(dim)
    return kept


def _fits(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether dropping unit sizes can give `shape`."""
    rest = [s for s in sizes if s != 1]
    return [s for s in shape if s != 1] == rest and len(shape) <= len(sizes)


@dataclass(frozen=True)
class Access:
    """An element of `memref` at `map` of some indices (its dimensions) and `symbols`."""

    memref: SSAValue
    map: AffineMap
    symbols: tuple[SSAValue, ...] = ()


def through_subviews(memref: SSAValue, map: AffineMap) -> Access:
    """The access `memref[map(...)]` as one of the buffer that subviews were taken of.

    Only `memref.subview` is seen through: the other views keep the row-major order, so they may stay.
    """
    access = Access(memref, map)
    while isinstance(access.memref.owner, SubviewOp):
        access = _through(access.memref.owner, access)
    return access


def _through(op: SubviewOp, access: Access) -> Access:
    inner, symbols = access.map, list(access.symbols)
    assert isinstance(op.result.type, MemRefType)
    sizes = list(op.static_sizes.get_values())
    kept = kept_dims(sizes, op.result.type.get_shape())
    offsets, strides = op.static_offsets.get_values(), op.static_strides.get_values()
    dynamic = iter(op.offsets)
    results: list[AffineExpr] = []
    for dim, (offset, stride) in enumerate(zip(offsets, strides, strict=True)):
        if stride == DYNAMIC_INDEX:
            raise ValueError("a subview with a computed stride is not affine")
        index = inner.results[kept.index(dim)] * stride if dim in kept else AffineExpr.constant(0)
        if offset == DYNAMIC_INDEX:
            index = index + AffineExpr.symbol(len(symbols))
            symbols.append(next(dynamic))
        else:
            index = index + offset
        results.append(index)
    map = AffineMap(inner.num_dims, len(symbols), tuple(results))
    return Access(op.source, map, tuple(symbols))


def collapse(value: SSAValue, groups: Sequence[Sequence[int]]) -> CollapseShapeOp:
    """`memref.collapse_shape` of a row-major buffer; each group of dimensions becomes one."""
    type_ = value.type
    assert isinstance(type_, MemRefType)
    shape = [prod(type_.get_shape()[i] for i in group) for group in groups]
    return CollapseShapeOp.create(
        operands=[value],
        result_types=[MemRefType(type_.element_type, shape)],
        properties={"reassociation": reassociation(groups)},
    )


def expand(value: SSAValue, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> ExpandShapeOp:
    """`memref.expand_shape` of a row-major buffer to `shape`."""
    type_ = value.type
    assert isinstance(type_, MemRefType)
    return ExpandShapeOp.create(
        operands=[value],
        result_types=[MemRefType(type_.element_type, shape)],
        properties={
            "reassociation": reassociation(groups),
            "static_output_shape": DenseArrayBase.from_list(i64, list(shape)),
        },
    )


def reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    """The attribute of the shape ops: which dimensions belong together."""
    return ArrayAttr([ArrayAttr([IntegerAttr(i, i64) for i in group]) for group in groups])
