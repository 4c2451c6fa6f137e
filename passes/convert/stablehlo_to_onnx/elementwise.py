"""Arithmetic, comparison and conversion, element by element."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, i1, i32

from ....compiler.semantics import plain
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo import chlo
from .builder import NodeBuilder, Value, element_of, shape_of
from .table import writes

_SAME: dict[type[hlo.StableHLOOp], str] = {
    hlo.AbsOp: "Abs",
    hlo.CeilOp: "Ceil",
    hlo.CosineOp: "Cos",
    hlo.ExponentialOp: "Exp",
    hlo.FloorOp: "Floor",
    hlo.LogOp: "Log",
    hlo.LogisticOp: "Sigmoid",
    hlo.NegateOp: "Neg",
    hlo.RoundNearestEvenOp: "Round",
    hlo.SignOp: "Sign",
    hlo.SineOp: "Sin",
    hlo.SqrtOp: "Sqrt",
    hlo.TanOp: "Tan",
    hlo.TanhOp: "Tanh",
    chlo.ErfOp: "Erf",
    chlo.AcosOp: "Acos",
    chlo.AcoshOp: "Acosh",
    chlo.AsinOp: "Asin",
    chlo.AsinhOp: "Asinh",
    chlo.AtanOp: "Atan",
    chlo.AtanhOp: "Atanh",
    chlo.CoshOp: "Cosh",
    chlo.SinhOp: "Sinh",
    hlo.DivideOp: "Div",
    hlo.PowerOp: "Pow",
    hlo.SubtractOp: "Sub",
}


@writes(*_SAME)
def same(b: NodeBuilder, op: hlo.StableHLOOp, *xs: Value) -> Value:
    return b.like(_SAME[type(op)], *xs)


_BY_KIND: dict[type[hlo.StableHLOOp], tuple[str, str]] = {  # on numbers, on truth values
    hlo.AddOp: ("Add", "Or"),
    hlo.MultiplyOp: ("Mul", "And"),
    hlo.MaximumOp: ("Max", "Or"),
    hlo.MinimumOp: ("Min", "And"),
    hlo.AndOp: ("BitwiseAnd", "And"),
    hlo.OrOp: ("BitwiseOr", "Or"),
    hlo.XorOp: ("BitwiseXor", "Xor"),
    hlo.NotOp: ("BitwiseNot", "Not"),
}


@writes(*_BY_KIND)
def by_kind(b: NodeBuilder, op: hlo.StableHLOOp, *xs: Value) -> Value:
    return b.like(_BY_KIND[type(op)][element_of(xs[0]) == i1], *xs)


def combined(b: NodeBuilder, kind: str, x: Value, y: Value) -> Value:
    """`x` and `y` by add, multiply, maximum, minimum, and, or, xor."""
    names = next(names for cls, names in _BY_KIND.items() if cls.name == f"stablehlo.{kind}")
    return b.like(names[element_of(x) == i1], x, y)


@writes(hlo.RemainderOp)
def remainder(b: NodeBuilder, op: hlo.RemainderOp, x: Value, y: Value) -> Value:
    return b.like("Mod", x, y, fmod=1)


@writes(hlo.ShiftLeftOp, hlo.ShiftRightLogicalOp)
def shift(b: NodeBuilder, op: hlo.StableHLOOp, x: Value, y: Value) -> Value:
    kind = element_of(x)
    assert isinstance(kind, IntegerType)
    if kind.signedness.data != Signedness.UNSIGNED:
        raise b.fail(f"a shift of {kind}")
    inside = b.test("Less", y, b.number(kind.width.data, kind), shape=shape_of(x))
    direction = "LEFT" if isinstance(op, hlo.ShiftLeftOp) else "RIGHT"
    shifted = b.like("BitShift", x, y, direction=direction)
    return b("Where", inside, shifted, b.number(0, kind), shape=shape_of(x), element=kind)


@writes(hlo.RsqrtOp)
def rsqrt(b: NodeBuilder, op: hlo.RsqrtOp, x: Value) -> Value:
    return b.like("Reciprocal", b.like("Sqrt", x))


@writes(hlo.CbrtOp)
def cbrt(b: NodeBuilder, op: hlo.CbrtOp, x: Value) -> Value:
    return b.like("Mul", b.like("Sign", x), b.like("Pow", b.like("Abs", x), b.number(1 / 3, element_of(x))))


@writes(hlo.ExponentialMinusOneOp)
def expm1(b: NodeBuilder, op: hlo.ExponentialMinusOneOp, x: Value) -> Value:
    """Near 0 by the hyperbolic tangent t of x/2, as 2t/(1-t): there e^x - 1 would lose its digits."""
    kind, shape = element_of(x), shape_of(x)
    one, half = b.number(1, kind), b.number(0.5, kind)
    t = b.like("Tanh", b.like("Mul", x, half))
    near = b.like("Div", b.like("Add", t, t), b.like("Sub", b.expand(b.reshape(one, [1] * len(shape)), shape), t))
    far = b.like("Sub", b.like("Exp", x), one)
    small = b.test("Less", b.like("Abs", x), half, shape=shape)
    return b("Where", small, near, far, shape=shape, element=kind)


@writes(hlo.LogPlusOneOp)
def log1p(b: NodeBuilder, op: hlo.LogPlusOneOp, x: Value) -> Value:
    """Kahan's way: log(u) * x / (u - 1) with u = 1 + x takes back what rounding u lost."""
    kind, shape = element_of(x), shape_of(x)
    one = b.number(1, kind)
    u = b.like("Add", x, one)
    rest = b.like("Sub", u, one)
    log = b.like("Log", u)
    corrected = b.like("Mul", log, b.like("Div", x, rest))
    lost = b.test("Equal", rest, b.number(0, kind), shape=shape)
    endless = b.test("Equal", u, b.number(np.inf, kind), shape=shape)
    finite = b("Where", lost, x, corrected, shape=shape, element=kind)
    return b("Where", endless, log, finite, shape=shape, element=kind)


