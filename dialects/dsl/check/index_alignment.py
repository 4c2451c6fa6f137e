"""Which axes each item of a subscript stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..language import tree
from .dims import Extent, Pack


def align(
    items: Sequence[tree.Node], shape: Sequence[Extent], length: Callable[[str], int | None]
) -> list[tuple[Extent, ...]] | None:
    """The extents for each item, one for an ordinary item; None where they do not fit.

    `length` is how many axes a pack of indices stands for; one pack may be open and gets what is left. While checking,
    the shape may have packs itself, which only a pack of indices can stand for.
    """
    counts: list[int | None] = [length(item.text) if isinstance(item, tree.Pack) else 1 for item in items]
    open_ones = [number for number, count in enumerate(counts) if count is None]
    if len(open_ones) > 1:
        return None
    total = sum(count for count in counts if count is not None)
    if open_ones:
        counts[open_ones[0]] = len(shape) - total
        total = len(shape)
    if total != len(shape) or any(count is None or count < 0 for count in counts):
        return None
    found: list[tuple[Extent, ...]] = []
    position = 0
    for item, count in zip(items, counts, strict=True):
        assert count is not None
        extents = tuple(shape[position : position + count])
        if not isinstance(item, tree.Pack) and isinstance(extents[0], Pack):
            return None
        found.append(extents)
        position += count
    return found
