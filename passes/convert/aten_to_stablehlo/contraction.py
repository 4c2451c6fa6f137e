"""ATen's products of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32

from ....dialects.stablehlo.chlo_structured import rows_by_groups
from ..onnx_to_stablehlo.contraction import matmul as onnx_matmul
from ..onnx_to_stablehlo.indexing import gather
from .builder import AtenBuilder, Number, Value, element_of, is_float, rank_of, shape_of
from .table import lowers


@lowers("mm", "mv", "dot", "vdot")
def mm(b: AtenBuilder, x: Value, mat2: Value) -> Value:
    return b.dot(x, mat2, ([rank_of(x) - 1], [0]))


@lowers("bmm")
def bmm(b: AtenBuilder, x: Value, mat2: Value) -> Value:
    return b.dot(x, mat2, ([2], [1]), ([0], [0]))


@lowers("matmul")
def matmul(b: AtenBuilder, x: Value, other: Value) -> Value:
    return onnx_matmul(b, x, other)


@lowers("linear")
def linear(b: AtenBuilder, x: Value, weight: Value, bias: Value | None = None) -> Value:
    product = b.dot(x, weight, ([rank_of(x) - 1], [rank_of(weight) - 1]))
    return product if bias is None else b.add(product, bias)


def _scaled(b: AtenBuilder, x: Value, factor: Number) -> Value:
    return x if factor == 1 else b.multiply(x, float(factor) if is_float(x) else int(factor))


def _plus(b: AtenBuilder, x: Value, product: Value, beta: Number, alpha: Number) -> Value:
    product = _scaled(b, product, alpha)
    if beta == 0:  # what is not finite in `x` is ignored
        return product
    return b.add(b.broadcast_to(_scaled(b, b.convert(x, element_of(product)), beta), shape_of(product)), product)


@lowers("addmm", "addmv")
def addmm(b: AtenBuilder, x: Value, mat1: Value, mat2: Value, *, beta: Number = 1, alpha: Number = 1) -> Value:
    return _plus(b, x, mm(b, mat1, mat2), beta, alpha)


@lowers("baddbmm")
def baddbmm(b: AtenBuilder, x: Value, batch1: Value, batch2: Value, *, beta: Number = 1, alpha: Number = 1) -> Value:
    return _plus(b, x, bmm(b, batch1, batch2), beta, alpha)


@lowers("_cdist_forward")
def cdist(b: AtenBuilder, x1: Value, x2: Value, p: float, compute_mode: int | None) -> Value:
    """The distance between every row of one and every row of the other."""
    r1, r2 = rank_of(x1), rank_of(x2)
    return _length(b, b.subtract(b.expand_dims(x1, [r1 - 1]), b.expand_dims(x2, [r2 - 2])), p)


@lowers("_pdist_forward")
def pdist(b: AtenBuilder, x: Value, p: float = 2) -> Value:
    """The distance between every two rows."""
    first, second = np.triu_indices(shape_of(x)[0], 1)
    one, other = (gather(b, x, b.constant(rows.astype(np.int64)), axis=0) for rows in (first, second))
    return _length(b, b.subtract(one, other), p)


def _length(b: AtenBuilder, x: Value, p: float) -> Value:
    """The p-norm along the last dimension."""
    apart = b.abs(x)
    last = [rank_of(apart) - 1]
    match p:
        case 0:
            return b.reduce("add", b.convert(b.compare(apart, 0.0, "NE"), element_of(apart)), last)
        case 1:
            return b.reduce("add", apart, last)
        case 2:
            return b.sqrt(b.reduce("add", b.multiply(apart, apart), last))
        case _ if p == math.inf:
            return b.reduce("maximum", apart, last)
        case _:
            return b.power(b.reduce("add", b.power(apart, p), last), 1 / p)


@lowers("_trilinear")
def trilinear(
    b: AtenBuilder,
    i1: Value,
    i2: Value,
    i3: Value,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Value:
    """The product of three tensors, each with dimensions of size 1 put in, summed."""
    first, second, third = (b.expand_dims(x, axes) for x, axes in ((i1, expand1), (i2, expand2), (i3, expand3)))
    return b.reduce("add", b.multiply(b.multiply(first, second), third), list(sumdim))


@lowers("_grouped_mm", "transformers.grouped_mm_fallback")
def grouped(b: AtenBuilder, x: Value, weight: Value, offs: Value) -> Value:
    """Rows up to the first of `offs` by the first matrix, up to the second by the second, and so on."""
    if (rank_of(x), rank_of(weight)) != (2, 3):
        raise b.fail(f"operands of {rank_of(x)} and {rank_of(weight)} dimensions, expected 2 and 3")
    ends = b.convert(offs, i32)
    groups = shape_of(ends)[0]
    starts = b.concatenate([b.constant(np.zeros(1, np.int32)), b.slice_axis(ends, 0, 0, groups - 1)], 0)
    return b(rows_by_groups(x, weight, b.subtract(ends, starts), 1))
