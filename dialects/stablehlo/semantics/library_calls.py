"""Calls of LAPACK that JAX writes for processors, by name: `lapack_spotrf_ffi` is the Cholesky factor of f32 matrices.

Options are letters in `mhlo.backend_config`, as LAPACK has them: `uplo = 76 : ui8` is 'L', lower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.semantics import Call
from ....compiler.weights import Array
from .linear_algebra import cholesky, triangular_solve

Routine = Callable[..., list[Array]]
LIBRARY_CALLS: dict[str, Routine] = {}

_PREFIXES = "sdcz"  # f32, f64, complex<f32>, complex<f64>


def option(call: Call, name: str) -> str:
    """The letter that LAPACK is given for one of its options."""
    config: Any = call.op.attributes["mhlo.backend_config"]
    return chr(config.data[name].value.data)


def lapack(*names: str) -> Callable[[Routine], Routine]:
    """Declares the decorated function as the meaning of these routines, over all four element types."""

    def declare(routine: Routine) -> Routine:
        LIBRARY_CALLS.update({f"lapack_{p}{name}_ffi": routine for p in _PREFIXES for name in names})
        return routine

    return declare


def _info(a: Array, failed: Array | None = None) -> Array:
    """Zero for each matrix of the batch where all went well."""
    info = np.zeros(a.shape[:-2], np.int32)
    return info if failed is None else np.where(failed, 1, info).astype(np.int32)


@lapack("trsm")
def solve(a: Array, b: Array, *, call: Call) -> list[Array]:
    transposed = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[option(call, "trans_x")]
    side, lower, unit = option(call, "side") == "L", option(call, "uplo") == "L", option(call, "diag") == "U"
    return [triangular_solve(a, b, left_side=side, lower=lower, unit_diagonal=unit, transpose_a=transposed)]


@lapack("potrf")
def factor(a: Array, *, call: Call) -> list[Array]:
    """The other triangle is that of `a`, as LAPACK leaves it."""
    lower = option(call, "uplo") == "L"
    made = cholesky(a, lower=lower)
    whole = made + (np.triu(a, 1) if lower else np.tril(a, -1))
    return [whole.astype(a.dtype), _info(a, ~np.isfinite(made).all((-1, -2)))]


@lapack("getrf")
def lu(a: Array, *, call: Call) -> list[Array]:
    """Both factors in one matrix, and which row each row was exchanged with, counted from 1."""
    a = a.copy()
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    pivots = np.zeros((*a.shape[:-2], count), np.int32)
    for index in np.ndindex(*a.shape[:-2]):
        matrix = a[index]
        for j in range(count):
            at = j + int(np.argmax(np.abs(matrix[j:, j])))
            pivots[(*index, j)] = at + 1
            matrix[[j, at]] = matrix[[at, j]]
            if matrix[j, j] != 0:
                matrix[j + 1 :, j] /= matrix[j, j]
                matrix[j + 1 :, j + 1 :] -= np.outer(matrix[j + 1 :, j], matrix[j, j + 1 :])
    return [a, pivots, _info(a)]
