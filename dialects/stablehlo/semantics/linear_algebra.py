"""Fourier transforms, Cholesky factors, triangular systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....compiler.semantics import Spec, semantics
from ....compiler.weights import Array


@semantics("stablehlo.fft")
def fft(x: Array, *, fft_type: str, fft_length: Sequence[int], result: Spec) -> Array:
    """Over the last dimensions; `fft_length` is the real side's size for RFFT and IRFFT."""
    axes = tuple(range(x.ndim - len(fft_length), x.ndim))
    transform = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}
    return transform[fft_type](x, tuple(fft_length), axes).astype(result.dtype)


def _adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


@semantics("stablehlo.cholesky")
def cholesky(a: Array, *, lower: bool = False) -> Array:
    """Only one triangle of `a` is read; the other of the result is zero. NaN where `a` is not positive."""
    triangle = np.tril(a) if lower else _adjoint(np.triu(a))
    n = a.shape[-1]
    factor = np.zeros_like(triangle)
    for j in range(n):
        row = factor[..., j, :j]
        pivot = triangle[..., j, j] - (row * np.conj(row)).sum(-1)
        diagonal = np.sqrt(np.real(pivot)).astype(a.dtype)
        factor[..., j, j] = diagonal
        below = triangle[..., j + 1 :, j] - np.einsum("...ik,...k->...i", factor[..., j + 1 :, :j], np.conj(row))
        factor[..., j + 1 :, j] = below / diagonal[..., None]
    return factor if lower else _adjoint(factor)


@semantics("stablehlo.triangular_solve")
def triangular_solve(
    a: Array, b: Array, *, left_side: bool, lower: bool, unit_diagonal: bool, transpose_a: str
) -> Array:
    """`op(a) x = b`, or `x op(a) = b` on the right side, by substitution."""
    if transpose_a == "TRANSPOSE":
        a, lower = np.swapaxes(a, -1, -2), not lower
    elif transpose_a == "ADJOINT":
        a, lower = _adjoint(a), not lower
    if not left_side:
        a, b, lower = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), not lower
    n = a.shape[-1]
    x = np.zeros_like(b)
    for i in range(n) if lower else reversed(range(n)):
        known = slice(0, i) if lower else slice(i + 1, n)
        rest = b[..., i, :] - np.einsum("...k,...kj->...j", a[..., i, known], x[..., known, :])
        x[..., i, :] = rest if unit_diagonal else rest / a[..., i, i, None]
    return x if left_side else np.swapaxes(x, -1, -2)
