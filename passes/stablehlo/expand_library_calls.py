"""stablehlo-expand-library-calls: calls of LAPACK that JAX writes for processors become ops of the hub.

before: %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : ...
after:  %l = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>
        ...                                                // the other triangle is that of %a, and %info tells NaN

Triangular systems (trsm), the factors of Cholesky (potrf), LU (getrf) and QR (geqrf, orgqr), eigenvalues of Hermitian
matrices (syevd, heevd) and singular values (gesdd), of all four element types; calls of others stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dense_attribute
from ...dialects.stablehlo import (
    CholeskyOp,
    ConstantOp,
    CustomCallOp,
    ImagOp,
    IotaOp,
    IsFiniteOp,
    RealOp,
    ReduceOp,
    TriangularSolveOp,
)
from ...dialects.stablehlo.library_calls import option, routine_of
from .elements import Elements, before, choose
from .expansion import expand
from .factorisations import householder, lu, reflected
from .jacobi import eigenpairs, singular_triples
from .matrices import adjoint, filled, numbered, of_real, real


@dataclass(frozen=True)
class ExpandLibraryCalls(ModulePass):
    """Calls of LAPACK in terms of the hub's linear algebra."""

    name = "stablehlo-expand-library-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand(op, {CustomCallOp: _expanded})


def _expanded(op: CustomCallOp) -> Sequence[SSAValue] | None:
    """Raises LaminaError for operands and results that the routine does not have."""
    name = routine_of(op)
    if name is None:
        return None
    target = op.call_target_name.data
    kinds = [cast("TensorType", x.type) for x in op.inputs]
    if any(-1 in each.get_shape() for each in kinds):
        raise LaminaError(f"@{target} needs sizes that are known", where=op)
    values = _ROUTINES[name](op)
    if [value.type for value in values] != list(op.result_types):
        made = ", ".join(str(value.type) for value in values)
        raise LaminaError(f"@{target} gives {made}", where=op)
    return values


def _triangular_system(op: CustomCallOp) -> Sequence[SSAValue]:
    transposed = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[option(op, "trans_x", "NTC")]
    solve = TriangularSolveOp(
        *op.inputs[:2],
        left_side=option(op, "side", "LR") == "L",
        lower=option(op, "uplo", "LU") == "L",
        unit_diagonal=option(op, "diag", "NU") == "U",
        transpose_a=transposed,
    )
    return before(op)(solve).results


def _cholesky(op: CustomCallOp) -> Sequence[SSAValue]:
    """The other triangle is that of the operand; `info` is 1 where the factor is not finite."""
    a, lower = Elements(before(op), op.inputs[0]), option(op, "uplo", "LU") == "L"
    factor = a.of(CholeskyOp(a.value, lower=lower))
    rank = len(a.shape)
    rows, columns = (a.of(IotaOp(TensorType(i32, a.shape), axis)) for axis in (rank - 2, rank - 1))
    whole = choose(rows >= columns if lower else columns >= rows, factor, a)
    parts = [factor]
    if factor.element_type.name == "complex":
        parts = [factor.of(kind(factor.value)) for kind in (RealOp, ImagOp)]
    finite = [part.of(IsFiniteOp(part.value)) for part in parts]
    true = a.of(ConstantOp(dense_attribute(np.array(True))))
    inside = [
        part.of(ReduceOp([part.value], [true.value], dimensions=[rank - 2, rank - 1], body="and")) for part in finite
    ]
    good = inside[0] if len(inside) == 1 else inside[0] & inside[1]
    return [whole.value, (~good).convert(i32).value]


def _lu(op: CustomCallOp) -> Sequence[SSAValue]:
    a = Elements(before(op), op.inputs[0])
    factors, pivots = lu(a)
    return [factors.value, pivots.value, _well(a).value]


def _qr(op: CustomCallOp) -> Sequence[SSAValue]:
    factors, taus = householder(Elements(before(op), op.inputs[0]))
    return [factors.value, taus.value]


def _orthogonal(op: CustomCallOp) -> Sequence[SSAValue]:
    a, taus = (Elements(before(op), value) for value in op.inputs)
    return [reflected(a, taus).value]


def _eigenvalues(op: CustomCallOp) -> Sequence[SSAValue]:
    """Of the triangle that `uplo` names."""
    a = Elements(before(op), op.inputs[0])
    rank = len(a.shape)
    rows, columns = (numbered(a, axis) for axis in (rank - 2, rank - 1))
    known = rows > columns if option(op, "uplo", "LU") == "L" else columns > rows
    off = choose(known, a, a.like(0.0))
    on = choose(rows.equals(columns), of_real(real(a), a), 0.0)
    values, vectors = eigenpairs(off + adjoint(off) + on)
    return [vectors.value, values.value, _well(a).value]


def _singular_values(op: CustomCallOp) -> Sequence[SSAValue]:
    """U and V are zeros where only the values are wanted."""
    a, mode = Elements(before(op), op.inputs[0]), option(op, "mode", "ASN")
    left, values, right = singular_triples(a, whole=mode == "A")
    if mode == "N":
        kinds = [cast("TensorType", result.type) for result in op.results[2:4]]
        left, right = (filled(a, kind.get_shape(), kind.element_type, 0.0) for kind in kinds)
    return [x.value for x in (a, values, left, right, _well(a))]


def _well(a: Elements) -> Elements:
    """The `info` of a routine: 0 for each matrix."""
    return filled(a, a.shape[:-2], i32, 0)


_ROUTINES: dict[str, Callable[[CustomCallOp], Sequence[SSAValue]]] = {
    "trsm": _triangular_system,
    "potrf": _cholesky,
    "getrf": _lu,
    "geqrf": _qr,
    "orgqr": _orthogonal,
    "ungqr": _orthogonal,
    "syevd": _eigenvalues,
    "heevd": _eigenvalues,
    "gesdd": _singular_values,
}
