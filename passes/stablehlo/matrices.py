"""Batches of matrices and vectors, as the expansions of linear algebra compute with them.

A matrix lies in the last two dimensions, a vector in the last; what stands before is the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ComplexType, TensorType, i32
from xdsl.ir import Attribute, SSAValue

from ...compiler.dtypes import dense_attribute, dtype_of
from ...dialects.stablehlo import (
    ComplexOp,
    ConstantOp,
    DotGeneralOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    ImagOp,
    IotaOp,
    RealOp,
    ReduceOp,
    TransposeOp,
)
from .elements import Elements


def is_complex(x: Elements) -> bool:
    return isinstance(x.element_type, ComplexType)


def real(x: Elements) -> Elements:
    return x.of(RealOp(x.value)) if is_complex(x) else x


def imaginary(x: Elements) -> Elements:
    return x.of(ImagOp(x.value))


def of_real(x: Elements, like: Elements) -> Elements:
    return x.of(ComplexOp(x.value, x.like(0.0).value)) if is_complex(like) else x


def conjugate(x: Elements) -> Elements:
    if not is_complex(x):
        return x
    return x.of(ComplexOp(real(x).value, (-imaginary(x)).value))


def swapped(x: Elements) -> Elements:
    rank = len(x.shape)
    return x.of(TransposeOp(x.value, permutation=[*range(rank - 2), rank - 1, rank - 2]))


def adjoint(x: Elements) -> Elements:
    return conjugate(swapped(x))


def _starts(x: Elements, axis: int, at: Elements) -> list[SSAValue]:
    zero = at.like(0).value
    return [at.value if i == axis else zero for i in range(len(x.shape))]


def cut(x: Elements, axis: int, at: Elements) -> Elements:
    """The slice at one place of an axis, without that axis."""
    sizes = [1 if i == axis else n for i, n in enumerate(x.shape)]
    piece = x.of(DynamicSliceOp(x.value, _starts(x, axis, at), slice_sizes=sizes))
    return piece.reshape(*sizes[:axis], *sizes[axis + 1 :])


def put(x: Elements, piece: Elements, axis: int, at: Elements) -> Elements:
    """`x` with a slice replaced."""
    whole = piece.reshape(*piece.shape[:axis], 1, *piece.shape[axis:])
    return x.of(DynamicUpdateSliceOp(x.value, whole.value, _starts(x, axis, at)))


def times_vector(matrix: Elements, vector: Elements) -> Elements:
    batch, last = list(range(len(vector.shape) - 1)), len(vector.shape) - 1
    return _product(matrix, vector, batch, last + 1, last)


def times_matrix(vector: Elements, matrix: Elements) -> Elements:
    batch, last = list(range(len(vector.shape) - 1)), len(vector.shape) - 1
    return _product(vector, matrix, batch, last, last)


def _product(left: Elements, right: Elements, batch: list[int], left_sum: int, right_sum: int) -> Elements:
    product = DotGeneralOp(
        left.value,
        right.value,
        lhs_batching_dimensions=batch,
        rhs_batching_dimensions=batch,
        lhs_contracting_dimensions=[left_sum],
        rhs_contracting_dimensions=[right_sum],
    )
    return left.of(product)


def places(like: Elements, n: int) -> Elements:
    """0, 1, 2, ... of i32."""
    return like.of(IotaOp(TensorType(i32, [n]), 0))


def same(x: Elements, n: int) -> Elements:
    return x.broadcast((n,), ())


def spread(x: Elements, shape: tuple[int, ...], dimensions: Sequence[int]) -> Elements:
    return x if x.shape == shape else x.broadcast(shape, tuple(dimensions))


def times(left: Elements, right: Elements) -> Elements:
    """The product of two matrices."""
    rank = len(left.shape)
    return _product(left, right, list(range(rank - 2)), rank - 1, rank - 2)


def outer(column: Elements, row: Elements) -> Elements:
    """Every product of an element of one vector with one of the other."""
    shape = (*column.shape, row.shape[-1])
    batch = range(len(shape) - 2)
    return spread(column, shape, [*batch, len(shape) - 2]) * spread(row, shape, [*batch, len(shape) - 1])


def numbered(like: Elements, axis: int) -> Elements:
    """In each place of a tensor of this shape its index along an axis, as i32."""
    return like.of(IotaOp(TensorType(i32, like.shape), axis))


def reduced(x: Elements, how: str, start: float | bool, axes: Sequence[int]) -> Elements:
    """All elements along some axes combined (`add`, `maximum`, `minimum`, `and`)."""
    scalar = TensorType(x.element_type, [])
    initial = x.of(ConstantOp(dense_attribute(np.array(start, dtype_of(scalar)))))
    return x.of(ReduceOp([x.value], [initial.value], dimensions=list(axes), body=how))


def filled(near: Elements, shape: tuple[int, ...], element: Attribute, number: float) -> Elements:
    """A tensor of one number, made where `near` is."""
    constant = near.of(ConstantOp(dense_attribute(np.array(number, dtype_of(element)))))
    return spread(constant, shape, [])


def everywhere(x: Elements, like: Elements) -> Elements:
    """A scalar in every place."""
    return spread(x, like.shape, [])


def along(x: Elements, like: Elements) -> Elements:
    """What there is one of for each matrix or vector of a batch, in each of its places."""
    return spread(x, like.shape, range(len(x.shape)))
