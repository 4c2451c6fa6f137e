"""sin, cos and tan, computed in f64 for both types, and their inverses, in the type asked for (atan2: in f64).

Arguments are reduced to |r| <= pi/4: with pi/2 in three parts and fused steps below 2^40 (exact to the last bit
there), and by Payne and Hanek's product with the bits of 2/pi above, which runs only when a lane needs it.
"""

from __future__ import annotations

import math
from itertools import pairwise

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import SSAValue

from ...dialects import arith
from ...dialects.arith.shaped import with_element
from .numbers import Numbers

_PI_2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_REDUCED_FAST = 2.0**40
# (sin(r)/r - 1) / r^2 and (cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4
_SIN = (
    *(-0.16666666666666627, 0.008333333333321286, -0.00019841269828869905, 2.7557313355947433e-06),
    *(-2.5050704030245467e-08, 1.589358341716631e-10),
)
_COS = (
    *(0.04166666666666659, -0.0013888888888872598, 2.4801587288491705e-05, -2.755731405646965e-07),
    *(2.0875681865589477e-09, -1.1357447961892308e-11),
)
# (atan(r)/r - 1) / r^2 in r^2, |r| <= tan(pi/8)
_ATAN = (
    *(-0.333333333333332, 0.1999999999995324, -0.14285714280159248, 0.11111110781475875, -0.0909089769729297),
    *(0.07692059079938574, -0.06663090467027234, 0.05847785543039934, -0.05038815238559438),
    *(0.03805158054277495, -0.017892415698814584),
)
# The bits of 2/pi, after one word of zeros, in words of 64.
_TWO_OVER_PI = (
    *(0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0),
    *(0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4),
    *(0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D),
    *(0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB, 0xF0CFBC209AF4361D),
)


