"""Special functions of double-precision numbers, said once for arrays and for ops.

`m` is the mathematics: NumPy itself, or what makes ops of the same names (`where`, `exp`, `log`, `abs`, ...). Values
take the operators of arithmetic and comparison. A float of 32 bits is exact when it is rounded from these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial with these coefficients, that of power 0 first."""
    y: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        y = y * x + coefficient
    return y


def _ratio(x: Any, above: Sequence[float], below: Sequence[float]) -> Any:
    return horner(x, above) / horner(x, below)


def _near(a: Any) -> Any:
    """erf of 0 <= a < 0.84375."""
    return a + a * _ratio(a * a, ERF_PP, ERF_QQ)


def _middle(a: Any) -> Any:
    """erf of 0.84375 <= a < 1.25."""
    return 8.45062911510467529297e-01 + _ratio(a - 1.0, ERF_PA, ERF_QA)


def _far(m: Any, a: Any) -> Any:
    """erfc of a >= 1.25: exp(-a * a) in two factors, the first of few bits."""
    s = 1.0 / (a * a)
    ratio = m.where(a < 1 / 0.35, _ratio(s, ERF_RA, ERF_SA), _ratio(s, ERF_RB, ERF_SB))
    high = m.round32(a)
    return m.exp(-high * high - 0.5625) * m.exp((high - a) * (high + a) + ratio) / a


def erfc(m: Any, x: Any) -> Any:
    """One minus the error function, exact where that is small."""
    a = m.abs(x)
    signed = m.where(a < 0.84375, _near(a), _middle(a))
    signed = m.where(x < 0.0, -signed, signed)
    far = _far(m, m.clip(a, 1.25, 30.0))
    return m.where(a < 1.25, 1.0 - signed, m.where(x < 0.0, 2.0 - far, m.where(a >= 1.25, far, a)))


def erf_inv(m: Any, x: Any) -> Any:
    """The inverse of the error function: Giles's approximation, and steps of Halley where nothing cancels."""
    a = m.abs(x)
    inside = m.clip(a, 0.0, 1.0 - 2.0**-53)
    w = -m.log1p(-inside * inside)
    guess = inside * m.where(w < 5.0, horner(w - 2.5, _GILES_NEAR), horner(m.sqrt(w) - 3.0, _GILES_FAR))
    y = guess
    for _ in range(3):
        small = m.where(y < 0.84375, _near(y), _middle(y))
        rest = m.where(y < 1.25, 1.0 - small, _far(m, m.clip(y, 1.25, 30.0)))
        residue = m.where(inside < 0.5, small - inside, (1.0 - inside) - rest)
        step = residue / (2 / math.sqrt(math.pi) * m.exp(-y * y))
        y = y - step / (1.0 + y * step)
    y = m.where(x < 0.0, -y, y)
    y = m.where(a == 1.0, x * math.inf, y)
    return m.where(a <= 1.0, m.where(a == 0.0, x, y), m.full(x, math.nan))


