"""Changes of element type: by value, by bits, by precision. And the error function of `chlo`."""

from __future__ import annotations

import numpy as np

from ....compiler.dtypes import DType
from ....compiler.semantics import Spec, semantics
from ....compiler.weights import Array
from .elementwise import is_float, widened


def converted(x: Array, dtype: DType) -> Array:
    """`x` by value. Floats to integers truncate and saturate, NaN gives 0; integers wrap; bool is `!= 0`."""
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = np.real(x)
    x = widened(x)
    if dtype == np.bool_:
        return x != 0
    if not is_float(x.dtype) or is_float(dtype) or dtype.kind == "c":
        return x.astype(dtype)
    native = np.dtype({"int4": "i1", "uint4": "u1", "int2": "i1", "uint2": "u1"}.get(dtype.name, dtype))
    bits = int(dtype.name.lstrip("uint"))
    low, high = (0, 2**bits - 1) if dtype.name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    whole = np.trunc(x.astype(np.float64))
    inside = (whole > low) & (whole < float(high))
    value = np.where(inside, whole, 0).astype(native)
    value = np.where(whole >= float(high), native.type(high), value)
    value = np.where(whole <= low, native.type(low), value)
    return value.astype(dtype)


@semantics("stablehlo.convert")
def convert(x: Array, *, result: Spec) -> Array:
    assert result.dtype is not None
    return converted(x, result.dtype)


@semantics("stablehlo.bitcast_convert")
def bitcast_convert(x: Array, *, result: Spec) -> Array:
    assert result.dtype is not None and result.shape is not None
    x = np.ascontiguousarray(x).reshape(x.shape)
    narrow, wide = x.dtype.itemsize, result.dtype.itemsize
    if narrow == wide:
        return x.view(result.dtype)
    flat = x.reshape(-1).view(np.uint8)
    return flat.view(result.dtype).reshape(result.shape)


@semantics("stablehlo.reduce_precision")
def reduce_precision(x: Array, *, exponent_bits: int, mantissa_bits: int) -> Array:
    """Rounds to a float of the given bits (to nearest even; overflow to infinity, underflow to zero)."""
    wide = widened(x)
    integer, mantissa = (np.uint32, 23) if wide.dtype == np.float32 else (np.uint64, 52)
    width = 8 * wide.dtype.itemsize
    bits = np.ascontiguousarray(wide).view(integer).reshape(wide.shape)
    sign = bits & integer(1 << (width - 1))
    if mantissa_bits < mantissa:
        drop = mantissa - mantissa_bits
        last = (bits >> integer(drop)) & integer(1)
        bits = bits + (last + integer((1 << (drop - 1)) - 1))
        bits = bits & integer(((1 << width) - 1) ^ ((1 << drop) - 1))
    exponent_width = width - 1 - mantissa
    if exponent_bits < exponent_width:
        bias, small = (1 << (exponent_width - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        exponent = bits & integer(((1 << exponent_width) - 1) << mantissa)
        infinity = integer(((1 << exponent_width) - 1) << mantissa)
        bits = np.where(exponent > integer((bias + small) << mantissa), sign | infinity, bits)
        bits = np.where(exponent <= integer((bias - small) << mantissa), sign, bits)
    rounded = bits.view(wide.dtype)
    return np.where(np.isnan(wide), wide, rounded).astype(x.dtype)


def erf(x: Array) -> Array:
    """The error function of float64 `x`, by the rational approximations of fdlibm (error below 1 ulp)."""
    a = np.abs(x)
    small = a < 0.84375
    middle = ~small & (a < 1.25)
    tail = a >= 1.25
    y = np.array(a)  # NaN stays
    s = x[small]
    z = s * s
    y[small] = s + s * _ratio(z, _PP, _QQ)
    s = a[middle] - 1
    y[middle] = 8.45062911510467529297e-01 + _ratio(s, _PA, _QA)
    t = a[tail]
    s = 1 / (t * t)
    near = t < 1 / 0.35
    ratio = np.where(near, _ratio(s, _RA, _SA), _ratio(s, _RB, _SB))
    high = (t.view(np.int64) & ~np.int64(0xFFFFFFFF)).view(np.float64)
    tiny = np.exp(-high * high - 0.5625) * np.exp((high - t) * (high + t) + ratio) / t
    y[tail] = np.where(t < 6, 1 - tiny, 1.0)
    return np.where(small, y, np.copysign(y, x))


def _ratio(x: Array, above: tuple[float, ...], below: tuple[float, ...]) -> Array:
    return np.polynomial.polynomial.polyval(x, above) / np.polynomial.polynomial.polyval(x, below)


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


@semantics("chlo.erf")
def error_function(x: Array) -> Array:
    return erf(np.atleast_1d(x).astype(np.float64)).reshape(x.shape).astype(x.dtype)
