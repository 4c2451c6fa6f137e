"""`y[t] = h`, `y[1:, ::2] += e`: a part of a tensor that is given by numbers, slices and scalars changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import stablehlo as hlo
from ..language import tree
from . import subscripts
from .dims import Extent, Pack
from .index_body import condition, sizes_of
from .index_notation import INDEX, label
from .scope import Scope
from .subscripts import Cut
from .types import TensorType, numpy_dtype
from .values import Value, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator
    from .index_update import Change

_OPS = {"+=": hlo.AddOp, "*=": hlo.MultiplyOp, "max=": hlo.MaximumOp, "min=": hlo.MinimumOp}


def changed(e: Elaborator, change: Change, old: Value, scope: Scope) -> Value:
    """The tensor with the part changed; places that are computed and turn out to be outside change nothing."""
    node = change.node
    cuts: list[Cut | None] = []
    before = subscripts.cut(e, old, tuple(change.items), node, scope, cuts)  # pyright: ignore[reportArgumentType]
    wanted = None if before.unknown else before.type
    value = e.tensor(change.value, scope, wanted)
    guard = None if change.guard is None else condition(e, change.guard, scope)
    if before.unknown or value.unknown or (guard is not None and guard.unknown):
        return unknown(node)
    value = e.coerce(value, old.type.dtype, change.value, "what is put there")
    if value.unknown:
        return value
    shape: tuple[Extent, ...] = before.type.shape
    if not _fits(e, value.type.shape, shape):
        labels = (label(change.value, f"is {value.type}"), label(node, f"is {before.type}"))
        return e.error("E423", f"{value.type} does not fit into {before.type}", change.value, *labels)
    value = e.broadcast(value, shape, node)
    value = combined(e, change.operator, before, value, node)
    if guard is not None:
        value = select(e, guard, value, before, node)
    if not e.emits:
        return Value(old.type, node=node)
    places = [cut for cut in cuts if cut is not None]
    places += [Cut(0, extent) for extent in old.type.shape[len(places) :]]
    return written(e, e.settle(old), value, places, node)


def _fits(e: Elaborator, shape: Sequence[Extent], place: Sequence[Extent]) -> bool:
    """Whether a shape broadcasts to that of a place."""
    if len(shape) > len(place):
        return False
    for have, want in zip(reversed(shape), reversed(place), strict=False):
        if have == want or have == 1:
            continue
        if isinstance(have, Pack) or isinstance(want, Pack) or e.may_differ(have, want):
            return False
    return True


def combined(e: Elaborator, operator: str, old: Value, new: Value, node: tree.Node) -> Value:
    """What an update makes of an old value and the new one, of one type."""
    op = _OPS.get(operator)
    return new if op is None else e.emit(lambda: op(old.ssa, new.ssa), old.type, node)  # pyright: ignore


def select(e: Elaborator, chosen: Value, yes: Value, no: Value, node: tree.Node) -> Value:
    """One of two values of one type by a scalar."""
    return e.emit(lambda: hlo.SelectOp(chosen.ssa, yes.ssa, no.ssa), yes.type, node)  # pyright: ignore


@dataclass(eq=False)
class _Hull:
    """Along one axis: from where on, how many elements in all, every which one of them is changed, turned round."""

    start: int
    size: int
    step: int
    turned: bool
    index: Value | None


def read_or(e: Elaborator, node: tree.Subscript, scope: Scope) -> Value:
    """`x[t - 1, j ? v]` outside of index notation: `v` where a computed subscript is not within its axis."""
    assert node.outside is not None
    source = e.tensor(node.value, scope)
    outside = e.scalar(node.outside, scope)
    cuts: list[Cut | None] = []
    found = unknown(node) if source.unknown else subscripts.cut(e, source, node.items, node, scope, cuts)
    if not source.unknown:
        outside = e.coerce(outside, source.type.dtype, node.outside, "the value outside")
    if found.unknown or outside.unknown or not e.emits:
        return found
    hulls = [_hull(cut) for cut in cuts if cut is not None]
    inside = _inside(e, hulls, _starts(e, hulls, node), source.type.shape, node)
    if inside is None:
        return found
    return select(e, inside, found, e.broadcast(outside, found.type.shape, node), node)


def written(e: Elaborator, old: Value, value: Value, cuts: Sequence[Cut], node: tree.Node) -> Value:
    """`old` with `value` in the part that the cuts make; computed places that turn out to be outside change nothing."""
    hulls = [_hull(cut) for cut in cuts]
    if any(hull.size == 0 for hull in hulls):
        return old
    dtype = old.type.dtype
    counts = [1 if cut.index is not None or cut.drop else _whole(cut.count) for cut in cuts]
    value = e.emit(lambda: hlo.ReshapeOp(_ssa(value), counts), TensorType(dtype, tuple(counts)), node)
    turned = [axis for axis, hull in enumerate(hulls) if hull.turned]
    if turned:
        straight = value
        value = e.emit(lambda: hlo.ReverseOp(_ssa(straight), dimensions=turned), straight.type, node)
    starts = _starts(e, hulls, node)
    sizes = tuple(hull.size for hull in hulls)
    kind = TensorType(dtype, sizes)
    if any(hull.step != 1 for hull in hulls):
        under = e.emit(
            lambda: hlo.DynamicSliceOp(_ssa(old), [_ssa(s) for s in starts], slice_sizes=list(sizes)), kind, node
        )
        value = _spread(e, value, under, hulls, node)
    new = e.emit(lambda: hlo.DynamicUpdateSliceOp(_ssa(old), _ssa(value), [_ssa(s) for s in starts]), old.type, node)
    inside = _inside(e, hulls, starts, old.type.shape, node)
    return new if inside is None else select(e, inside, new, old, node)


def _whole(count: Extent) -> int:
    assert isinstance(count, int)
    return count


def _hull(cut: Cut) -> _Hull:
    if cut.index is not None:
        return _Hull(0, 1, 1, False, cut.index)
    assert isinstance(cut.start, int) and isinstance(cut.count, int)
    count = 1 if cut.drop else cut.count
    step = abs(cut.step)
    size = (count - 1) * step + 1 if count else 0
    start = cut.start
    if cut.step < 0:
        assert isinstance(cut.high, int)
        start = cut.high - size
    return _Hull(start, size, step, cut.step < 0, None)


def _starts(e: Elaborator, hulls: Sequence[_Hull], node: tree.Node) -> list[Value]:
    found: list[Value] = []
    for hull in hulls:
        if hull.index is None:
            found.append(e.settle(Value(INDEX, const=hull.start, weak=True, node=node)))
        elif hull.index.type.dtype == "i64":
            found.append(hull.index)
        else:
            found.append(e.convert(hull.index, "i64", node))
    return found


def _spread(e: Elaborator, value: Value, under: Value, hulls: Sequence[_Hull], node: tree.Node) -> Value:
    """Every step-th element from `value`, those between from what is under it."""
    steps = [hull.step - 1 for hull in hulls]
    none = [0] * len(steps)
    dtype = value.type.dtype
    zero = e.emit(lambda: e.constant(np.zeros((), numpy_dtype(dtype))), TensorType(dtype), node)
    wide = e.emit(
        lambda: hlo.PadOp(
            _ssa(value), _ssa(zero), edge_padding_low=none, edge_padding_high=none, interior_padding=steps
        ),
        under.type,
        node,
    )
    mask = np.zeros(sizes_of(under.type.shape), bool)
    mask[tuple(slice(None, None, hull.step) for hull in hulls)] = True
    chosen = e.emit(lambda: e.constant(mask, "mask"), under.type.with_dtype("bool"), node)
    return select(e, chosen, wide, under, node)


def _inside(
    e: Elaborator, hulls: Sequence[_Hull], starts: Sequence[Value], shape: Sequence[Extent], node: tree.Node
) -> Value | None:
    """Whether computed places are inside; None where that is known."""
    found: Value | None = None
    kind = TensorType("bool")
    for hull, at, extent in zip(hulls, starts, shape, strict=False):
        if hull.index is None or not isinstance(extent, int):
            continue
        low, high = hull.index.range or (-1, extent + 1)
        if isinstance(low, int) and isinstance(high, int) and low >= 0 and high <= extent:
            continue
        for number, direction in ((0, "GE"), (extent, "LT")):
            bound = e.settle(Value(INDEX, const=number, weak=True, node=node))
            fine = e.emit(_comparison(at, bound, direction), kind, node)
            found = fine if found is None else e.emit(_both(found, fine), kind, node)
    return found


def _comparison(left: Value, right: Value, direction: str) -> Callable[[], hlo.CompareOp]:
    return lambda: hlo.CompareOp(_ssa(left), _ssa(right), comparison_direction=direction)


def _both(left: Value, right: Value) -> Callable[[], hlo.AndOp]:
    return lambda: hlo.AndOp(_ssa(left), _ssa(right))


def _ssa(value: Value):
    assert value.ssa is not None
    return value.ssa
