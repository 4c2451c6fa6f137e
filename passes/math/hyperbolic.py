"""Hyperbolic functions, from expm1 and log1p."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from .exponential import LOG2E, exp, expm1, log, log1p
from .numbers import Numbers

# tanh(s) / s in s^2 for |s| <= ln(2)/4
_TANH = (1.0, -0.3333127200603485, 0.13110671937465668)


def tanh(e: Numbers, x: SSAValue) -> SSAValue:
    """The hyperbolic tangent: exact near 0, 1 at infinity."""
    a = e.abs(x)
    return e.copysign(_tanh_f64(e, a) if e.double else _tanh_f32(e, a), x)


def _tanh_f64(e: Numbers, a: SSAValue) -> SSAValue:
    """t / (t + 2) with t = e^(-2a) - 1, but for the sign."""
    t = expm1(e, e.mul(a, e.c(-2.0)))
    return e.div(t, e.add(t, e.c(2.0)))


def _tanh_f32(e: Numbers, a: SSAValue) -> SSAValue:
    """For a >= 0: a = k ln(2)/2 + s and p = tanh(s), so e^(-2a) = 2^-k (1 - p) / (1 + p)."""
    a = e.at_most(a, 10.0)  # tanh is 1 in f32 from there on
    whole, biased = e.round_to_biased(a, e.bias, -2 * LOG2E)
    s = e.fma(whole, e.c(math.log(2) / 2), a)
    p = e.mul(s, e.poly(e.mul(s, s), _TANH))
    power = e.in_exponent(biased)
    less, more = e.sub(e.c(1.0), power), e.add(e.c(1.0), power)
    return e.div(e.fma(p, more, less), e.fma(p, less, more))


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
