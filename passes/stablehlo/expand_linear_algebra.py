"""stablehlo-expand-linear-algebra: factorisations and triangular systems become loops over columns or rows.

before: %l = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>
after:  %l = stablehlo.while(%j = 0, %l = 0) ... {
          %row = stablehlo.dynamic_slice %l, %j, 0 ...                 // of the factor so far
          %rest = %a[:, %j] - %l * %row                                // one product of a matrix and a vector
          %column = %rest / sqrt(%rest[%j]), where not above the diagonal
          stablehlo.dynamic_update_slice %l, %column, 0, %j ...
        }

A triangular system is solved row by row in the same way. Only the triangle that counts is read; the rest may be NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ComplexType, ModuleOp, TensorType, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.dtypes import dtype_of
from ...compiler.weights import WeightStore
from ...dialects.stablehlo import (
    CholeskyOp,
    ComplexOp,
    DotGeneralOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    ImagOp,
    IotaOp,
    RealOp,
    TransposeOp,
    TriangularSolveOp,
)
from ...dialects.stablehlo.constants import make_constant
from .elements import Elements, before, choose
from .expansion import counted_loop, expand


@dataclass(frozen=True)
class ExpandLinearAlgebra(ModulePass):
    """Cholesky factors and triangular systems in terms of loops and products."""

    name = "stablehlo-expand-linear-algebra"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        expand(
            op,
            {
                CholeskyOp: lambda op: [_cholesky(op, weights)],
                TriangularSolveOp: lambda op: [_triangular_solve(op, weights)],
            },
        )


def _cholesky(op: CholeskyOp, weights: WeightStore) -> SSAValue:
    insert, kind = before(op), op.result.type
    if 0 in kind.get_shape():
        return _nothing(op, weights)
    lower = op.lower is not None and bool(op.lower.value.data)
    a = Elements(insert, op.a)
    a = a if lower else _adjoint(a)
    rank, n = len(a.shape), a.shape[-1]

    def column(j: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        [factor] = state
        wanted = _cut(a.within(j.insert), rank - 1, j)
        rest = wanted - _times_vector(factor, _conjugate(_cut(factor, rank - 2, j)))
        diagonal = _of_real(_real(_cut(rest, rank - 2, j)).sqrt(), rest)
        at = _places(j, n)
        scaled = rest / _spread(diagonal, rest.shape, range(rank - 2))
        made = choose(_spread(at > _same(j, n), rest.shape, [rank - 2]), scaled, rest.like(0.0))
        on_diagonal = _spread(at.equals(_same(j, n)), rest.shape, [rank - 2])
        made = choose(on_diagonal, _spread(diagonal, rest.shape, range(rank - 2)), made)
        return [_put(factor, made, rank - 1, j)]

    [factor] = counted_loop(insert, n, [a.like(0.0)], column)
    return (factor if lower else _adjoint(factor)).value


def _triangular_solve(op: TriangularSolveOp, weights: WeightStore) -> SSAValue:
    insert = before(op)
    if 0 in op.result.type.get_shape():
        return _nothing(op, weights)
    a, b = Elements(insert, op.a), Elements(insert, op.b)
    lower, left = bool(op.lower.value.data), bool(op.left_side.value.data)
    transposed = op.transpose_a.data.value
    if transposed != "NO_TRANSPOSE":
        a, lower = _adjoint(a) if transposed == "ADJOINT" else _swapped(a), not lower
    if not left:
        a, b, lower = _swapped(a), _swapped(b), not lower
    rank, n = len(a.shape), a.shape[-1]
    rows, columns = (a.of(IotaOp(TensorType(i32, a.shape), axis)) for axis in (rank - 2, rank - 1))
    below = choose(rows > columns if lower else columns > rows, a, a.like(0.0))

    def row(step: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        [x] = state
        i = step if lower else step.like(n - 1) - step
        known = _times_matrix(_cut(below.within(i.insert), rank - 2, i), x)
        rest = _cut(b.within(i.insert), rank - 2, i) - known
        if not op.unit_diagonal.value.data:
            diagonal = _cut(_cut(a.within(i.insert), rank - 2, i), rank - 2, i)
            rest = rest / _spread(diagonal, rest.shape, range(rank - 2))
        return [_put(x, rest, rank - 2, i)]

    [x] = counted_loop(insert, n, [b.like(0.0)], row)
    return (x if left else _swapped(x)).value


def _nothing(op: CholeskyOp | TriangularSolveOp, weights: WeightStore) -> SSAValue:
    empty = np.zeros(op.result.type.get_shape(), dtype_of(op.result.type))
    return before(op)(make_constant(empty, weights)).results[0]


def _is_complex(x: Elements) -> bool:
    return isinstance(x.element_type, ComplexType)


def _real(x: Elements) -> Elements:
    return x.of(RealOp(x.value)) if _is_complex(x) else x


def _of_real(x: Elements, like: Elements) -> Elements:
    return x.of(ComplexOp(x.value, x.like(0.0).value)) if _is_complex(like) else x


def _conjugate(x: Elements) -> Elements:
    if not _is_complex(x):
        return x
    return x.of(ComplexOp(_real(x).value, (-x.of(ImagOp(x.value))).value))


def _swapped(x: Elements) -> Elements:
    rank = len(x.shape)
    return x.of(TransposeOp(x.value, permutation=[*range(rank - 2), rank - 1, rank - 2]))


def _adjoint(x: Elements) -> Elements:
    return _conjugate(_swapped(x))


def _starts(x: Elements, axis: int, at: Elements) -> list[SSAValue]:
    zero = at.like(0).value
    return [at.value if i == axis else zero for i in range(len(x.shape))]


def _cut(x: Elements, axis: int, at: Elements) -> Elements:
    """The slice at one place of an axis, without that axis."""
    sizes = [1 if i == axis else n for i, n in enumerate(x.shape)]
    piece = x.of(DynamicSliceOp(x.value, _starts(x, axis, at), slice_sizes=sizes))
    return piece.reshape(*sizes[:axis], *sizes[axis + 1 :])


def _put(x: Elements, piece: Elements, axis: int, at: Elements) -> Elements:
    """`x` with a slice replaced."""
    whole = piece.reshape(*piece.shape[:axis], 1, *piece.shape[axis:])
    return x.of(DynamicUpdateSliceOp(x.value, whole.value, _starts(x, axis, at)))


def _times_vector(matrix: Elements, vector: Elements) -> Elements:
    batch, last = list(range(len(vector.shape) - 1)), len(vector.shape) - 1
    return _product(matrix, vector, batch, last + 1, last)


def _times_matrix(vector: Elements, matrix: Elements) -> Elements:
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


def _places(like: Elements, n: int) -> Elements:
    """0, 1, 2, ... of i32."""
    return like.of(IotaOp(TensorType(i32, [n]), 0))


def _same(x: Elements, n: int) -> Elements:
    return x.broadcast((n,), ())


def _spread(x: Elements, shape: tuple[int, ...], dimensions: Sequence[int]) -> Elements:
    return x if x.shape == shape else x.broadcast(shape, tuple(dimensions))
