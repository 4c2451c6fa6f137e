"""Functions of complex numbers as functions of their parts; where these would overflow on the way, they are scaled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue

from ....compiler.conversion import Replacement, RuleBuilder
from ....dialects import stablehlo as hlo
from ..elements import Elements, choose
from .parts import SPLIT, Complex, alike, is_complex, parts_of

Function = Callable[..., Complex]


def _elementwise(*ops: type[Operation]) -> Callable[[Function], Function]:
    """Registers the decorated function of the parts of all operands."""

    def register(function: Function) -> Function:
        @SPLIT.lowers(*ops)
        def rule(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
            if not is_complex(op.results[0].type):
                return b(alike(op, operands, [op.results[0].type])).results[0]
            return [function(*(parts_of(v, b) for v in op.operands)).values]

        assert rule
        return function

    return register


@_elementwise(hlo.MultiplyOp)
def multiply(z: Complex, w: Complex) -> Complex:
    return z * w


@_elementwise(hlo.DivideOp)
def divide(z: Complex, w: Complex) -> Complex:
    """By the larger part of the divisor first (Smith 1962), as NumPy does; by zero each part is divided by it."""
    upright = ~(w.re.abs() >= w.im.abs())
    large, small = choose(upright, w.im, w.re), choose(upright, w.re, w.im)
    first, second = choose(upright, z.im, z.re), choose(upright, z.re, z.im)
    zero = w.re.equals(0.0) & w.im.equals(0.0)
    ratio = small / large
    scale = 1.0 / choose(zero, large.abs(), large + small * ratio)
    re, im = (
        choose(zero, p, q) * scale for p, q in ((first, first + second * ratio), (second, second - first * ratio))
    )
    return Complex(re, choose(upright, -im, im))


@SPLIT.lowers(hlo.AbsOp)
def absolute(op: hlo.AbsOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    if len(operands) == 1:
        return b(alike(op, operands, [op.result.type])).results[0]
    return magnitude(parts_of(op.operand, b)).value


def magnitude(z: Complex) -> Elements:
    """The distance from zero, without overflow on the way; infinite if a part is."""
    x, y = z.re.abs(), z.im.abs()
    large, small = x.maximum(y), x.minimum(y)
    ratio = choose(large.equals(0.0), small, small / large)
    found = large * (ratio * ratio + 1.0).sqrt()
    return choose(x.is_infinite() | y.is_infinite(), x.like(float("inf")), found)


@SPLIT.lowers(hlo.CompareOp)
def compare(op: hlo.CompareOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    """Complex numbers are equal or not, which needs both parts."""
    if len(operands) == 2:
        return b(alike(op, operands, [op.result.type])).results[0]
    z, w = (parts_of(v, b) for v in op.operands)
    direction = op.comparison_direction
    found = [
        Elements(b, b(hlo.CompareOp(p.value, q.value, comparison_direction=direction)).results[0])
        for p, q in ((z.re, w.re), (z.im, w.im))
    ]
    return ((found[0] & found[1]) if direction.data.value == "EQ" else (found[0] | found[1])).value


@_elementwise(hlo.SignOp)
def sign(z: Complex) -> Complex:
    """On the unit circle, or zero as it is; infinite numbers have none."""
    size = magnitude(z)
    finite = size < float("inf")
    size = choose(size.equals(0.0), size.like(1.0), size)
    return Complex(choose(finite, z.re / size, float("nan")), choose(finite, z.im / size, float("nan")))


@_elementwise(hlo.ExponentialOp)
def exponential(z: Complex) -> Complex:
    """In two equal factors, each of which may be large where the result is not too large."""
    half = (z.re * 0.5).exp()
    return Complex(half * z.im.cos() * half, _or_zero(z.im.sin(), half, half))


def _or_zero(x: Elements, *factors: Elements) -> Elements:
    """The product, but zero where `x` is, whatever it is multiplied by."""
    product = x
    for factor in factors:
        product = product * factor
    return choose(x.equals(0.0), x, product)


@_elementwise(hlo.ExponentialMinusOneOp)
def exponential_minus_one(z: Complex) -> Complex:
    """Small where `z` is: e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y/2)."""
    sine = (z.im * 0.5).sin()
    return Complex(z.re.expm1() * z.im.cos() - sine * sine * 2.0, exponential(z).im)


@_elementwise(hlo.LogOp)
def logarithm(z: Complex) -> Complex:
    return Complex(_log_magnitude(z), z.im.atan2(z.re))


def _log_magnitude(z: Complex) -> Elements:
    """Near the unit circle from how far it is from there."""
    x, y = z.re.abs(), z.im.abs()
    large, small = x.maximum(y), x.minimum(y)
    near = ((large - 1.0) * (large + 1.0) + small * small).log1p() * 0.5
    ratio = choose(large.equals(0.0) | small.is_infinite(), x.like(0.0), small / large)
    far = large.log() + (ratio * ratio).log1p() * 0.5
    return choose((large > 0.5) & (large < 2.0), near, far)


@_elementwise(hlo.LogPlusOneOp)
def log_plus_one(z: Complex) -> Complex:
    """Of small numbers from log(|1 + z|^2) = log(1 + (x (2 + x) + y^2))."""
    shifted = Complex(z.re + 1.0, z.im)
    small = (z.re * (z.re + 2.0) + z.im * z.im).log1p() * 0.5
    is_small = (z.re.abs() < 0.5) & (z.im.abs() < 0.5)
    return Complex(choose(is_small, small, _log_magnitude(shifted)), z.im.atan2(shifted.re))


@_elementwise(hlo.SineOp)
def sine(z: Complex) -> Complex:
    return Complex(_or_zero(z.re.sin(), z.im.cosh()), z.re.cos() * z.im.sinh())


@_elementwise(hlo.CosineOp)
def cosine(z: Complex) -> Complex:
    return Complex(z.re.cos() * z.im.cosh(), -_or_zero(z.re.sin(), z.im.sinh()))


@_elementwise(hlo.TanhOp)
def hyperbolic_tangent(z: Complex) -> Complex:
    """Kahan's form (1987); far from the imaginary axis it is one, less what e^-2x leaves."""
    tangent, s = z.im.tan(), z.re.sinh()
    beta = tangent * tangent + 1.0
    below = beta * s * s + 1.0
    far = z.re.abs() > (20.0 if z.re.element_type == f64 else 10.0)
    tail = z.im.sin() * z.im.cos() * 4.0 * (z.re.abs() * -2.0).exp()
    near = beta * s * (s * s + 1.0).sqrt() / below
    return Complex(choose(far, near.like(1.0).copysign(z.re), near), choose(far, tail, tangent / below))


