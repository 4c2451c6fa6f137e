"""Powers and roots: pow through log2 and exp2 with the logarithm in two floats, integer powers by squaring."""

from __future__ import annotations

import math

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Block, Region, SSAValue

from ...compiler.conversion import RuleBuilder
from ...dialects import arith
from ...dialects.arith.shaped import element_type
from ...dialects.vector import BroadcastOp, CombiningKindAttr, CombiningKindFlag, ReductionOp
from .exponential import exp2, exp_of_rest, log2, split
from .numbers import Numbers

# (log((1+s)/(1-s)) - 2s - 2/3 s^3) / s^5 in s^2
_LOG_TAIL = (
    *(0.4000000000000232, 0.2857142857006718, 0.222222225259716, 0.18181783816504557, 0.15386783600255727),
    *(0.1325618658889729, 0.1320235419226501),
)
_INV_LN2 = (1.4426950408889634, 2.0355273740931033e-17)
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
_MOST_FACTORS = 16


def pow(e: Numbers, x: SSAValue, y: SSAValue) -> SSAValue:
    """x^y with C's special values: x^0 and 1^y are 1 even for NaN, a negative x takes integer y alone."""
    magnitude = _pow_f64(e, x, y) if e.double else _pow_f32(e, x, y)
    one = e.c(1.0)
    zero = e.c(0.0)
    whole = e.cmp("oeq", e.trunc(y), y)
    half = e.mul(y, e.c(0.5))
    odd = e.both(whole, e.cmp("une", e.trunc(half), half))
    negative = e.icmp("slt", e.bits(x), e.n(0))
    result = e.select(e.both(negative, odd), e.neg(magnitude), magnitude)
    below = e.both(e.cmp("olt", x, zero), e.cmp("one", x, e.c(-math.inf)))
    broken = e.both(below, e.cmp("one", e.trunc(y), y))
    result = e.select(broken, e.c(math.nan), result)
    # |x| = 1: whatever y; -1 with infinite y too
    result = e.select(e.both(e.cmp("oeq", x, e.c(-1.0)), e.cmp("oeq", e.abs(y), e.c(math.inf))), one, result)
    return e.select(e.either(e.cmp("oeq", x, one), e.cmp("oeq", y, zero)), one, result)


def _pow_f32(e: Numbers, x: SSAValue, y: SSAValue) -> SSAValue:
    w = e.wide()
    return e.narrow(exp2(w, w.mul(e.widen(y), log2(w, e.widen(e.abs(x))))))


def _pow_f64(e: Numbers, x: SSAValue, y: SSAValue) -> SSAValue:
    """|x|^y with log2 |x| to about 2^-65."""
    a = e.abs(x)
    high, low = _log2_in_two(e, a)
    plain = e.either(e.cmp("oeq", a, e.c(0.0)), e.cmp("oeq", a, e.c(math.inf)))
    high = e.select(plain, e.select(e.cmp("oeq", a, e.c(0.0)), e.c(-math.inf), e.c(math.inf)), high)
    high = e.select(e.cmp("uno", a, a), a, high)
    low = e.select(plain, e.c(0.0), low)
    product = e.mul(y, high)
    rest = e.fma(y, low, e.fma(y, high, e.neg(product)))
    rest = e.select(e.cmp("olt", e.abs(product), e.c(2000.0)), rest, e.c(0.0))
    t = e.at_most(e.at_least(product, -1100.0), 1100.0)
    whole, k = e.round_to_int(t)
    r = e.add(e.sub(t, whole), rest)
    return e.scale(exp_of_rest(e, e.mul(r, e.c(math.log(2)))), k)


