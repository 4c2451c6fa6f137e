"""Built-in functions of each element: one operand, two, and choices between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....stablehlo import chlo
from .. import dims
from . import kinds
from .builder import Builder, Dim, Value, hlo
from .table import Values, builtin

Unary = type[hlo.UnaryOp]

UNARY: dict[str, tuple[Unary, str]] = {
    "exp": (hlo.ExponentialOp, "e to the power of x."),
    "expm1": (hlo.ExponentialMinusOneOp, "exp(x) - 1, exact near 0."),
    "log": (hlo.LogOp, "The natural logarithm."),
    "log1p": (hlo.LogPlusOneOp, "log(1 + x), exact near 0."),
    "sin": (hlo.SineOp, "The sine."),
    "cos": (hlo.CosineOp, "The cosine."),
    "tan": (hlo.TanOp, "The tangent."),
    "tanh": (hlo.TanhOp, "The hyperbolic tangent."),
    "sqrt": (hlo.SqrtOp, "The square root."),
    "rsqrt": (hlo.RsqrtOp, "1 / sqrt(x)."),
    "cbrt": (hlo.CbrtOp, "The cube root."),
    "logistic": (hlo.LogisticOp, "1 / (1 + exp(-x))."),
    "sigmoid": (hlo.LogisticOp, "1 / (1 + exp(-x))."),
    "floor": (hlo.FloorOp, "The largest whole number not above."),
    "ceil": (hlo.CeilOp, "The smallest whole number not below."),
    "round": (hlo.RoundNearestEvenOp, "The nearest whole number, halves to the even one."),
    "round_half_away": (hlo.RoundNearestAfzOp, "The nearest whole number, halves away from zero."),
    "popcount": (hlo.PopcntOp, "How many bits are set."),
    "clz": (hlo.CountLeadingZerosOp, "How many zero bits lead."),
    "erf": (chlo.ErfOp, "The error function."),
    "erfc": (chlo.ErfcOp, "1 - erf(x), exact where that is small."),
    "erfinv": (chlo.ErfInvOp, "The inverse of erf."),
    "lgamma": (chlo.LgammaOp, "The logarithm of the absolute value of the gamma function."),
    "digamma": (chlo.DigammaOp, "The derivative of lgamma."),
    "acos": (chlo.AcosOp, "The inverse cosine."),
    "acosh": (chlo.AcoshOp, "The inverse hyperbolic cosine."),
    "asin": (chlo.AsinOp, "The inverse sine."),
    "asinh": (chlo.AsinhOp, "The inverse hyperbolic sine."),
    "atan": (chlo.AtanOp, "The inverse tangent."),
    "atanh": (chlo.AtanhOp, "The inverse hyperbolic tangent."),
    "cosh": (chlo.CoshOp, "The hyperbolic cosine."),
    "sinh": (chlo.SinhOp, "The hyperbolic sine."),
}
"""Name -> the hub's own op; what dtypes it takes is the op's to say."""


_FOLDED: dict[str, Callable[[float], Any]] = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh")},
    **{name: getattr(np, name) for name in ("sqrt", "cbrt", "floor", "ceil", "round", "cosh", "sinh")},
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": math.erf,
}
"""Of a number written out, a dimension or a const the result is such a number: `x / sqrt(D)` is of the dtype of x."""


def _register_unary(name: str, op: Unary, doc: str) -> None:
    folded = _FOLDED.get(name)

    def meaning(b: Builder, x: Value) -> Value:
        if x.weak and folded is not None and not isinstance(x.const, np.ndarray | None):
            return b.weak(folded, x.const)
        x = kinds.accept(b, x, op.ACCEPTS)
        return b.unary(op, x)

    meaning.__doc__ = doc
    builtin(name)(meaning)


for _name, (_op, _doc) in UNARY.items():
    _register_unary(_name, _op, _doc)


@builtin("abs")
def absolute(b: Builder, x: Value) -> Value:
    """The absolute value; of a complex number its modulus."""
    x = kinds.accept(b, x, kinds.NUMBER)
    if kinds.is_unsigned(x.type.dtype):
        return x
    return b.unary(hlo.AbsOp, x, kinds.real_part(x.type.dtype))


@builtin("sign")
def sign(b: Builder, x: Value) -> Value:
    """-1, 0 or 1; of a complex number the one of modulus 1 in its direction; of NaN NaN."""
    x = kinds.accept(b, x, kinds.NUMBER)
    if kinds.is_unsigned(x.type.dtype):
        return b.binary(hlo.MinimumOp, x, b.splat(1, x))
    return b.unary(hlo.SignOp, x)


@builtin("square")
def square(b: Builder, x: Value) -> Value:
    """x * x."""
    x = kinds.accept(b, x, kinds.NUMBER)
    return b.binary(hlo.MultiplyOp, x, x)


@builtin("reciprocal")
def reciprocal(b: Builder, x: Value) -> Value:
    """1 / x."""
    x = kinds.accept(b, x, kinds.INEXACT)
    return b.binary(hlo.DivideOp, b.splat(1.0, x), x)


@builtin("trunc")
def trunc(b: Builder, x: Value) -> Value:
    """The nearest whole number towards zero."""
    x = kinds.accept(b, x, kinds.FLOATS)
    negative = b.compare(x, b.splat(0.0, x), "LT")
    return b.select(negative, b.unary(hlo.CeilOp, x), b.unary(hlo.FloorOp, x))


def _register_log(name: str, base: int) -> None:
    @builtin(name)
    def log_of_base(b: Builder, x: Value) -> Value:
        x = kinds.accept(b, x, kinds.INEXACT)
        return b.binary(hlo.DivideOp, b.unary(hlo.LogOp, x), b.splat(math.log(base), x))

    log_of_base.__doc__ = f"The logarithm to base {base}."


_register_log("log2", 2)
_register_log("log10", 10)


@builtin("exp2")
def exp2(b: Builder, x: Value) -> Value:
    """2 to the power of x."""
    x = kinds.accept(b, x, kinds.INEXACT)
    return b.binary(hlo.PowerOp, b.splat(2.0, x), x)


@builtin("isfinite", "is_finite")
def isfinite(b: Builder, x: Value) -> Value:
    """Whether x is neither infinite nor NaN."""
    x = kinds.accept(b, x, kinds.FLOATS)
    return b.unary(hlo.IsFiniteOp, x, "bool")


@builtin("isnan", "is_nan")
def isnan(b: Builder, x: Value) -> Value:
    """Whether x is NaN."""
    x = kinds.accept(b, x, kinds.FLOATS)
    return b.compare(x, x, "NE")


@builtin("isinf", "is_inf")
def isinf(b: Builder, x: Value) -> Value:
    """Whether x is one of the infinities."""
    x = kinds.accept(b, x, kinds.FLOATS)
    return b.compare(b.unary(hlo.AbsOp, x), b.splat(math.inf, x), "EQ")


# Two operands: one dtype, NumPy's broadcasting.

BINARY: dict[str, tuple[type[hlo.BinaryOp], tuple[str, ...], str]] = {
    "minimum": (hlo.MinimumOp, kinds.ANY, "The smaller of two; NaN where either is."),
    "maximum": (hlo.MaximumOp, kinds.ANY, "The larger of two; NaN where either is."),
    "pow": (hlo.PowerOp, kinds.NUMBER, "x to the power of y; the same as x ** y."),
    "power": (hlo.PowerOp, kinds.NUMBER, "x to the power of y; the same as x ** y."),
    "atan2": (hlo.Atan2Op, kinds.FLOATS, "The angle of the point (y, x), between -pi and pi."),
    "fmod": (hlo.RemainderOp, (*kinds.INTEGERS, *kinds.FLOATS), "The remainder with the sign of x, as in C."),
    "shift_right_logical": (hlo.ShiftRightLogicalOp, kinds.INTEGERS, "x shifted right, zeros moving in."),
}


def _register_binary(name: str, op: type[hlo.BinaryOp], accepted: tuple[str, ...], doc: str) -> None:
    def meaning(b: Builder, x: Value, y: Value) -> Value:
        return binary(b, op, accepted, x, y)

    meaning.__doc__ = doc
    builtin(name)(meaning)


def binary(b: Builder, op: Callable[..., hlo.BinaryOp], accepted: tuple[str, ...], x: Value, y: Value) -> Value:
    """`op` after broadcasting, on the kinds of elements it accepts. Of two dimensions the result is one."""
    if (p := x.dim) is not None and (q := y.dim) is not None and x.weak and y.weak and op in _OF_DIMS:
        return b.dim_value(_OF_DIMS[op](p, q))
    x, y = b.common(x, y)
    kinds.accept(b, x, accepted)
    return b.binary(op, x, y)


_OF_DIMS: dict[Any, Callable[[Dim, Dim], Dim]] = {hlo.MinimumOp: dims.minimum, hlo.MaximumOp: dims.maximum}

for _name, (_binary, _accepted, _doc) in BINARY.items():
    _register_binary(_name, _binary, _accepted, _doc)


@builtin("logaddexp")
def logaddexp(b: Builder, x: Value, y: Value) -> Value:
    """log(exp(x) + exp(y)) without overflow."""
    x, y = b.common(x, y)
    kinds.accept(b, x, kinds.FLOATS)
    top, low = b.binary(hlo.MaximumOp, x, y), b.binary(hlo.MinimumOp, x, y)
    apart = b.binary(hlo.SubtractOp, low, top)
    # equal infinities give NaN apart, but their sum is themselves
    apart = b.select(b.compare(low, top, "EQ"), b.splat(0.0, x), apart)
    return b.binary(hlo.AddOp, top, b.unary(hlo.LogPlusOneOp, b.unary(hlo.ExponentialOp, apart)))


@builtin("hypot")
def hypot(b: Builder, x: Value, y: Value) -> Value:
    """sqrt(x*x + y*y) without overflow."""
    x, y = b.common(x, y)
    kinds.accept(b, x, kinds.FLOATS)
    size_x, size_y = b.unary(hlo.AbsOp, x), b.unary(hlo.AbsOp, y)
    top, low = b.binary(hlo.MaximumOp, size_x, size_y), b.binary(hlo.MinimumOp, size_x, size_y)
    ratio = b.binary(hlo.DivideOp, low, top)
    squared = b.binary(hlo.AddOp, b.binary(hlo.MultiplyOp, ratio, ratio), b.splat(1.0, x))
    found = b.binary(hlo.MultiplyOp, top, b.unary(hlo.SqrtOp, squared))
    plain = b.compare(low, b.splat(0.0, x), "EQ")  # also 0 / 0
    endless = b.compare(top, b.splat(math.inf, x), "EQ")
    return b.select(plain, top, b.select(endless, top, found))


@builtin("select")
def select(b: Builder, condition: Value, x: Value, y: Value) -> Value:
    """x where the condition holds, else y; all three broadcast."""
    condition = kinds.accept(b, condition, (kinds.BOOLEAN,), "condition")
    return b.select(*_broadcast_apart(b, condition, x, y))


def _broadcast_apart(b: Builder, condition: Value, x: Value, y: Value) -> Values:
    """All three in one shape; x and y in one dtype, which need not be the condition's."""
    x, y = b.common(x, y)
    return b.same_shape(condition, x, y)


@builtin("clamp")
def clamp(b: Builder, low: Value, x: Value, high: Value) -> Value:
    """x, but at least low and at most high."""
    return _clamp(b, low, x, high)


@builtin("clip")
def clip(b: Builder, x: Value, low: Value | None = None, high: Value | None = None) -> Value:
    """x, but at least low and at most high."""
    return _clamp(b, low, x, high)


def _clamp(b: Builder, low: Value | None, x: Value, high: Value | None) -> Value:
    if low is not None:
        x = binary(b, hlo.MaximumOp, kinds.ANY, x, low)
    return x if high is None else binary(b, hlo.MinimumOp, kinds.ANY, x, high)
