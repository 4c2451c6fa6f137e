"""`let h[t: T, j] = f(h[t - 1, j ? 0], x[t, j])`: a tensor told by its own earlier elements, computed by a loop.

The loop goes over one index at which every use of `h` is earlier by a constant; where there is none, over the first
few indices in their order, as `d[i, j] = d[i - 1, j ? 0] + d[i, j - 1 ? 0]` needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Region

from ... import stablehlo as hlo
from ...stablehlo.shapes import scalar
from ..language import tree
from .index_body import declared_extents, made_tensor, names_of, shape_of, single, sizes_of
from .index_notation import (
    INDEX,
    Index,
    Notation,
    arguments,
    counted,
    define_indices,
    enter,
    filling,
    notation_of,
    text_of,
    trial,
    typing_only,
)
from .index_ranges import Collector, Extents, infer
from .scope import Scope
from .types import UNKNOWN, DType, TensorType, ir_type, numpy_dtype
from .values import TupleValue, Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator


def is_recurrence(node: tree.Define) -> bool:
    """Whether the body uses what it defines."""
    return next(uses_of(node), None) is not None


def uses_of(node: tree.Define) -> Iterator[tree.Name]:
    """The uses of a name in its own definition."""
    for inner in node.value.walk():
        if isinstance(inner, tree.Name) and inner.text == node.target.text:
            yield inner


def recurrence(e: Elaborator, node: tree.Define, scope: Scope, declared: TensorType | None) -> Value:
    """The tensor; of unknown type after an error."""
    name = node.target.text
    notation = notation_of(scope)
    notation.itself = name
    order = _order(e, node, [Index(b.name, None, pack=b.pack) for b in node.binders], scope)
    if order is None:
        unclear = [Index(b.name, None, pack=b.pack) for b in node.binders]
        _walk(e, node, scope, notation, unclear, Value(UNKNOWN, node=node.target), None)
        return unknown(node)
    uses = Collector(e, scope, notation, names_of(node.binders))
    uses.visit(node.value)
    given = declared_extents(node.binders, None if declared is None else declared.shape)
    indices = infer(e, node.binders, uses.uses, scope, notation, given)
    shape = shape_of(indices)
    for index in indices:
        if index.start != 0:
            hint = f"count from 0 and say what the first elements are: if {index.name} < 2 {{ … }} else {{ … }}"
            e.error("E422", "a recurrence counts from 0", index.where, hint=hint)
            order = None
    dtype: DType | None = None
    if shape is not None and order is not None:
        dtype = declared.dtype if declared is not None else _dtype(e, node, scope, notation, indices, shape)
    if shape is None or dtype is None or order is None:
        _walk(e, node, scope, notation, indices, Value(UNKNOWN, node=node.target), None)
        return unknown(node)
    kind = TensorType(dtype, shape)
    if not e.emits:
        value = _walk(e, node, scope, notation, indices, Value(kind, node=node.target), TensorType(dtype))
        if not value.unknown and value.type.dtype != dtype:
            _other_dtype(e, node, dtype, value)
        return Value(kind, node=node)
    return _loop(e, node, scope, notation, indices, order, kind)


def _walk(
    e: Elaborator,
    node: tree.Define,
    scope: Scope,
    notation: Notation,
    indices: Sequence[Index],
    itself: Value,
    expected: TensorType | None,
) -> Value:
    """The body, typed only; `itself` is what the name being defined stands for."""
    with typing_only(e):
        inner, _ = enter(e, scope, notation, indices)
        define_indices(e, inner, indices, [])
        inner.define(node.target.text, itself, "index", used=True)
        return single(e, node.value, inner, expected, "the body of index notation")


def _other_dtype(e: Elaborator, node: tree.Define, dtype: DType, value: Value) -> None:
    message = f"'{node.target.text}' has elements of {dtype}, its body gives {value.type.dtype}"
    e.error("E201", message, node.value, hint=f"cast it: {dtype}(…)")


# The dtype ---------------------------------------------------------------------------------------------------------


def _dtype(
    e: Elaborator, node: tree.Define, scope: Scope, notation: Notation, indices: Sequence[Index], shape: Extents
) -> DType | None:
    """The dtype for which the body has that dtype: one of those that occur in it, or that of numbers."""
    best: DType | None = None
    least = 0
    for dtype in _candidates(e, node, scope):
        expected = TensorType(dtype)
        with trial(e, node) as problems:
            value = _walk(e, node, scope, notation, indices, Value(TensorType(dtype, shape)), expected)
        count = len(problems.errors)
        if not count and (value.unknown or value.type.dtype == dtype):
            return dtype
        if count and (best is None or count < least):  # its errors are the ones to tell
            best, least = dtype, count
    if best is not None:
        _walk(e, node, scope, notation, indices, Value(TensorType(best, shape)), TensorType(best))
        return None
    hint = f"write its type: let {node.target.text}[…]: f32[…] = …"
    e.error("E422", f"the dtype of '{node.target.text}' cannot be inferred", node.target, hint=hint)
    return None


def _candidates(e: Elaborator, node: tree.Define, scope: Scope) -> list[DType]:
    dtypes: dict[DType, None] = {}
    for inner in node.value.walk():
        entry = scope.find(inner.text) if isinstance(inner, tree.Name) else None
        if entry is None or not isinstance(entry.value, Value) or entry.value.unknown or entry.kind == "dim":
            continue
        if inner.text != node.target.text and not entry.value.weak:  # pyright: ignore[reportAttributeAccessIssue]
            dtypes[entry.value.type.dtype] = None
    numbers = [n.value for n in node.value.walk() if isinstance(n, tree.Number)]
    dtypes |= dict.fromkeys(
        ["f32", "i64", "bool"] if any(isinstance(n, float) for n in numbers) else ["i64", "f32", "bool"]
    )
    dtypes |= dict.fromkeys(n.text for n in node.value.walk() if isinstance(n, tree.Name) and _is_dtype(n.text))
    return list(dtypes)


def _is_dtype(name: str) -> bool:
    from .types import is_dtype

    return is_dtype(name)


# The order ---------------------------------------------------------------------------------------------------------


def _order(e: Elaborator, node: tree.Define, indices: Sequence[Index], scope: Scope) -> list[int] | None:
    """The positions of the indices that the loop goes over; None after an error."""
    uses = [n for n in node.value.walk() if isinstance(n, tree.Subscript) and _is_itself(n.value, node)]
    subscripted = {n.value for n in uses}
    for name in uses_of(node):
        if name not in subscripted:
            e.error("E422", f"'{name.text}' is only being defined here: its elements can be used, not all of it", name)
            return None
    steps: list[list[int | None]] = []
    for use in uses:
        if len(use.items) != len(indices):
            own = f"{node.target.text}[{', '.join(i.name for i in indices)}]"
            count = counted(len(use.items), "subscript")
            e.error("E406", f"{count} for the {counted(len(indices), 'index', 'indices')} of {own}", use)
            return None
        steps.append([_step(item, index) for item, index in zip(use.items, indices, strict=True)])
    for position in range(len(indices)):
        if all(_earlier(step[position]) for step in steps):
            return [position]
    for count in range(2, len(indices) + 1):
        if all(_lexically_earlier(step[:count]) for step in steps):
            return list(range(count))
    _not_earlier(e, node, uses, steps, indices, scope)
    return None


def _is_itself(value: tree.Expression, node: tree.Define) -> bool:
    return isinstance(value, tree.Name) and value.text == node.target.text


def _step(item: tree.Node, index: Index) -> int | None:
    """How far a subscript is from the index of its place: -1 of `t - 1`; None where that is not constant."""
    match item:
        case tree.Name() if item.text == index.name:
            return 0
        case tree.Pack() if f"..{item.text}" == index.name:
            return 0
        case tree.Binary(operator="-", left=tree.Name() as name, right=tree.Number(value=int() as by)):
            return -by if name.text == index.name else None
        case tree.Binary(operator="+", left=tree.Name() as name, right=tree.Number(value=int() as by)):
            return by if name.text == index.name else None
        case tree.Binary(operator="-", left=left, right=tree.Number(value=int() as by)):
            inner = _step(left, index)
            return None if inner is None else inner - by
        case _:
            return None


def _earlier(step: int | None) -> bool:
    return step is not None and step < 0


def _lexically_earlier(steps: Sequence[int | None]) -> bool:
    for step in steps:
        if step != 0:
            return _earlier(step)
    return False


def _not_earlier(
    e: Elaborator,
    node: tree.Define,
    uses: Sequence[tree.Subscript],
    steps: Sequence[Sequence[int | None]],
    indices: Sequence[Index],
    scope: Scope,
) -> None:
    """Reports the uses because of which there is no order."""
    own = f"{node.target.text}[{', '.join(i.name for i in indices)}]"
    one = indices[0].name
    hint = f"a use must be earlier at an index by a constant, as in {node.target.text}[{one} - 1 ? 0]"
    wrong = [use for use, step in zip(uses, steps, strict=True) if not any(_earlier(s) for s in step)]
    if scope.find(node.target.text) is not None:
        hint = f"if the '{node.target.text}' defined before is meant, give the new one another name; else {hint}"
    for use in wrong or uses[-1:]:
        e.error("E409", f"{text_of(use)} is not known yet when {own} is computed", use, hint=hint)


# The loop ----------------------------------------------------------------------------------------------------------


def _loop(
    e: Elaborator,
    node: tree.Define,
    scope: Scope,
    notation: Notation,
    indices: Sequence[Index],
    order: Sequence[int],
    kind: TensorType,
) -> Value:
    shape = sizes_of(kind.shape)
    turns = int(np.prod([_extent(indices[position]) for position in order]))
    empty = e.emit(lambda: e.constant(np.broadcast_to(np.zeros((), numpy_dtype(kind.dtype)), shape)), kind, node)
    if 0 in shape:
        return empty
    zero, one, stop = (_number(e, n, node) for n in (0, 1, turns))
    types = [scalar(i64), ir_type(kind)]
    cond, body = Block(arg_types=types), Block(arg_types=types)
    for block in (cond, body):
        for argument in block.args:
            argument.location = e.location(node)
    with e.inside(cond):
        going = e.emit(
            lambda: hlo.CompareOp(cond.args[0], stop.ssa, comparison_direction="LT"),  # pyright: ignore
            TensorType("bool"),
            node,
        )
        e.insert(hlo.ReturnOp([_ssa(going)]), node)
    with e.inside(body):
        counter, so_far = Value(INDEX, body.args[0], node=node), Value(kind, body.args[1], node=node.target)
        row, starts = _step_of(e, node, scope, notation, indices, order, counter, so_far)
        if row.unknown:
            return unknown(node)
        if row.type.dtype != kind.dtype:
            _other_dtype(e, node, kind.dtype, row)
            return unknown(node)
        sizes = [n for i, x in enumerate(indices) for n in ([1] if i in order else sizes_of(x.extents or ()))]
        slice_ = e.emit(lambda: hlo.ReshapeOp(_ssa(row), sizes), kind.with_shape(sizes), node)
        begins = [_ssa(starts.get(i, zero)) for i, x in enumerate(indices) for _ in x.extents or ()]
        after = e.emit(lambda: hlo.DynamicUpdateSliceOp(_ssa(so_far), _ssa(slice_), begins), kind, node)
        next_ = e.emit(lambda: hlo.AddOp(_ssa(counter), _ssa(one)), INDEX, node)
        e.insert(hlo.ReturnOp([_ssa(next_), _ssa(after)]), node)
    loop = hlo.WhileOp([_ssa(zero), _ssa(empty)], Region(cond), Region(body))
    e.insert(loop, node)
    return Value(kind, loop.results[1], node=node)


def _step_of(
    e: Elaborator,
    node: tree.Define,
    scope: Scope,
    notation: Notation,
    indices: Sequence[Index],
    order: Sequence[int],
    counter: Value,
    so_far: Value,
) -> tuple[Value, dict[int, Value]]:
    """What one turn computes, over the indices that are not of the loop, and the values of those that are."""
    starts: dict[int, Value] = {}
    around = scope.child(index=notation)
    around.define(node.target.text, so_far, "index", used=True)
    rest = counter
    for position in reversed(order):
        index = indices[position]
        size = _number(e, _extent(index), node)
        value = rest
        if position != order[0]:
            value = e.emit(lambda rest=rest, size=size: hlo.RemainderOp(_ssa(rest), _ssa(size)), INDEX, node)
            rest = e.emit(lambda rest=rest, size=size: hlo.DivideOp(_ssa(rest), _ssa(size)), INDEX, node)
        starts[position] = value
        ranged = Value(INDEX, value.ssa, node=index.where, range=(0, _extent(index)))
        defined = TupleValue((ranged,), index.where) if index.pack else ranged
        around.define(index.name, defined, "index", used=True).where = index.where
        notation.indices[index.name] = index
    others = [index for i, index in enumerate(indices) if i not in order]
    inner, block = enter(e, around, notation, others)
    expected = TensorType(so_far.type.dtype)
    with filling(e, block):
        define_indices(e, inner, others, arguments(block))
        value = single(e, node.value, inner, expected, "the body of index notation")
    return made_tensor(e, others, value, block, node), starts


def _extent(index: Index) -> int:
    assert index.extents is not None and len(index.extents) == 1 and isinstance(index.extents[0], int)
    return index.extents[0]


def _number(e: Elaborator, number: int, node: tree.Node) -> Value:
    return e.settle(Value(INDEX, const=number, weak=True, node=node))


def _ssa(value: Value):
    assert value.ssa is not None
    return value.ssa
