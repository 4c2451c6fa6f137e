"""Patterns of axes by name: `b (h d) -> b h d`, as `rearrange`, `repeat` and `reduce` take them.

    p = parse("b (h d) -> b h d")
    p.left    (("b",), ("h", "d"))         # one tuple per axis of the tensor, outside first
    p.right   (("b",), ("h",), ("d",))

A pattern says a reshape into its elementary axes, a transpose of those, and a reshape into groups; axes that only
the left side has are reduced, axes that only the right side has are repeated. `plan` says which, for one shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..dims import Dim, Extent, Pack

ELLIPSIS = "..."
Axis: TypeAlias = "str | int"
"""A name, or a size written as a number (which names no axis but itself)."""

_TOKEN = re.compile(r"\s+|\.\.\.|->|[()]|[A-Za-z_][A-Za-z0-9_]*|[0-9]+")


class Joined(tuple[Axis, ...]):
    """Axes in parentheses: `(...)` is one axis, `...` are several."""


class PatternError(Exception):
    """What is wrong with a pattern, and which characters of it: `start` to `end`."""

    def __init__(self, message: str, start: int, end: int, hint: str = ""):
        super().__init__(message)
        self.message, self.start, self.end, self.hint = message, start, end, hint


@dataclass(frozen=True)
class Pattern:
    """Both sides, and where each name is written first (for messages)."""

    text: str
    left: tuple[tuple[Axis, ...], ...]
    right: tuple[tuple[Axis, ...], ...]
    places: Mapping[tuple[str, str], tuple[int, int]]

    def names(self, side: str) -> list[str]:
        """The names of a side, in order; the ellipsis is one."""
        groups = self.left if side == "left" else self.right
        return [axis for group in groups for axis in group if isinstance(axis, str)]

    def place(self, side: str, name: str) -> tuple[int, int]:
        """The characters of a name."""
        return self.places.get((side, name), (0, len(self.text)))


def parse(text: str) -> Pattern:
    """Reads a pattern.

    >>> parse("b (h d) ... -> b h ... d").right
    (('b',), ('h',), ('...',), ('d',))

    Raises PatternError where it is malformed.
    """
    sides: list[tuple[tuple[Axis, ...], ...]] = []
    groups: list[tuple[Axis, ...]] = []
    group: list[Axis] | None = None
    opened = 0
    places: dict[tuple[str, str], tuple[int, int]] = {}
    side = "left"
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise PatternError(f"'{text[position]}' has no meaning in a pattern", position, position + 1)
        start, end = match.span()
        position, token = end, match[0]
        if token.isspace():
            continue
        match token:
            case "(":
                if group is not None:
                    raise PatternError("groups do not nest", start, end)
                group, opened = [], start
            case ")":
                if group is None:
                    raise PatternError("')' without '('", start, end)
                groups.append(Joined(group))
                group = None
            case "->":
                if sides:
                    raise PatternError("a pattern has one '->'", start, end)
                if group is not None:
                    raise PatternError("this '(' is never closed", opened, opened + 1)
                sides.append(tuple(groups))
                groups, side = [], "right"
            case _:
                axis: Axis = int(token) if token.isdigit() else token
                if isinstance(axis, str):
                    if (side, axis) in places:
                        raise PatternError(f"'{axis}' is there twice on this side", start, end)
                    places[side, axis] = (start, end)
                elif axis == 0:
                    raise PatternError("an axis of size 0 cannot be written", start, end)
                if group is not None:
                    group.append(axis)
                else:
                    groups.append((axis,))
    if group is not None:
        raise PatternError("this '(' is never closed", opened, opened + 1)
    if not sides:
        raise PatternError("a pattern has two sides", 0, len(text), hint='as in "h w -> w h"')
    sides.append(tuple(groups))
    if any(ELLIPSIS in group and isinstance(group, Joined) for group in sides[0]):
        raise PatternError("'...' stands alone on the left side", *places["left", ELLIPSIS])
    return Pattern(text, sides[0], sides[1], places)


@dataclass(frozen=True)
class Plan:
    """What a pattern does to one shape, step by step; axes are positions in the shape of the step before."""

    split: tuple[Extent, ...]
    """The elementary axes of the tensor."""
    reduced: tuple[int, ...]
    """Those of them that the right side lacks."""
    order: tuple[int, ...]
    """Those that are kept, in the order of the right side: a permutation of the axes that are left."""
    repeated: tuple[tuple[int, Dim], ...]
    """Where new axes come in (positions in the result of this step), and their sizes."""
    shape: tuple[Extent, ...]
    """The groups of the right side."""


class Unsettled(Exception):
    """The shape has a pack where the pattern names single axes: only known once dimensions are bound."""


def plan(
    pattern: Pattern,
    shape: Sequence[Extent],
    sizes: Mapping[str, Dim],
    operation: str,
    divide: Callable[[Dim, Dim], Dim | None],
) -> Plan:
    """How `operation` (rearrange, repeat or reduce) applies `pattern` to `shape`.

    `divide(a, b)` is the exact quotient of two dimensions, None when there is none.
    Raises PatternError where pattern and shape do not fit, Unsettled where that cannot be said yet.
    """
    _check_names(pattern, sizes, operation)
    elementary: list[tuple[Axis, Extent]] = []
    merged: dict[tuple[Axis, ...], Extent] = {}
    for group, extents in _matched(pattern, shape):
        if group == (ELLIPSIS,):
            elementary += [(f"{ELLIPSIS}{i}", extent) for i, extent in enumerate(extents)]
            continue
        (extent,) = extents
        if isinstance(extent, Pack):
            raise Unsettled
        elementary += _split(pattern, group, extent, sizes, divide)
        merged[group] = extent
    return _rest(pattern, elementary, merged, sizes, operation)


def _check_names(pattern: Pattern, sizes: Mapping[str, Dim], operation: str) -> None:
    left, right = pattern.names("left"), pattern.names("right")
    for name in left:
        if name not in right and operation != "reduce":
            hint = "reduce takes an axis away" if name != ELLIPSIS else ""
            raise PatternError(f"'{name}' is missing on the right side", *pattern.place("left", name), hint=hint)
    for name in right:
        if name in left:
            continue
        if operation != "repeat" or name == ELLIPSIS:
            hint = "repeat makes new axes" if name != ELLIPSIS else ""
            raise PatternError(f"'{name}' is missing on the left side", *pattern.place("right", name), hint=hint)
        if name not in sizes:
            raise PatternError(
                f"the size of the new axis '{name}' is not given",
                *pattern.place("right", name),
                hint=f"add the argument {name}=...",
            )
    for side, groups, allowed in (("left", pattern.left, "reduce"), ("right", pattern.right, "repeat")):
        if operation != allowed:
            for axis in (axis for group in groups for axis in group):
                if isinstance(axis, int) and axis != 1:
                    raise PatternError(
                        f"an axis of size {axis} without a name on the {side} side",
                        0,
                        len(pattern.text),
                        hint=f"only {allowed} takes one",
                    )


def _matched(pattern: Pattern, shape: Sequence[Extent]) -> list[tuple[tuple[Axis, ...], tuple[Extent, ...]]]:
    """Each group of the left side with the extent it stands for, the ellipsis with all of its own."""
    groups = pattern.left
    here = next((i for i, group in enumerate(groups) if group == (ELLIPSIS,)), None)
    if here is None:
        if any(isinstance(extent, Pack) for extent in shape):
            raise Unsettled
        if len(groups) != len(shape):
            raise PatternError(
                f"the pattern names {_axes(len(groups))}, the tensor has {len(shape)}",
                0,
                len(pattern.text.partition("->")[0].rstrip()),
            )
        return [(group, (extent,)) for group, extent in zip(groups, shape, strict=True)]
    after = len(groups) - here - 1
    if here + after > len(shape):
        if any(isinstance(extent, Pack) for extent in shape):
            raise Unsettled
        raise PatternError(
            f"the pattern names {_axes(here + after)}, the tensor has {len(shape)}",
            0,
            len(pattern.text.partition("->")[0].rstrip()),
        )
    end = len(shape) - after
    found: list[tuple[tuple[Axis, ...], tuple[Extent, ...]]] = []
    found += [(group, (extent,)) for group, extent in zip(groups[:here], shape[:here], strict=True)]
    found.append(((ELLIPSIS,), tuple(shape[here:end])))
    return found + [(group, (extent,)) for group, extent in zip(groups[here + 1 :], shape[end:], strict=True)]


def _axes(count: int) -> str:
    return f"{count} ax{'i' if count == 1 else 'e'}s"


def _split(
    pattern: Pattern,
    group: tuple[Axis, ...],
    extent: Dim,
    sizes: Mapping[str, Dim],
    divide: Callable[[Dim, Dim], Dim | None],
) -> list[tuple[Axis, Extent]]:
    """The axes of a group with their sizes, of which one may follow from the others."""
    known: Dim = 1
    open_axis: str | None = None
    for axis in group:
        if isinstance(axis, int):
            known = known * axis
        elif axis in sizes:
            known = known * sizes[axis]
        elif open_axis is None:
            open_axis = axis
        else:
            raise PatternError(
                f"the sizes of '{open_axis}' and '{axis}' do not follow from their product {extent}",
                *pattern.place("left", axis),
                hint=f"give one of them: {axis}=...",
            )
    rest = divide(extent, known)
    written = " ".join(map(str, group))
    start, end = pattern.place("left", next((a for a in group if isinstance(a, str)), ""))
    if open_axis is None and rest != 1:
        if isinstance(rest, int) or (isinstance(extent, int) and isinstance(known, int)):
            raise PatternError(f"'{written}' is {known} here, the tensor has {extent}", start, end)
        raise Unsettled
    if rest is None:
        raise PatternError(f"({written}) is {extent}, which is no multiple of {known}", start, end)
    return [(a, a if isinstance(a, int) else rest if a == open_axis else sizes[a]) for a in group]


def _rest(
    pattern: Pattern,
    elementary: Sequence[tuple[Axis, Extent]],
    merged: Mapping[tuple[Axis, ...], Extent],
    sizes: Mapping[str, Dim],
    operation: str,
) -> Plan:
    inner = [axis for axis, _ in elementary if isinstance(axis, str) and axis.startswith(ELLIPSIS)]
    wanted: list[tuple[Axis, ...]] = []  # the groups of the right side, the ellipsis written out
    for group in pattern.right:
        if group == (ELLIPSIS,) and not isinstance(group, Joined):
            wanted += [(axis,) for axis in inner]
        else:
            wanted.append(tuple(a for axis in group for a in (inner if axis == ELLIPSIS else (axis,))))
    extents = {axis: extent for axis, extent in elementary if isinstance(axis, str)}
    flat = [axis for group in wanted for axis in group]
    kept = [i for i, (axis, _) in enumerate(elementary) if axis in extents and axis in flat]
    reduced = [i for i, (axis, _) in enumerate(elementary) if axis not in flat or isinstance(axis, int)]
    named = [elementary[i][0] for i in kept]
    order = tuple(named.index(axis) for axis in flat if axis in extents)
    repeated: list[tuple[int, Dim]] = []
    for position, axis in enumerate(flat):
        if axis not in extents:
            repeated.append((position, axis if isinstance(axis, int) else sizes[axis]))
    shape: list[Extent] = []
    for group in wanted:
        if group in merged:
            shape.append(merged[group])
            continue
        if len(group) == 1:
            (axis,) = group
            shape.append(axis if isinstance(axis, int) else extents[axis] if axis in extents else sizes[axis])
            continue
        size: Dim = 1
        for axis in group:
            extent = axis if isinstance(axis, int) else extents[axis] if axis in extents else sizes[axis]
            if isinstance(extent, Pack):
                raise Unsettled
            size = size * extent
        shape.append(size)
    return Plan(tuple(extent for _, extent in elementary), tuple(reduced), order, tuple(repeated), tuple(shape))
