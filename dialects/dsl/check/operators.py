"""Operators: of numbers known when compiling, of dimensions, of tensors element by element, and `@`."""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from ... import stablehlo as hlo
from ..language import tree
from . import contraction, integers
from .dims import Dim, Poly
from .dims import apply as apply_dims
from .facts import Facts
from .scope import Scope
from .types import TensorType, Type, is_a, kind_of
from .values import UNBOUND, AnyValue, Unbound, Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator

COMPARISONS = {"==": "EQ", "!=": "NE", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}
_OPS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "+": (hlo.AddOp, ("int", "float", "complex")),
    "-": (hlo.SubtractOp, ("int", "float", "complex")),
    "*": (hlo.MultiplyOp, ("int", "float", "complex")),
    "/": (hlo.DivideOp, ("float", "complex")),
    "**": (hlo.PowerOp, ("int", "float", "complex")),
    "&": (hlo.AndOp, ("bool", "int")),
    "|": (hlo.OrOp, ("bool", "int")),
    "^": (hlo.XorOp, ("bool", "int")),
    "and": (hlo.AndOp, ("bool",)),
    "or": (hlo.OrOp, ("bool",)),
    "<<": (hlo.ShiftLeftOp, ("int",)),
    "//": (integers.floor_divide, ("int", "float")),
    "%": (integers.modulo, ("int", "float")),
}
_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": python.add, "-": python.sub, "*": python.mul, "//": python.floordiv, "%": python.mod,
    "&": python.and_, "|": python.or_, "^": python.xor, "<<": python.lshift, ">>": python.rshift,
}  # fmt: skip
_DIMS = {"+": "+", "-": "-", "*": "*", "/": "//", "//": "//", "%": "%"}
_OPERATORS = {*_OPS, *COMPARISONS, "@", ">>"}


def binary(e: Elaborator, node: tree.Binary, scope: Scope, expected: Type | None) -> AnyValue:
    """`a + b`; both sides are walked even if one is wrong."""
    operator = node.operator
    wanted = expected if isinstance(expected, TensorType) and operator not in COMPARISONS else None
    left = e.tensor(node.left, scope, wanted)
    decided = operator in ("and", "or") and isinstance(left.const, bool) and left.const == (operator == "or")
    if decided and not (wanted and wanted.shape):
        return left.at(node)  # the other side does not matter, and may not even make sense
    right = e.tensor(node.right, scope, wanted)
    if left.unknown or right.unknown or operator not in _OPERATORS:
        return unknown(node)  # it has been reported
    if operator == "@":
        return contraction.matmul(e, left, right, node)
    if left.const is not None and right.const is not None and left.scalar and right.scalar:
        if operator == "/" and isinstance(node.left, tree.Number):
            _warn_of_rounding(e, left, right, node)
        folded = fold(e, operator, left, right, node)
        if folded is not None:
            return folded
    return elementwise(e, operator, left, right, node)


def _warn_of_rounding(e: Elaborator, left: Value, right: Value, node: tree.Binary) -> None:
    """`1 / N` is a whole number, 0 for most N: seldom what is meant."""
    if left.dim is None or right.dim in (None, 0, 1):
        return
    if isinstance(left.dim, int) and isinstance(right.dim, int) and left.dim % right.dim == 0:
        return
    hint = f"{left.dim}.0 / … has a fraction; // says that rounding is meant"
    e.warn("W905", "whole numbers are divided: the quotient is rounded down", node, hint)


def elementwise(e: Elaborator, operator: str, left: Value, right: Value, node: tree.Node) -> Value:
    """An operator on tensors after broadcasting."""
    reach = integers.reach("//" if operator == "/" else operator, left, right)
    if operator in ("and", "or"):
        for side in (left, right):
            if kind_of(side.type.dtype) != "bool":
                message = f"'{operator}' takes bool, got {side.type.dtype}"
                return e.error("E206", message, side.node or node, hint="compare it: x != 0")
    if operator == "/" and _of_indices(left, right):
        operator = "//"  # of indices, as of dimensions
    if operator == "/" and left.weak and right.weak:
        left, right = e.settle(left, prefer_float=True), e.settle(right, prefer_float=True)
    left, right = e.broadcast_together((left, right), node)
    if left.unknown:
        return left
    dtype = left.type.dtype
    if operator in COMPARISONS:
        return compare(e, operator, left, right, node)
    op, kinds = _OPS.get(operator) or (_shift_right(dtype), ("int",))
    if not any(is_a(dtype, kind) for kind in kinds) and not _parameter_fits(dtype, kinds):
        return e.error("E202", f"'{operator}' does not take {dtype}", node, hint=_hint(operator, dtype))
    if operator in ("//", "%"):
        return Value(*_parts(op(e, left, right, node)), node=node, range=reach)
    made = e.emit(lambda: op(left.ssa, right.ssa), left.type, node)
    return Value(*_parts(made), node=node, range=reach)


