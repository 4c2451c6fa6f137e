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
from xdsl.dialects.builtin import ModuleOp, TensorType, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.dtypes import dtype_of
from ...compiler.weights import WeightStore
from ...dialects.stablehlo import (
    CholeskyOp,
    IotaOp,
    TriangularSolveOp,
)
from ...dialects.stablehlo.constants import make_constant
from .elements import Elements, before, choose
from .expansion import counted_loop, expand
from .matrices import (
    adjoint,
    conjugate,
    cut,
    of_real,
    places,
    put,
    real,
    same,
    spread,
    swapped,
    times_matrix,
    times_vector,
)


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
    a = a if lower else adjoint(a)
    rank, n = len(a.shape), a.shape[-1]

    def column(j: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        [factor] = state
        wanted = cut(a.within(j.insert), rank - 1, j)
        rest = wanted - times_vector(factor, conjugate(cut(factor, rank - 2, j)))
        diagonal = of_real(real(cut(rest, rank - 2, j)).sqrt(), rest)
        at = places(j, n)
        scaled = rest / spread(diagonal, rest.shape, range(rank - 2))
        made = choose(spread(at > same(j, n), rest.shape, [rank - 2]), scaled, rest.like(0.0))
        on_diagonal = spread(at.equals(same(j, n)), rest.shape, [rank - 2])
        made = choose(on_diagonal, spread(diagonal, rest.shape, range(rank - 2)), made)
        return [put(factor, made, rank - 1, j)]

    [factor] = counted_loop(insert, n, [a.like(0.0)], column)
    return (factor if lower else adjoint(factor)).value


def _triangular_solve(op: TriangularSolveOp, weights: WeightStore) -> SSAValue:
    insert = before(op)
    if 0 in op.result.type.get_shape():
        return _nothing(op, weights)
    a, b = Elements(insert, op.a), Elements(insert, op.b)
    lower, left = bool(op.lower.value.data), bool(op.left_side.value.data)
    transposed = op.transpose_a.data.value
    if transposed != "NO_TRANSPOSE":
        a, lower = adjoint(a) if transposed == "ADJOINT" else swapped(a), not lower
    if not left:
        a, b, lower = swapped(a), swapped(b), not lower
    rank, n = len(a.shape), a.shape[-1]
    rows, columns = (a.of(IotaOp(TensorType(i32, a.shape), axis)) for axis in (rank - 2, rank - 1))
    below = choose(rows > columns if lower else columns > rows, a, a.like(0.0))

    def row(step: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        [x] = state
        i = step if lower else step.like(n - 1) - step
        known = times_matrix(cut(below.within(i.insert), rank - 2, i), x)
        rest = cut(b.within(i.insert), rank - 2, i) - known
        if not op.unit_diagonal.value.data:
            diagonal = cut(cut(a.within(i.insert), rank - 2, i), rank - 2, i)
            rest = rest / spread(diagonal, rest.shape, range(rank - 2))
        return [put(x, rest, rank - 2, i)]

    [x] = counted_loop(insert, n, [b.like(0.0)], row)
    return (x if left else swapped(x)).value


def _nothing(op: CholeskyOp | TriangularSolveOp, weights: WeightStore) -> SSAValue:
    empty = np.zeros(op.result.type.get_shape(), dtype_of(op.result.type))
    return before(op)(make_constant(empty, weights)).results[0]