def _log2_in_two(e: Numbers, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """log2 of a positive finite f64 as a sum of two."""
    m, k = split(e, x)
    f = e.sub(m, e.c(1.0))
    below = e.add(f, e.c(2.0))
    below_low = e.sub(f, e.sub(below, e.c(2.0)))
    s = e.div(f, below)
    # what is left of the division, over the divisor
    s_low = e.div(e.fma(e.neg(s), below_low, e.fma(e.neg(s), below, f)), below)
    z = e.mul(s, s)
    z_low = e.fma(e.add(s, s), s_low, e.fma(s, s, e.neg(z)))
    cube = e.mul(z, s)
    cube_low = e.fma(z_low, s, e.fma(z, s_low, e.fma(z, s, e.neg(cube))))
    third = e.mul(cube, e.c(_TWO_THIRDS[0]))
    third_low = e.fma(cube, e.c(_TWO_THIRDS[0]), e.neg(third))
    third_low = e.fma(cube_low, e.c(_TWO_THIRDS[0]), e.fma(cube, e.c(_TWO_THIRDS[1]), third_low))
    rest = e.mul(e.mul(cube, z), e.poly(z, _LOG_TAIL))
    double, double_low = e.add(s, s), e.add(s_low, s_low)
    head = e.add(double, third)
    tail = e.add(e.sub(third, e.sub(head, double)), e.add(e.add(third_low, double_low), rest))
    log_high = e.add(head, tail)
    log_low = e.sub(tail, e.sub(log_high, head))
    product = e.mul(log_high, e.c(_INV_LN2[0]))
    low = e.fma(log_high, e.c(_INV_LN2[0]), e.neg(product))
    low = e.fma(log_low, e.c(_INV_LN2[0]), e.fma(log_high, e.c(_INV_LN2[1]), low))
    top = e.add(k, product)
    left = e.sub(product, e.sub(top, k))  # |k| >= |product| or k = 0
    return top, e.add(left, low)


def power_of_constant(e: Numbers, x: SSAValue, exponent: float) -> SSAValue | None:
    """x^n as a few multiplications or a square root, for small n that allow it."""
    if exponent == 0.5:
        # pow(-0, 0.5) is +0 and pow(-inf, 0.5) inf
        root = e.abs(e.sqrt(x))
        return e.select(e.cmp("oeq", x, e.c(-math.inf)), e.c(math.inf), root)
    if not 1 <= abs(exponent) <= _MOST_FACTORS or exponent != int(exponent):  # neither NaN nor infinities are whole
        return None
    result = _repeated(e, x, int(abs(exponent)))
    return e.div(e.c(1.0), result) if exponent < 0 else result


def _repeated(e: Numbers, x: SSAValue, n: int) -> SSAValue:
    result: SSAValue | None = None
    while True:
        if n & 1:
            result = x if result is None else e.mul(result, x)
        n >>= 1
        if not n:
            assert result is not None
            return result
        x = e.mul(x, x)


def fpowi(e: Numbers, x: SSAValue, n: SSAValue) -> SSAValue:
    """x^n for an integer n known only at run time: squarings for every bit of n."""
    width = _width(n)
    zero, one = _like(e.b, n, 0), _like(e.b, n, 1)
    negative = e.icmp("slt", n, zero)
    count = e.select(negative, e.int(arith.SubiOp, zero, n), n)
    result = e.c(1.0)
    for bit in range(width):
        taken = e.icmp("ne", e.int(arith.AndIOp, count, one), zero)
        result = e.select(taken, e.mul(result, x), result)
        if bit + 1 < width:
            count = e.int(arith.ShRUIOp, count, one)
            x = e.mul(x, x)
    return e.select(negative, e.div(e.c(1.0), result), result)


def ipowi(b: RuleBuilder, x: SSAValue, n: SSAValue) -> SSAValue:
    """x^n on integers; a negative n gives 0, but for x = 1 and x = -1."""

    def op(kind: type, p: SSAValue, q: SSAValue) -> SSAValue:
        return b(kind.create(operands=[p, q], result_types=[p.type])).results[0]

    def equal(p: SSAValue, q: SSAValue, predicate: str = "eq") -> SSAValue:
        return b(arith.CmpiOp(p, q, predicate)).result

    def choose(c: SSAValue, p: SSAValue, q: SSAValue) -> SSAValue:
        return b(arith.SelectOp(c, p, q)).result

    zero, one, minus = (_like(b, x, number) for number in (0, 1, -1))
    odd = equal(op(arith.AndIOp, n, one), one)
    unit = choose(odd, minus, one)
    special = choose(equal(x, one), one, choose(equal(x, minus), unit, zero))
    negative = equal(n, zero, "slt")
    result, factor, count = one, x, n
    width = _width(x)
    for bit in range(width):
        taken = equal(op(arith.AndIOp, count, one), one)
        result = choose(taken, op(arith.MuliOp, result, factor), result)
        if bit + 1 < width:
            count = op(arith.ShRUIOp, count, one)
            factor = op(arith.MuliOp, factor, factor)
    return choose(negative, special, result)


def _width(value: SSAValue) -> int:
    element = element_type(value.type)
    return element.width.data if isinstance(element, IntegerType) else 64


def _like(b: RuleBuilder, value: SSAValue, number: int) -> SSAValue:
    element = element_type(value.type)
    assert isinstance(element, (IntegerType, IndexType))
    if isinstance(value.type, VectorType):
        lanes = value.type.get_shape()[0]
        return b(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(value.type, [number] * lanes))).result
    return b(arith.ConstantOp(IntegerAttr(number, element))).result


