"""Simplest forms of elementwise ops. Floats keep NaN, infinities and the sign of zero: `x + 0.0` stays."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, Float32Type, Float64Type, IntegerType, Signedness, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import Commutative

from ....compiler.dtypes import DType, dtype_of
from .. import BroadcastInDimOp, ReshapeOp
from .. import ops_elementwise as ops
from ..attributes import ints
from ..semantics.elementwise import is_float
from .rules import Builder, Replacement, defining, element_type, shape_of, simplifies, tensor_type

ELEMENTWISE = tuple(
    kind
    for kind in vars(ops).values()
    if isinstance(kind, type)
    and issubclass(kind, ops.ElementwiseOp | ops.CompareOp | ops.SelectOp)
    and getattr(kind, "name", "").startswith("stablehlo.")
    and "quantize" not in kind.name
)
_LEAST = 2.0**-100  # of what a quotient is by, to be as good as a product with its reciprocal
_COMMUTATIVE = tuple(kind for kind in ELEMENTWISE if kind.has_trait(Commutative))


def _is(scalar: Any, number: float) -> bool:
    """Whether a known element is `number`; zeros must agree in sign. False for booleans."""
    if scalar is None or scalar.dtype == np.bool_:
        return False
    if scalar.dtype.kind == "c" or scalar != number:
        return False
    return not is_float(scalar.dtype) or bool(np.signbit(np.float64(scalar)) == np.signbit(number))


@simplifies(*_COMMUTATIVE)
def constant_to_the_right(op: ops.BinaryOp, b: Builder) -> Replacement:
    if b.splat_of(op.lhs) is None or b.splat_of(op.rhs) is not None:
        return None
    return b.like(op, [op.rhs, op.lhs], shape_of(op.result))


@simplifies(ops.AddOp)
def add_nothing(op: ops.AddOp, b: Builder) -> Replacement:
    scalar = b.splat_of(op.rhs)
    if scalar is None:
        return None
    return op.lhs if _is(scalar, -0.0 if is_float(scalar.dtype) else 0) else None


@simplifies(ops.SubtractOp)
def subtract_nothing(op: ops.SubtractOp, b: Builder) -> Replacement:
    return op.lhs if _is(b.splat_of(op.rhs), 0) else None


@simplifies(ops.MultiplyOp)
def multiply_by_one(op: ops.MultiplyOp, b: Builder) -> Replacement:
    scalar = b.splat_of(op.rhs)
    if _is(scalar, 1):
        return op.lhs
    return op.rhs if scalar is not None and scalar.dtype.kind in "iu" and scalar == 0 else None


@simplifies(ops.DivideOp)
def divide_by_power_of_two(op: ops.DivideOp, b: Builder) -> Replacement:
    """Multiplying by the reciprocal is exact for powers of two whose reciprocal is a normal number."""
    scalar = b.splat_of(op.rhs)
    if _is(scalar, 1):
        return op.lhs
    if scalar is None or scalar.dtype.name not in ("float32", "float64") or not np.isfinite(scalar):
        return None
    mantissa, exponent = np.frexp(scalar)
    if abs(mantissa) != 0.5 or abs(exponent) > 100:
        return None
    reciprocal = b.splat(scalar.dtype.type(1) / scalar, tensor_type(op.rhs))
    return b.value(ops.MultiplyOp(op.lhs, reciprocal))


@simplifies(ops.PowerOp)
def power_of_small_number(op: ops.PowerOp, b: Builder) -> Replacement:
    scalar = b.splat_of(op.rhs)
    if _is(scalar, 1):
        return op.lhs
    if _is(scalar, 2):
        return b.value(ops.MultiplyOp(op.lhs, op.lhs))
    if _is(scalar, 3):
        return b.value(ops.MultiplyOp(b.value(ops.MultiplyOp(op.lhs, op.lhs)), op.lhs))
    return None


def lowest(dtype: DType) -> Any:
    """The element that `maximum` ignores."""
    if is_float(dtype):
        return dtype.type(-np.inf)
    return np.bool_(False) if dtype == np.bool_ else np.iinfo(dtype).min if dtype.kind in "iu" else None


def highest(dtype: DType) -> Any:
    """The element that `minimum` ignores."""
    if is_float(dtype):
        return dtype.type(np.inf)
    return np.bool_(True) if dtype == np.bool_ else np.iinfo(dtype).max if dtype.kind in "iu" else None


@simplifies(ops.MaximumOp, ops.MinimumOp)
def bound_that_never_binds(op: ops.BinaryOp, b: Builder) -> Replacement:
    if op.lhs is op.rhs:
        return op.lhs
    scalar = b.splat_of(op.rhs)
    if scalar is None:
        return None
    bound = lowest if isinstance(op, ops.MaximumOp) else highest
    return op.lhs if scalar == bound(scalar.dtype) else None


@simplifies(ops.AndOp, ops.OrOp, ops.XorOp)
def bits_known(op: ops.BinaryOp, b: Builder) -> Replacement:
    if op.lhs is op.rhs and not isinstance(op, ops.XorOp):
        return op.lhs
    scalar = b.splat_of(op.rhs)
    if scalar is None:
        return None
    none_set, all_set = scalar == 0, ~scalar == 0
    match op:
        case ops.AndOp():
            return op.lhs if all_set else op.rhs if none_set else None
        case ops.OrOp():
            return op.lhs if none_set else op.rhs if all_set else None
        case _:
            return op.lhs if none_set else None


@simplifies(ops.NegateOp, ops.NotOp)
def twice_is_nothing(op: ops.UnaryOp, b: Builder) -> Replacement:
    inner = defining(op.operand, type(op))
    return inner.operand if inner else None


@simplifies(ops.SelectOp)
def select_known(op: ops.SelectOp, b: Builder) -> Replacement:
    if op.on_true is op.on_false:
        return op.on_true
    pred = b.splat_of(op.pred)
    if pred is not None:
        return op.on_true if pred else op.on_false
    negated = defining(op.pred, ops.NotOp)
    return b.value(ops.SelectOp(negated.operand, op.on_false, op.on_true)) if negated else None


@simplifies(ops.ClampOp)
def clamp_without_bounds(op: ops.ClampOp, b: Builder) -> Replacement:
    low, high = b.splat_of(op.min), b.splat_of(op.max)
    free_below = low is not None and low == lowest(low.dtype)
    free_above = high is not None and high == highest(high.dtype)
    if free_below and free_above:
        return op.operand
    if not (free_below or free_above):
        return None
    bound, combine = (op.max, ops.MinimumOp) if free_below else (op.min, ops.MaximumOp)
    return b.value(combine(op.operand, b.broadcast(bound, shape_of(op.operand), range(len(shape_of(bound))))))


def _holds(wide: Attribute, narrow: Attribute) -> bool:
    """Whether every value of `narrow` is one of `wide`."""
    if wide == narrow:
        return True
    if isinstance(wide, IntegerType) and isinstance(narrow, IntegerType):
        width, inner = wide.width.data, narrow.width.data
        if inner == 1:
            return True
        unsigned = narrow.signedness.data is Signedness.UNSIGNED
        if (wide.signedness.data is Signedness.UNSIGNED) == unsigned:
            return width >= inner and width > 1
        return unsigned and width > inner
    if isinstance(wide, AnyFloat) and isinstance(narrow, AnyFloat):
        return (wide.name, narrow.name) in _FLOAT_STEPS
    if isinstance(wide, AnyFloat) and isinstance(narrow, IntegerType):
        digits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}.get(wide.name, 0)
        return narrow.width.data <= digits
    return False


_FLOAT_STEPS = {("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16")}


@simplifies(ops.ConvertOp)
def convert_pairs(op: ops.ConvertOp, b: Builder) -> Replacement:
    """A step through a type that holds every value of the source changes nothing."""
    to = element_type(op.result)
    if element_type(op.operand) == to:
        return op.operand
    inner = defining(op.operand, ops.ConvertOp)
    if inner is None or not _holds(element_type(inner.result), element_type(inner.operand)):
        return None
    if element_type(inner.operand) == i1 or to == i1:
        return None
    return b.value(ops.ConvertOp(inner.operand, to))


def _repeated(value: SSAValue) -> BroadcastInDimOp | None:
    """The broadcast that makes `value` from something smaller."""
    op = defining(value, BroadcastInDimOp)
    small = op is not None and prod(shape_of(op.operand)) < prod(shape_of(value))
    return op if small else None


@simplifies(ops.DivideOp)
def divide_by_repeated_root(op: ops.DivideOp, b: Builder) -> Replacement:
    """x / broadcast(sqrt(v)), as of a norm, is x * broadcast(rsqrt(v)): off by 1.5 ulp instead of half of one.

    So too of a root that a constant is added to, or that is at least a constant. Whatever v is, its root is so far from
    the largest and least numbers that the reciprocal is as good; zeros, infinities and NaN give what they gave.
    """
    repeat = _repeated(op.rhs)
    if repeat is None or not isinstance(element_type(op.result), Float32Type | Float64Type):
        return None
    divisor = repeat.operand
    while (reshape := defining(divisor, ReshapeOp)) is not None:
        divisor = reshape.operand
    root = defining(divisor, ops.SqrtOp)
    if root is not None:
        factor = b.value(ops.RsqrtOp(root.operand))
    elif _is_bounded_root(divisor, b):
        one = b.splat(dtype_of(element_type(divisor)).type(1), tensor_type(divisor))
        factor = b.value(ops.DivideOp(one, divisor))
    else:
        return None
    factor = b.reshape(factor, shape_of(repeat.operand))
    repeated = b.broadcast(factor, shape_of(op.result), ints(repeat.broadcast_dimensions))
    return b.value(ops.MultiplyOp(op.lhs, repeated))


def _is_bounded_root(value: SSAValue, b: Builder) -> bool:
    """Whether it is sqrt(v) + c or max(sqrt(v), c) with a c whose reciprocal is no less exact than a quotient."""
    op = value.owner
    if not isinstance(op, ops.AddOp | ops.MaximumOp) or defining(op.lhs, ops.SqrtOp) is None:
        return False
    scalar = b.splat_of(op.rhs)
    return scalar is not None and bool(_LEAST <= scalar <= 1 / _LEAST)


@simplifies(*ELEMENTWISE)
def compute_before_repeating(op: Operation, b: Builder) -> Replacement:
    """f(broadcast(x), broadcast(y)) is broadcast(f(x, y)), where both repeat in the same way or are splats."""
    shape = shape_of(op.results[0])
    repeats = [_repeated(operand) for operand in op.operands]
    source = next((r for r in repeats if r is not None and shape_of(r.operand)), None)
    source = source or next((r for r in repeats if r is not None), None)
    if source is None:
        return None
    small, dims = shape_of(source.operand), ints(source.broadcast_dimensions)
    operands: list[SSAValue | None] = []
    for operand, repeat in zip(op.operands, repeats, strict=True):
        if not shape_of(operand):
            operands.append(operand)
        elif repeat and shape_of(repeat.operand) == small and ints(repeat.broadcast_dimensions) == dims:
            operands.append(repeat.operand)
        elif b.splat_of(operand) is not None:
            operands.append(None)
        else:
            return None
    made = [
        b.splat(b.splat_of(old), type(tensor_type(old))(element_type(old), small)) if new is None else new
        for new, old in zip(operands, op.operands, strict=True)
    ]
    return b.broadcast(b.like(op, made, small), shape, dims)
