"""Arrays as the memory that they lie in."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from .signature import Array


def memory_of(array: Array) -> Array:
    """The elements in memory from an array's first to its last, those between its rows included; writing changes them.

    Steps along dimensions are not negative.

    >>> memory_of(np.arange(12).reshape(3, 4)[:, 1:3])
    array([ 1,  2,  3,  4,  5,  6,  7,  8,  9, 10])
    """
    if not prod(array.shape):
        return array.reshape(-1)
    last = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))
    return np.lib.stride_tricks.as_strided(array, (last // array.itemsize + 1,), (array.itemsize,))


def position_in(array: Array, indices: Sequence[Array | int]) -> int:
    """Where in that memory an element is."""
    return sum(int(i) * (step // array.itemsize) for i, step in zip(indices, array.strides, strict=True))
