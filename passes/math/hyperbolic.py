"""Hyperbolic functions, from expm1 and log1p."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from .exponential import LOG2E, exp, expm1, log, log1p
from .numbers import Numbers

# ((e^(-2s) - 1) / s + 2) / s for |s| <= ln(2)/4
_DECAY = (1.9999998807907104, -1.3333237171173096, 0.6666790843009949, -0.267720103263855, 0.08876767009496689)


def tanh(e: Numbers, x: SSAValue) -> SSAValue:
    """-t / (t + 2) with t = e^(-2|x|) - 1: exact near 0, 1 at infinity."""
    a = e.abs(x)
    t = expm1(e, e.mul(a, e.c(-2.0))) if e.double else _decay_f32(e, a)
    return e.copysign(e.div(t, e.add(t, e.c(2.0))), x)


def _decay_f32(e: Numbers, a: SSAValue) -> SSAValue:
    """e^(-2a) - 1 for a >= 0: a = -k ln(2)/2 + s, a polynomial in s, and 2^k."""
    a = e.at_most(a, 10.0)  # tanh is 1 in f32 from there on
    whole, biased = e.round_to_biased(a, e.bias, -2 * LOG2E)
    s = e.fma(whole, e.c(math.log(2) / 2), a)
    p = e.mul(s, e.poly(s, (-2.0, *_DECAY)))
    power = e.in_exponent(biased)
    return e.fma(power, p, e.sub(power, e.c(1.0)))


def sinh(e: Numbers, x: SSAValue) -> SSAValue:
    """Hyperbolic sine."""
    w = e.wide()
    wide = e.widen(x)
    a = w.abs(wide)
    t = expm1(w, a)
    value = w.mul(w.add(t, w.div(t, w.add(t, w.c(1.0)))), w.c(0.5))
    value = w.select(w.cmp("ogt", a, w.c(700.0)), _half_exp(w, a), value)
    return e.narrow(w.copysign(value, wide))


def cosh(e: Numbers, x: SSAValue) -> SSAValue:
    """Hyperbolic cosine."""
    w = e.wide()
    a = w.abs(e.widen(x))
    power = exp(w, a)
    value = w.mul(w.add(power, w.div(w.c(1.0), power)), w.c(0.5))
    return e.narrow(w.select(w.cmp("ogt", a, w.c(700.0)), _half_exp(w, a), value))


def _half_exp(w: Numbers, a: SSAValue) -> SSAValue:
    """e^a / 2 where e^a itself would overflow."""
    root = exp(w, w.mul(a, w.c(0.5)))
    return w.mul(w.mul(root, w.c(0.5)), root)


def asinh(e: Numbers, x: SSAValue) -> SSAValue:
    """Inverse hyperbolic sine."""
    w = e.wide()
    wide = e.widen(x)
    a = w.abs(wide)
    one = w.c(1.0)
    square = w.mul(a, a)
    near = log1p(w, w.add(a, w.div(square, w.add(one, w.sqrt(w.add(square, one))))))
    far = w.add(log(w, a), w.c(math.log(2)))
    return e.narrow(w.copysign(w.select(w.cmp("ogt", a, w.c(2.0**28)), far, near), wide))


def acosh(e: Numbers, x: SSAValue) -> SSAValue:
    """Inverse hyperbolic cosine; NaN below 1."""
    w = e.wide()
    wide = e.widen(x)
    t = w.sub(wide, w.c(1.0))
    near = log1p(w, w.add(t, w.sqrt(w.fma(t, t, w.add(t, t)))))
    far = w.add(log(w, wide), w.c(math.log(2)))
    value = w.select(w.cmp("ogt", wide, w.c(2.0**28)), far, near)
    return e.narrow(w.select(w.cmp("olt", wide, w.c(1.0)), w.c(math.nan), value))


def atanh(e: Numbers, x: SSAValue) -> SSAValue:
    """Inverse hyperbolic tangent; infinite at 1, NaN beyond."""
    w = e.wide()
    wide = e.widen(x)
    a = w.abs(wide)
    ratio = w.div(w.add(a, a), w.sub(w.c(1.0), a))
    return e.narrow(w.copysign(w.mul(log1p(w, ratio), w.c(0.5)), wide))
