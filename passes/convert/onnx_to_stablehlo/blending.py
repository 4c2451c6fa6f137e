"""Sums of neighbours with known weights along axes: interpolation, averages over windows, and their derivatives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32

from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from .builder import GraphBuilder, Value, element_of, is_float, rank_of
from .taking import take

_MOST_TAPS = 4  # of a row of weights, that are taken one by one; more are a product with a matrix


def blend(b: GraphBuilder, x: Value, matrices: Mapping[int, Array]) -> Value:
    """`x` with each axis replaced by its products with the rows of a matrix [output, input]; halves add up in f32.

    Elements that weigh nothing do not count, whatever they are, where a row has at most four others: an infinity
    reaches its neighbours only.

    Axes that shrink go first. Of those that grow, the last one does: what it takes is not next to each other in
    memory, so that it should have few rows.
    """
    if not is_float(x):
        raise b.fail("weighted sums of integers are not supported")
    element = element_of(x)
    if isinstance(element, Float16Type | BFloat16Type):
        x = b.convert(x, f32)

    def cost(axis: int) -> tuple[bool, float]:
        grown, own = matrices[axis].shape
        return (grown > own, grown / max(own, 1) if grown <= own else -axis)

    for axis in sorted(matrices, key=cost):
        x = _along(b, x, matrices[axis], axis)
    return b.convert(x, element)


def _along(b: GraphBuilder, x: Value, matrix: Array, axis: int) -> Value:
    taps = np.count_nonzero(matrix, axis=1).max(initial=0)
    if 0 < taps <= _MOST_TAPS:
        return _taps(b, x, matrix, axis, taps)
    weights = b.constant(matrix.astype(dtype_of(element_of(x))), name="weights")
    product = b.dot(x, weights, ([axis], [1]))  # the new axis comes out last
    rank = rank_of(x)
    return b.transpose(product, [*range(axis), rank - 1, *range(axis, rank - 1)])


def _taps(b: GraphBuilder, x: Value, matrix: Array, axis: int, taps: int) -> Value:
    """One product for the first element that counts in each row, one for the second, and so on."""
    positions = np.argsort(matrix == 0, axis=1, kind="stable")[:, :taps]  # in order, those that count in front
    weights = np.take_along_axis(matrix, positions, 1)
    positions = np.where(weights == 0, positions[:, :1], positions)
    spread = [len(matrix) if i == axis else 1 for i in range(rank_of(x))]
    total: Value | None = None
    for place, weight in zip(positions.T, weights.T, strict=True):
        part = take(b, x, place, axis)
        if (weight != 1).any():
            part = b.multiply(part, b.constant(weight.astype(dtype_of(element_of(x))).reshape(spread), name="weights"))
        total = part if total is None else b.add(total, part)
    assert total is not None
    return total
