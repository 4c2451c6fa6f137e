"""Bringing values together: weak numbers take a dtype, tensors a common shape, casts what they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ... import stablehlo as hlo
from ..language import tree
from ..language.problems import Label
from .dims import Extent, Pack, Poly
from .types import DType, TensorType, TypeVar, element_type, is_a, kind_of, numpy_dtype
from .values import Unbound, Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator


def settle(e: Elaborator, value: Value, prefer_float: bool = False) -> Value:
    """See `Elaborator.settle`."""
    if value.unknown or value.const is None or value.ssa is not None:
        return value
    dtype = value.type.dtype
    if value.weak and prefer_float and kind_of(dtype) == "int":
        dtype = "f32"
    return _take(e, value, dtype, value.node)


def _take(e: Elaborator, value: Value, dtype: DType, node: tree.Node | None) -> Value:
    """A constant with a dtype of its own, as an op in instance mode."""
    const = value.const
    kind = value.type.with_dtype(dtype)
    if not e.emits or isinstance(const, Unbound | Poly):
        return Value(kind, value.ssa, const, False, node, value.range)
    assert node is not None
    problem = misfit(const, dtype)
    if problem:
        return e.error("E203", problem, node)
    array = np.asarray(const).astype(numpy_dtype(dtype))
    made = e.emit(lambda: e.constant(array), kind, node)
    return replace(made, const=const)


def misfit(const: Any, dtype: DType) -> str:
    """Why numbers known when compiling cannot have a dtype, '' where they can."""
    if isinstance(dtype, TypeVar) or isinstance(const, Unbound | Poly) or kind_of(dtype) != "int":
        return ""
    array = np.asarray(const)
    if array.dtype.kind not in "iuO" or not array.size:
        return ""
    limits = ml_dtypes.iinfo(numpy_dtype(dtype))
    low, high = int(array.min()), int(array.max())
    if low >= int(limits.min) and high <= int(limits.max):
        return ""
    wrong = low if low < int(limits.min) else high
    return f"{wrong} is not a value of {dtype}, which has {limits.min} to {limits.max}"


def takes(value: Value, dtype: DType) -> bool:
    """Whether a weak value can take a dtype: whole numbers any of numbers, others those with fractions."""
    whole = kind_of(value.type.dtype) == "int"
    if whole:
        return is_a(dtype, "number")
    return is_a(dtype, "float") or is_a(dtype, "complex")


def coerce(e: Elaborator, value: Value, dtype: DType, node: tree.Node, what: str = "") -> Value:
    """See `Elaborator.coerce`."""
    if value.unknown:
        return value
    if value.weak and takes(value, dtype):
        if not isinstance(dtype, TypeVar) and (problem := misfit(value.const, dtype)):
            return e.error("E203", problem, node)
        return _take(e, value, dtype, value.node or node)
    if value.type.dtype == dtype:
        return settle(e, value)
    told = f"{what or 'this'} must be {dtype}, got {_shown(value)}"
    return e.error("E201", told, node, hint=cast_hint(value, dtype))


def cast_hint(value: Value, dtype: DType) -> str:
    """How to get the dtype."""
    if value.weak and isinstance(dtype, TypeVar) and dtype.kind in ("any", "number"):
        return f"narrow the type parameter, [{dtype}: float], or cast: {dtype}(…)"
    if value.weak and kind_of(value.type.dtype) == "float" and is_a(dtype, "int"):
        return f"cast the {dtype} instead: f32(…)"
    if kind_of(value.type.dtype) == "complex":
        return "take a part of it: real(…) or imag(…)"
    return f"cast it: {dtype}(…)"


def _shown(value: Value) -> str:
    return "a number with a fraction" if value.weak and value.type.dtype == "f32" else str(value.type.dtype)


def common_dtype(e: Elaborator, values: Sequence[Value], node: tree.Node) -> DType | None:
    """The dtype of values that meet; None after an error."""
    strong = [v for v in values if not v.weak]
    if not strong:
        return "f32" if any(v.type.dtype == "f32" for v in values) else "i64"
    first = strong[0]
    for other in strong[1:]:
        if other.type.dtype != first.type.dtype:
            labels = _labels(first, other, str(first.type.dtype), str(other.type.dtype))
            e.error(
                "E201",
                f"dtypes differ: {first.type.dtype} and {other.type.dtype}",
                node,
                *labels,
                hint=f"cast one of them: {first.type.dtype}(…) or {other.type.dtype}(…)",
            )
            return None
    return first.type.dtype


def _labels(left: Value, right: Value, this: str, that: str) -> tuple[Label, ...]:
    """What is to be said at the places of two values."""
    return tuple(
        Label(value.node.span, text) for value, text in ((left, this), (right, that)) if value.node is not None
    )


def broadcast_together(e: Elaborator, values: Sequence[Value], node: tree.Node) -> list[Value]:
    """See `Elaborator.broadcast_together`."""
    if any(v.unknown for v in values):
        return [unknown(node) for _ in values]
    dtype = common_dtype(e, values, node)
    if dtype is None:
        return [unknown(node) for _ in values]
    taken = [coerce(e, v, dtype, v.node or node) for v in values]
    return same_shape(e, taken, node)


def same_shape(e: Elaborator, values: Sequence[Value], node: tree.Node) -> list[Value]:
    """The values in their common shape, each with its own dtype; all unknown after an error."""
    if any(v.unknown for v in values):
        return [unknown(node) for _ in values]
    shape = values[0].type.shape
    for i, value in enumerate(values[1:], 1):
        if value.type.shape != shape:
            found = common_shape(e, Value(values[0].type.with_shape(shape), node=_place(values[:i])), value, node)
            if found is None:
                return [unknown(node) for _ in values]
            shape = found
    return [broadcast(e, v, shape, node) for v in values]


def _place(values: Sequence[Value]) -> tree.Node | None:
    return max(values, key=lambda v: len(v.type.shape)).node


def common_shape(e: Elaborator, left: Value, right: Value, node: tree.Node) -> tuple[Extent, ...] | None:
    """The shape that two values broadcast to by NumPy's rules; None after an error."""
    one, two = list(left.type.shape), list(right.type.shape)
    found: list[Extent] = []
    while one and two:
        a, b = one.pop(), two.pop()
        if a == b:
            found.append(a)
        elif isinstance(a, Pack) or isinstance(b, Pack):
            # a pack against a dimension of 1 is that pack, if nothing is in front of the 1
            if a == 1 and not one:
                found.append(b)
            elif b == 1 and not two:
                found.append(a)
            else:  # known once the packs are bound
                return None if not e.emits else _cannot(e, left, right, node)
        elif a == 1:
            found.append(b)
        elif b == 1:
            found.append(a)
        elif not e.may_differ(a, b):
            found.append(b if isinstance(b, int) else a)
        else:
            return _cannot(e, left, right, node)
    found += reversed(one or two)
    return tuple(reversed(found))