def lgamma(m: Any, x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function, by Lanczos's approximation."""
    reflected = x < 0.5
    z = m.where(reflected, -x, x - 1.0)
    total = m.full(z, 0.99999999999980993)
    for i, coefficient in enumerate(_LANCZOS, 1):
        total = total + coefficient / (z + float(i))
    log_t = math.log(7.5) + m.log1p(z / 7.5)
    value = 0.5 * math.log(2 * math.pi) + (z + 0.5 - (z + 7.5) / log_t) * log_t + m.log(total)
    part = m.abs(x - m.floor(x))
    part = m.where(part > 0.5, 1.0 - part, part)
    sine = m.log(m.sin(math.pi * part))
    value = m.where(reflected, math.log(math.pi) - sine - value, value)
    value = m.where(reflected & (part == 0.0), m.full(x, math.inf), value)
    return m.where(m.abs(x) == math.inf, m.abs(x), value)


def digamma(m: Any, x: Any) -> Any:
    """The derivative of `lgamma`: reflection, recurrence up to 10, the asymptotic series."""
    reflected = x < 0.5
    z = m.where(reflected, 1.0 - x, x)
    shift = m.full(z, 0.0)
    for _ in range(10):
        small = z < 10.0
        shift = shift - m.where(small, 1.0 / z, m.full(z, 0.0))
        z = m.where(small, z + 1.0, z)
    s = 1.0 / (z * z)
    value = m.log(z) - 0.5 / z - s * horner(s, _DIGAMMA) + shift
    part = x - m.floor(x)
    turned = value - math.pi * m.cos(math.pi * part) / m.sin(math.pi * part)
    value = m.where(reflected, turned, value)
    return m.where(reflected & (part == 0.0), m.full(x, math.nan), value)


def zeta(m: Any, x: Any, q: Any) -> Any:
    """The Hurwitz zeta function, by the formula of Euler and Maclaurin after ten terms."""
    total = m.full(q, 0.0)
    a = q
    for _ in range(10):
        total = total + m.power(a, -x)
        a = a + 1.0
    last = m.power(a, -x)
    series = m.full(q, _ZETA[-1])
    for k in range(len(_ZETA) - 1, 0, -1):
        series = 1.0 * _ZETA[k - 1] + (x + float(2 * k - 1)) * (x + float(2 * k)) / (a * a) * series
    value = total + last * a / (x - 1.0) + last * (0.5 + x / a * series)
    nothing, infinite = m.full(x, math.nan), m.full(q, math.inf)
    value = m.where(x > 1.0, value, m.where(x == 1.0, infinite, nothing))
    value = m.where((q <= 0.0) & (m.floor(q) == q), infinite, value)
    return m.where((q > 0.0) | (m.floor(x) == x), value, nothing)


def polygamma(m: Any, n: Any, x: Any) -> Any:
    """The derivative of order n of the digamma function; NaN where n is no natural number."""
    half = n * 0.5
    sign = m.where(m.floor(half) == half, m.full(n, -1.0), m.full(n, 1.0))
    value = sign * m.exp(lgamma(m, n + 1.0)) * zeta(m, n + 1.0, x)
    value = m.where(n == 0.0, digamma(m, x), value)
    return m.where((m.floor(n) == n) & (n >= 0.0), value, m.full(x, math.nan))


def bessel_i1e(m: Any, x: Any) -> Any:
    """The modified Bessel function of order 1 times exp(-abs(x)), by Chebyshev series (Cephes)."""
    a = m.abs(x)
    near = _chebyshev(m, m.clip(a, 0.0, 8.0) * 0.5 - 2.0, _I1E_NEAR) * a
    wide = m.clip(a, 8.0, math.inf)
    value = m.where(a <= 8.0, near, _chebyshev(m, 32.0 / wide - 2.0, _I1E_FAR) / m.sqrt(wide))
    return m.where(x < 0.0, -value, value)


def _chebyshev(m: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """The sum of Chebyshev polynomials of x / 2, the first counted half, by Clenshaw's recurrence."""
    b0 = b1 = b2 = m.full(x, 0.0)
    for coefficient in reversed(coefficients):
        b0, b1, b2 = x * b0 - b1 + coefficient, b0, b1
    return 0.5 * (b0 - b2)


_GILES_NEAR = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06,
    3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
_GILES_FAR = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322,
    0.000100950558, -0.000200214257,
)  # fmt: skip
_LANCZOS = (
    676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894,
    -176.61502916214059906584551354, 12.507343278686904814458936853, -0.13857109526572011689554707,
    9.984369578019570859563e-6, 1.50563273514931155834e-7,
)  # fmt: skip
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_ZETA = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -1 / 1.8924375803183791606e9, 1 / 7.47242496e10,
    -1 / 2.950130727918164224e12, 1 / 1.1646782814350067249e14, -1 / 4.5979787224074726105e15,
    1 / 1.8152105401943546773e17, -1 / 7.1661652561756670113e18,
)  # fmt: skip
_I1E_NEAR = (
    0.25258718644363365, -0.17641651835783406, 0.10264365868984709, -0.052945981208094989, 0.024726449030626516,
    -0.010564084894626197, 0.0041564229443128882, -0.0015135724506312532, 5.1228595616857576e-4,
    -1.6176081582589674e-4, 4.7815651075500542e-5, -1.3273163656039436e-5, 3.4702513081376785e-6,
    -8.5687202646954547e-7, 2.0032947535521353e-7, -4.4450591287963281e-8, 9.3815373864957726e-9,
    -1.8872497517228294e-9, 3.6255902815521172e-10, -6.6634897235020271e-11, 1.1736186298890901e-11,
    -1.9839743977649436e-12, 3.2237933659455748e-13, -5.0421855047279118e-14, 7.6006842947354077e-15,
    -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17, 2.7779141127610464e-18,
)  # fmt: skip
_I1E_FAR = (
    0.7785762350182801, -0.0097610974913614687, -1.1058893876262371e-4, -3.8825648088776906e-6,
    -2.5122362378702088e-7, -2.6314688468895196e-8, -3.835380385964237e-9, -5.5897434621965838e-10,
    -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
    -7.1985517762459084e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
    2.9626289976459501e-16, -3.2095259219934238e-17, -4.6503053684893586e-17, 4.4143483230717077e-18,
    7.5172963108421052e-18,
)  # fmt: skip

# fdlibm s_erf.c: coefficients from the constant term up
ERF_PP = (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
       -5.77027029648944159157e-03, -2.37630166566501626084e-05)  # fmt: skip
ERF_QQ = (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
       1.32494738004321644526e-04, -3.96022827877536812320e-06)  # fmt: skip
ERF_PA = (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
       3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
       -2.16637559486879084300e-03)  # fmt: skip
ERF_QA = (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
       1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02)  # fmt: skip
ERF_RA = (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01,
       -6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02,
       -8.12874355063065934246e01, -9.81432934416914548592e00)  # fmt: skip
ERF_SA = (1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02,
       6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02,
       6.57024977031928170135e00, -6.04244152148580987438e-02)  # fmt: skip
ERF_RB = (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01,
       -1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03,
       -4.83519191608651397019e02)  # fmt: skip
ERF_SB = (1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03,
       3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02,
       -2.24409524465858183362e01)  # fmt: skip