@_elementwise(hlo.TanOp)
def tangent(z: Complex) -> Complex:
    """tan z = -i tanh(iz)."""
    found = hyperbolic_tangent(Complex(-z.im, z.re))
    return Complex(found.im, -found.re)


@_elementwise(hlo.LogisticOp)
def logistic(z: Complex) -> Complex:
    one = Complex(z.re.like(1.0), z.re.like(0.0))
    return divide(one, one + exponential(Complex(-z.re, -z.im)))


@_elementwise(hlo.SqrtOp)
def square_root(z: Complex) -> Complex:
    """The root in the right half plane; of numbers too large or small to be added up after scaling by 4^k."""
    size = z.re.abs().maximum(z.im.abs())
    double = z.re.element_type == f64
    large, small = (2.0**1020, 2.0**-1000) if double else (2.0**124, 2.0**-100)
    up = 2.0**60 if double else 2.0**30
    scale = choose(size > large, size.like(2.0**-4), choose(size < small, size.like(up * up), 1.0))
    back = choose(size > large, size.like(2.0**2), choose(size < small, size.like(1 / up), 1.0))
    x, y = z.re * scale, z.im * scale
    root = ((x.abs() + magnitude(Complex(x, y))) * 0.5).sqrt()
    other = choose(root.equals(0.0), root, y.abs() / (root * 2.0))
    right = x >= 0.0
    re = choose(right, root, other) * back
    im = (choose(right, other, root) * back).copysign(z.im)
    endless = z.im.is_infinite()
    return Complex(choose(endless, re.like(float("inf")), re), choose(endless, z.im, im))


@_elementwise(hlo.RsqrtOp)
def reciprocal_square_root(z: Complex) -> Complex:
    return divide(Complex(z.re.like(1.0), z.re.like(0.0)), square_root(z))


@_elementwise(hlo.CbrtOp)
def cube_root(z: Complex) -> Complex:
    """The principal one: a third of the angle."""
    third = logarithm(z)
    found = exponential(Complex(third.re * (1 / 3), third.im * (1 / 3)))
    zero = z.re.equals(0.0) & z.im.equals(0.0)
    return Complex(choose(zero, z.re, found.re), choose(zero, z.im, found.im))


@_elementwise(hlo.PowerOp)
def power(z: Complex, w: Complex) -> Complex:
    """exp(w log z), in f64, for the product's error is multiplied by its size. Zero to a positive power is zero."""
    narrow = z.re.element_type == f32
    a, c = (Complex(p.re.convert(f64), p.im.convert(f64)) for p in (z, w)) if narrow else (z, w)
    found = exponential(c * logarithm(a))
    to_zero = c.re.equals(0.0) & c.im.equals(0.0)
    of_zero = a.re.equals(0.0) & a.im.equals(0.0)
    nothing = choose(c.re > 0.0, c.re.like(0.0), float("nan"))
    re = choose(to_zero, c.re.like(1.0), choose(of_zero, nothing, found.re))
    im = choose(to_zero, c.re.like(0.0), choose(of_zero, nothing, found.im))
    return Complex(re.convert(z.re.element_type), im.convert(z.re.element_type))
