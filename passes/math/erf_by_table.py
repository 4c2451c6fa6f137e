"""erf in f32 where registers hold tables: sixteen polynomials, of which each lane takes the one next to it.

|x| = k/4 + r with |r| <= 1/8, and the result is c0[k] + c1[k] r + c2[k] r^2 + ...: k looks each coefficient up in a
register of sixteen. No exponential, no division; GELU takes two thirds of the time. The polynomial at 0 is odd, so that
small results are as exact as large ones; the last one ends at 1. (tanh takes eight coefficients: on Zen 4, where a
lookup costs as much as a multiply-add, that is 1.3 times as slow as `hyperbolic.tanh`.)
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from .numbers import Numbers

END = 3.87  # erf is 1 in f32 from there on
# by degree, each at 0, 1/4, 2/4, ... (least squares, reweighted towards Remez; c0 is rounded first)
_COEFFICIENTS = (
    (
        *(0.0, 0.2763264, 0.5204999, 0.71115565, 0.8427008, 0.92290014, 0.96610516, 0.9866717, 0.9953223),
        *(0.9985373, 0.999593, 0.9998994, 0.9999779, 0.9999957, 0.9999993, 0.9999999),
    ),
    (
        *(1.1283791, 1.0600142, 0.87878263, 0.6429311, 0.4151075, 0.23652112, 0.11893029, 0.052774996),
        *(0.020666987, 0.0071423193, 0.002178284, 0.0005862772, 0.00013925305, 2.9189025e-05),
        *(5.3994268e-06, 1.0235842e-06),
    ),
    (
        *(0.0, -0.26499876, -0.43938833, -0.48220435, -0.41510132, -0.29565975, -0.17840594, -0.09236478),
        *(-0.041345067, -0.016079167, -0.0054311147, -0.0016166996, -0.00040624946, -0.00010045709),
        *(-3.2816766e-05, 8.328478e-06),
    ),
    (
        *(-0.3761227, -0.30919176, -0.1464787, 0.0267772, 0.13837057, 0.16753383, 0.13875145, 0.09015756),
        *(0.048223145, 0.02172457, 0.008350057, 0.0027603053, 0.00078905467, 0.00019578863),
        *(4.228827e-05, 7.96762e-06),
    ),
    (
        *(0.0, 0.12607679, 0.18212113, 0.15065129, 0.06886294, -0.005296532, -0.043627564, -0.047417972),
        *(-0.0337309, -0.018558836, -0.009595601, -0.0030015558, -0.0017889094, 6.541531e-05),
        *(0.0008173733, -0.0007549648),
    ),
    (
        *(0.112210274, 0.08088647, 0.008263739, -0.05221606, -0.069037706, -0.046998523, -0.014904955),
        *(0.006512005, 0.013024742, 0.010646034, 0.006127876, 0.0027712234, 0.0010255967, 0.0003178107),
        *(8.349313e-05, 1.8754647e-05),
    ),
)


def erf(e: Numbers, x: SSAValue) -> SSAValue:
    """The error function."""
    return e.by_lanes(x, _erf)


def _erf(e: Numbers, x: SSAValue) -> SSAValue:
    a = e.at_most(e.abs(x), END)
    magic = e.c(1.5 * 2.0 ** (e.mantissa_bits - 2))  # whose last bit is a quarter
    moved = e.add(a, magic)
    r = e.sub(a, e.sub(moved, magic))
    index = e.bits(moved)
    *lower, result = (e.looked_up(numbers, index) for numbers in _COEFFICIENTS)
    for coefficient in reversed(lower):
        result = e.fma(result, r, coefficient)
    return e.copysign(result, x)
