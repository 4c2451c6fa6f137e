"""Numbers, tensors written out, tuples and their items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import stablehlo as hlo
from ..language import tree
from ..language.problems import Label
from .scope import Scope
from .types import TensorType, TupleType, Type
from .values import AnyValue, TupleValue, Value, describe, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator

MOST_AXES = 32  # of a tensor written out: what every NumPy can hold


def number(node: tree.Number | tree.Bool) -> Value:
    """A number written out is weak; `true` and `false` are not."""
    if isinstance(node, tree.Bool):
        return Value(TensorType("bool"), const=node.value, node=node)
    return weak(node.value, node)


def weak(value: Any, node: tree.Node | None) -> Value:
    """A number known when compiling, without a dtype of its own."""
    return Value(TensorType("f32" if isinstance(value, float) else "i64"), const=value, weak=True, node=node)


def array(e: Elaborator, node: tree.Array, scope: Scope, expected: Type | None) -> AnyValue:
    """`[[1, 2], [3, 4]]`. All numbers: a weak constant. Otherwise the items are put one after the other."""
    inner = None
    if isinstance(expected, TensorType) and expected.shape:
        inner = TensorType(expected.dtype, expected.shape[1:])
    items = [e.tensor(item, scope, inner) for item in node.items]
    if any(item.unknown for item in items):
        return unknown(node)
    if not items:
        if isinstance(expected, TensorType):
            return Value(TensorType("f32", (0,)), const=np.zeros((0,)), weak=True, node=node)
        return e.error("E308", "a tensor without elements says no dtype", node, hint="zeros(f32[0]) does")
    first = items[0]
    if len(first.type.shape) >= MOST_AXES:
        return e.error("E308", f"a tensor written out has at most {MOST_AXES} axes", node)
    for item in items[1:]:
        if len(item.type.shape) != len(first.type.shape) or any(
            a != b and (not isinstance(a, int) or not isinstance(b, int) or a != b)
            for a, b in zip(item.type.shape, first.type.shape, strict=True)
        ):
            labels = tuple(
                Label(value.node.span, f"has the shape [{', '.join(map(str, value.type.shape))}]")
                for value in (item, first)
                if value.node is not None
            )
            return e.error("E308", "the items of a tensor must have one shape", item.node or node, *labels)
    constants = [item.const for item in items]
    if all(isinstance(c, int | float | bool | np.ndarray) for c in constants) and _alike(items):
        return _written(items, constants, node)
    items = e.broadcast_together(items, node)
    if any(item.unknown for item in items):
        return unknown(node)
    return stack(e, items, node)


def _alike(items: Sequence[Value]) -> bool:
    return all(item.weak for item in items) or all(item.type.dtype == "bool" for item in items)


def _written(items: Sequence[Value], constants: Sequence[Any], node: tree.Node) -> Value:
    shape = (len(items), *items[0].type.shape)
    if not items[0].weak:
        return Value(TensorType("bool", shape), const=np.array(constants, bool), node=node)
    if any(item.type.dtype == "f32" for item in items):
        return Value(TensorType("f32", shape), const=np.array(constants, np.float64), weak=True, node=node)
    try:
        written = np.array(constants, np.int64)
    except OverflowError:
        written = np.array(constants, object)
    return Value(TensorType("i64", shape), const=written, weak=True, node=node)


def stack(e: Elaborator, items: Sequence[Value], node: tree.Node) -> Value:
    """Values of one type along a new first axis."""
    kind: TensorType = items[0].type
    rows: list[Value] = []
    for item in items:
        shape = (1, *kind.shape)
        rows.append(e.emit(lambda item=item, shape=shape: hlo.ReshapeOp(item.ssa, shape), kind.with_shape(shape), node))  # pyright: ignore
    if len(rows) == 1:
        return rows[0]
    return e.emit(
        lambda: hlo.ConcatenateOp([row.ssa for row in rows if row.ssa is not None], dimension=0),
        kind.with_shape((len(rows), *kind.shape)),
        node,
    )


def tuple_(e: Elaborator, node: tree.Tuple, scope: Scope, expected: Type | None) -> AnyValue:
    """`(a, b)`."""
    wanted: Sequence[Type | None] = [None] * len(node.items)
    if isinstance(expected, TupleType) and len(expected.items) == len(node.items):
        wanted = expected.items
    return TupleValue(
        tuple(e.expression(item, scope, kind) for item, kind in zip(node.items, wanted, strict=True)), node
    )


def item(e: Elaborator, node: tree.Item, scope: Scope) -> AnyValue:
    """`pair.0`."""
    value = e.expression(node.value, scope)
    if isinstance(value, Value) and value.unknown:
        return value
    if not isinstance(value, TupleValue):
        hint = f"items of tensors are x[{node.number}]" if isinstance(value, Value) else ""
        return e.error("E514", f"only tuples have items, this is {describe(value)}", node, hint=hint)
    if node.number >= len(value.items):
        return e.error(
            "E514",
            f"there is no item {node.number}: the tuple has {len(value.items)}, counted from 0",
            node,
        )
    return value.items[node.number]
