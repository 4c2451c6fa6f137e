"""erf: an odd polynomial near 0; further out 1 - erfc, with erfc from an exponential."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .exponential import exp
from .numbers import Numbers

# erf(x)/x in x^2 for |x| <= 1
_SMALL = {
    True: (
        *(1.1283791670955126, -0.37612638903183754, 0.1128379167095512, -0.026866170645129868, 0.005223977625423592),
        *(-0.0008548327021954678, 0.00012055332903751186, -1.4925647592623837e-05, 1.6462045941474976e-06),
        *(-1.6364648992732657e-07, 1.4792464259764001e-08, -1.2164935185883989e-09, 8.710344621375787e-11),
        -4.232936937443647e-12,
    ),
    False: (
        *(1.1283791065216064, -0.3761262595653534, 0.11283600330352783, -0.026854440569877625),
        *(0.0051895263604819775, -0.0008020754321478307, 7.888799882493913e-05),
    ),
}
# log2(erfc(t)) for 1 <= t <= 4; beyond, erf is 1 in f32
_LOG2_ERFC = (
    *(-0.0005103009170852602, -1.6259751319885254, -0.9207648634910583, -0.14865168929100037, 0.0314585417509079),
    *(-0.004240993410348892, 0.0002677312586456537),
)
# log2(erfc(t))/t for 0 <= t <= 4, to what counts beside 1
_LOG2_ERFC_WHOLE = (
    *(-1.627908593060691, -0.9184163932789682, -0.1484816149893198, 0.02825368094709779, -0.0007746295564029545),
    *(-0.0014894416651234455, 0.0004455076487559815, -4.5358597793792266e-05),
)
# 2^r for |r| <= 1/2, to what counts beside 1
_EXP2 = (1.0, 0.6931470036506653, 0.24022246897220612, 0.0555071085691452, 0.009671292267739773, 0.0013269535265862942)
# exp(t^2) erfc(t) in (t - 2)/(t + 2) for 1 <= t <= 6; beyond, erf is 1 in f64
_ERFCX = (
    *(0.25539567631050575, -0.4271858474139584, 0.24165819424246643, -0.07897858101573109, 0.0037328924043303646),
    *(0.006997461739110916, -0.0008471432509921217, -0.0009819770231171735, 4.355560125357868e-05),
    *(0.00017436109693917532, 2.7525553980299122e-05, -2.757914863869193e-05, -1.3969342396916891e-05),
    *(1.3891109209984127e-06, 3.79847404515299e-06, 1.1817700817654082e-06, -5.572482693297946e-07),
    -4.0388799747375854e-07,
)


def erf(e: Numbers, x: SSAValue) -> SSAValue:
    """The error function."""
    a = e.abs(x)
    near = e.mul(x, e.poly(e.mul(x, x), _SMALL[e.double]))
    far = _far_f64(e, e.at_most(a, 6.0)) if e.double else _far_f32(e, e.at_most(a, 4.0))
    return e.select(e.cmp("olt", a, e.c(1.0)), near, e.copysign(far, x))


def erf_beside_one(e: Numbers, x: SSAValue) -> SSAValue:
    """The error function to f32's precision of 1, for what adds 1 to it, as GELU does: one branch is enough."""
    t = e.at_most(e.abs(x), 4.0)
    return e.copysign(_one_less_power(e, e.mul(t, e.poly(t, _LOG2_ERFC_WHOLE))), x)


def _far_f32(e: Numbers, t: SSAValue) -> SSAValue:
    return _one_less_power(e, e.poly(t, _LOG2_ERFC))


def _one_less_power(e: Numbers, exponent: SSAValue) -> SSAValue:
    """1 - 2^exponent."""
    whole, biased = e.round_to_biased(exponent, e.bias)
    return e.fma(e.neg(e.in_exponent(biased)), e.poly(e.sub(exponent, whole), _EXP2), e.c(1.0))


def _far_f64(e: Numbers, t: SSAValue) -> SSAValue:
    u = e.div(e.sub(t, e.c(2.0)), e.add(t, e.c(2.0)))
    return e.sub(e.c(1.0), e.mul(exp(e, e.neg(e.mul(t, t))), e.poly(u, _ERFCX)))
