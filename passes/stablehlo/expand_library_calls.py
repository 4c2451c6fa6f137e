"""stablehlo-expand-library-calls: calls of LAPACK that JAX writes for processors become ops of the hub.

before: %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : ...
after:  %l = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>
        ...                                                // the other triangle is that of %a, and %info tells NaN

Triangular systems (trsm) and Cholesky factors (potrf) of all four element types; calls of others stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, TensorType, i32
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
from .elements import Elements, before, choose
from .expansion import expand

_ROUTINES: dict[str, Callable[[CustomCallOp], Sequence[SSAValue]]] = {}


@dataclass(frozen=True)
class ExpandLibraryCalls(ModulePass):
    """Calls of LAPACK in terms of the hub's linear algebra."""

    name = "stablehlo-expand-library-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand(op, {CustomCallOp: _expanded})


def _expanded(op: CustomCallOp) -> Sequence[SSAValue] | None:
    routine = _ROUTINES.get(op.call_target_name.data)
    return None if routine is None else routine(op)


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


for _letter in "sdcz":  # f32, f64, complex<f32>, complex<f64>
    _ROUTINES[f"lapack_{_letter}trsm_ffi"] = _triangular_system
    _ROUTINES[f"lapack_{_letter}potrf_ffi"] = _cholesky