def _of_indices(left: Value, right: Value) -> bool:
    """Whether indices and numbers known when compiling are divided, of which one is an index."""
    counted = [side.range is not None for side in (left, right)]
    return any(counted) and all(c or side.dim is not None for c, side in zip(counted, (left, right), strict=True))


def _parts(value: Value) -> tuple[Any, Any]:
    return value.type, value.ssa


def _parameter_fits(dtype: Any, kinds: tuple[str, ...]) -> bool:
    return kind_of(dtype) == "number" and {"int", "float", "complex"} <= set(kinds)


def _shift_right(dtype: Any) -> Callable[..., Any]:
    unsigned = isinstance(dtype, str) and dtype.startswith("u")
    return hlo.ShiftRightLogicalOp if unsigned else hlo.ShiftRightArithmeticOp


def _hint(operator: str, dtype: Any) -> str:
    kind = kind_of(dtype)
    if not isinstance(dtype, str):
        return f"narrow the type parameter: [{dtype}: {'float' if operator == '/' else 'number'}]"
    if operator == "/" and kind == "int":
        return "// is the whole part of the quotient; or cast: f32(…)"
    if kind == "bool":
        return "use and, or, ^; or cast: i64(…)"
    if operator in ("&", "|") and kind == "float":
        return "and, or join conditions"
    return ""


def compare(e: Elaborator, operator: str, left: Value, right: Value, node: tree.Node) -> Value:
    """A comparison of two values of one type."""
    dtype = left.type.dtype
    if operator not in ("==", "!=") and not (is_a(dtype, "int") or is_a(dtype, "float")):
        if kind_of(dtype) == "complex":
            return e.error("E202", "complex numbers have no order", node, hint="compare abs(…) or real(…)")
        if kind_of(dtype) == "any":
            hint = f"narrow the type parameter: [{dtype}: float]"
            return e.error("E202", f"{dtype} may have no order", node, hint=hint)
    direction = COMPARISONS[operator]
    return e.emit(
        lambda: hlo.CompareOp(left.ssa, right.ssa, comparison_direction=direction),  # pyright: ignore
        left.type.with_dtype("bool"),
        node,
    )


def unary(e: Elaborator, node: tree.Unary, scope: Scope, expected: Type | None) -> AnyValue:
    """`-x`, `~x`, `not x`."""
    value = e.tensor(node.operand, scope, expected)
    if value.unknown:
        return value
    dtype = value.type.dtype
    match node.operator:
        case "-":
            if value.const is not None and (value.weak or value.dim is not None):
                return _constant(value, UNBOUND if isinstance(value.const, Unbound) else -value.const, node)
            if kind_of(dtype) in ("bool", "any"):
                return e.error("E202", f"'-' does not take {dtype}", node, hint="not x is the opposite of a bool")
            value = e.settle(value)
            reach = None if value.range is None else (1 - value.range[1], 1 - value.range[0])
            made = e.emit(lambda: hlo.NegateOp(value.ssa), value.type, node)  # pyright: ignore
            return Value(made.type, made.ssa, node=node, range=reach)
        case "not":
            if kind_of(dtype) != "bool":
                return e.error("E206", f"'not' takes bool, got {dtype}", node.operand, hint="compare it: x == 0")
            if isinstance(value.const, bool | Unbound) and value.scalar:
                return _constant(value, UNBOUND if isinstance(value.const, Unbound) else not value.const, node)
        case _:
            if kind_of(dtype) not in ("bool", "int"):
                return e.error("E202", f"'~' does not take {dtype}", node)
            if value.weak and isinstance(value.dim, int):
                return _constant(value, -1 - value.dim, node)
    value = e.settle(value)
    return e.emit(lambda: hlo.NotOp(value.ssa), value.type, node)  # pyright: ignore


def _constant(value: Value, const: Any, node: tree.Node) -> Value:
    return Value(value.type, const=const, weak=value.weak, node=node)