@writes(hlo.RoundNearestAfzOp)
def round_away(b: NodeBuilder, op: hlo.RoundNearestAfzOp, x: Value) -> Value:
    kind, shape = element_of(x), shape_of(x)
    size = b.like("Abs", x)
    whole = b.like("Floor", size)
    up = b.test("GreaterOrEqual", b.like("Sub", size, whole), b.number(0.5, kind), shape=shape)
    return b.like("Mul", b.like("Sign", x), b.like("Add", whole, b.cast(up, kind)))


@writes(hlo.IsFiniteOp)
def is_finite(b: NodeBuilder, op: hlo.IsFiniteOp, x: Value) -> Value:
    shape = shape_of(x)
    neither = b.test("Or", b.test("IsInf", x, shape=shape), b.test("IsNaN", x, shape=shape), shape=shape)
    return b.test("Not", neither, shape=shape)


_COMPARISONS = {
    "EQ": "Equal",
    "NE": "Equal",
    "LT": "Less",
    "LE": "LessOrEqual",
    "GT": "Greater",
    "GE": "GreaterOrEqual",
}


@writes(hlo.CompareOp)
def compare(b: NodeBuilder, op: hlo.CompareOp, x: Value, y: Value) -> Value:
    kind = op.properties.get("compare_type")
    if kind is not None and plain(kind) == "TOTALORDER":
        raise b.fail("a total order of floating-point numbers")
    direction = plain(op.properties["comparison_direction"])
    if element_of(x) == i1 and direction not in ("EQ", "NE"):
        x, y = b.cast(x, i32), b.cast(y, i32)
    result = b.test(_COMPARISONS[direction], x, y, shape=shape_of(x))
    return b.test("Not", result, shape=shape_of(x)) if direction == "NE" else result


@writes(hlo.SelectOp)
def select(b: NodeBuilder, op: hlo.SelectOp, choice: Value, x: Value, y: Value) -> Value:
    return b("Where", choice, x, y, shape=shape_of(x), element=element_of(x))


@writes(hlo.ClampOp)
def clamp(b: NodeBuilder, op: hlo.ClampOp, low: Value, x: Value, high: Value) -> Value:
    return b.like("Min", b.like("Max", x, low), high)


@writes(hlo.ConvertOp)
def convert(b: NodeBuilder, op: hlo.ConvertOp, x: Value) -> Value:
    return b.cast(x, element_of(op.results[0]))


@writes(hlo.OptimizationBarrierOp)
def barrier(b: NodeBuilder, op: hlo.OptimizationBarrierOp, *xs: Value) -> list[Value]:
    return list(xs)
