"""Updates over indices: `total[bin[n], d] += x[n, d]` becomes a scatter, `y[i, j] += 1` the whole tensor anew.

An axis subscripted by an index of its own, over its whole length, is a window of the scatter: it is written in one
piece. Places outside the tensor, and where the guard is false, change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Block, Region

from ... import stablehlo as hlo
from ...dsl.ops import AccessOp
from ...stablehlo.shapes import scalar
from ..language import tree
from . import index_alignment, index_bounds
from .dims import Extent, Pack
from .index_access import as_index, from_the_end, items_value
from .index_body import condition, made_tensor, single, sizes_of
from .index_notation import (
    INDEX,
    Index,
    arguments,
    counted,
    define_indices,
    depends,
    enter,
    filling,
    label,
    notation_of,
    text_of,
    typing_only,
)
from .index_slices import combined, select, written
from .scope import Scope
from .subscripts import Cut
from .types import TensorType, element_type
from .values import Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator
    from .index_update import Change

_COMBINERS = {"+=": "add", "*=": "multiply", "max=": "maximum", "min=": "minimum"}


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of the target: its subscript (a part of it, if a pack), and the index that runs over all of it alone.

    `block` is an index that alone runs over a part of it; `fixed` means that no index is in the subscript.
    """

    item: tree.Expression | tree.Pack
    part: int
    extent: Extent
    window: Index | None
    block: Index | None
    fixed: bool


def plan(e: Elaborator, change: Change, old: Value, scope: Scope) -> list[tuple[Extent, ...]] | None:
    """The extents for each subscript; None where they do not fit the target, which is reported."""
    for item in change.items:
        if isinstance(item, tree.Slice):
            hint = "give the slice an index of its own, or update whole slices without any index"
            e.error("E413", "index notation is about single elements: no slices", item, hint=hint)
            return None
    found = index_alignment.align(change.items, old.type.shape, lambda _: None)
    if found is None:
        axes = counted(len(old.type.shape), "axis", "axes")
        message = f"{counted(len(change.items), 'subscript')} for the {axes} of {change.target.text}, {old.type}"
        hint = "index notation is about elements: one subscript per axis"
        labels = (label(change.node, ""), label(change.target, f"is {old.type}"))
        e.error("E406", message, change.node, *labels, hint=hint)
    return found


def changed(e: Elaborator, change: Change, old: Value, indices: Sequence[Index], scope: Scope) -> Value:
    """The tensor after the update; the ranges of all indices are known."""
    if not _walked(e, change, old, indices, scope):
        return unknown(change.node)
    if not e.emits:
        return Value(old.type, node=change.node)
    old = e.settle(old)
    if any(0 in (index.extents or ()) for index in indices):
        return old
    axes = _axes(e, change, old, indices)
    if all(axis.window is not None for axis in axes):
        return _anew(e, change, old, indices, scope)
    if all(axis.window is not None or axis.block is not None or axis.fixed for axis in axes):
        return _in_one_piece(e, change, old, axes, indices, scope)
    if change.operator == "=" and _ambiguous(e, change, axes, indices, scope):
        return unknown(change.node)
    return _scattered(e, change, old, axes, indices, scope)


def _walked(e: Elaborator, change: Change, old: Value, indices: Sequence[Index], scope: Scope) -> bool:
    """Whether the parts of an update are right."""
    with typing_only(e):
        inner, _ = enter(e, scope, notation_of(scope), indices)
        define_indices(e, inner, indices, [])
        fine = all([items_value(e, item, inner) is not None for item in change.items])
        guard = None if change.guard is None else condition(e, change.guard, inner)
        value = _value(e, change, old, inner)
    return fine and not value.unknown and (guard is None or not guard.unknown)


def _value(e: Elaborator, change: Change, old: Value, inner: Scope) -> Value:
    if change.guard is not None:
        inner = inner.assuming(change.guard, True)
    value = single(e, change.value, inner, TensorType(old.type.dtype), "what is put there")
    return e.coerce(value, old.type.dtype, change.value, "what is put there")


