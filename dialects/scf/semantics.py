"""Meanings of `scf`: structured control flow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import cast

import numpy as np
from xdsl.dialects import scf

from ...compiler.semantics import Call, Region, semantics
from ...compiler.weights import Array


@semantics("scf.for")
def for_(low: Array, high: Array, step: Array, *carried: Array, regions: Sequence[Region]) -> list[Array]:
    """Iterations in order; the values carried are what the last one yields."""
    values = list(carried)
    for i in range(int(low), int(high), int(step)):
        values = regions[0](np.asarray(i, np.int64), *values)
    return values


@semantics("scf.parallel")
def parallel(*operands: Array, regions: Sequence[Region], call: Call) -> tuple[()]:
    """Iterations in some order (here the lexicographic one); without reductions."""
    rank = len(cast(scf.ParallelOp, call.op).lowerBound)
    bounds = [int(v) for v in operands]
    lows, highs, steps = (bounds[k * rank : (k + 1) * rank] for k in range(3))
    for point in product(*map(range, lows, highs, steps)):
        regions[0](*(np.asarray(i, np.int64) for i in point))
    return ()


@semantics("scf.if")
def if_(condition: Array, *, regions: Sequence[Region], call: Call) -> list[Array]:
    """One of the two regions."""
    if condition:
        return regions[0]()
    return regions[1]() if call.op.regions[1].blocks else []


@semantics("scf.while")
def while_(*carried: Array, regions: Sequence[Region]) -> list[Array]:
    """`before` decides with its first value and hands the others to `after` or out.

    In the body of a structured op the values are arrays of elements: each leaves the loop for itself.
    """
    values, left, active = list(carried), list[Array](), np.True_
    while True:
        go_on, *values = regions[0](*values)
        if np.size(go_on) == 1:
            if not go_on:
                return values
        else:
            left = [np.where(active, v, l) for v, l in zip(values, left or values, strict=True)]
            active = np.logical_and(active, go_on)
            if not active.any():
                return left
        values = regions[1](*values)


@semantics("scf.index_switch")
def index_switch(arg: Array, *, regions: Sequence[Region], call: Call) -> list[Array]:
    """The region of the case that matches; the first region is the default."""
    cases = list(cast(scf.IndexSwitchOp, call.op).cases.get_values())
    return regions[1 + cases.index(int(arg)) if int(arg) in cases else 0]()


@semantics("scf.execute_region")
def execute_region(*, regions: Sequence[Region]) -> list[Array]:
    """The region once."""
    return regions[0]()
