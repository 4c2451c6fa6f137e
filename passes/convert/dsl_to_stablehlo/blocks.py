"""An index as two: which block of so many, and the place in it. `x[i // 2]` repeats and `x[i % 4]` tiles by reshapes.

Before:
    %k = stablehlo.divide %i, %two : tensor<i64>
    %a = dsl.access %x[%k] : tensor<4xf32>          // for 8 values of %i
After:
    %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<4x2xf32>) -> tensor<8xf32>
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ....compiler.weights import Array
from .forms import Form, Index, Linear, Table, simplest
from .lifting import Lifted, Lifter
from .pieces import MOST_PIECES, runs


@dataclass(frozen=True)
class Blocks:
    """`index` as `place.size * block + place`."""

    index: Index
    block: Index
    place: Index

    @staticmethod
    def of(index: Index, size: int) -> Blocks:
        """Blocks of `size`, which divides how many values `index` takes."""
        return Blocks(index, Index(index.size // size, index.order), Index(size, index.order + 0.5))

    def rewritten(self, form: Form) -> Form:
        """`form` as a function of block and place."""
        if self.index not in form.indices:
            return form
        if isinstance(form, Linear):
            parts = Linear({self.index: -1, self.block: self.place.size, self.place: 1})
            return form.plus(parts, form.terms[self.index])
        d = form.indices.index(self.index)
        indices = (*form.indices[:d], self.block, self.place, *form.indices[d + 1 :])
        return simplest(indices, form.values.reshape([index.size for index in indices]))

    def merged(self, lifter: Lifter, lifted: Lifted) -> Lifted:
        """`lifted` with the index instead of block and place."""
        pair = (self.block, self.place)
        if not set(pair) & set(lifted.axes):
            return lifted
        axes = list(dict.fromkeys(self.index if axis in pair else axis for axis in lifted.axes))
        at = [lifted.axes.index(axis) for axis in pair if axis in lifted.axes]
        if len(at) == 2 and at[1] != at[0] + 1:  # they must move, so all move to where they should be at last
            axes.sort(key=lambda axis: axis.order)
        parts = [part for axis in axes for part in (pair if axis is self.index else (axis,))]
        value = lifter.expand(lifted, parts)
        return Lifted(lifter.b.reshape(value, [axis.size for axis in axes]), tuple(axes))


def blocks_of(forms: Sequence[Form | None], fixed: Collection[Index]) -> Blocks | None:
    """An index, none of `fixed`, that a table among `forms` is linear in by blocks but not as it is."""
    for form in forms:
        if not isinstance(form, Table) or form.values.dtype != np.int64 or _is_in_runs(form):
            continue
        for d, index in enumerate(form.indices):
            if index in fixed or _is_linear(form.values, d):
                continue
            for size in range(2, index.size // 2 + 1):
                if index.size % size:
                    continue
                shape = form.values.shape
                parts = form.values.reshape(*shape[:d], index.size // size, size, *shape[d + 1 :])
                if _is_linear(parts, d) and _is_linear(parts, d + 1):
                    return Blocks.of(index, size)
    return None


def _is_in_runs(form: Table) -> bool:
    """Whether a few slices, without repetition, read this as well."""
    if len(form.indices) != 1:
        return False
    pieces = runs(form.values)
    return len(pieces) <= MOST_PIECES and all(piece.step or piece.count == 1 for piece in pieces)


def _is_linear(values: Array, axis: int) -> bool:
    """Whether one step along `axis` adds the same everywhere."""
    steps = np.diff(values, axis=axis)
    return bool((steps == steps.flat[0]).all())