def _cannot(e: Elaborator, left: Value, right: Value, node: tree.Node) -> None:
    message = f"shapes {_shape(left)} and {_shape(right)} do not broadcast"
    hint = ""
    if not (all(isinstance(n, int) for n in left.type.shape + right.type.shape)):
        hint = "dimensions broadcast when they are the same or one is 1"
    e.error("E302", message, node, *_labels(left, right, f"is {left.type}", f"is {right.type}"), hint=hint)


def _shape(value: Value) -> str:
    return f"[{', '.join(map(str, value.type.shape))}]"


def broadcast(e: Elaborator, value: Value, shape: tuple[Extent, ...], node: tree.Node) -> Value:
    """See `Elaborator.broadcast`."""
    value = settle(e, value)
    if value.unknown or value.type.shape == shape:
        return value
    offset = len(shape) - len(value.type.shape)

    def make() -> hlo.BroadcastInDimOp:
        assert value.ssa is not None
        sizes = [n for n in shape if isinstance(n, int)]
        return hlo.BroadcastInDimOp(value.ssa, shape=sizes, broadcast_dimensions=list(range(offset, len(shape))))

    return e.emit(make, value.type.with_shape(shape), value.node or node)


def cast(e: Elaborator, value: Value, dtype: DType, node: tree.Node) -> Value:
    """See `Elaborator.convert`."""
    if value.unknown:
        return value
    own = value.type.dtype
    kind = value.type.with_dtype(dtype)
    if own == dtype and not value.weak:
        return value.at(node)
    if kind_of(own) == "complex" and kind_of(dtype) != "complex":
        return e.error("E204", f"{own} cannot be cast to {dtype}", node, hint="take a part of it: real(…) or imag(…)")
    if value.const is not None:
        if isinstance(value.const, Unbound | Poly) or isinstance(dtype, TypeVar):
            return Value(kind, const=value.const if _whole(dtype) else None, node=node)
        return _cast_const(e, value, dtype, node)
    if kind_of(dtype) == "bool":
        zero = e.coerce(Value(TensorType(own if kind_of(own) != "bool" else "bool"), const=0, node=node), own, node)
        zero = broadcast(e, zero, value.type.shape, node)
        return e.emit(lambda: hlo.CompareOp(value.ssa, zero.ssa, comparison_direction="NE"), kind, node)  # pyright: ignore
    return e.emit(lambda: hlo.ConvertOp(value.ssa, element_type(dtype)), kind, node)  # pyright: ignore


def _whole(dtype: DType) -> bool:
    return kind_of(dtype) == "int"


def _cast_const(e: Elaborator, value: Value, dtype: str, node: tree.Node) -> Value:
    array = np.asarray(value.const)
    kind = value.type.with_dtype(dtype)
    if array.dtype.kind == "f" and kind_of(dtype) == "int":
        if not np.isfinite(array).all():
            return e.error("E204", f"{value.const} cannot be cast to {dtype}", node)
        array = np.asarray(np.trunc(array)).astype(object)
    if kind_of(dtype) == "int" and (problem := misfit(array, dtype)):
        return e.error("E203", problem, node)
    taken = array.astype(bool) if kind_of(dtype) == "bool" else array.astype(numpy_dtype(dtype))
    if array.shape:
        return e.emit(lambda: e.constant(taken), kind, node)
    const = taken.item() if kind_of(dtype) in ("int", "bool") else float(array) if kind_of(dtype) == "float" else None
    if const is None:
        return e.emit(lambda: e.constant(taken), kind, node)
    return Value(kind, const=int(const) if kind_of(dtype) == "int" else const, node=node)
