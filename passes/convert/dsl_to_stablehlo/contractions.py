"""Sums of products as dot_general: two factors at a time, in the order that multiplies least.

Before:
    %s = dsl.reduce sum [4] { ^bb0(%k: tensor<i64>): ... %x[%i, %k] times %w[%k, %j] ... }
After:
    %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from xdsl.ir import Attribute

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from ....dialects.dsl import ReduceKind
from ....dialects.dsl.neutral import neutral
from .builder import Builder
from .forms import Index
from .lifting import Lifted, Lifter

Axes = frozenset[Index]
MOST_ORDERED = 5
"""For more factors than this the cheapest pair is multiplied next, without looking further ahead."""


@dataclass(frozen=True)
class Factor:
    """A factor, perhaps of a narrower type than the product's elements."""

    lifted: Lifted
    element: Attribute

    def widened(self, b: Builder) -> Lifted:
        """In the product's type."""
        if self.lifted.element == self.element:
            return self.lifted
        return Lifted(b(hlo.ConvertOp(self.lifted.value, element_type=self.element)), self.lifted.axes)


def contract(lifter: Lifter, factors: Sequence[Factor], summed: Collection[Index]) -> Lifted:
    """The sum over `summed`, each of which some factor has, of the product of all factors."""
    left = list(factors)
    while len(left) > 1:
        i, j = next_pair([frozenset(f.lifted.axes) for f in left], frozenset(summed))
        first, second = left[i], left[j]
        rest = [f for k, f in enumerate(left) if k not in (i, j)]
        gone = set(summed) - {axis for f in rest for axis in f.lifted.axes}
        left = [Factor(_pair(lifter, first, second, gone), first.element), *rest]
    [last] = left
    return _reduced(lifter.b, last.widened(lifter.b), summed)


def next_pair(axes: Sequence[Axes], summed: Axes) -> tuple[int, int]:
    """Which two of the factors to multiply first, for the fewest multiplications of all.

    >>> i, j, k = (Index(n, 0) for n in (2, 3, 100))
    >>> next_pair([frozenset({i, k}), frozenset({k, j}), frozenset({j})], frozenset({k, j}))
    (1, 2)
    """
    if len(axes) > MOST_ORDERED:
        return min(combinations(range(len(axes)), 2), key=lambda pair: _multiplied(axes, summed, pair)[0])
    return _best(axes, summed)[1]


def _best(axes: Sequence[Axes], summed: Axes) -> tuple[int, tuple[int, int]]:
    """The fewest multiplications, and the pair to begin with."""
    if len(axes) < 2:
        return 0, (0, 0)
    choices: list[tuple[int, tuple[int, int]]] = []
    for pair in combinations(range(len(axes)), 2):
        cost, left = _multiplied(axes, summed, pair)
        choices.append((cost + _best(left, summed)[0], pair))
    return min(choices)


def _multiplied(axes: Sequence[Axes], summed: Axes, pair: tuple[int, int]) -> tuple[int, list[Axes]]:
    """What multiplying a pair costs, and the axes of the factors there are then."""
    rest = [a for k, a in enumerate(axes) if k not in pair]
    both = axes[pair[0]] | axes[pair[1]]
    result = both - (summed - frozenset[Index]().union(*rest))
    return prod(index.size for index in both), [result, *rest]


def _pair(lifter: Lifter, first: Factor, second: Factor, gone: Collection[Index]) -> Lifted:
    """The product of two factors, summed over the axes in `gone`."""
    b = lifter.b
    shared = [axis for axis in first.lifted.axes if axis in second.lifted.axes]
    alone = [axis for axis in gone if axis not in shared]
    first, second = (
        Factor(_reduced(b, f.widened(b), alone), f.element) if any(a in alone for a in f.lifted.axes) else f
        for f in (first, second)
    )
    contracting = [axis for axis in shared if axis in gone]
    free = [[axis for axis in f.lifted.axes if axis not in shared] for f in (first, second)]
    if not contracting or not any(free):
        product = lifter.binary(hlo.MultiplyOp, first.widened(b), second.widened(b))
        return _reduced(b, product, contracting)
    if not free[0] or (free[1] and min(a.order for a in free[1]) < min(a.order for a in free[0])):
        first, second, free = second, first, free[::-1]
    left, right = first.lifted, second.lifted
    if left.element != right.element:
        left, right = first.widened(b), second.widened(b)
    batch = [axis for axis in shared if axis not in contracting]
    dot = hlo.DotGeneralOp(
        left.value,
        right.value,
        lhs_batching_dimensions=[left.axes.index(axis) for axis in batch],
        rhs_batching_dimensions=[right.axes.index(axis) for axis in batch],
        lhs_contracting_dimensions=[left.axes.index(axis) for axis in contracting],
        rhs_contracting_dimensions=[right.axes.index(axis) for axis in contracting],
        element_type=first.element,
    )
    return Lifted(b(dot), (*batch, *free[0], *free[1]))


def _reduced(b: Builder, lifted: Lifted, summed: Collection[Index]) -> Lifted:
    dims = [d for d, axis in enumerate(lifted.axes) if axis in summed]
    if not dims:
        return lifted
    start = b.constant(neutral(ReduceKind.SUM, dtype_of(lifted.element)))
    kept = tuple(axis for axis in lifted.axes if axis not in summed)
    return Lifted(b.reduce("add", lifted.value, start, dims), kept)
