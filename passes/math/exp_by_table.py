"""exp in f32 where a register holds a table: x = k/16 ln 2 + r, 2^(k/16 mod 1) looked up, and a cubic in r.

The polynomial of `exponential.exp` has twice the degree for an r that is sixteen times as large. Powers of two are put
on by an instruction that takes exponents of any size and rounds once. Sixteen numbers take 2.5 ns instead of 3.5 on
Zen 4. (Tang, "Table-driven implementation of the exponential function in IEEE floating-point arithmetic", 1989.)

Results that are not normal numbers may take a hundred cycles, also those that would be 0: where x is too low, lanes are
set to 0, by a mask of the last instruction.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.x86 import ScaleOp
from .exponential import LN2, LN2_PARTS, LOG2E
from .numbers import Numbers

_POWERS = [2.0 ** (i / 16) for i in range(16)]
_CUBIC = (0.5000161759053529, 0.16666730577747027)  # (e^r - 1 - r) / r^2 on |r| <= ln(2)/32 (Remez), error 1.6e-9
_NOTHING = -150 * LN2  # from here down e^x rounds to 0
NOT_NORMAL = -125.5 * LN2  # as `exponential.exp_as_weight` has it
_INFINITE = 90.0


def exp(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x."""
    return _exp(e, x, _NOTHING, _INFINITE)


def exp_below_one(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x for x <= 0."""
    return _exp(e, x, _NOTHING)


def exp_as_weight(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x for x <= 0, and 0 instead of what is no normal number."""
    return _exp(e, x, NOT_NORMAL)


def exp_beside_one(e: Numbers, x: SSAValue) -> SSAValue:
    """e^x as 1 + e^x needs it."""
    return _exp(e, x, NOT_NORMAL, _INFINITE)


def _exp(e: Numbers, x: SSAValue, least: float, most: float | None = None) -> SSAValue:
    """e^x, 0 for x below `least`; an x above `most` has the same power as that."""
    return e.by_lanes(x, lambda e, x: _vector_exp(e, x, least, most))


def _vector_exp(e: Numbers, x: SSAValue, least: float, most: float | None) -> SSAValue:
    limited = x if most is None else e.at_most(x, most)
    whole, steps, rest = split(e, limited, len(_POWERS), _CUBIC)
    power = e.looked_up(_POWERS, steps)
    result = e.b(ScaleOp(e.fma(rest, power, power), whole)).result
    return zero_below(e, x, least, result)


def split(e: Numbers, x: SSAValue, steps: int, cubic: tuple[float, float]) -> tuple[SSAValue, SSAValue, SSAValue]:
    """x = k ln 2 + r, where k is a multiple of 1/steps: k, its steps in the low bits of an integer, and e^r - 1."""
    magic = e.c(1.5 * 2.0**e.mantissa_bits / steps)  # whose last bit is a step
    moved = e.fma(x, e.c(LOG2E), magic)
    k = e.sub(moved, magic)
    hi, lo = LN2_PARTS[e.double]
    r = e.fma(k, e.c(-lo), e.fma(k, e.c(-hi), x))
    low, high = cubic
    return k, e.bits(moved), e.fma(e.fma(r, e.c(high), e.c(low)), e.mul(r, r), r)


def zero_below(e: Numbers, x: SSAValue, least: float, result: SSAValue) -> SSAValue:
    """`result`, and 0 where x is below `least`."""
    return e.select(e.cmp("olt", x, e.c(least)), e.c(0.0), result)
