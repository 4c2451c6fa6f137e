"""A subscript in index notation: one element of a tensor, `x[2*i + 1, ..b, idx[j] ? 0]`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...dsl.ops import AccessOp
from ..language import tree
from . import index_alignment, index_bounds, names, subscripts
from .dims import Dim, Extent, Pack
from .index_notation import INDEX, Notation, counted, depends, is_index, label, text_of
from .scope import Scope
from .types import TensorType, Type, is_a
from .values import AnyValue, TupleValue, Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator


def subscript(e: Elaborator, node: tree.Subscript, scope: Scope, expected: Type | None) -> AnyValue:
    """An element if an index is among the subscripts or a value outside is given, else part of a whole tensor."""
    notation: Notation = scope.index
    itself = isinstance(node.value, tree.Name) and node.value.text == notation.itself
    unbound = [item for item in node.items if not bound(e, item, scope)]
    elements = any(depends(item, scope) or isinstance(item, tree.Pack) for item in node.items)
    if not (itself or elements or node.outside is not None or unbound):
        return subscripts.whole(e, node, scope)
    source = e.tensor(node.value, scope)
    if not itself and depends(node.value, scope) and not source.unknown and source.type.shape:
        hint = "make it a tensor before: let y[i, j] = …, then y[i, j]"
        source = e.error("E414", "what is subscripted depends on an index itself", node.value, hint=hint)
    return element(e, node, source, scope)


def element(e: Elaborator, node: tree.Subscript, source: Value, scope: Scope) -> Value:
    """One element of `source`."""
    fits = None if source.unknown else aligned(e, node, source, scope)
    values = [items_value(e, item, scope) for item in node.items]
    outside = None if node.outside is None else e.scalar(node.outside, scope)
    if source.unknown or fits is None or any(value is None for value in values):
        return unknown(node)
    source = e.settle(source)
    if outside is not None:
        assert node.outside is not None
        outside = e.coerce(outside, source.type.dtype, node.outside, "the value outside")
    subscripts_: list[Value] = []
    fine = outside is None or not outside.unknown
    axis = 0
    for item, given, extents in zip(node.items, values, fits, strict=True):
        assert given is not None
        for value, extent in zip(given, extents, strict=True):
            found = axis_value(e, item, value, extent, axis, node, scope)
            fine = fine and found is not None
            subscripts_.append(found or value)
            axis += 1
    kind = TensorType(source.type.dtype)
    if not fine or any(value.unknown for value in subscripts_):
        return unknown(node)

    def make() -> AccessOp:
        assert source.ssa is not None
        at = [value.ssa for value in subscripts_ if value.ssa is not None]
        return AccessOp(source.ssa, at, None if outside is None else outside.ssa)

    return e.emit(make, kind, node)


def aligned(e: Elaborator, node: tree.Subscript, source: Value, scope: Scope) -> list[tuple[Extent, ...]] | None:
    """The extents for each item; None where there are too many or too few, which is reported."""
    shape = source.type.shape
    found = index_alignment.align(node.items, shape, lambda pack: length(pack, scope))
    if found is not None:
        return found
    packs = any(isinstance(item, tree.Pack) for item in node.items)
    if any(isinstance(item, tree.Pack) and length(item.text, scope) is None for item in node.items):
        return None
    name = text_of(node.value)
    count = sum(length(i.text, scope) or 0 if isinstance(i, tree.Pack) else 1 for i in node.items)
    if any(isinstance(extent, Pack) for extent in shape) and (not packs or count == len(shape)):
        pack = next(str(extent) for extent in shape if isinstance(extent, Pack))
        message = f"{name} is {source.type}: only a pack of indices can stand for {pack}"
        hint = "axes are in order: a pack stands where the axes are that it stands for"
        if not packs:
            hint = f"bind one: {name}[..b]"
    else:
        subscripts_ = counted(count, "subscript")
        message = f"{subscripts_} for the {counted(len(shape), 'axis', 'axes')} of {name}, {source.type}"
        hint = f"{name} is a single value" if not shape else "index notation is about elements: one subscript per axis"
    place = node.items[len(shape)] if not packs and len(node.items) > len(shape) else node
    e.error("E406", message, place, label(place, ""), label(node.value, f"is {source.type}"), hint=hint)
    return None


def length(pack: str, scope: Scope) -> int | None:
    """How many indices a pack stands for."""
    index = scope.index.find(f"..{pack}") if isinstance(scope.index, Notation) else None
    return None if index is None or index.extents is None else len(index.extents)


def bound(e: Elaborator, item: tree.Node, scope: Scope) -> bool:
    """Whether a subscript is anything but a name that nothing defines."""
    if isinstance(item, tree.Pack):
        return is_index(scope, f"..{item.text}")
    if not isinstance(item, tree.Name) or scope.find(item.text) is not None:
        return True
    return "." in item.text or names.find(e, item, scope) is not None


def items_value(e: Elaborator, item: tree.Node, scope: Scope) -> list[Value] | None:
    """The values of an item, several for a pack; None after an error."""
    if not bound(e, item, scope):
        name = text_of(item)
        hint = f"bind it, on the left or by a reduction: sum[{name}] …"
        e.error("E401", f"there is no index '{name}' here", item, hint=hint)
        return None
    match item:
        case tree.Pack():
            entry = scope.find(f"..{item.text}")
            assert entry is not None
            entry.used = True
            if entry.where is not None:
                e.definitions[item] = entry.where
            if length(item.text, scope) is None:  # no size was found for it, which has been told
                return None
            return list(entry.value.items) if isinstance(entry.value, TupleValue) else None  # pyright: ignore
        case tree.Slice():
            hint = "a[1:] takes a part of a whole tensor: name it before, let b = a[1:]"
            e.error("E413", "index notation is about single elements: no slices", item, hint=hint)
            return None
        case _:
            value = e.tensor(item, scope)  # pyright: ignore[reportArgumentType]
    if value.unknown:
        return None
    if value.type.shape:
        hint = f"say which element of it: {text_of(item)}[i]" if isinstance(item, tree.Name) else ""
        e.error("E412", f"a subscript is a single whole number, got {value.type}", item, hint=hint)
        return None
    if not is_a(value.type.dtype, "int"):
        hint = "cast it: i64(…) cuts off what is behind the point" if is_a(value.type.dtype, "float") else ""
        e.error("E412", f"a subscript is a whole number, got {value.type.dtype}", item, hint=hint)
        return None
    return [value]


def axis_value(
    e: Elaborator, item: tree.Node, value: Value, extent: Extent, axis: int, node: tree.Subscript, scope: Scope
) -> Value | None:
    """The subscript of one axis as an i64, known to be within its bounds if nothing is read outside."""
    if isinstance(extent, Pack):
        return value
    value = from_the_end(item, value, extent)
    if node.outside is None and not isinstance(item, tree.Slice | tree.Pack):
        if not index_bounds.within(e, item, value, extent, axis, node, scope):  # pyright: ignore
            return None
    elif isinstance(item, tree.Pack) and node.outside is None and not _pack_fits(e, value, extent):
        name = text_of(item)
        shown = value.range[1] if value.range is not None else "?"
        message = f"{name} goes up to {shown} where axis {axis} of {text_of(node.value)} has {extent} elements"
        e.error("E403", message, item)
        return None
    return as_index(e, value, item)


def _pack_fits(e: Elaborator, value: Value, extent: Dim) -> bool:
    if value.range is None:
        return True
    high = value.range[1]
    if isinstance(high, int) and isinstance(extent, int):
        return high <= extent
    return e.facts.less(extent, high) is not True


def from_the_end(item: tree.Node, value: Value, extent: Dim) -> Value:
    """A negative number that is written out counts from the end."""
    written = isinstance(item, tree.Unary) and isinstance(item.operand, tree.Number)
    if written and isinstance(value.const, int) and value.const < 0:
        return replace(value, const=extent + value.const)
    return value


def as_index(e: Elaborator, value: Value, node: tree.Node) -> Value:
    """A whole number as an i64 with an `ssa`."""
    reach = value.range
    if value.weak:
        value = e.coerce(value, "i64", node)
    elif value.type.dtype != "i64":
        value = e.convert(e.settle(value), "i64", node)
    else:
        value = e.settle(value)
    return value if value.unknown else Value(INDEX, value.ssa, value.const, node=node, range=reach)
