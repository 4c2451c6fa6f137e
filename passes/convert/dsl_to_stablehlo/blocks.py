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
    """`index` as `place.size * block + place`; the last block may reach further than the index does."""

    index: Index
    block: Index
    place: Index

    @staticmethod
    def of(index: Index, size: int) -> Blocks:
        """Blocks of `size`."""
        return Blocks(index, Index(-(-index.size // size), index.order), Index(size, index.order + 0.5))

    def rewritten(self, form: Form) -> Form:
        """`form` as a function of block and place."""
        if self.index not in form.indices:
            return form
        if isinstance(form, Linear):
            parts = Linear({self.index: -1, self.block: self.place.size, self.place: 1})
            return form.plus(parts, form.terms[self.index])
        d = form.indices.index(self.index)
        indices = (*form.indices[:d], self.block, self.place, *form.indices[d + 1 :])
        return simplest(indices, self._split(form.values, d))

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
        whole = [self.block.size * self.place.size if axis is self.index else axis.size for axis in axes]
        value = lifter.b.reshape(lifter.expand(lifted, parts), whole)
        value = lifter.b.slice(value, [0] * len(axes), [axis.size for axis in axes])
        return Lifted(value, tuple(axes))

    def _split(self, values: Array, axis: int) -> Array:
        """`values` with two axes for one; what the last block has too many is continued, or else repeated."""
        count, size = self.block.size, self.place.size
        if count * size > values.shape[axis]:
            linear = _continued(values, axis, count, size)
            missing = [(0, count * size - n if d == axis else 0) for d, n in enumerate(values.shape)]
            values = np.pad(values, missing, mode="edge") if linear is None else linear
        return values.reshape(*values.shape[:axis], count, size, *values.shape[axis + 1 :])


def blocks_of(forms: Sequence[Form | None], fixed: Collection[Index]) -> Blocks | None:
    """An index, none of `fixed`, that a table among `forms` is linear in by blocks but not as it is."""
    plain = {index for form in forms if isinstance(form, Linear) for index in form.indices}
    for form in forms:
        if not isinstance(form, Table) or form.values.dtype != np.int64 or _is_in_runs(form):
            continue
        for d, index in enumerate(form.indices):
            size = 0 if index in fixed else _block_length(form.values, d)
            uneven = size and index.size % size
            if not size or (uneven and (index in plain or index.size < 2 * size)):
                continue
            if _continued(form.values, d, -(-index.size // size), size) is not None:
                return Blocks.of(index, size)
    return None


def _block_length(values: Array, axis: int) -> int:
    """How far `values` go on along `axis` as they begin: by equal steps; 0 if to the end."""
    values = np.moveaxis(values, axis, 0)
    steps = np.diff(values, axis=0)
    others = np.flatnonzero((steps != steps.flat[0]).reshape(len(steps), -1).any(axis=1))
    return int(others[0]) + 1 if len(others) and others[0] else 0


def _continued(values: Array, axis: int, count: int, size: int) -> Array | None:
    """`count` blocks of `size` along `axis`, linear in block and place, that begin with `values`; None if none do."""
    values = np.moveaxis(values, axis, 0)
    steps, jumps = values[1] - values[0], values[size] - values[0]
    if (steps != steps.flat[0]).any() or (jumps != jumps.flat[0]).any():
        return None
    places = np.add.outer(np.arange(count) * jumps.flat[0], np.arange(size) * steps.flat[0]).reshape(-1)
    whole = values[0] + places.reshape(-1, *[1] * (values.ndim - 1))
    return np.moveaxis(whole, 0, axis) if (whole[: len(values)] == values).all() else None


def _is_in_runs(form: Table) -> bool:
    """Whether a few slices, without repetition, read this as well."""
    if len(form.indices) != 1:
        return False
    pieces = runs(form.values)
    return len(pieces) <= MOST_PIECES and all(piece.step or piece.count == 1 for piece in pieces)
