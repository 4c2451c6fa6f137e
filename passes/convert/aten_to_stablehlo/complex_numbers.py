"""ATen's operators on complex numbers and their parts in hub ops."""

from __future__ import annotations

import math

from ....dialects import stablehlo as hlo
from ..onnx_to_stablehlo import elementwise as onnx
from .builder import AtenBuilder, Value, element_of, is_complex, rank_of, shape_of
from .table import lowers


def real(b: AtenBuilder, x: Value) -> Value:
    """The real parts."""
    return b(hlo.RealOp(x))


def imaginary(b: AtenBuilder, x: Value) -> Value:
    """The imaginary parts."""
    return b(hlo.ImagOp(x))


@lowers("complex")
def from_parts(b: AtenBuilder, real: Value, imag: Value) -> Value:
    return b(hlo.ComplexOp(*b.broadcast(*b.promote(real, imag))))


@lowers("polar")
def polar(b: AtenBuilder, abs: Value, angle: Value) -> Value:
    size, turn = b.promote(abs, angle)
    return from_parts(b, b.multiply(size, b(hlo.CosineOp(turn))), b.multiply(size, b(hlo.SineOp(turn))))


@lowers("view_as_real", "view_as_real_copy")
def view_as_real(b: AtenBuilder, x: Value) -> Value:
    """The parts side by side, [..., 2]."""
    last = rank_of(x)
    return b.concatenate([b.expand_dims(part(b, x), [last]) for part in (real, imaginary)], last)


@lowers("view_as_complex", "view_as_complex_copy")
def view_as_complex(b: AtenBuilder, x: Value) -> Value:
    """Of pairs [..., 2] the numbers they are the parts of."""
    last, shape = rank_of(x) - 1, shape_of(x)[:-1]
    return from_parts(b, *(b.reshape(b.slice_axis(x, last, i, i + 1), shape) for i in range(2)))


@lowers("_conj", "conj_physical", "_conj_physical", "_conj_copy")
def conjugate(b: AtenBuilder, x: Value) -> Value:
    return from_parts(b, real(b, x), b.negate(imaginary(b, x))) if is_complex(x) else x


@lowers("resolve_conj", "resolve_neg")
def resolved(b: AtenBuilder, x: Value) -> Value:
    """Whether a tensor is a view that only says what its elements stand for has no meaning here."""
    return x


@lowers("_neg_view", "_neg_view_copy")
def negated(b: AtenBuilder, x: Value) -> Value:
    return b.negate(x)


@lowers("angle")
def angle(b: AtenBuilder, x: Value) -> Value:
    """The angle with the positive real axis: of a real number 0 or pi, of NaN NaN."""
    if is_complex(x):
        return b.binary(hlo.Atan2Op, imaginary(b, x), real(b, x))
    x = b.floating(x)
    turn = b.select(b.compare(x, 0.0, "LT"), b.scalar(math.pi, element_of(x)), b.scalar(0.0, element_of(x)))
    return b.select(b.compare(x, x, "NE"), x, turn)


# inverse functions by square roots, whose branches are the wanted ones (Kahan 1987)


def _parts(b: AtenBuilder, x: Value) -> tuple[Value, Value]:
    return real(b, x), imaginary(b, x)


def _across(b: AtenBuilder, x: Value, y: Value) -> Value:
    """The imaginary part of conj(x) y."""
    (a, c), (p, q) = _parts(b, x), _parts(b, y)
    return b.subtract(b.multiply(a, q), b.multiply(c, p))


def _turned(b: AtenBuilder, x: Value) -> Value:
    """i x."""
    a, c = _parts(b, x)
    return from_parts(b, b.negate(c), a)


def _turned_back(b: AtenBuilder, x: Value) -> Value:
    """-i x."""
    a, c = _parts(b, x)
    return from_parts(b, c, b.negate(a))


def _roots(b: AtenBuilder, x: Value) -> tuple[Value, Value]:
    """The roots of 1 - x and 1 + x."""
    return b.sqrt(b.subtract(b.scalar(1.0, element_of(x)), x)), b.sqrt(b.add(x, 1.0))


def asin(b: AtenBuilder, x: Value) -> Value:
    """The angle whose sine is `x`."""
    low, high = _roots(b, x)
    (a, c), (p, q) = _parts(b, low), _parts(b, high)
    both = b.subtract(b.multiply(a, p), b.multiply(c, q))
    return from_parts(b, b(hlo.Atan2Op(real(b, x), both)), onnx.asinh(b, _across(b, low, high)))


def acos(b: AtenBuilder, x: Value) -> Value:
    """The angle whose cosine is `x`."""
    low, high = _roots(b, x)
    angle = b(hlo.Atan2Op(real(b, low), real(b, high)))
    return from_parts(b, b.add(angle, angle), onnx.asinh(b, _across(b, high, low)))


def asinh(b: AtenBuilder, x: Value) -> Value:
    """What has `x` as its hyperbolic sine."""
    return _turned_back(b, asin(b, _turned(b, x)))


def atan(b: AtenBuilder, x: Value) -> Value:
    """The angle whose tangent is `x`."""
    return _turned_back(b, onnx.atanh(b, _turned(b, x)))


INVERSES = {"asin": asin, "acos": acos, "asinh": asinh, "atan": atan}
"""Functions that have another formula for complex numbers."""
