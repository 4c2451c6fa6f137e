"""The functions of `chlo`, computed in float64 and rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ....compiler.semantics import semantics
from ....compiler.weights import Array


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
    y[small] = s + s * _ratio(s * s, _PP, _QQ)
    y[~small] = 8.45062911510467529297e-01 + _ratio(a[~small] - 1, _PA, _QA)
    return y


def _erfc_far(t: Array) -> Array:
    """erfc of `t` >= 1.25."""
    s = 1 / (t * t)
    near = t < 1 / 0.35
    ratio = np.empty_like(t)
    ratio[near], ratio[~near] = _ratio(s[near], _RA, _SA), _ratio(s[~near], _RB, _SB)
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
        return math.inf if v <= 0 and v == math.floor(v) else math.lgamma(v)

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


# fdlibm s_erf.c: coefficients from the constant term up
_PP = (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
       -5.77027029648944159157e-03, -2.37630166566501626084e-05)  # fmt: skip
_QQ = (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
       1.32494738004321644526e-04, -3.96022827877536812320e-06)  # fmt: skip
_PA = (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
       3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
       -2.16637559486879084300e-03)  # fmt: skip
_QA = (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
       1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02)  # fmt: skip
_RA = (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01,
       -6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02,
       -8.12874355063065934246e01, -9.81432934416914548592e00)  # fmt: skip
_SA = (1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02,
       6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02,
       6.57024977031928170135e00, -6.04244152148580987438e-02)  # fmt: skip
_RB = (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01,
       -1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03,
       -4.83519191608651397019e02)  # fmt: skip
_SB = (1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03,
       3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02,
       -2.24409524465858183362e01)  # fmt: skip


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
        return np.asarray(function(np.asarray(x, np.float64).reshape(-1))).reshape(x.shape).astype(x.dtype)

    assert meaning


for _name, _function in _FUNCTIONS.items():
    _declare(_name, _function)