def _axes(e: Elaborator, change: Change, old: Value, indices: Sequence[Index]) -> list[Axis]:
    aligned = index_alignment.align(change.items, old.type.shape, lambda _: None)
    assert aligned is not None
    by_name = {index.name: index for index in indices}
    uses: dict[str, int] = {}
    for item in change.items:
        for inner in item.walk():
            name = _name(inner)
            if name is not None:
                uses[name] = uses.get(name, 0) + 1
    guarded = set[str]()
    if change.guard is not None:
        guarded = {name for inner in change.guard.walk() if (name := _name(inner)) is not None}
    found: list[Axis] = []
    for item, extents in zip(change.items, aligned, strict=True):
        assert not isinstance(item, tree.Slice)
        name = _name(item)
        index = by_name.get(name) if name is not None else None
        whole = index is not None and index.start == 0 and index.extents == extents
        alone = index if name is not None and uses[name] == 1 and name not in guarded else None
        block = alone if index is not None and _is_part(index, extents) else None
        fixed = not any(_name(inner) in by_name for inner in item.walk())
        window = alone if whole else None
        found += [Axis(item, part, extent, window, block, fixed) for part, extent in enumerate(extents)]
    return found


def _is_part(index: Index, extents: Sequence[Extent]) -> bool:
    """Whether the values of an index are all within an axis."""
    if index.extents is None or len(extents) != 1 or len(index.extents) != 1:
        return False
    start, count, size = index.start, index.extents[0], extents[0]
    return isinstance(start, int) and isinstance(count, int) and isinstance(size, int) and 0 <= start <= size - count


def _name(node: tree.Node) -> str | None:
    match node:
        case tree.Name():
            return node.text
        case tree.Pack():
            return f"..{node.text}"
        case _:
            return None


# All anew ----------------------------------------------------------------------------------------------------------


def _anew(e: Elaborator, change: Change, old: Value, indices: Sequence[Index], scope: Scope) -> Value:
    """Every element is changed once: the tensor of all new elements."""
    node = change.node
    inner, block = enter(e, scope, notation_of(scope), indices)
    assert block is not None
    with e.inside(block):
        places = arguments(block)
        define_indices(e, inner, indices, places)
        value = _value(e, change, old, inner)
        if value.unknown:
            return value
        if change.operator != "=" or change.guard is not None:
            at = [_ssa(place) for place in places]
            before = e.emit(lambda: AccessOp(_ssa(old), at), TensorType(old.type.dtype), node)
            value = combined(e, change.operator, before, value, node)
            if change.guard is not None:
                value = select(e, condition(e, change.guard, inner), value, before, node)
    return made_tensor(e, indices, value, block, node)


def _in_one_piece(
    e: Elaborator, change: Change, old: Value, axes: Sequence[Axis], indices: Sequence[Index], scope: Scope
) -> Value:
    """The part of the tensor that indices and computed places make is written at once."""
    node = change.node
    cuts: list[Cut] = []
    for axis in axes:
        index = axis.window or axis.block
        if index is None:
            cuts.append(Cut(0, 1, drop=True, index=_place(e, axis, scope)))
        else:
            cuts.append(Cut(index.start, (index.extents or ())[axis.part]))
    order: list[Index] = []
    for axis in axes:
        index = axis.window or axis.block
        if index is not None and index not in order:
            order.append(index)
    inner, block = enter(e, scope, notation_of(scope), order)
    assert block is not None
    with e.inside(block):
        define_indices(e, inner, order, arguments(block))
        value = _value(e, change, old, inner)
        if value.unknown:
            return value
        if change.operator != "=":
            at = [_place(e, axis, inner) for axis in axes]
            before = e.emit(lambda: AccessOp(_ssa(old), [_ssa(p) for p in at]), TensorType(old.type.dtype), node)
            value = combined(e, change.operator, before, value, node)
    value = made_tensor(e, order, value, block, node)
    if value.unknown:
        return value
    new = written(e, old, value, cuts, node)
    return new if change.guard is None else select(e, condition(e, change.guard, scope), new, old, node)


def _place(e: Elaborator, axis: Axis, inner: Scope) -> Value:
    """Where along an axis the element is."""
    values = items_value(e, axis.item, inner)
    assert values is not None
    value = values[axis.part]
    if not isinstance(axis.extent, Pack):
        value = from_the_end(axis.item, value, axis.extent)
    return as_index(e, value, axis.item)


