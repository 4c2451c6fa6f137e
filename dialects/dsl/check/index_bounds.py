"""Whether a subscript stays within its axis.

With numbers for all dimensions that is decided: by the range of the subscript, and where that is too wide, by all its
values, so that a condition around (`if i > 0 { x[i - 1] } else { 0 }`) counts. While dimensions are symbols, only what
is wrong in every instance is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..language import tree
from .dims import Dim
from .index_notation import Notation, depends, label, text_of
from .scope import Condition, Entry, Scope
from .values import Value

if TYPE_CHECKING:
    from .elaborator import Elaborator

ALL_VALUES = 1 << 20
"""Of so many index values at most, every one is looked at."""

Range = tuple[Dim, Dim]
Array = np.ndarray[Any, Any]


def within(
    e: Elaborator, item: tree.Expression, value: Value, extent: Dim, axis: int, node: tree.Subscript, scope: Scope
) -> bool:
    """Whether a subscript cannot leave its axis, or depends on data (it is clamped then); else it is reported."""
    reach = range_of(value)
    notation = scope.index if isinstance(scope.index, Notation) else Notation()
    if reach is None or any(index.extents is not None and 0 in index.extents for index in notation.all()):
        return True
    if e.emits:
        assert isinstance(extent, int)
        wrong = _leaves(reach, extent, item, scope)
    else:
        wrong = _always_leaves(e, reach, extent, item, scope)
    if wrong is not None:
        _report(e, item, wrong, extent, axis, node, scope)
    return wrong is None


def range_of(value: Value) -> Range | None:
    """The first value of a scalar and the one behind the last; None where it is computed from data."""
    if value.dim is not None:
        return value.dim, value.dim + 1
    return value.range


def _leaves(reach: Range, extent: int, item: tree.Expression, scope: Scope) -> Range | None:
    """The range of a subscript that can leave the axis, in instance mode."""
    low, high = reach
    assert isinstance(low, int) and isinstance(high, int)
    if low >= high or (low >= 0 and high <= extent):
        return None
    exact = _all_values(item, scope)
    if exact is None:
        return None if _conditional(item, scope) else reach
    if not exact.size or (exact.min() >= 0 and exact.max() < extent):
        return None
    return int(exact.min()), int(exact.max()) + 1


def _always_leaves(e: Elaborator, reach: Range, extent: Dim, item: tree.Expression, scope: Scope) -> Range | None:
    """The range of a subscript that leaves the axis whatever the dimensions are."""
    if _conditional(item, scope) or not _attained(item, scope):
        return None
    low, high = reach
    below, above = e.facts.less(low, 0), e.facts.less(extent, high)
    return reach if (below is True and e.facts.less(low, high) is not False) or above is True else None


def _conditional(item: tree.Expression, scope: Scope) -> bool:
    """Whether a condition around speaks of what a subscript is computed from."""
    own = _counting(item, scope)
    return any(own & _counting(condition.node, condition.scope) for condition in scope.conditions)


def _counting(node: tree.Expression, scope: Scope) -> set[Entry]:
    """The names in an expression that are not constant."""
    entries = [scope.find(inner.text) for inner in node.walk() if isinstance(inner, tree.Name)]
    return {x for x in entries if x is not None and isinstance(x.value, Value) and x.value.const is None}


def _attained(item: tree.Expression, scope: Scope) -> bool:
    """Whether both ends of a subscript's range are values of it: sums and multiples of different indices."""
    seen: list[str] = []

    def plain(node: tree.Expression) -> bool:
        match node:
            case tree.Number():
                return True
            case tree.Name():
                entry = scope.find(node.text)
                if entry is not None and entry.kind in ("index", "loop"):
                    if node.text in seen:
                        return False
                    seen.append(node.text)
                return entry is None or not isinstance(entry.value, Value) or range_of(entry.value) is not None
            case tree.Unary(operator="-"):
                return plain(node.operand)
            case tree.Binary(operator="+" | "-"):
                return plain(node.left) and plain(node.right)
            case tree.Binary():
                return not depends(node, scope) or (node.operator == "*" and plain(node.left) and plain(node.right))
            case _:
                return False

    return plain(item)


# All values --------------------------------------------------------------------------------------------------------


def _all_values(item: tree.Expression, scope: Scope) -> Array | None:
    """The values of a subscript for all indices for which the conditions around hold; None where they are unknown."""
    ranges: dict[Entry, range] = {}
    if not _find_ranges(item, scope, ranges):
        return None
    count = math.prod(map(len, ranges.values()))
    if count > ALL_VALUES:
        return None
    believed: list[Condition] = []
    for condition in scope.conditions:
        for part in _parts(condition.node, condition.holds, condition.scope):
            more = dict(ranges)
            if _find_ranges(part.node, part.scope, more) and math.prod(map(len, more.values())) <= ALL_VALUES:
                ranges = more
                believed.append(part)
    sizes = [len(values) for values in ranges.values()]
    grid = _grid(ranges)
    keep = np.ones(sizes, bool)
    for part in believed:
        truth = _evaluate(part.node, part.scope, grid)
        if truth is not None:
            keep &= np.asarray(truth, bool) if part.holds else ~np.asarray(truth, bool)
    found = _evaluate(item, scope, grid)
    return None if found is None else np.broadcast_to(found, sizes)[keep]


