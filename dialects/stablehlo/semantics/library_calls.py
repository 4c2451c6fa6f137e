"""What the calls of LAPACK do to arrays whose number and ranks `routine_of` has found right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.semantics import Call
from ....compiler.weights import Array
from ..library_calls import option
from ..ops_call import CustomCallOp
from .linear_algebra import cholesky, triangular_solve

Routine = Callable[..., list[Array]]
LIBRARY_CALLS: dict[str, Routine] = {}
"""By the names of `routine_of`."""


def _option(call: Call, name: str, letters: str) -> str:
    assert isinstance(call.op, CustomCallOp)
    return option(call.op, name, letters)


def lapack(*names: str) -> Callable[[Routine], Routine]:
    """Declares the decorated function as the meaning of these routines, over all element types."""

    def declare(routine: Routine) -> Routine:
        LIBRARY_CALLS.update(dict.fromkeys(names, routine))
        return routine

    return declare


def _info(a: Array, failed: Array | None = None) -> Array:
    """Zero for each matrix of the batch where all went well."""
    info = np.zeros(a.shape[:-2], np.int32)
    return info if failed is None else np.where(failed, 1, info).astype(np.int32)


@lapack("trsm")
def solve(a: Array, b: Array, *, call: Call) -> list[Array]:
    transposed = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[_option(call, "trans_x", "NTC")]
    side, lower = _option(call, "side", "LR") == "L", _option(call, "uplo", "LU") == "L"
    unit = _option(call, "diag", "NU") == "U"
    return [triangular_solve(a, b, left_side=side, lower=lower, unit_diagonal=unit, transpose_a=transposed)]


@lapack("potrf")
def factor(a: Array, *, call: Call) -> list[Array]:
    """The other triangle is that of `a`, as LAPACK leaves it."""
    lower = _option(call, "uplo", "LU") == "L"
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
            at = j + int(np.argmax(np.abs(np.real(matrix[j:, j])) + np.abs(np.imag(matrix[j:, j]))))
            pivots[(*index, j)] = at + 1
            matrix[[j, at]] = matrix[[at, j]]
            if matrix[j, j] != 0:
                matrix[j + 1 :, j] /= matrix[j, j]
                matrix[j + 1 :, j + 1 :] -= np.outer(matrix[j + 1 :, j], matrix[j, j + 1 :])
    return [a, pivots, _info(a)]


@lapack("geqrf")
def qr(a: Array, *, call: Call) -> list[Array]:
    """R on and above the diagonal, the vectors of the reflectors below it, and the factors of these."""
    if 0 in a.shape:
        return [a, np.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)]
    raw: Any = np.linalg.qr(a, mode="raw")
    return [np.ascontiguousarray(np.swapaxes(raw[0], -1, -2)), raw[1]]


@lapack("orgqr", "ungqr")
def orthogonal(a: Array, taus: Array, *, call: Call) -> list[Array]:
    """The product of the reflectors, as many columns of it as `a` has."""
    q = np.zeros_like(a) + np.eye(*a.shape[-2:], dtype=a.dtype)
    for j in reversed(range(taus.shape[-1])):
        v = np.where(np.arange(a.shape[-2]) > j, a[..., j], 0)
        v[..., j] = 1
        q -= taus[..., j, None, None] * v[..., :, None] * (v[..., None, :].conj() @ q)
    return [q]


@lapack("syevd", "heevd")
def eigenvalues(a: Array, *, call: Call) -> list[Array]:
    """In ascending order; the largest component of each vector is real and positive."""
    if 0 in a.shape:
        return [a, np.zeros(a.shape[:-1], np.real(a).dtype), _info(a)]
    lower = _option(call, "uplo", "LU") == "L"
    values, vectors = _finite(lambda x: np.linalg.eigh(x, "L" if lower else "U"), a)
    return [vectors * _phases(vectors).conj(), values, _info(a)]


@lapack("gesdd")
def singular_values(a: Array, *, call: Call) -> list[Array]:
    """In descending order; the largest component of each left vector is real and positive."""
    mode = _option(call, "mode", "ASN")
    u, s, v = _finite(lambda x: np.linalg.svd(x, full_matrices=mode == "A"), a)
    if mode == "N":
        kinds = [result.type for result in call.op.results[2:4]]
        return [a, s, *(np.zeros(kind.get_shape(), a.dtype) for kind in kinds), _info(a)]  # pyright: ignore
    phases = _phases(u)
    known = phases[..., 0, : s.shape[-1]]
    v[..., : s.shape[-1], :] *= known[..., None]
    return [a, s, u * phases.conj(), v, _info(a)]


def _finite(routine: Callable[[Array], tuple[Array, ...]], a: Array) -> tuple[Array, ...]:
    """What a routine of NumPy gives of each matrix; NaN for those that are not finite, which it refuses."""
    good: Array = np.asarray(np.isfinite(a).all((-1, -2), keepdims=True))
    made = routine(np.where(good, a, np.eye(*a.shape[-2:], dtype=a.dtype)))
    return tuple(np.where(good if x.ndim == a.ndim else good[..., 0], x, np.nan).astype(x.dtype) for x in made)


def _phases(vectors: Array) -> Array:
    """Of each column the largest component over its magnitude."""
    at = np.abs(vectors).argmax(-2, keepdims=True)
    found = np.take_along_axis(vectors, at, -2)
    found = np.where(found == 0, 1, found)
    return found / np.abs(found)
