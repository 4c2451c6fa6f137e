"""The ranges of indices: written at the index, or those of the axes that it subscripts by itself.

Nothing cleverer: where `x[i]` does not stand somewhere, the range is asked for, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..language import tree
from . import index_alignment
from .dims import Dim, Extent, Pack
from .index_notation import Index, Notation, depends, is_index, label, text_of, typing_only
from .scope import Scope
from .types import TensorType
from .values import Value

if TYPE_CHECKING:
    from .elaborator import Elaborator

Extents = tuple[Extent, ...]


@dataclass(frozen=True)
class Use:
    """An index that stands alone as a subscript: the axes it runs over. `safe` is one with a value outside."""

    extents: Extents
    node: tree.Node
    of: str
    safe: bool


@dataclass
class Uses:
    """How an index is used: alone as a subscript, and otherwise (in which subscript of what extent, if any)."""

    plain: list[Use] = field(default_factory=list[Use])
    other: list[tuple[tree.Node, Extent | None]] = field(default_factory=list[tuple[tree.Node, Extent | None]])
    unclear: bool = False  # it subscripts something unknown, or that has other axes, which is reported elsewhere


class Collector:
    """Finds the uses of the indices `names` below some trees."""

    def __init__(self, e: Elaborator, scope: Scope, notation: Notation, names: Iterable[str]):
        self.e = e
        self.scope = scope.child(index=notation)
        self.notation = notation
        self.uses = {name: Uses() for name in names}
        self.lengths: dict[str, int] = {}  # of packs of indices of this piece, as far as found
        self.dead = False  # in an arm that is left out when compiling
        self.hidden: list[str] = []  # indices bound further in

    def visit(self, node: tree.Node, around: tuple[tree.Node, Extent | None] | None = None) -> None:
        """Collects what is at and below `node`; `around` is the subscript it is a part of, with its extent."""
        match node:
            case tree.Name():
                self._other(node.text, around or (node, None))
            case tree.Pack():
                self._other(f"..{node.text}", around or (node, None))
            case tree.Subscript():
                self.subscript(node)
            case tree.Reduction() | tree.Comprehension():
                self._bound(node)
            case tree.Conditional():
                self._conditional(node, around)
            case tree.Call():
                for argument in node.arguments:
                    self.visit(argument.value, around)
            case _:
                for child in node.children():
                    self.visit(child, around)

    def _other(self, name: str, where: tuple[tree.Node, Extent | None]) -> None:
        if name in self.uses and name not in self.hidden:
            self.uses[name].other.append(where)

    def _bound(self, node: tree.Reduction | tree.Comprehension) -> None:
        for binder in node.binders:
            for bound in (binder.start, binder.stop):
                if bound is not None:
                    self.visit(bound)
        count = len(self.hidden)
        self.hidden += [f"..{b.name.text}" if b.pack else b.name.text for b in node.binders]
        if isinstance(node, tree.Reduction) and node.guard is not None:
            self.visit(node.guard)
        self.visit(node.body)
        del self.hidden[count:]

    def _conditional(self, node: tree.Conditional, around: tuple[tree.Node, Extent | None] | None) -> None:
        known = self._known(node.condition)
        if known is None:
            self.visit(node.condition)
        for arm, holds in ((node.then, True), (node.otherwise, False)):
            dead, self.dead = self.dead, self.dead or known is (not holds)
            self.visit(arm, around)
            self.dead = dead

    def _known(self, condition: tree.Expression) -> bool | None:
        """What a condition is that is known when compiling: the other arm may not even make sense."""
        if self.dead or depends(condition, self.scope) or self._local(condition):
            return None
        with typing_only(self.e):
            value = self.e.expression(condition, self.scope)
        return value.const if isinstance(value, Value) and isinstance(value.const, bool) else None

    def _local(self, node: tree.Node) -> bool:
        """Whether an expression uses names that are not in scope yet."""
        names = {*self.uses, *self.hidden}
        itself = self.notation.itself
        if itself is not None and not is_index(self.scope, itself):  # its shape is being found just now
            names.add(itself)
        if not names:
            return False
        for inner in node.walk():
            if isinstance(inner, tree.Name) and inner.text in names:
                return True
            if isinstance(inner, tree.Pack) and f"..{inner.text}" in names:
                return True
        return False

    def subscript(self, node: tree.Subscript) -> None:
        """One subscript: which axes its plain indices run over."""
        if not isinstance(node.value, tree.Name):
            self.visit(node.value)
        if node.outside is not None:
            self.visit(node.outside)
        shape = None if self.dead and not isinstance(node.value, tree.Name) else self._shape(node.value)
        if shape is None and not self._local(node.value):
            self._unclear(node.items)
        self.items(node.items, shape, text_of(node.value), self.dead or node.outside is not None)

    def items(
        self, items: Sequence[tree.Node], shape: Extents | None, of: str, safe: bool, only: set[str] | None = None
    ) -> None:
        """The items of a subscript of something of this shape; `only` are the names that may be plain."""
        aligned = None if shape is None else index_alignment.align(items, shape, self._length)
        if shape is not None and aligned is None:
            self._unclear(items)
        for number, item in enumerate(items):
            extents = None if aligned is None else aligned[number]
            name = _plain(item)
            if extents is not None and name in self.uses and name not in self.hidden and (not only or name in only):
                assert name is not None
                self.uses[name].plain.append(Use(extents, item, of, safe))
                if isinstance(item, tree.Pack):
                    self.lengths.setdefault(name, len(extents))
            else:
                extent = extents[0] if extents is not None and len(extents) == 1 else None
                self.visit(item, (item, extent))

    def _unclear(self, items: Sequence[tree.Node]) -> None:
        for item in items:
            name = _plain(item)
            if name in self.uses and name not in self.hidden:
                self.uses[name].unclear = True

    def _length(self, pack: str) -> int | None:
        """How many indices a pack of indices stands for, where that is known already."""
        index = self.notation.find(f"..{pack}")
        if index is not None and index.extents is not None and f"..{pack}" not in self.uses:
            return len(index.extents)
        return self.lengths.get(f"..{pack}")

    def _shape(self, node: tree.Expression) -> Extents | None:
        types = self.notation.types
        if self._local(node):
            return None
        if node not in types:
            with typing_only(self.e):
                types[node] = self.e.tensor(node, self.scope).type
        kind = types[node]
        return kind.shape if isinstance(kind, TensorType) else None


def _plain(item: tree.Node) -> str | None:
    match item:
        case tree.Name():
            return item.text
        case tree.Pack():
            return f"..{item.text}"
        case _:
            return None


def infer(
    e: Elaborator,
    binders: Sequence[tree.Binder],
    uses: Mapping[str, Uses],
    scope: Scope,
    notation: Notation,
    declared: Sequence[Extents | None],
    demand_use: bool = False,
) -> list[Index]:
    """The indices that binders make; one whose range cannot be told, which is reported, has none.

    `declared` are the extents that a declared type gives to each binder. `demand_use` asks that every index is used.
    """
    found: list[Index] = []
    seen: dict[str, tree.Identifier] = {}
    for binder, given in zip(binders, declared, strict=True):
        name = f"..{binder.name.text}" if binder.pack else binder.name.text
        outer = scope.find(name)
        first = seen.setdefault(name, binder.name)
        if first is not binder.name or (outer is not None and outer.kind == "index" and notation.itself != name):
            where = first if first is not binder.name else outer.where if outer is not None else None
            labels = (label(binder.name, "bound again here"), *((label(where, "bound here"),) if where else ()))
            e.error("E408", f"index '{name}' is bound already", binder.name, *labels, hint="give it another name")
            found.append(Index(binder.name, None, pack=binder.pack))
            continue
        found.append(_range(e, binder, uses.get(name) or Uses(), scope, given, demand_use))
    return found


def _range(
    e: Elaborator, binder: tree.Binder, uses: Uses, scope: Scope, declared: Extents | None, demand_use: bool
) -> Index:
    where = binder.name
    used = bool(uses.plain or uses.other or uses.unclear) or where.text.startswith("_")
    if binder.stop is not None:
        if demand_use and not used:
            hint = f"leave it out, or call it _{where.text} if every element is to count that often"
            e.error("E402", f"index '{where.text}' is never used", where, hint=hint)
        return _written(e, binder, scope)
    strict = [use for use in uses.plain if not use.safe]
    if strict:
        return Index(where, _agreed(e, binder, strict), pack=binder.pack)
    if declared is not None:
        return Index(where, declared, pack=binder.pack)
    if uses.plain:
        return Index(where, _agreed(e, binder, uses.plain), pack=binder.pack)
    if uses.unclear:
        return Index(where, None, pack=binder.pack)
    name = f"..{where.text}" if binder.pack else where.text
    if not used:
        hint = "leave it out" if binder.pack else f"leave it out, or write its range: {name}: 4"
        e.error("E402", f"index '{name}' is never used", where, hint=hint)
    else:
        _demand(e, name, binder, uses)
    return Index(where, None, pack=binder.pack)


def _written(e: Elaborator, binder: tree.Binder, scope: Scope) -> Index:
    assert binder.stop is not None
    bounds: list[Dim | None] = []
    for node in (binder.start, binder.stop):
        if node is None:
            bounds.append(0)
        elif depends(node, scope):
            hint = f"give the longest range, and leave out the rest: where {binder.name.text} < {text_of(node)}"
            e.error("E417", "the range of an index cannot depend on another index", node, hint=hint)
            bounds.append(None)
        else:
            before = len(e.problems.found)
            size = e.dim(node, scope)
            bounds.append(None if _failed(e, size, before, node) else size)
    start, stop = bounds
    if start is None or stop is None:
        return Index(binder.name, None, own=True)
    extent = stop - start
    if isinstance(extent, int) and extent < 0:
        extent = 0
    return Index(binder.name, (extent,), start, own=True)


def _failed(e: Elaborator, size: Dim, before: int, node: tree.Node) -> bool:
    """Whether something wrong was found in a dimension."""
    reported = [p for p in e.problems.found[before:] if p.severity == "error"]
    return bool(reported) or str(size) == "?"


def _agreed(e: Elaborator, binder: tree.Binder, uses: Sequence[Use]) -> Extents | None:
    """The extents that all uses have."""
    first = uses[0]
    for other in uses[1:]:
        if not _same(e, first.extents, other.extents):
            name = f"..{binder.name.text}" if binder.pack else binder.name.text
            labels = [
                label(use.node, f"{name} ranges over {_shown(use.extents)} from {use.of} here")
                for use in (other, first)
            ]
            message = f"index '{name}' is used on axes of different sizes: {_shown(first.extents)} and "
            e.error(
                "E403",
                message + _shown(other.extents),
                other.node,
                *labels,
                hint="" if binder.pack else f"write the range that is meant at the index: {name}: …",
            )
            return None
    known = [use.extents for use in uses if all(isinstance(extent, int) for extent in use.extents)]
    return known[0] if known else first.extents


def _same(e: Elaborator, left: Extents, right: Extents) -> bool:
    if len(left) != len(right):
        return False
    for one, two in zip(left, right, strict=True):
        if isinstance(one, Pack) or isinstance(two, Pack):
            if one != two:
                return False
        elif e.may_differ(one, two):
            return False
    return True


def _shown(extents: Extents) -> str:
    return str(extents[0]) if len(extents) == 1 else f"[{', '.join(map(str, extents))}]"


def _demand(e: Elaborator, name: str, binder: tree.Binder, uses: Uses) -> None:
    """Asks for a range, says why none is obvious, and shows what to write."""
    if not uses.other:  # called `_…`: it may be without a use
        message = f"the range of index '{name}' cannot be inferred: nothing uses it"
        e.error("E404", message, binder.name, hint=f"write it: {name}: …")
        return
    node, extent = uses.other[0]
    example = "…"
    if isinstance(node, tree.Name) and node.text == binder.name.text:
        reason = "it subscripts nothing whose size is known"
    else:
        reason = f"it subscripts nothing by itself, only as a part of {text_of(node)}"
        example = example if extent is None else _example(node, str(extent))
    labels = (label(binder.name, ""), label(node, "used here"))
    if binder.pack:
        hint = f"use {name} as a subscript of a tensor: x[{name}]"
        e.error("E404", f"it cannot be told what '{name}' stands for: {reason}", binder.name, *labels, hint=hint)
        return
    message = f"the range of index '{name}' cannot be inferred: {reason}"
    e.error("E404", message, binder.name, *labels, hint=f"write it: {name}: {example}")


def _example(node: tree.Node, extent: str) -> str:
    """The range that an index likely has which is used as `node` on an axis of this extent."""
    size = extent if extent.isalnum() else f"({extent})"
    match node:
        case (
            tree.Binary(operator="*", left=tree.Number() as factor)
            | tree.Binary(operator="*", right=tree.Number() as factor)
        ):
            return f"{size} // {factor.value}"
        case tree.Binary(operator="+", left=tree.Name(), right=tree.Number() as offset):
            return f"{extent} - {offset.value}"
        case tree.Binary(operator="%"):
            return extent
        case _:
            return "…"