def fold(e: Elaborator, operator: str, left: Value, right: Value, node: tree.Node) -> Value | None:
    """An operator on two scalars known when compiling; None where it is left to run time."""
    a, b = left.const, right.const
    if operator in ("and", "or"):
        if kind_of(left.type.dtype) != "bool" or kind_of(right.type.dtype) != "bool":
            return None
        if isinstance(a, bool) and isinstance(b, bool):
            return Value(TensorType("bool"), const=a and b if operator == "and" else a or b, node=node)
        known = a if isinstance(a, bool) else b
        decided = isinstance(known, bool) and known == (operator == "or")
        return Value(TensorType("bool"), const=known if decided else UNBOUND, node=node)
    whole = left.dim is not None and right.dim is not None
    if not (left.weak and right.weak) and not (
        whole and {left.type.dtype, right.type.dtype} == {"i64"} and operator not in ("/", "**")
    ):
        return _fold_mixed(e, operator, left, right, node)
    if operator in COMPARISONS:
        return Value(TensorType("bool"), const=_compare(e.facts, operator, a, b), node=node)
    kind = left if left.type.dtype == "f32" or right.type.dtype != "f32" else right
    if isinstance(a, Unbound) or isinstance(b, Unbound):
        return Value(kind.type, const=UNBOUND, weak=True, node=node)
    assert a is not None and b is not None
    try:
        const = _number(operator, a, b)
    except ZeroDivisionError:
        if left.type.dtype == "i64" and right.type.dtype == "i64":
            return e.error("E312", "this divides by 0", node)
        const = _divided_by_zero(operator, a)
    except (OverflowError, ValueError):
        return e.error("E203", "this number is too large", node)
    except TypeError:
        return None
    if isinstance(const, int) and abs(const) >= 2**64:
        return e.error("E203", "this number is too large", node)
    reach = TensorType("f32" if isinstance(const, float) else "i64")
    if isinstance(const, Unbound):
        reach = kind.type
    return Value(reach, const=const, weak=left.weak and right.weak, node=node)


def _fold_mixed(e: Elaborator, operator: str, left: Value, right: Value, node: tree.Node) -> Value | None:
    """A comparison of a const bool or of whole numbers, one of which has a dtype."""
    a, b = left.const, right.const
    if operator in ("==", "!=") and isinstance(a, bool) and isinstance(b, bool):
        return Value(TensorType("bool"), const=(a == b) == (operator == "=="), node=node)
    bools = kind_of(left.type.dtype) == kind_of(right.type.dtype) == "bool"
    if bools and operator in ("==", "!=") and (isinstance(a, Unbound) or isinstance(b, Unbound)):
        return Value(TensorType("bool"), const=UNBOUND, node=node)
    return None


def _divided_by_zero(operator: str, a: Any) -> float:
    if operator == "%" or a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a)


def _number(operator: str, a: Any, b: Any) -> Any:
    if isinstance(a, Poly) or isinstance(b, Poly):
        if isinstance(a, float) or isinstance(b, float):
            return UNBOUND
        if operator == "**" and isinstance(b, int) and 0 <= b <= 16:
            return reduce(lambda power, _: apply_dims("*", power, a), range(b), 1)
        function = _DIMS.get(operator)
        return UNBOUND if function is None else apply_dims(function, a, b)
    if operator == "/":
        return a // b if isinstance(a, int) and isinstance(b, int) else a / b
    if operator == "**":
        if isinstance(a, int) and isinstance(b, int):
            if b < 0:
                return float(a) ** b
            if a not in (-1, 0, 1) and b > 64:
                raise OverflowError
        found = a**b
        if isinstance(found, complex):
            return math.nan
        return found
    if operator in ("<<", ">>") and isinstance(b, int) and not 0 <= b < 64:
        raise ValueError
    return _NUMBERS[operator](a, b)


def _compare(facts: Facts, operator: str, a: Any, b: Any) -> Any:
    if isinstance(a, Unbound | float) or isinstance(b, Unbound | float):
        if isinstance(a, Unbound | Poly) or isinstance(b, Unbound | Poly):
            return UNBOUND
        return bool(
            getattr(python, {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[operator])(a, b)
        )
    known = _compare_dims(facts, operator, a, b)
    return UNBOUND if known is None else known


def _compare_dims(facts: Facts, operator: str, a: Dim, b: Dim) -> bool | None:
    match operator:
        case "==":
            return facts.equal(a, b)
        case "!=":
            same = facts.equal(a, b)
            return None if same is None else not same
        case "<":
            return facts.less(a, b)
        case ">":
            return facts.less(b, a)
        case ">=":
            less = facts.less(a, b)
            return None if less is None else not less
        case _:
            less = facts.less(b, a)
            return None if less is None else not less


__all__ = ["COMPARISONS", "binary", "compare", "elementwise", "fold", "unary"]
