"""`x[…]`: a type, an access in index notation, or NumPy's basic indexing of a whole tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ... import stablehlo as hlo
from ..language import tree
from ..language.problems import Label
from . import annotations, index_bounds, names
from .dims import Dim, Extent, Pack
from .scope import Scope
from .types import TensorType, Type, is_a, is_dtype
from .values import AnyValue, TypeValue, Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator


def subscript(e: Elaborator, node: tree.Subscript, scope: Scope, expected: Type | None) -> AnyValue:
    """What a subscript is depends on what is in front of it, and on where it stands."""
    if isinstance(node.value, tree.Name):
        entry = scope.find(node.value.text)
        if isinstance(entry.value, TypeValue) if entry is not None else is_dtype(node.value.text):
            return _type(e, node, node.value, scope)
    if scope.index is not None:
        from . import index

        return index.subscript(e, node, scope, expected)
    if node.outside is not None:
        from . import index

        return index.read_or(e, node, scope)
    return whole(e, node, scope)


def _type(e: Elaborator, node: tree.Subscript, name: tree.Name, scope: Scope) -> AnyValue:
    """`f32[M, N]` as an argument."""
    dtype = names.dtype(e, tree.Identifier(span=name.span, text=name.text), scope)
    dims: list[tree.Expression | tree.Pack] = []
    for item in node.items:
        if isinstance(item, tree.Slice):
            return e.error("E303", "a type has dimensions, not slices", item)
        dims.append(item)
    shape = annotations.shape_of(e, tuple(dims), scope)
    return unknown(node) if dtype is None or shape is None else TypeValue(TensorType(dtype, shape), node)


@dataclass(eq=False)
class Cut:
    """What is taken along one axis: `count` elements from `start` on, every `step`th; `drop` where it is one item.

    `index` is a scalar computed at run time.
    """

    start: Dim
    count: Extent
    step: int = 1
    drop: bool = False
    index: Value | None = None
    high: Dim = 0  # behind the last one, of a backward slice


def whole(e: Elaborator, node: tree.Subscript, scope: Scope) -> AnyValue:
    """`x[1:, ::2, t]`; axes without an item are kept."""
    value = e.tensor(node.value, scope)
    cuts: list[Cut | None] = []
    if value.unknown:
        for item in node.items:
            if not isinstance(item, tree.Slice | tree.Pack):
                e.expression(item, scope)
        return value
    found = cut(e, value, node.items, node, scope, cuts)
    for axis, (item, place) in enumerate(zip(node.items, cuts, strict=False)):
        if place is None or place.index is None or isinstance(item, tree.Slice | tree.Pack):
            continue
        extent = value.type.shape[axis]
        if not isinstance(extent, Pack) and not index_bounds.within(e, item, place.index, extent, axis, node, scope):
            found = unknown(node)
    return found


def cut(
    e: Elaborator,
    value: Value,
    items: tuple[tree.Expression | tree.Slice | tree.Pack, ...],
    node: tree.Node,
    scope: Scope,
    cuts: list[Cut | None],
) -> Value:
    """Applies the items of a subscript to a value."""
    value = e.settle(value)
    shape: tuple[Extent, ...] = value.type.shape
    if len(items) > len(shape) and value.type.rank is not None:
        labels = (Label(value.node.span, f"is {value.type}"),) if value.node is not None else ()
        place = items[len(shape)]
        return e.error("E309", f"{len(items)} subscripts for {len(shape)} axes", place, Label(place.span, ""), *labels)
    hidden = False
    for axis, item in enumerate(items):
        extent = shape[axis] if axis < len(shape) else 0
        if isinstance(item, tree.Pack):
            hint = "[..b] => … is index notation; axes that are left out are kept"
            return e.error("E309", "'..' stands in index notation only", item, hint=hint)
        if isinstance(extent, Pack):
            hidden = True
        if hidden:
            found = None
        elif isinstance(item, tree.Slice):
            assert not isinstance(extent, Pack)
            found = _slice(e, item, extent, axis, scope)
        else:
            assert not isinstance(extent, Pack)
            found = _item(e, item, extent, axis, value, scope)
        cuts.append(found)
    if any(found is None for found in cuts):
        return unknown(node)
    done = [found for found in cuts if found is not None]
    done += [Cut(0, extent) for extent in shape[len(items) :]]
    return _apply(e, value, done, node)


def _item(e: Elaborator, item: tree.Expression, extent: Dim, axis: int, value: Value, scope: Scope) -> Cut | None:
    at = e.tensor(item, scope)
    if at.unknown:
        return None
    if at.type.shape:
        hint = f"take({'x'}, …, axis={axis}) or index notation: [i] => x[idx[i]]"
        e.error("E309", f"a subscript is a single value, got {at.type}", item, hint=hint)
        return None
    if not is_a(at.type.dtype, "int"):
        e.error("E309", f"a subscript is a whole number, got {at.type.dtype}", item)
        return None
    if at.dim is None:
        return Cut(0, 1, drop=True, index=e.settle(at))
    start = at.dim
    if isinstance(start, int) and start < 0:
        start = extent + start
    if e.facts.less(start, 0) is True or e.facts.less(start, extent) is False:
        if isinstance(at.dim, int) and isinstance(extent, int):
            told = f"axis {axis} has {extent} elements, counted from 0: there is no element {at.dim}"
        else:
            told = f"element {at.dim} of axis {axis} is outside: it has {extent} elements"
        e.error("E309", told, item)
        return None
    return Cut(start, 1, drop=True)


def _slice(e: Elaborator, item: tree.Slice, extent: Dim, axis: int, scope: Scope) -> Cut | None:
    step = 1
    if item.step is not None:
        found = annotations.try_dim(e, item.step, scope)
        if found is None:
            return None
        if not isinstance(found, int) or found == 0:
            if found == 0 or e.emits:
                e.error("E309", f"the step of a slice is a number other than 0, got {found}", item.step)
            return None
        step = found
    ends: list[Dim] = []
    for part, default in ((item.start, 0 if step > 0 else extent - 1), (item.stop, extent if step > 0 else -1)):
        if part is None:
            ends.append(default)
            continue
        found = annotations.try_dim(e, part, scope)
        if found is None:
            return None
        ends.append(extent + found if isinstance(found, int) and found < 0 else found)
    start, stop = ends
    low, high = (start, stop) if step > 0 else (stop + 1, start + 1)
    for wrong in (e.facts.less(low, 0), e.facts.less(extent, high), e.facts.less(high, low)):
        if wrong:
            e.error("E309", f"this is {low} to {high} of axis {axis}, which has {extent} elements", item)
            return None
    count = high - low
    size = abs(step)
    return Cut(low, count if size == 1 else (count + size - 1) // size, step, high=high)


def _apply(e: Elaborator, value: Value, cuts: list[Cut], node: tree.Node) -> Value:
    shape: tuple[Extent, ...] = value.type.shape
    dtype = value.type.dtype
    found = value
    static = [Cut(0, extent) if c.index is not None else c for c, extent in zip(cuts, shape, strict=True)]
    flipped = [axis for axis, c in enumerate(static) if c.step < 0]
    if flipped:  # backwards: first turned round, then every step-th from the other end
        for axis in flipped:
            extent = shape[axis]
            assert not isinstance(extent, Pack)
            static[axis] = replace(static[axis], start=extent - static[axis].high)
        found = e.emit(lambda: hlo.ReverseOp(value.ssa, dimensions=flipped), value.type, node)  # pyright: ignore
    if any(c.start != 0 or c.count != n or abs(c.step) != 1 for c, n in zip(static, shape, strict=True)):
        source = found
        starts = [c.start for c in static]
        sizes = tuple(c.count for c in static)

        def make() -> hlo.SliceOp:
            first = [n for n in starts if isinstance(n, int)]
            steps = [abs(c.step) for c in static]
            count = [n for n in sizes if isinstance(n, int)]
            limits = [a if n == 0 else a + (n - 1) * s + 1 for a, n, s in zip(first, count, steps, strict=True)]
            assert source.ssa is not None
            return hlo.SliceOp(source.ssa, start_indices=first, limit_indices=limits, strides=steps)

        found = e.emit(make, TensorType(dtype, sizes), node)
    if any(c.index is not None for c in cuts):
        found = _dynamic(e, found, cuts, node)
    kept = tuple(extent for extent, c in zip(found.type.shape, cuts, strict=True) if not c.drop)
    if kept == found.type.shape:
        return found.at(node)
    before = found
    sizes = [n for n in kept if isinstance(n, int)]
    return e.emit(lambda: hlo.ReshapeOp(before.ssa, sizes), TensorType(dtype, kept), node)  # pyright: ignore


def _dynamic(e: Elaborator, value: Value, cuts: list[Cut], node: tree.Node) -> Value:
    sizes = tuple(1 if c.index is not None else n for c, n in zip(cuts, value.type.shape, strict=True))
    wanted = next(c.index.type.dtype for c in cuts if c.index is not None)
    indices = [
        e.coerce(Value(TensorType("i64"), const=0, weak=True, node=node), wanted, node)
        if c.index is None
        else c.index
        if c.index.type.dtype == wanted
        else e.convert(c.index, wanted, node)
        for c in cuts
    ]

    def make() -> hlo.DynamicSliceOp:
        assert value.ssa is not None
        return hlo.DynamicSliceOp(
            value.ssa,
            [i.ssa for i in indices if i.ssa is not None],
            slice_sizes=[n for n in sizes if isinstance(n, int)],
        )

    return e.emit(make, value.type.with_shape(sizes), node)
