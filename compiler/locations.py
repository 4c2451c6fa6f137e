"""Locations: where an op came from, carried from the first parse to the machine code."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Operation


class SourceLines:
    """The text of one file as lines, turning a position into `file:line:col` in O(log lines).

    >>> print(SourceLines("ab\\ncd", "f").location(4))
    loc("f":2:2)
    """

    def __init__(self, text: str, name: str):
        self._name = StringAttr(name)
        self._starts = [0]
        position = text.find("\n")
        while position >= 0:
            self._starts.append(position + 1)
            position = text.find("\n", position + 1)
        self._line = 0

    def line_column(self, position: int) -> tuple[int, int]:
        """One-based line and column of a zero-based position."""
        starts, line = self._starts, self._line
        # Parsing asks in rising order: the answer is nearly always this line or the next.
        if not starts[line] <= position or (line + 2 < len(starts) and position >= starts[line + 2]):
            line = bisect_right(starts, position) - 1
        elif line + 1 < len(starts) and position >= starts[line + 1]:
            line += 1
        self._line = line
        return line + 1, position - starts[line] + 1

    def location(self, position: int) -> FileLineColLoc:
        """The location attribute of a zero-based position."""
        line, column = self.line_column(position)
        return FileLineColLoc.new((self._name, IntAttr(line), IntAttr(column)))


def named(name: str, inside: LocationAttr | None = None) -> NameLoc:
    """The location of a thing known by name, such as an ONNX node."""
    return NameLoc(StringAttr(name), NoneAttr() if inside is None else inside)


def fuse(locations: Iterable[LocationAttr], *, at_most: int | None = None) -> LocationAttr:
    """The location of an op that several became: each place once, unknown ones dropped, fused ones flattened.

    With `at_most`, only the first so many places are kept.

    >>> fuse([UNKNOWN_LOC, named("conv1"), named("conv1")]) == named("conv1")
    True
    """
    parts: dict[LocationAttr, None] = {}
    for location in locations:
        if isinstance(location, FusedLoc):
            parts.update(dict.fromkeys(location.locations))  # pyright: ignore[reportArgumentType, reportCallIssue]
        elif location != UNKNOWN_LOC:
            parts[location] = None
    if not parts:
        return UNKNOWN_LOC
    return next(iter(parts)) if len(parts) == 1 else FusedLoc(tuple(parts)[:at_most], NoneAttr())


def locate(op: Operation, location: LocationAttr) -> None:
    """Gives `op`, and everything nested in it, `location` where it has none of its own."""
    if op.location is UNKNOWN_LOC:
        op.location = location
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                locate(inner, location)


def locate_back(last: Operation | None, location: LocationAttr) -> None:
    """Gives `last` and the ops before it in its block `location`, back to the first that has one of its own."""
    while last is not None and last.location is UNKNOWN_LOC and location is not UNKNOWN_LOC:
        locate(last, location)
        last = last.prev_op
