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
from xdsl.dialects.builtin import ComplexType, DictionaryAttr, IntegerAttr, ModuleOp, TensorType, f32, f64, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

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
from .elements import Elements, before, choose
from .expansion import expand
from .factorisations import householder, lu, reflected
from .jacobi import eigenpairs, singular_triples
from .matrices import adjoint, filled, numbered, of_real, real

_ROUTINES: dict[str, tuple[Sequence[int], Callable[[CustomCallOp], Sequence[SSAValue]]]] = {}
"""The dimensions of each operand behind those of the batch, and what a call becomes."""


@dataclass(frozen=True)
class ExpandLibraryCalls(ModulePass):
    """Calls of LAPACK in terms of the hub's linear algebra."""

    name = "stablehlo-expand-library-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand(op, {CustomCallOp: _expanded})


def _expanded(op: CustomCallOp) -> Sequence[SSAValue] | None:
    """Raises LaminaError for operands and results that the routine does not have."""
    target = op.call_target_name.data
    if target not in _ROUTINES:
        return None
    ranks, routine = _ROUTINES[target]
    kind = _ELEMENTS[target.removeprefix("lapack_")[0]]
    kinds = [x.type for x in op.inputs if isa(x.type, TensorType) and x.type.element_type == kind]
    batches = [each.get_shape()[: each.get_num_dims() - rank] for each, rank in zip(kinds, ranks, strict=False)]
    fits = all(each.get_num_dims() >= rank for each, rank in zip(kinds, ranks, strict=False))
    if not fits or not len(kinds) == len(op.inputs) == len(ranks) or len(set(batches)) > 1:
        each = " and ".join("matrices" if rank == 2 else "vectors" for rank in ranks)
        raise LaminaError(f"@{target} takes {each} of {kind}, as many of each", where=op)
    if any(-1 in each.get_shape() for each in kinds):
        raise LaminaError(f"@{target} needs sizes that are known", where=op)
    try:
        values = routine(op)
    except VerifyException as error:
        raise LaminaError(f"@{target} does not take these shapes: {error}", where=op) from error
    if [value.type for value in values] != list(op.result_types):
        made = ", ".join(str(value.type) for value in values)
        raise LaminaError(f"@{target} gives {made}", where=op)
    return values


def _option(op: CustomCallOp, name: str) -> str:
    """The letter that LAPACK is given for one of its options."""
    config = op.attributes.get("mhlo.backend_config")
    value = config.data.get(name) if isinstance(config, DictionaryAttr) else None
    if not isinstance(value, IntegerAttr):
        raise LaminaError(f"the call has no option '{name}'", where=op)
    return chr(value.value.data)


def _triangular_system(op: CustomCallOp) -> Sequence[SSAValue]:
    transposed = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[_option(op, "trans_x")]
    solve = TriangularSolveOp(
        *op.inputs[:2],
        left_side=_option(op, "side") == "L",
        lower=_option(op, "uplo") == "L",
        unit_diagonal=_option(op, "diag") == "U",
        transpose_a=transposed,
    )
    return before(op)(solve).results


def _cholesky(op: CustomCallOp) -> Sequence[SSAValue]:
    """The other triangle is that of the operand; `info` is 1 where the factor is not finite."""
    a, lower = Elements(before(op), op.inputs[0]), _option(op, "uplo") == "L"
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
    return [whole.value, (~good).convert(i32).value][: len(op.results)]


def _lu(op: CustomCallOp) -> Sequence[SSAValue]:
    a = Elements(before(op), op.inputs[0])
    factors, pivots = lu(a)
    return [factors.value, pivots.value, _well(a).value][: len(op.results)]


def _qr(op: CustomCallOp) -> Sequence[SSAValue]:
    factors, taus = householder(Elements(before(op), op.inputs[0]))
    return [factors.value, taus.value]


def _orthogonal(op: CustomCallOp) -> Sequence[SSAValue]:
    a, taus = (Elements(before(op), value) for value in op.inputs)
    if not taus.shape[-1] <= a.shape[-1] <= a.shape[-2]:
        raise LaminaError(f"{taus.shape[-1]} reflectors do not make {a.shape[-1]} orthogonal columns", where=op)
    return [reflected(a, taus).value]


def _eigenvalues(op: CustomCallOp) -> Sequence[SSAValue]:
    """Of the triangle that `uplo` names."""
    a = Elements(before(op), op.inputs[0])
    rank = len(a.shape)
    rows, columns = (numbered(a, axis) for axis in (rank - 2, rank - 1))
    known = rows > columns if _option(op, "uplo") == "L" else columns > rows
    off = choose(known, a, a.like(0.0))
    on = choose(rows.equals(columns), of_real(real(a), a), 0.0)
    values, vectors = eigenpairs(off + adjoint(off) + on)
    return [vectors.value, values.value, _well(a).value][: len(op.results)]


def _singular_values(op: CustomCallOp) -> Sequence[SSAValue]:
    """U and V are zeros where only the values are wanted."""
    a, mode = Elements(before(op), op.inputs[0]), _option(op, "mode")
    left, values, right = singular_triples(a, whole=mode == "A")
    if mode == "N":
        kinds = [cast("TensorType", result.type) for result in op.results[2:4]]
        left, right = (filled(a, kind.get_shape(), kind.element_type, 0.0) for kind in kinds)
    return [x.value for x in (a, values, left, right, _well(a))][: len(op.results)]


def _well(a: Elements) -> Elements:
    """The `info` of a routine: 0 for each matrix."""
    return filled(a, a.shape[:-2], i32, 0)


_ELEMENTS = {"s": f32, "d": f64, "c": ComplexType(f32), "z": ComplexType(f64)}
for _letter in _ELEMENTS:
    _real = _letter in "sd"
    for _name, _ranks, _routine in (
        ("trsm", (2, 2), _triangular_system),
        ("potrf", (2,), _cholesky),
        ("getrf", (2,), _lu),
        ("geqrf", (2,), _qr),
        ("orgqr" if _real else "ungqr", (2, 1), _orthogonal),
        ("syevd" if _real else "heevd", (2,), _eigenvalues),
        ("gesdd", (2,), _singular_values),
    ):
        _ROUTINES[f"lapack_{_letter}{_name}_ffi"] = (_ranks, _routine)