def cbrt(e: Numbers, x: SSAValue) -> SSAValue:
    """Cube root: 2^(log2|x| / 3), then a Newton step."""
    w = e.wide()
    wide = e.widen(x)
    a = w.abs(wide)
    y = exp2(w, w.mul(log2(w, a), w.c(1 / 3)))
    step = w.div(w.sub(y, w.div(a, w.mul(y, y))), w.c(3.0))
    plain = w.either(w.cmp("oeq", a, w.c(0.0)), w.cmp("oeq", a, w.c(math.inf)))
    return e.narrow(w.copysign(w.select(plain, a, w.sub(y, step)), wide))


def rsqrt(e: Numbers, x: SSAValue) -> SSAValue:
    """1 / sqrt(x)."""
    return e.div(e.c(1.0), e.sqrt(x))


def remainder(e: Numbers, x: SSAValue, y: SSAValue) -> SSAValue:
    """The rest of x / y rounded to zero, exactly: long division on the mantissas, one bit a turn."""
    mantissa = (1 << e.mantissa_bits) - 1
    implicit = 1 << e.mantissa_bits
    one, zero = e.n(1), e.n(0)

    def parts(a: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Mantissa as an integer and exponent, so that a = m 2^exponent up to a common factor."""
        bits = e.bits(a)
        biased = e.int(arith.ShRUIOp, bits, e.n(e.mantissa_bits))
        normal = e.icmp("ne", biased, zero)
        low = e.int(arith.AndIOp, bits, e.n(mantissa))
        m = e.select(normal, e.int(arith.OrIOp, low, e.n(implicit)), low)
        return m, e.select(normal, biased, one)

    ax, ay = e.abs(x), e.abs(y)
    mx, ex = parts(ax)
    my, ey = parts(ay)
    # y subnormal: its mantissa may be short, which only means that the rest shrinks below it sooner
    my = e.select(e.icmp("eq", my, zero), one, my)
    turns = e.int(arith.MaxSIOp, e.int(arith.SubiOp, ex, ey), zero)
    start = e.int(arith.RemUIOp, mx, my)
    block = Block(arg_types=[IndexType(), mx.type])
    inner = e.inside(block)
    active = inner.icmp("slt", _index_like(inner, block.args[0]), turns)
    doubled = inner.int(arith.ShLIOp, block.args[1], inner.n(1))
    less = inner.int(arith.SubiOp, doubled, my)
    rest = inner.select(inner.icmp("ult", doubled, my), doubled, less)
    inner.b(scf.YieldOp(inner.select(active, rest, block.args[1])))
    bounds = [e.b(arith.ConstantOp(IntegerAttr(number, IndexType()))).result for number in (0, 1)]
    most = e.b(arith.IndexCastOp(_largest(e, turns), IndexType())).result
    (m,) = e.b(scf.ForOp(bounds[0], most, bounds[1], [start], Region(block))).results
    value = _scaled(e, m, ey)
    value = e.select(e.cmp("olt", ax, ay), ax, value)
    bad = e.either(e.cmp("uno", x, y), e.either(e.cmp("oeq", ay, e.c(0.0)), e.cmp("oeq", ax, e.c(math.inf))))
    return e.select(bad, e.c(math.nan), e.copysign(value, x))


def _scaled(e: Numbers, m: SSAValue, exponent: SSAValue) -> SSAValue:
    number = e.b(arith.UIToFPOp.create(operands=[m], result_types=[e.type])).results[0]
    shift = e.int(arith.SubiOp, exponent, e.n(e.bias + e.mantissa_bits))
    return e.scale(number, shift)


def _index_like(e: Numbers, index: SSAValue) -> SSAValue:
    element = element_type(e.int_type)
    scalar = e.b(arith.IndexCastOp(index, element)).result
    if isinstance(e.int_type, VectorType):
        return e.b(BroadcastOp.create(operands=[scalar], result_types=[e.int_type])).results[0]
    return scalar


def _largest(e: Numbers, x: SSAValue) -> SSAValue:
    if not isinstance(x.type, VectorType):
        return x
    properties = {"kind": CombiningKindAttr(CombiningKindFlag.MAXSI), "fastmath": arith.FastMathFlagsAttr("none")}
    return e.b(ReductionOp.create(operands=[x], result_types=[x.type.element_type], properties=properties)).results[0]
