"""exp, log and their kin: x = k ln 2 + r, a polynomial in r (Remez, error below a quarter ulp), and a scaling."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import SSAValue

from ...dialects import arith
from .numbers import Numbers

LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453
# ln 2 in two parts: the first is exact in the type, and k times it is within an fma
LN2_PARTS = {True: (0.6931471805599453, 2.3190468138462996e-17), False: (0.6931471824645996, -1.904654299957768e-09)}
# ln 2 whose first part leaves room for k: k * hi is exact
_LN2_SHORT = {True: (0.6931471804855391, 7.440617110012397e-11), False: (0.693145751953125, 1.4286068203094173e-06)}
_LOG10_2 = {True: (0.30102999560767785, 5.630334806675098e-11), False: (0.301025390625, 4.605038981195214e-06)}
_INV_LN2 = {True: (1.4426950408889634, 2.0355273740931033e-17), False: (1.4426950216293335, 1.9259629911266175e-08)}
_INV_LN10 = {True: (0.4342944819032518, 1.098319650216765e-17), False: (0.4342944920063019, -1.0103050052231683e-08)}

# (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2
_EXP = {
    True: (
        *(0.5000000000000013, 0.166666666666667, 0.04166666666651433, 0.008333333333306998, 0.0013888888947330529),
        *(0.00019841269917829683, 2.480148959114151e-05, 2.755721590169597e-06, 2.7631413624124884e-07),
        2.5117988117669347e-08,
    ),
    False: (0.5, 0.166665181517601, 0.04166620224714279, 0.008368953131139278, 0.0013950603315606713),
}
# the same, with the error relative to exp(r) - 1
_EXPM1 = {
    True: (
        *(0.5, 0.16666666666666677, 0.0416666666666667, 0.00833333333332153, 0.0013888888888866663),
        *(0.00019841269886402158, 2.4801587360906276e-05, 2.7557243910730776e-06, 2.75572424582058e-07),
        *(2.510914768665308e-08, 2.092453702456303e-09),
    ),
    False: (
        *(0.5, 0.1666666716337204, 0.04166635498404503, 0.008333273231983185, 0.0013941102661192417),
        0.00019914301810786128,
    ),
}
# (log((1+s)/(1-s)) - 2s) / s^3 in s^2, for m = (1+s)/(1-s) between sqrt(1/2) and sqrt(2)
_LOG = {
    True: (
        *(0.6666666666666736, 0.3999999999940022, 0.2857142874591164, 0.2222219818225296, 0.1818358607021643),
        *(0.15313459735370388, 0.14802189599292412),
    ),
    False: (0.6666677594184875, 0.39977356791496277, 0.2987711429595947),
}

# (log(1+f) - f + f^2/2) / f^3 for 1+f between sqrt(1/2) and sqrt(2): f32 needs no division
_LOG_DIRECT = (
    *(0.3333333134651184, -0.2500081956386566, 0.2000124156475067, -0.166234090924263, 0.14201581478118896),
    *(-0.1315961331129074, 0.12762197852134705, -0.0763639509677887),
)


def exp(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x.

    A product that is too small for a normal number costs a hundred cycles. So x may fall until a factor is 0, which
    costs nothing: masks put it there.
    """
    low, high = -2 * e.bias * LN2, 711.0 if e.double else 90.0  # below, half of k leaves no exponent; above, infinite
    x = e.at_most(e.at_least(x, low), high)
    whole, biased = e.round_to_biased(x, 2 * e.bias, LOG2E)
    hi, lo = LN2_PARTS[e.double]
    r = e.fma(whole, e.c(-lo), e.fma(whole, e.c(-hi), x))
    # 2^k in two factors, each with half of k and once the bias: results may be subnormal or overflow rightly
    half = e.int(arith.ShRUIOp, biased, e.n(1))
    rest = e.int(arith.SubiOp, biased, half)
    return e.mul(e.mul(exp_of_rest(e, r), e.in_exponent(half)), e.in_exponent(rest))


