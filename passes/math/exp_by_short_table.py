"""exp in f32 where a register of eight holds a table, as with AVX2: x = k/8 ln 2 + r, 2^(k/8), and a cubic in r.

No instruction puts on powers of two there, but k has both parts of it in its bits: the low three choose one of eight
powers between 1 and 2, and all of them, shifted to where they count as exponents, are added to its bits. What the low
three add too much is taken off the table before. That is half of the steps of `exponential.exp`: eight numbers take
1.9 ns instead of 2.8 on Zen 3. (Tang, "Table-driven implementation of the exponential function in IEEE floating-point
arithmetic", 1989.)
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects import arith
from . import exponential
from .exp_by_table import NOT_NORMAL, split, zero_below
from .exponential import LN2
from .numbers import Numbers

STEPS = 8
_CUBIC = (0.500064492225647, 0.1666685789823532)  # (e^r - 1 - r) / r^2 on |r| <= ln(2)/16 (Remez), error 2.6e-8
_INFINITE = 89.0  # of which half of e^x is still a number, and e^x none
_NORMAL = 87.0  # e^x is a normal number for x from the negative of it to it
_UP = 64  # powers of two by which e^x is raised, so that it is a normal number for all x < 0 that count


def exp(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x; where all lanes are normal numbers, no other is looked for."""

    def work(e: Numbers, x: SSAValue) -> SSAValue:
        outside = e.cmp("ugt", e.abs(x), e.c(_NORMAL))
        return e.rarely(outside, lambda e: [exponential.exp(e, x)], lambda e: [_normal(e, x)])[0]

    return e.by_lanes(x, work)


def exp_below_one(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x for x <= 0; what is too low is no further than where the power is 0, which costs nothing."""

    def work(e: Numbers, x: SSAValue) -> SSAValue:
        power, rest = _parts(e, e.at_least(x, -(e.bias + _UP) * LN2), _UP)
        return e.mul(e.fma(rest, power, power), e.c(2.0**-_UP))

    return e.by_lanes(x, work)


def exp_as_weight(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x for x <= 0, and 0 instead of what is no normal number."""

    def work(e: Numbers, x: SSAValue) -> SSAValue:
        return zero_below(e, x, NOT_NORMAL, _normal(e, e.at_least(x, NOT_NORMAL)))

    return e.by_lanes(x, work)


def exp_beside_one(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x as 1 + e^x needs it; the last step is one of those that may be fused with the sum."""

    def work(e: Numbers, x: SSAValue) -> SSAValue:
        half, rest = _parts(e, e.at_most(e.at_least(x, NOT_NORMAL), _INFINITE), -1)
        return e.loose_mul(e.fma(rest, e.c(2.0), e.c(2.0)), half)

    return e.by_lanes(x, work)


def _normal(e: Numbers, x: SSAValue) -> SSAValue:
    power, rest = _parts(e, x, 0)
    return e.fma(rest, power, power)


def _parts(e: Numbers, x: SSAValue, up: int) -> tuple[SSAValue, SSAValue]:
    """2^(k/8 + up), and e^r - 1."""
    _, steps, rest = split(e, x, STEPS, _CUBIC)
    shift = e.mantissa_bits - STEPS.bit_length() + 1
    exponents = e.int(arith.ShLIOp, steps, e.n(shift))
    powers = np.exp2(np.arange(STEPS) / STEPS + up).astype(np.float32).view(np.int32)
    table = (powers - (np.arange(STEPS, dtype=np.int32) << shift)).view(np.float32)
    found = e.bits(e.looked_up([float(number) for number in table], steps))
    return e.from_bits(e.int(arith.AddiOp, found, exponents)), rest
