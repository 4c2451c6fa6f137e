"""Parallel loops that are perfectly nested: what this folder takes for one nest of points."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.affine import ParallelOp


def band_of(nest: ParallelOp) -> list[ParallelOp]:
    """`nest` and the parallel loops perfectly nested in it, outermost first."""
    band = [nest]
    while True:
        first = band[-1].body.block.first_op
        if not isinstance(first, ParallelOp) or first.next_op is not band[-1].body.block.last_op:
            return band
        band.append(first)


def sizes_of(band: Sequence[ParallelOp]) -> list[int] | None:
    """How often each loop of a band runs; None where one does not count from 0 by 1 to a constant."""
    sizes: list[int] = []
    for loop in band:
        bounds = loop.constant_bounds()
        if bounds is None or any(bounds[0]) or any(step.value.data != 1 for step in loop.steps):
            return None
        sizes += bounds[1]
    return sizes