# Scatters ----------------------------------------------------------------------------------------------------------


def _scattered(
    e: Elaborator, change: Change, old: Value, axes: Sequence[Axis], indices: Sequence[Index], scope: Scope
) -> Value:
    node = change.node
    windows = list(dict.fromkeys(axis.window for axis in axes if axis.window is not None))
    spread = [index for index in indices if index not in windows]
    computed = [number for number, axis in enumerate(axes) if axis.window is None]
    places = [_places(e, change, axes[number], number == computed[0], spread, scope) for number in computed]
    updates = _tensor(e, change, [*spread, *windows], scope, lambda inner: _value(e, change, old, inner))
    if updates.unknown or any(place.unknown for place in places):
        return unknown(node)
    shape = sizes_of(places[0].type.shape)
    rows = [
        e.emit(lambda place=place: hlo.ReshapeOp(_ssa(place), [*shape, 1]), TensorType("i64", (*shape, 1)), node)
        for place in places
    ]
    kind = TensorType("i64", (*shape, len(rows)))
    at = rows[0]
    if len(rows) > 1:
        at = e.emit(lambda: hlo.ConcatenateOp([_ssa(row) for row in rows], dimension=len(shape)), kind, node)

    def make() -> hlo.ScatterOp:
        return hlo.ScatterOp(
            [_ssa(old)],
            _ssa(at),
            [_ssa(updates)],
            update_computation=_region(change.operator, old.type.dtype),
            update_window_dims=range(len(shape), len(updates.type.shape)),
            inserted_window_dims=computed,
            scatter_dims_to_operand_dims=computed,
            index_vector_dim=len(shape),
        )

    return e.emit(make, old.type, node)


def _places(e: Elaborator, change: Change, axis: Axis, first: bool, spread: Sequence[Index], scope: Scope) -> Value:
    """Where along an axis each update goes; outside where the guard is false."""

    def one(inner: Scope) -> Value:
        at = _place(e, axis, inner)
        if first and change.guard is not None:
            outside = e.settle(Value(INDEX, const=-1, weak=True, node=axis.item))
            at = select(e, condition(e, change.guard, inner), at, outside, change.guard)
        return at

    return _tensor(e, change, spread, scope, one)


def _tensor(
    e: Elaborator, change: Change, indices: Sequence[Index], scope: Scope, element: Callable[[Scope], Value]
) -> Value:
    inner, block = enter(e, scope, notation_of(scope), indices)
    with filling(e, block):
        define_indices(e, inner, indices, arguments(block))
        value = element(inner)
    return made_tensor(e, indices, value, block, change.node)


def _region(operator: str, dtype: Any) -> Region | str:
    if operator != "=":
        return _COMBINERS[operator]
    block = Block(arg_types=[scalar(element_type(dtype))] * 2)
    block.add_op(hlo.ReturnOp([block.args[1]]))
    return Region(block)


def _ambiguous(e: Elaborator, change: Change, axes: Sequence[Axis], indices: Sequence[Index], scope: Scope) -> bool:
    """Whether one element is written several times, so that it is not said which value it has; that is reported."""
    inner, _ = enter(e, scope, notation_of(scope), indices)
    with typing_only(e):
        define_indices(e, inner, indices, [])
        parts = [axis.item for axis in axes if axis.window is None and not isinstance(axis.item, tree.Pack)]
        values = index_bounds.values_together(parts, inner)
    if values is None:
        return False
    places = np.stack(values, -1).reshape(-1, len(values))
    extents = [axis.extent for axis in axes if axis.window is None and not isinstance(axis.item, tree.Pack)]
    inside = np.all([(places[:, n] >= 0) & (places[:, n] < extent) for n, extent in enumerate(extents)], axis=0)
    places = places[inside]
    once = np.unique(places, axis=0)
    if len(once) == len(places):
        return False
    shown = ", ".join(text_of(item) for item in change.items)
    hint = "say what becomes of them: +=, *=, max= or min="
    message = f"{change.target.text}[{shown}] is the same element for several values of the indices"
    e.error("E411", message, next((p for p in parts if depends(p, inner)), change.node), hint=hint)
    return True


def _ssa(value: Value):
    assert value.ssa is not None
    return value.ssa
