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
from .dims import Dim, Poly
from .index_notation import Notation, depends, label, text_of
from .scope import Scope
from .values import Value

if TYPE_CHECKING:
    from .elaborator import Elaborator

ALL_VALUES = 1 << 20
"""Of so many index values at most, every one is looked at."""

Range = tuple[Dim, Dim]
Array = np.ndarray[Any, Any]


def within(
    e: Elaborator, item: tree.Expression, value: Value, extent: Dim, axis: int, source: tree.Expression, scope: Scope
) -> bool:
    """Whether a subscript cannot leave its axis, or depends on data (it is clamped then); else it is reported."""
    reach = range_of(value)
    notation: Notation = scope.index
    if reach is None or any(index.extents is not None and 0 in index.extents for index in notation.all()):
        return True
    if e.emits:
        assert isinstance(extent, int)
        wrong = _leaves(reach, extent, item, scope)
    else:
        wrong = _always_leaves(e, reach, extent, item, scope)
    if wrong is not None:
        _report(e, item, wrong, extent, axis, source, scope)
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
        return None if _conditional(scope) else reach
    if not exact.size or (exact.min() >= 0 and exact.max() < extent):
        return None
    return int(exact.min()), int(exact.max()) + 1


def _always_leaves(e: Elaborator, reach: Range, extent: Dim, item: tree.Expression, scope: Scope) -> Range | None:
    """The range of a subscript that leaves the axis whatever the dimensions are."""
    if _conditional(scope) or not _attained(item, scope):
        return None
    low, high = reach
    below, above = e.facts.less(low, 0), e.facts.less(extent, high)
    return reach if (below is True and e.facts.less(low, high) is not False) or above is True else None


def _conditional(scope: Scope) -> bool:
    """Whether what is read depends on a condition on indices."""
    return any(depends(condition.node, scope) for condition in scope.index.conditions)


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
    names: dict[str, range] = {}
    if not _find_indices(item, scope, names):
        return None
    conditions = [c for c in scope.index.conditions if depends(c.node, scope)]
    count = 1
    for values in names.values():
        count *= len(values)
    if count > ALL_VALUES:
        return None
    believed: list[tuple[tree.Expression, bool]] = []
    for condition in conditions:
        parts = _parts(condition.node, condition.holds)
        for node, holds in parts:
            more = dict(names)
            if not _find_indices(node, scope, more):
                continue
            size = count
            for name in more.keys() - names.keys():
                size *= len(more[name])
            if size <= ALL_VALUES:
                names, count = more, size
                believed.append((node, holds))
    axes = {name: number for number, name in enumerate(names)}
    grid: dict[str, Array] = {}
    for name, values in names.items():
        shape = [1] * len(names)
        shape[axes[name]] = len(values)
        grid[name] = np.arange(values.start, values.stop, dtype=np.int64).reshape(shape)
    everywhere = tuple(len(values) for values in names.values())
    keep = np.ones(everywhere, bool)
    for node, holds in believed:
        truth = _evaluate(node, scope, grid)
        if truth is not None:
            keep &= np.asarray(truth, bool) if holds else ~np.asarray(truth, bool)
    found = _evaluate(item, scope, grid)
    return None if found is None else np.broadcast_to(found, everywhere)[keep]


def values_together(items: Sequence[tree.Expression], scope: Scope) -> list[Array] | None:
    """The values of several subscripts for all indices in them; None where they depend on data, or are too many."""
    names: dict[str, range] = {}
    if not all([_find_indices(item, scope, names) for item in items]):
        return None
    sizes = [len(values) for values in names.values()]
    if math.prod(sizes) > ALL_VALUES:
        return None
    grid = dict(
        zip(names, np.meshgrid(*(np.arange(v.start, v.stop) for v in names.values()), indexing="ij"), strict=True)
    )
    found = [_evaluate(item, scope, grid) for item in items]
    known = [np.broadcast_to(value, sizes) for value in found if value is not None]
    return known if len(known) == len(items) else None


def _parts(node: tree.Expression, holds: bool) -> list[tuple[tree.Expression, bool]]:
    """A condition as conditions that all hold, so that one that cannot be evaluated does not hide the others."""
    match node:
        case tree.Binary(operator="and" | "&") if holds:
            return _parts(node.left, True) + _parts(node.right, True)
        case tree.Binary(operator="or" | "|") if not holds:
            return _parts(node.left, False) + _parts(node.right, False)
        case tree.Unary(operator="not"):
            return _parts(node.operand, not holds)
        case _:
            return [(node, holds)]


def _find_indices(node: tree.Expression, scope: Scope, names: dict[str, range]) -> bool:
    """Puts the indices of an expression of nothing but indices and numbers into `names`; False if there is more."""
    match node:
        case tree.Number() | tree.Bool():
            return isinstance(node.value, int)
        case tree.Name():
            entry = scope.find(node.text)
            if entry is None or not isinstance(entry.value, Value):
                return False
            if isinstance(entry.value.dim, int):
                return True
            reach = entry.value.range
            if entry.kind not in ("index", "loop", "let") or reach is None:
                return False
            low, high = reach
            if not isinstance(low, int) or not isinstance(high, int):
                return False
            names[node.text] = range(low, max(low, high))
            return True
        case tree.Unary():
            return _find_indices(node.operand, scope, names)
        case tree.Binary():
            left = _find_indices(node.left, scope, names)
            return _find_indices(node.right, scope, names) and left
        case _:
            return False


_BINARY = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.floor_divide, "//": np.floor_divide, "%": np.mod,
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
}  # fmt: skip


def _evaluate(node: tree.Expression, scope: Scope, grid: dict[str, Array]) -> Array | None:
    match node:
        case tree.Number() | tree.Bool():
            return np.asarray(node.value)
        case tree.Name():
            if node.text in grid:
                return grid[node.text]
            entry = scope.find(node.text)
            assert entry is not None and isinstance(entry.value, Value)
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
    e: Elaborator,
    item: tree.Expression,
    reach: Range,
    extent: Dim,
    axis: int,
    source: tree.Expression,
    scope: Scope,
) -> None:
    low, high = reach
    last = high - 1
    name = text_of(source)
    shown = text_of(item)
    if name == scope.index.itself and isinstance(low, int) and low < 0:
        hint = f"say what is before the first: {name}[{shown} ? 0]"
        e.error("E410", f"{shown} is {low} at first: nothing of '{name}' is known there", item, hint=hint)
        return
    size = f"axis {axis} of {name} has {extent} element{'' if extent == 1 else 's'}"
    if low == last:
        message = f"{shown} is outside: {size}" if str(low) == shown else f"{shown} is {low}, outside: {size}"
        e.error("E405", message, item, hint=f"elements are counted from 0; {_example(name, shown)}")
        return
    labels = [label(item, f"goes from {low} to {last}")]
    notation: Notation = scope.index
    for inner in item.walk():
        index = notation.find(inner.text) if isinstance(inner, tree.Name) else None
        if index is not None and index.extents is not None and isinstance(inner, tree.Name):
            extents = index.extents[0]
            if isinstance(extents, int | Poly):
                upto = index.start + extents - 1
                labels.append(label(index.where, f"{inner.text} goes from {index.start} to {upto}"))
    message = f"{shown} can leave the bounds: it goes from {low} to {last}, {size}"
    seen: set[Any] = set()
    once = [l for l in labels if not (l.span in seen or seen.add(l.span))]
    e.error("E405", message, item, *once, hint=_example(name, shown))


def _example(name: str, shown: str) -> str:
    return f"say what is read outside, {name}[{shown} ? 0], or give the index a shorter range"
