"""Operands of a structured op seen over its loops: affine maps as strides where they are linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ShapedType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ...compiler.weights import Array


def linear_form(expr: AffineExpr) -> tuple[dict[int, int], int] | None:
    """`expr` as coefficients per dimension and a constant, or None when it divides or multiplies dimensions.

    >>> d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
    >>> linear_form(d0 * 2 + d1 + 3)
    ({0: 2, 1: 1}, 3)
    """
    match expr:
        case AffineDimExpr():
            return {expr.position: 1}, 0
        case AffineConstantExpr():
            return {}, expr.value
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            left, right = linear_form(expr.lhs), linear_form(expr.rhs)
            if left is None or right is None:
                return None
            total = dict(left[0])
            for dim, factor in right[0].items():
                total[dim] = total.get(dim, 0) + factor
            return total, left[1] + right[1]
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
            left, right = linear_form(expr.lhs), linear_form(expr.rhs)
            if left is None or right is None or (left[0] and right[0]):
                return None
            scaled, by = (left, right[1]) if left[0] else (right, left[1])
            return {dim: factor * by for dim, factor in scaled[0].items()}, scaled[1] * by
        case _:
            return None


def loop_ranges(op: LinalgStructuredOperation) -> tuple[int, ...]:
    """The trip count of every loop, read off the operands' static shapes."""
    ranges: dict[int, int] = {}
    for operand, attr in zip(op.operands, op.get_indexing_maps(), strict=True):
        if isinstance(operand.type, ShapedType):
            for expr, size in zip(attr.data.results, operand.type.get_shape(), strict=True):
                if isinstance(expr, AffineDimExpr):
                    ranges[expr.position] = size
    return tuple(ranges[d] for d in range(len(op.get_iterator_types())))


def view(array: Array, map_: AffineMap, ranges: Sequence[int]) -> Array:
    """`array` over the loops: one axis per loop, of extent 1 where the map does not use the loop.

    A strided view of `array` where the map is linear (windows overlap), else a gathered copy.
    """
    array = np.asarray(array)
    if not map_.results:
        return array.reshape((1,) * len(ranges))
    forms = [linear_form(expr) for expr in map_.results]
    used = {dim for expr in map_.results for dim in expr.used_dims()}
    shape = tuple(size if dim in used else 1 for dim, size in enumerate(ranges))
    if 0 in shape:
        return np.empty(shape, array.dtype)
    if any(form is None for form in forms):
        grids = open_grids(shape)
        index = tuple(evaluate(expr, grids) for expr in map_.results)
        return np.broadcast_to(array[index], shape)
    strides = [0] * len(ranges)
    offsets: list[int] = []
    for form, stride in zip(forms, array.strides, strict=True):
        coefficients, constant = cast(tuple[dict[int, int], int], form)
        for dim, factor in coefficients.items():
            strides[dim] += factor * stride
        offsets.append(constant)
    if not array.size:
        return np.empty(shape, array.dtype)
    start = array[tuple(slice(offset, None) for offset in offsets)]
    return np.lib.stride_tricks.as_strided(start, shape, strides, writeable=False)


def open_grids(shape: Sequence[int]) -> list[Array]:
    """The index along each axis, as arrays that broadcast against each other."""
    rank = len(shape)
    return [
        np.arange(n, dtype=np.int64).reshape([-1 if i == d else 1 for i in range(rank)]) for d, n in enumerate(shape)
    ]


def evaluate(expr: AffineExpr, dims: Sequence[Array]) -> Array:
    """An affine expression on arrays of indices."""
    match expr:
        case AffineDimExpr():
            return dims[expr.position]
        case AffineConstantExpr():
            return np.asarray(expr.value)
        case AffineBinaryOpExpr():
            left, right = evaluate(expr.lhs, dims), evaluate(expr.rhs, dims)
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return left + right
                case AffineBinaryOpKind.Mul:
                    return left * right
                case AffineBinaryOpKind.Mod:
                    return left % right
                case AffineBinaryOpKind.FloorDiv:
                    return left // right
                case AffineBinaryOpKind.CeilDiv:
                    return -(-left // right)
        case _:
            raise NotImplementedError(f"symbol in an indexing map: {expr}")