def _grid(ranges: dict[Entry, range]) -> dict[Entry, Array]:
    """All values of each name, along an axis of its own."""
    grid: dict[Entry, Array] = {}
    for axis, (entry, values) in enumerate(ranges.items()):
        shape = [1] * len(ranges)
        shape[axis] = len(values)
        grid[entry] = np.arange(values.start, values.stop, dtype=np.int64).reshape(shape)
    return grid


def values_together(items: Sequence[tree.Expression], scope: Scope) -> list[Array] | None:
    """The values of several subscripts for all indices in them; None where they depend on data, or are too many."""
    ranges: dict[Entry, range] = {}
    if not all([_find_ranges(item, scope, ranges) for item in items]):
        return None
    sizes = [len(values) for values in ranges.values()]
    if math.prod(sizes) > ALL_VALUES:
        return None
    grid = _grid(ranges)
    found = [_evaluate(item, scope, grid) for item in items]
    known = [np.broadcast_to(value, sizes) for value in found if value is not None]
    return known if len(known) == len(items) else None


def _parts(node: tree.Expression, holds: bool, scope: Scope) -> list[Condition]:
    """A condition as conditions that all hold, so that one that cannot be evaluated does not hide the others."""
    match node:
        case tree.Binary(operator="and" | "&") if holds:
            return _parts(node.left, True, scope) + _parts(node.right, True, scope)
        case tree.Binary(operator="or" | "|") if not holds:
            return _parts(node.left, False, scope) + _parts(node.right, False, scope)
        case tree.Unary(operator="not"):
            return _parts(node.operand, not holds, scope)
        case _:
            return [Condition(node, holds, scope)]


def _find_ranges(node: tree.Expression, scope: Scope, ranges: dict[Entry, range]) -> bool:
    """Puts the names of an expression of nothing but counters and numbers into `ranges`; False if there is more."""
    match node:
        case tree.Number() | tree.Bool():
            return isinstance(node.value, int)
        case tree.Name():
            entry = scope.find(node.text)
            if entry is None or not isinstance(entry.value, Value) or entry.kind == "var":
                return False
            if isinstance(entry.value.dim, int):
                return True
            low, high = entry.value.range or (None, None)
            if not isinstance(low, int) or not isinstance(high, int):
                return False
            ranges[entry] = range(low, max(low, high))
            return True
        case tree.Unary():
            return _find_ranges(node.operand, scope, ranges)
        case tree.Binary():
            left = _find_ranges(node.left, scope, ranges)
            return _find_ranges(node.right, scope, ranges) and left
        case _:
            return False


_BINARY = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.floor_divide, "//": np.floor_divide, "%": np.mod,
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
}  # fmt: skip


def _evaluate(node: tree.Expression, scope: Scope, grid: dict[Entry, Array]) -> Array | None:
    match node:
        case tree.Number() | tree.Bool():
            return np.asarray(node.value)
        case tree.Name():
            entry = scope.find(node.text)
            assert entry is not None and isinstance(entry.value, Value)
            if entry in grid:
                return grid[entry]
            return np.asarray(entry.value.dim)
        case tree.Unary():
            inner = _evaluate(node.operand, scope, grid)
            if inner is None or node.operator == "~":
                return None
            return np.negative(inner) if node.operator == "-" else np.logical_not(inner)
        case tree.Binary():
            left, right = _evaluate(node.left, scope, grid), _evaluate(node.right, scope, grid)
            function = _BINARY.get(node.operator)
            if left is None or right is None or function is None:
                return None
            if function in (np.floor_divide, np.mod) and not np.all(right):
                return None
            return function(left, right)
        case _:
            return None


# Messages ----------------------------------------------------------------------------------------------------------


def _report(
    e: Elaborator, item: tree.Expression, reach: Range, extent: Dim, axis: int, node: tree.Subscript, scope: Scope
) -> None:
    low, high = reach
    last = high - 1
    name = text_of(node.value)
    shown = text_of(item)
    outside = f"{name}[{', '.join(map(text_of, node.items))} ? 0]"
    if isinstance(scope.index, Notation) and name == scope.index.itself and isinstance(low, int) and low < 0:
        hint = f"say what is before the first: {outside}"
        e.error("E410", f"{shown} is {low} at first: nothing of '{name}' is known there", item, hint=hint)
        return
    if scope.index is None:
        hint = f"stop earlier, put it in an if, or clamp it: clamp(0, {shown}, {extent - 1})"
    else:
        hint = f"say what is read outside, {outside}, or give the index a shorter range"
    size = f"axis {axis} of {name} has {extent} element{'' if extent == 1 else 's'}, counted from 0"
    if low == last:
        message = f"{shown} is outside: {size}" if str(low) == shown else f"{shown} is {low}, outside: {size}"
        e.error("E405", message, item, hint=hint)
        return
    labels = {item.span: label(item, f"goes from {low} to {last}")}
    for inner in item.walk():
        entry = scope.find(inner.text) if isinstance(inner, tree.Name) else None
        if entry is not None and isinstance(entry.value, Value) and entry.value.range and entry.where is not None:
            first, end = entry.value.range
            labels.setdefault(entry.where.span, label(entry.where, f"{entry.name} goes from {first} to {end - 1}"))
    message = f"{shown} can leave the bounds: it goes from {low} to {last}, {size}"
    e.error("E405", message, item, *labels.values(), hint=hint)
