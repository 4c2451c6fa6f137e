"""The functions of `chlo`, computed in float64 and rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ....compiler.semantics import semantics
from ....compiler.weights import Array
from ..special_functions import ERF_PA, ERF_PP, ERF_QA, ERF_QQ, ERF_RA, ERF_RB, ERF_SA, ERF_SB


def erf(x: Array) -> Array:
    """The error function of float64 `x`, by the rational approximations of fdlibm (error below 1 ulp)."""
    a = np.abs(x)
    y, far = np.ones_like(a), a < 6
    near = ~(a >= 1.25)  # NaN too
    y[near] = _erf_near(a[near])
    far &= ~near
    y[far] = 1 - _erfc_far(a[far])
    return np.copysign(y, x)


def erfc(x: Array) -> Array:
    """One minus the error function, exact where that is small (error of a few ulps)."""
    a = np.abs(x)
    near = ~(a >= 1.25)
    y = np.empty_like(a)
    y[near] = 1 - np.copysign(_erf_near(a[near]), x[near])
    far = _erfc_far(np.minimum(a[~near], 30.0))
    y[~near] = np.where(x[~near] < 0, 2 - far, far)
    return y


def _erf_near(a: Array) -> Array:
    """erf of 0 <= `a` < 1.25, and NaN of NaN."""
    small = a < 0.84375
    y, s = a.copy(), a[small]
    y[small] = s + s * _ratio(s * s, ERF_PP, ERF_QQ)
    y[~small] = 8.45062911510467529297e-01 + _ratio(a[~small] - 1, ERF_PA, ERF_QA)
    return y


def _erfc_far(t: Array) -> Array:
    """erfc of `t` >= 1.25."""
    s = 1 / (t * t)
    near = t < 1 / 0.35
    ratio = np.empty_like(t)
    ratio[near], ratio[~near] = _ratio(s[near], ERF_RA, ERF_SA), _ratio(s[~near], ERF_RB, ERF_SB)
    high = (t.view(np.int64) & ~np.int64(0xFFFFFFFF)).view(np.float64)
    return np.exp(-high * high - 0.5625) * np.exp((high - t) * (high + t) + ratio) / t


def erf_inv(x: Array) -> Array:
    """The inverse of `erf`: a first guess (Winitzki) and Halley steps on the side where nothing cancels."""
    a = np.abs(x)
    log = np.log1p(-(np.minimum(a, 1) ** 2))
    b = 2 / (np.pi * 0.147) + log / 2
    y = np.sqrt(np.maximum(np.sqrt(b * b - log / 0.147) - b, 0))
    for _ in range(4):
        residue = np.where(a < 0.5, erf(y) - a, (1 - a) - erfc(y))
        step = residue / (2 / math.sqrt(math.pi) * np.exp(-y * y))
        y = y - np.where(np.isfinite(step), step / (1 + y * step), 0)
    y = np.where(a < 1, y, np.where(a == 1, np.inf, np.nan))
    return np.where(a == 0, x, np.copysign(y, x))


def lgamma(x: Array) -> Array:
    """The logarithm of the absolute value of the gamma function."""

    def one(v: float) -> float:
        return math.inf if v == -math.inf or (v <= 0 and v == math.floor(v)) else math.lgamma(v)

    return np.vectorize(one, otypes=[np.float64])(x)


def digamma(x: Array) -> Array:
    """The derivative of `lgamma`: reflection, recurrence up to 10, the asymptotic series."""
    reflected = np.where(x < 0.5, 1 - x, x)
    shift = np.zeros_like(x)
    z = reflected
    for _ in range(10):
        small = z < 10
        shift = shift - np.where(small, 1 / z, 0)
        z = np.where(small, z + 1, z)
    s = 1 / (z * z)
    terms = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    series = np.log(z) - 0.5 / z - s * _horner(s, terms)
    value = series + shift
    pole = (x <= 0) & (x == np.floor(x))
    return np.where(pole, np.nan, np.where(x < 0.5, value - np.pi / np.tan(np.pi * x), value))


def _ratio(x: Array, above: tuple[float, ...], below: tuple[float, ...]) -> Array:
    return _horner(x, above) / _horner(x, below)


def _horner(x: Array, coefficients: tuple[float, ...]) -> Array:
    y = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        y *= x
        y += coefficient
    return y


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "erf": erf,
    "erfc": erfc,
    "erf_inv": erf_inv,
    "lgamma": lgamma,
    "digamma": digamma,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
}


def _declare(name: str, function: Callable[[Array], Array]) -> None:
    @semantics(f"chlo.{name}")
    def meaning(x: Array) -> Array:
        if x.dtype.kind == "c":
            return function(x)
        return np.asarray(function(np.asarray(x, np.float64).reshape(-1))).reshape(x.shape).astype(x.dtype)

    assert meaning


for _name, _function in _FUNCTIONS.items():
    _declare(_name, _function)