def exp_below_one(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x for x <= 0: half the steps of scaling, since no result overflows."""
    up = 512 if e.double else 64  # 2^(k + up) is a normal number for every k that counts
    x = e.at_least(x, -(e.bias + up) * LN2)  # there 2^(k + up) is 0, as in `exp`
    whole, biased = e.round_to_biased(x, e.bias + up, LOG2E)
    hi, lo = LN2_PARTS[e.double]
    r = e.fma(whole, e.c(-lo), e.fma(whole, e.c(-hi), x))
    lowered = e.poly(r, [c * 2.0**-up for c in (1.0, 1.0, *_EXP[e.double])])
    return e.mul(lowered, e.in_exponent(biased))  # rounds once, be the result normal or not


def exp_as_weight(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x for x <= 0, and 0 instead of what is no normal number.

    That would make the products of attention a hundred times as slow, and counts for nothing beside the 1 of the
    highest score: masks of -100 put it there.
    """
    return e.mul(*_normal(e, x))


def exp_beside_one(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x as 1 + e^x needs it: half the steps of scaling, since what is not a normal number does not count there.

    The last step is one of those that may be fused with the sum.
    """
    return e.loose_mul(*_normal(e, e.at_most(x, 710.0 if e.double else 89.0)))


def _normal(e: Numbers, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Two factors of e^x, the second of them 0 where the product might not be a normal number."""
    x = e.at_least(x, (1 - e.bias) * LN2)  # there, 2^(k - 1) is 0
    whole, biased = e.round_to_biased(x, e.bias - 1, LOG2E)
    hi, lo = LN2_PARTS[e.double]
    r = e.fma(whole, e.c(-lo), e.fma(whole, e.c(-hi), x))
    doubled = e.poly(r, [2.0 * c for c in (1.0, 1.0, *_EXP[e.double])])
    return doubled, e.in_exponent(biased)


def exp_of_rest(e: Numbers, r: SSAValue) -> SSAValue:
    """e^r for |r| <= ln(2)/2."""
    return e.poly(r, (1.0, 1.0, *_EXP[e.double]))


def exp2(e: Numbers, x: SSAValue) -> SSAValue:
    """2^x."""
    low, high = -2.0 * e.bias, 1030.0 if e.double else 130.0
    x = e.at_most(e.at_least(x, low), high)
    whole, k = e.round_to_int(x)
    r = e.mul(e.sub(x, whole), e.c(LN2))
    return e.scale(exp_of_rest(e, r), k)


def expm1(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x - 1, to full precision near 0."""
    low, high = (-45.0, 710.0) if e.double else (-25.0, 89.0)  # below, e^x no longer counts; above, it is infinite
    limited = e.at_most(e.at_least(x, low), high)
    whole, k = e.round_to_int(e.mul(limited, e.c(LOG2E)))
    hi, lo = LN2_PARTS[e.double]
    start = e.fma(whole, e.c(-hi), limited)
    r = e.fma(whole, e.c(-lo), start)
    lost = e.fma(whole, e.c(-lo), e.sub(start, r))  # what the last rounding of r left out
    square = e.mul(r, r)
    p = e.add(r, e.fma(square, e.poly(r, _EXPM1[e.double]), lost))  # e^r - 1
    # 2^k p + (2^k - 1) by halves, so that 2^k does not overflow before its time
    half = e.power_of_two(e.int(arith.SubiOp, k, e.n(1)))
    result = e.fma(half, p, e.sub(half, e.c(0.5)))
    result = e.add(result, result)
    result = e.select(e.icmp("eq", k, e.n(0)), p, result)
    return e.select(e.cmp("oeq", x, e.c(0.0)), x, result)  # keeps -0


def split(e: Numbers, x: SSAValue, *, subnormal: bool = True) -> tuple[SSAValue, SSAValue]:
    """x > 0 as m 2^k with m between sqrt(1/2) and sqrt(2); k is a float. `subnormal`: whether x may be."""
    shift = 54 if e.double else 25
    tiny = None
    if subnormal:
        tiny = e.cmp("olt", x, e.c(float(np.finfo(np.float64 if e.double else np.float32).tiny)))
        x = e.select(tiny, e.mul(x, e.c(2.0**shift)), x)
    root = math.sqrt(0.5)
    offset = int(np.float64(root).view(np.int64)) if e.double else int(np.float32(root).view(np.int32))
    moved = e.int(arith.SubiOp, e.bits(x), e.n(offset))
    k = e.small_int_to_float(e.int(arith.ShRSIOp, moved, e.n(e.mantissa_bits)))
    low = e.int(arith.AndIOp, moved, e.n((1 << e.mantissa_bits) - 1))
    m = e.from_bits(e.int(arith.AddiOp, low, e.n(offset)))
    return m, k if tiny is None else e.sub(k, e.select(tiny, e.c(float(shift)), e.c(0.0)))


def _is_special(e: Numbers, x: SSAValue) -> SSAValue:
    """Whether x is not a positive, finite number of full precision."""
    finfo = np.finfo(np.float64 if e.double else np.float32)
    return e.either(e.cmp("ult", x, e.c(float(finfo.tiny))), e.cmp("ugt", x, e.c(float(finfo.max))))


def _log_parts(e: Numbers, f: SSAValue) -> tuple[SSAValue, SSAValue]:
    """log(1 + f) = f - (h - t): returns h = f^2/2 and t, both small beside f."""
    s = e.div(f, e.add(f, e.c(2.0)))
    z = e.mul(s, s)
    half_square = e.mul(e.mul(f, f), e.c(0.5))
    rest = e.mul(z, e.poly(z, _LOG[e.double]))
    return half_square, e.mul(s, e.add(half_square, rest))


def _specials(e: Numbers, x: SSAValue, result: SSAValue) -> SSAValue:
    """A logarithm's values at 0, infinity, below 0 and at NaN."""
    inf = e.c(math.inf)
    result = e.select(e.cmp("oeq", x, e.c(0.0)), e.c(-math.inf), result)
    result = e.select(e.cmp("oge", x, e.c(0.0)), result, e.c(math.nan))
    return e.select(e.cmp("oeq", x, inf), inf, result)


def log(e: Numbers, x: SSAValue) -> SSAValue:
    """Natural logarithm. Where all lanes are normal numbers, nothing else is looked at."""

    def slow(e: Numbers) -> list[SSAValue]:
        return [_specials(e, x, _log(e, x, subnormal=True))]

    return e.rarely(_is_special(e, x), slow, lambda e: [_log(e, x, subnormal=False)])[0]


def _log(e: Numbers, x: SSAValue, *, subnormal: bool) -> SSAValue:
    m, k = split(e, x, subnormal=subnormal)
    return log_of_parts(e, e.sub(m, e.c(1.0)), k, None)


def log_of_parts(e: Numbers, f: SSAValue, k: SSAValue, correction: SSAValue | None) -> SSAValue:
    """log(1 + f) + k ln 2, and a small correction."""
    hi, lo = _LN2_SHORT[e.double]
    if e.double:
        h, t = _log_parts(e, f)
    else:
        square = e.mul(f, f)
        h, t = e.mul(square, e.c(0.5)), e.mul(e.mul(square, f), e.poly(f, _LOG_DIRECT))
    low = e.fma(k, e.c(lo), t if correction is None else e.add(t, correction))
    return e.fma(k, e.c(hi), e.sub(f, e.sub(h, low)))


def _log_of_mantissa(e: Numbers, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """k, and log(m) as a sum of two floats."""
    m, k = split(e, x)
    f = e.sub(m, e.c(1.0))
    h, t = _log_parts(e, f)
    head = e.sub(f, h)
    tail = e.add(e.sub(e.sub(f, head), h), t)
    return k, head, tail


def log2(e: Numbers, x: SSAValue) -> SSAValue:
    """Logarithm to base 2; exact at powers of two."""
    k, head, tail = _log_of_mantissa(e, x)
    hi, lo = _INV_LN2[e.double]
    low = e.fma(tail, e.c(hi), e.mul(e.add(head, tail), e.c(lo)))
    product = e.mul(head, e.c(hi))
    low = e.add(low, e.fma(head, e.c(hi), e.neg(product)))
    top = e.add(k, product)
    low = e.add(low, e.add(e.sub(k, top), product))
    return _specials(e, x, e.add(top, low))


def log10(e: Numbers, x: SSAValue) -> SSAValue:
    """Logarithm to base 10."""
    k, head, tail = _log_of_mantissa(e, x)
    hi, lo = _INV_LN10[e.double]
    two_hi, two_lo = _LOG10_2[e.double]
    low = e.fma(k, e.c(two_lo), e.fma(tail, e.c(hi), e.mul(e.add(head, tail), e.c(lo))))
    product = e.mul(head, e.c(hi))
    low = e.add(low, e.fma(head, e.c(hi), e.neg(product)))
    exact = e.mul(k, e.c(two_hi))
    top = e.add(exact, product)
    low = e.add(low, e.add(e.sub(exact, top), product))
    return _specials(e, x, e.add(top, low))


def log1p(e: Numbers, x: SSAValue) -> SSAValue:
    """log(1 + x), to full precision near 0."""
    one = e.c(1.0)
    u = e.add(one, x)
    m, k = split(e, u)
    # what rounding 1 + x lost, to first order
    large = e.cmp("oge", x, one)
    lost = e.select(large, e.sub(one, e.sub(u, x)), e.sub(x, e.sub(u, one)))
    correction = e.div(lost, u)
    near = e.cmp("oeq", k, e.c(0.0))
    f = e.select(near, x, e.sub(m, one))
    correction = e.select(near, e.c(0.0), correction)
    result = _specials(e, u, log_of_parts(e, f, k, correction))
    return e.select(e.cmp("oeq", x, e.c(0.0)), x, result)  # keeps -0
