"""`//` and `%` as Python and NumPy round them, and what values a whole number can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import stablehlo as hlo
from ..language import tree
from .dims import Dim
from .types import TensorType, kind_of
from .values import Value

if TYPE_CHECKING:
    from .elaborator import Elaborator

Range = tuple[Dim, Dim]


def floor_divide(e: Elaborator, left: Value, right: Value, node: tree.Node) -> Value:
    """The quotient rounded to minus infinity, of two values of one type."""
    if kind_of(left.type.dtype) == "float":
        quotient = _op(e, hlo.DivideOp, left, right, node)
        return e.emit(lambda: hlo.FloorOp(quotient.ssa), left.type, node)  # pyright: ignore
    quotient = _op(e, hlo.DivideOp, left, right, node)
    if never_negative(left, right):
        return quotient
    off = _crossed(e, left, right, _op(e, hlo.RemainderOp, left, right, node), node)
    lower = _op(e, hlo.SubtractOp, quotient, _full(e, 1, left, node), node)
    return e.emit(lambda: hlo.SelectOp(off.ssa, lower.ssa, quotient.ssa), left.type, node)  # pyright: ignore


def modulo(e: Elaborator, left: Value, right: Value, node: tree.Node) -> Value:
    """The remainder with the sign of the divisor, of two values of one type."""
    rest = _op(e, hlo.RemainderOp, left, right, node)
    if never_negative(left, right):
        return rest
    off = _crossed(e, left, right, rest, node)
    higher = _op(e, hlo.AddOp, rest, right, node)
    return e.emit(lambda: hlo.SelectOp(off.ssa, higher.ssa, rest.ssa), left.type, node)  # pyright: ignore


def never_negative(left: Value, right: Value) -> bool:
    """Whether rounding to zero and to minus infinity are the same."""
    dtype = left.type.dtype
    if isinstance(dtype, str) and dtype.startswith("u"):
        return True
    return all(_least(value) is not None and _at_least_zero(_least(value)) for value in (left, right))


def _at_least_zero(least: Dim | None) -> bool:
    return isinstance(least, int) and least >= 0


def _least(value: Value) -> Dim | None:
    if value.dim is not None:
        return value.dim
    return None if value.range is None else value.range[0]


def _crossed(e: Elaborator, left: Value, right: Value, rest: Value, node: tree.Node) -> Value:
    """Where something is left over and the signs differ."""
    zero = _full(e, 0, left, node)
    some = _compare(e, "NE", rest, zero, node)
    if (least := _least(right)) is not None and _at_least_zero(least):  # the usual case: the rest alone decides
        return _compare(e, "LT", rest, zero, node)
    below, under = _compare(e, "LT", rest, zero, node), _compare(e, "LT", right, zero, node)
    signs = _compare(e, "NE", below, under, node)
    return _op(e, hlo.AndOp, some, signs, node)


def _compare(e: Elaborator, direction: str, left: Value, right: Value, node: tree.Node) -> Value:
    kind = left.type.with_dtype("bool")
    return e.emit(
        lambda: hlo.CompareOp(left.ssa, right.ssa, comparison_direction=direction),  # pyright: ignore
        kind,
        node,
    )


def _full(e: Elaborator, number: int, like: Value, node: tree.Node) -> Value:
    one = e.coerce(Value(TensorType("i64"), const=number, weak=True, node=node), like.type.dtype, node)
    return e.broadcast(one, like.type.shape, node)


def _op(e: Elaborator, op: type[hlo.BinaryOp], left: Value, right: Value, node: tree.Node) -> Value:
    return e.emit(lambda: op(left.ssa, right.ssa), left.type, node)  # pyright: ignore


def reach(operator: str, left: Value, right: Value) -> Range | None:
    """From where to (without) where `left operator right` goes, of whole scalars with known ranges."""
    one, two = _range(left), _range(right)
    if one is None or two is None or (left.range is None and right.range is None):
        return None
    low, high = one
    least, most = two
    match operator:
        case "+":
            return low + least, high + most - 1
        case "-":
            return low - most + 1, high - least
        case "*":
            fixed = _fixed(two)
            if fixed is None:
                fixed, (low, high) = _fixed(one), two
            if fixed is None:
                return None
            return (low * fixed, (high - 1) * fixed + 1) if fixed >= 0 else ((high - 1) * fixed, low * fixed + 1)
        case "//":
            fixed = _fixed(two)
            return (low // fixed, (high - 1) // fixed + 1) if fixed is not None and fixed > 0 else None
        case "%":
            fixed = _fixed(two)
            if fixed is None or fixed <= 0:
                return None
            inside = isinstance(low, int) and isinstance(high, int) and low >= 0 and high <= fixed
            return (low, high) if inside else (0, fixed)
        case _:
            return None


def _range(value: Value) -> Range | None:
    if not value.scalar:
        return None
    if value.dim is not None:
        return value.dim, value.dim + 1
    return value.range


def _fixed(of: Range) -> int | None:
    low, high = of
    return low if isinstance(low, int) and high - low == 1 else None
