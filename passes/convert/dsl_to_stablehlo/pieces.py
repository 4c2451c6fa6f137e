"""A subscript of one index as a run of strided slices: `x[(i + 1) % N]` is all but the first, then the first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....compiler.weights import Array
from .forms import Form, Linear, tabulate

MOST_PIECES = 4
"""A read in more pieces than this, which are slices, is a gather."""


@dataclass(frozen=True)
class Piece:
    """`before` values from outside, then `count` elements from `start` on, `step` apart, then `after` from outside."""

    start: int
    step: int
    count: int
    before: int = 0
    after: int = 0

    @property
    def size(self) -> int:
        """How many values it gives."""
        return self.before + self.count + self.after

    def slice(self) -> tuple[int, int, int]:
        """Start, limit and positive stride; a piece that runs backwards is to be reversed, one of step 0 repeated."""
        if not self.count:
            return 0, 0, 1
        if self.step == 0 or self.count == 1:
            return self.start, self.start + 1, 1
        first, last = sorted((self.start, self.start + (self.count - 1) * self.step))
        return first, last + 1, abs(self.step)


def pieces_of(form: Form, size: int, has_outside: bool) -> list[Piece] | None:
    """The pieces of an axis of `size` that a subscript of at most one index reads; None for more indices.

    Without values from outside, what is out of bounds is read at the nearest place.
    """
    if len(form.indices) > 1:
        return None
    if isinstance(form, Linear) and form.indices:
        piece = _linear(form, size)
        if has_outside or not (piece.before or piece.after):
            return [piece]
    values = tabulate(form, form.indices).reshape(-1)
    if has_outside:
        return runs(np.where((values >= 0) & (values < size), values, -1))
    return runs(np.clip(values, 0, size - 1))


def _linear(form: Linear, size: int) -> Piece:
    """The places inside the axis are one interval of the index."""
    [index] = form.indices
    start, step = form.constant, form.terms[index]
    low, high = (0, size - 1) if step > 0 else (size - 1, 0)
    first = max(0, -((start - low) // step))  # the least i with start + i * step at or past `low`
    last = min(index.size - 1, (high - start) // step)
    if first > last:
        return Piece(0, step, 0, index.size, 0)
    return Piece(start + first * step, step, last - first + 1, first, index.size - 1 - last)


def runs(values: Array) -> list[Piece]:
    """Splits a list of places, -1 for outside, into long runs from the front."""
    pieces: list[Piece] = []
    at, before, n = 0, 0, len(values)
    while at < n:
        if values[at] < 0:
            before, at = before + 1, at + 1
            continue
        end, step = _run(values, at)
        if end == at + 2 and _run(values, at + 1)[0] > end:  # better alone than with the first of a longer run
            end = at + 1
        pieces.append(Piece(int(values[at]), step if end > at + 1 else 1, end - at, before))
        before, at = 0, end
    if not pieces:
        return [Piece(0, 1, 0, before)]
    last = pieces[-1]
    pieces[-1] = Piece(last.start, last.step, last.count, last.before, before)
    return pieces


def _run(values: Array, at: int) -> tuple[int, int]:
    """Where the run that starts at `at` ends, and its step."""
    end = at + 1
    if end == len(values) or values[end] < 0:
        return end, 1
    step = int(values[end] - values[at])
    while end < len(values) and values[end] >= 0 and values[end] - values[end - 1] == step:
        end += 1
    return end, step