def _reduce(w: Numbers, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """x as q pi/2 + r + tail: the integer q modulo 4 (in its low bits), r, and what r leaves out."""
    huge = w.cmp("oge", w.abs(x), w.c(_REDUCED_FAST))
    q, r, tail = w.rarely(huge, lambda e: _payne_hanek(e, x), lambda e: _cody_waite(e, x))
    return q, r, tail


def _cody_waite(e: Numbers, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    whole, q = e.round_to_int(e.mul(x, e.c(2 / math.pi)))
    first = e.fma(whole, e.c(-_PI_2[0]), x)  # exact
    r = e.fma(whole, e.c(-_PI_2[1]), first)
    tail = e.fma(whole, e.c(-_PI_2[1]), e.sub(first, r))
    return q, r, e.fma(whole, e.c(-_PI_2[2]), tail)


def _payne_hanek(e: Numbers, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The fraction of |x| 2/pi/4 in 128 bits, from the 192 bits of 2/pi that matter for the exponent of x."""

    def op(kind: type, a: SSAValue, c: SSAValue) -> SSAValue:
        return e.int(kind, a, c)

    slow = e.cmp("oge", e.abs(x), e.c(_REDUCED_FAST))
    bits = e.bits(e.abs(x))
    exponent = op(arith.ShRUIOp, bits, e.n(52))
    mantissa = op(arith.OrIOp, op(arith.AndIOp, bits, e.n((1 << 52) - 1)), e.n(1 << 52))
    # |x| = mantissa 2^(exponent - 1075). Bits of weight 4 and more do not count: start with bit exponent - 1076,
    # counted from 1 behind the point; the table has 64 zeros before that.
    start = op(arith.SubiOp, exponent, e.n(1076 - 63))
    word = op(arith.ShRUIOp, start, e.n(6))
    shift = op(arith.AndIOp, start, e.n(63))
    chosen = [e.n(_TWO_OVER_PI[k]) for k in range(4)]
    for index in range(1, len(_TWO_OVER_PI) - 3):
        here = e.icmp("eq", word, e.n(index))
        chosen = [e.select(here, e.n(_TWO_OVER_PI[index + k]), old) for k, old in enumerate(chosen)]
    back = op(arith.SubiOp, e.n(63), shift)
    window = [
        op(
            arith.OrIOp,
            op(arith.ShLIOp, high, shift),
            op(arith.ShRUIOp, op(arith.ShRUIOp, low, e.n(1)), back),
        )
        for high, low in pairwise(chosen)
    ]
    low1, high1 = _product(e, mantissa, window[1])
    _, high2 = _product(e, mantissa, window[2])
    middle = op(arith.AddiOp, low1, high2)
    carried = e.select(e.icmp("ult", middle, low1), e.n(1), e.n(0))
    top = op(arith.AddiOp, op(arith.AddiOp, op(arith.MuliOp, mantissa, window[0]), high1), carried)
    # The value modulo 4 is (top, middle) 2^-126; take the nearest integer off.
    q = op(arith.ShRUIOp, op(arith.AddiOp, top, e.n(1 << 61)), e.n(62))
    rest = op(arith.SubiOp, top, op(arith.ShLIOp, q, e.n(62)))
    high = _to_float(e, rest, arith.SIToFPOp)
    low = _to_float(e, middle, arith.UIToFPOp)
    scaled = e.mul(high, e.c(2.0**-62))
    lost = op(arith.SubiOp, rest, _to_int(e, high))
    small = e.add(e.mul(_to_float(e, lost, arith.SIToFPOp), e.c(2.0**-62)), e.mul(low, e.c(2.0**-126)))
    fraction = e.add(scaled, small)
    left = e.add(e.sub(scaled, fraction), small)
    r = e.mul(fraction, e.c(_PI_2[0]))
    tail = e.fma(fraction, e.c(_PI_2[0]), e.neg(r))
    tail = e.fma(fraction, e.c(_PI_2[1]), e.fma(left, e.c(_PI_2[0]), tail))
    negative = e.cmp("olt", x, e.c(0.0))
    q = e.select(negative, op(arith.SubiOp, e.n(0), q), q)
    r, tail = (e.select(negative, e.neg(value), value) for value in (r, tail))
    fast = _cody_waite(e, x)
    picked = [e.select(slow, a, c) for a, c in zip((q, r, tail), fast, strict=True)]
    return picked[0], picked[1], picked[2]


def _product(e: Numbers, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    new = arith.MulUIExtendedOp.create(operands=[x, y], result_types=[x.type, x.type])
    low, high = e.b(new).results
    return low, high


def _to_float(e: Numbers, x: SSAValue, op: type[arith.SIToFPOp] | type[arith.UIToFPOp]) -> SSAValue:
    return e.b(op.create(operands=[x], result_types=[e.type])).results[0]


def _to_int(e: Numbers, x: SSAValue) -> SSAValue:
    integer: IntegerType = i64
    return e.b(arith.FPToSIOp.create(operands=[x], result_types=[with_element(x.type, integer)])).results[0]


def _sin_and_cos(w: Numbers, r: SSAValue, tail: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Both on |r| <= pi/4; `tail` is what r leaves out."""
    z = w.mul(r, r)
    cube = w.mul(z, r)
    # sin(r + t) = sin r + t cos r, cos(r + t) = cos r - t sin r, to first order
    sine = w.add(r, w.fma(cube, w.poly(z, _SIN), w.fma(tail, w.fma(z, w.c(-0.5), w.c(1.0)), w.c(0.0))))
    half = w.mul(z, w.c(0.5))
    top = w.sub(w.c(1.0), half)
    lost = w.sub(w.sub(w.c(1.0), top), half)
    small = w.fma(w.mul(z, z), w.poly(z, _COS), w.fma(w.neg(r), tail, lost))
    return sine, w.add(top, small)


def _odd(w: Numbers, q: SSAValue, bit: int) -> SSAValue:
    return w.icmp("ne", w.int(arith.AndIOp, q, w.n(bit)), w.n(0))


def _finite(w: Numbers, x: SSAValue, result: SSAValue) -> SSAValue:
    return w.select(w.cmp("olt", w.abs(x), w.c(math.inf)), result, w.c(math.nan))


def sin(e: Numbers, x: SSAValue) -> SSAValue:
    """Sine; NaN at infinities."""
    w = e.wide()
    wide = e.widen(x)
    q, r, tail = _reduce(w, wide)
    sine, cosine = _sin_and_cos(w, r, tail)
    result = w.select(_odd(w, q, 1), cosine, sine)
    result = w.select(_odd(w, q, 2), w.neg(result), result)
    result = w.select(w.cmp("oeq", wide, w.c(0.0)), wide, result)
    return e.narrow(_finite(w, wide, result))


def cos(e: Numbers, x: SSAValue) -> SSAValue:
    """Cosine; NaN at infinities."""
    w = e.wide()
    wide = e.widen(x)
    q, r, tail = _reduce(w, wide)
    sine, cosine = _sin_and_cos(w, r, tail)
    result = w.select(_odd(w, q, 1), sine, cosine)
    turned = w.int(arith.AddiOp, q, w.n(1))
    result = w.select(_odd(w, turned, 2), w.neg(result), result)
    return e.narrow(_finite(w, wide, result))


def tan(e: Numbers, x: SSAValue) -> SSAValue:
    """Tangent; NaN at infinities."""
    w = e.wide()
    wide = e.widen(x)
    q, r, tail = _reduce(w, wide)
    sine, cosine = _sin_and_cos(w, r, tail)
    odd = _odd(w, q, 1)
    top = w.select(odd, w.neg(cosine), sine)
    result = w.div(top, w.select(odd, sine, cosine))
    result = w.select(w.cmp("oeq", wide, w.c(0.0)), wide, result)
    return e.narrow(_finite(w, wide, result))


def _atan_positive(w: Numbers, x: SSAValue) -> SSAValue:
    """atan for x >= 0."""
    inverse = w.cmp("ogt", x, w.c(1.0))
    x = w.select(inverse, w.div(w.c(1.0), x), x)
    upper = w.cmp("ogt", x, w.c(math.tan(math.pi / 8)))
    one = w.c(1.0)
    x = w.select(upper, w.div(w.sub(x, one), w.add(x, one)), x)
    z = w.mul(x, x)
    small = w.mul(x, w.mul(z, w.poly(z, _ATAN)))
    quarter = (math.pi / 4, 3.061616997868383e-17)
    high = w.select(upper, w.c(quarter[0]), w.c(0.0))
    low = w.select(upper, w.c(quarter[1]), w.c(0.0))
    result = w.add(high, w.add(x, w.add(small, low)))
    # pi/2 - atan(1/x)
    other = w.sub(w.sub(w.c(math.pi / 2), high), w.add(x, w.sub(w.add(small, low), w.c(_PI_2[1]))))
    return w.select(inverse, other, result)


# the same in f32, where one division brings |r| below 1
_ATAN_F32 = (
    *(-0.33333298563957214, 0.1999853104352951, -0.14264051616191864, 0.10951174795627594, -0.08400475233793259),
    *(0.05790654569864273, -0.031127002090215683, 0.010887361131608486, -0.0017875476041808724),
)
_PI_2_F32 = (1.5707963705062866, -4.371138828673793e-08)


def _atan_f32(e: Numbers, x: SSAValue) -> SSAValue:
    """atan for x >= 0."""
    one = e.c(1.0)
    inverse = e.cmp("ogt", x, one)
    r = e.div(e.select(inverse, e.c(-1.0), x), e.select(inverse, x, one))
    z = e.mul(r, r)
    small = e.mul(e.mul(r, z), e.poly(z, _ATAN_F32))
    low = e.add(small, e.select(inverse, e.c(_PI_2_F32[1]), e.c(0.0)))
    return e.add(e.select(inverse, e.c(_PI_2_F32[0]), e.c(0.0)), e.add(r, low))


def atan(e: Numbers, x: SSAValue) -> SSAValue:
    """Arc tangent."""
    if not e.double:
        return e.copysign(_atan_f32(e, e.abs(x)), x)
    w = e.wide()
    wide = e.widen(x)
    return e.narrow(w.copysign(_atan_positive(w, w.abs(wide)), wide))


def atan2(e: Numbers, y: SSAValue, x: SSAValue) -> SSAValue:
    """The angle of the point (x, y), in (-pi, pi]; zeros and infinities as in C."""
    w = e.wide()
    y, x = e.widen(y), e.widen(x)
    ay, ax = w.abs(y), w.abs(x)
    same = w.cmp("oeq", ay, ax)  # 0/0 and inf/inf
    zero = w.cmp("oeq", ay, w.c(0.0))
    quotient = w.div(ay, ax)
    quotient = w.select(same, w.select(zero, w.c(0.0), w.c(1.0)), quotient)
    angle = _atan_positive(w, quotient)
    left = w.icmp("slt", w.bits(x), w.n(0))
    angle = w.select(left, w.add(w.sub(w.c(math.pi), angle), w.c(1.2246467991473532e-16)), angle)
    result = w.copysign(angle, y)
    nan = w.cmp("uno", x, y)
    return e.narrow(w.select(nan, w.c(math.nan), result))


# (asin(r)/r - 1) / r^2 in r^2, |r| <= 1/2
_ASIN = (
    *(0.16666666666666763, 0.0749999999997009, 0.044642857175292136, 0.030381942675029524, 0.022372215912040614),
    *(0.017351595403862434, 0.01398101954082079, 0.011397285898116356, 0.010789355930434275),
    *(0.0036720712694828686, 0.02179088649848617, -0.021117011000177925, 0.03270231827150447),
)


_ASIN_F32 = (0.16666752099990845, 0.074953094124794, 0.04546914994716644, 0.024184778332710266, 0.042158305644989014)


def _asin_of_half(e: Numbers, a: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """For 0 <= a <= 1, whether a > 1/2, and asin(r) as r and what it adds: r is a or sqrt((1 - a) / 2)."""
    large = e.cmp("ogt", a, e.c(0.5))
    z = e.select(large, e.mul(e.sub(e.c(1.0), a), e.c(0.5)), e.mul(a, a))
    root = e.select(large, e.sqrt(z), a)
    return large, root, e.mul(e.mul(root, z), e.poly(z, _ASIN if e.double else _ASIN_F32))


def _pi_2(e: Numbers) -> tuple[float, float]:
    return _PI_2[:2] if e.double else _PI_2_F32


def asin(e: Numbers, x: SSAValue) -> SSAValue:
    """Arc sine; NaN outside [-1, 1]."""
    large, root, small = _asin_of_half(e, e.abs(x))
    value = e.add(root, small)
    high, low = _pi_2(e)
    turned = e.sub(e.c(high), e.sub(e.add(value, value), e.c(low)))
    return e.copysign(e.select(large, turned, value), x)


def acos(e: Numbers, x: SSAValue) -> SSAValue:
    """Arc cosine; NaN outside [-1, 1]."""
    large, root, small = _asin_of_half(e, e.abs(x))
    high, low = _pi_2(e)
    value = e.add(root, small)
    double = e.add(value, value)
    negative = e.cmp("olt", x, e.c(0.0))
    outer = e.select(negative, e.sub(e.c(2 * high), e.sub(double, e.c(2 * low))), double)
    inner = e.sub(e.c(high), e.sub(e.copysign(value, x), e.c(low)))
    return e.select(large, outer, inner)
