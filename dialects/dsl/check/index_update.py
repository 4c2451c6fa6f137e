"""`y[t, 1:] = e`, `y[idx[i], j] += v[i, j]`: a `var` with some of its elements changed.

Names in the subscripts that nothing defines are indices: the update is made for all their values. Without any it is a
slice that changes (`index_slices.py`); where they run over whole axes the tensor is told anew; else it is a scatter
(`index_scatter.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..language import tree
from . import index_scatter, index_slices, names
from .index_access import bound
from .index_body import condition, declared_extents, names_of, single
from .index_notation import Index, define_indices, enter, label, notation_of, typing_only
from .index_ranges import Collector, infer
from .scope import Entry, Scope
from .statements import settled
from .types import is_a, kind_of
from .values import TypeValue, Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator

Items = Sequence["tree.Expression | tree.Slice | tree.Pack"]


@dataclass(eq=False)
class Change:
    """An update: the tensor before, its subscripts, how and what is put there."""

    node: tree.Node
    target: tree.Name
    old: Value
    items: Items
    operator: str
    value: tree.Expression
    guard: tree.Expression | None
    binders: tuple[tree.Binder, ...]


def update(e: Elaborator, node: tree.Update, scope: Scope) -> None:
    """Changes elements of a `var`."""
    entry = scope.find(node.target.text)
    old = e.tensor(node.target, scope)
    if entry is None or entry.kind != "var":
        if not old.unknown:
            where = (label(entry.where, "defined here"),) if entry is not None and entry.where is not None else ()
            hint = f"var {node.target.text} = … can be changed"
            e.error("E415", f"'{node.target.text}' is not a var: it does not change", node.target, *where, hint=hint)
        old = unknown(node.target)
    binders = tuple(free(e, node.items, scope))
    change = Change(node, node.target, old, node.items, node.operator, node.value, node.guard, binders)
    value = changed(e, change, scope)
    if entry is not None and entry.kind == "var":
        put(e, entry, value)


def redefine(e: Elaborator, node: tree.Define, entry: Entry, scope: Scope) -> None:
    """`y[i, j] = e` where `y` is a `var`: its elements change, all where the indices are new names."""
    target = tree.Name(span=node.target.span, text=node.target.text)
    old = e.tensor(target, scope)
    if node.type is not None:
        e.error(
            "E415", f"'{target.text}' has its type already", node.type, hint=f"let {target.text}[…]: … is a new one"
        )
    items: list[tree.Expression | tree.Slice | tree.Pack] = []
    binders: list[tree.Binder] = []
    for binder in node.binders:
        text, span = binder.name.text, binder.name.span
        items.append(tree.Pack(span=span, text=text) if binder.pack else tree.Name(span=span, text=text))
        if binder.pack or binder.stop is not None or is_free(e, binder.name.text, items[-1], scope):
            binders.append(binder)
        elif (known := scope.find(text)) is not None and known.where is not None:
            e.definitions[binder.name] = known.where
    change = Change(node, target, old, tuple(items), "=", node.value, None, tuple(binders))
    put(e, entry, changed(e, change, scope))
    if entry.where is not None:
        e.definitions[node.target] = entry.where
    if not e.emits:
        e.types.setdefault(node.target, entry.value)


def put(e: Elaborator, entry: Entry, value: Value) -> None:
    """The new value of a `var`; after an error it keeps the old one."""
    if not value.unknown:
        entry.value = settled(e, value)


# Indices -----------------------------------------------------------------------------------------------------------


def free(e: Elaborator, items: Items, scope: Scope) -> list[tree.Binder]:
    """The indices that subscripts bind: names that nothing defines, in order."""
    found: dict[str, tree.Binder] = {}

    def visit(node: tree.Node) -> None:
        match node:
            case tree.Name():
                if node.text not in found and is_free(e, node.text, node, scope):
                    where = tree.Identifier(span=node.span, text=node.text)
                    found[node.text] = tree.Binder(span=node.span, name=where)
            case tree.Pack():
                where = tree.Identifier(span=node.span, text=node.text)
                found.setdefault(f"..{node.text}", tree.Binder(span=node.span, name=where, pack=True))
            case tree.Subscript():
                for item in node.items:
                    visit(item)
                if node.outside is not None:
                    visit(node.outside)
            case tree.Call():
                for argument in node.arguments:
                    visit(argument.value)
            case tree.Reduction() | tree.Comprehension():
                pass
            case _:
                for child in node.children():
                    visit(child)

    for item in items:
        visit(item)
    return list(found.values())


def is_free(e: Elaborator, name: str, node: tree.Node, scope: Scope) -> bool:
    """Whether a subscript of this name is a new index: it is no value that is defined."""
    entry = scope.find(name)
    if entry is not None:
        return isinstance(entry.value, TypeValue)
    if not isinstance(node, tree.Name) or not bound(e, node, scope):
        return True
    found = names.find(e, node, scope)
    return found is None or isinstance(found[1][0], tree.Function | tree.Model)


# The change --------------------------------------------------------------------------------------------------------


def changed(e: Elaborator, change: Change, scope: Scope) -> Value:
    """The tensor with its elements changed; of unknown type after an error."""
    old = change.old
    if not old.unknown and not operator_takes(e, change):
        old = unknown(change.node)
    if not old.unknown and not change.binders:
        return index_slices.changed(e, change, old, scope)
    whole_ = None if old.unknown else index_scatter.plan(e, change, old, scope)
    indices = indices_of(e, change, old, scope)
    if whole_ is None or any(index.extents is None for index in indices):
        _walk(e, change, scope, indices)
        return unknown(change.node)
    return index_scatter.changed(e, change, old, indices, scope)


def operator_takes(e: Elaborator, change: Change) -> bool:
    """Whether `+=` and the like mean something for the dtype of the tensor."""
    dtype = change.old.type.dtype
    ordered = is_a(dtype, "int") or is_a(dtype, "float") or kind_of(dtype) == "bool"
    fine = {"=": True, "+=": is_a(dtype, "number"), "*=": is_a(dtype, "number")}.get(change.operator, ordered)
    if not fine:
        message = f"'{change.operator}' does not take {dtype}, of which '{change.target.text}' is"
        e.error("E418", message, change.node)
    return fine


def indices_of(e: Elaborator, change: Change, old: Value, scope: Scope) -> list[Index]:
    """The indices of an update with their ranges."""
    notation = notation_of(scope)
    collector = Collector(e, scope, notation, names_of(change.binders))
    if not old.unknown:
        collector.items(change.items, old.type.shape, change.target.text, False)
    else:
        for item in change.items:
            collector.visit(item)
    collector.visit(change.value)
    if change.guard is not None:
        collector.visit(change.guard)
    nothing = declared_extents(change.binders, None)
    return infer(e, change.binders, collector.uses, scope, notation, nothing)


def _walk(e: Elaborator, change: Change, scope: Scope, indices: Sequence[Index]) -> None:
    """After an error: what else is wrong."""
    notation = notation_of(scope)
    with typing_only(e):
        inner, _ = enter(e, scope, notation, indices)
        define_indices(e, inner, indices, [])
        for item in change.items:
            if not isinstance(item, tree.Slice | tree.Pack):
                e.tensor(item, inner)
        single(e, change.value, inner, None, "what is put there")
        if change.guard is not None:
            condition(e, change.guard, inner)
