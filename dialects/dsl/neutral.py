"""The element that changes nothing in a reduction: what a guard leaves and what reducing nothing gives."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ...compiler.dtypes import DType
from ...compiler.weights import Array
from .ops import ReduceKind


def neutral(kind: ReduceKind, dtype: DType) -> Array:
    """The neutral element of `kind` as an array of rank 0; of argmax and argmin that of max and min.

    >>> neutral(ReduceKind.MAX, np.dtype(np.float32)).item(), neutral(ReduceKind.MIN, np.dtype(np.int8)).item()
    (-inf, 127)
    """
    match kind:
        case ReduceKind.SUM | ReduceKind.ANY:
            return np.zeros((), dtype)
        case ReduceKind.PROD | ReduceKind.ALL:
            return np.ones((), dtype)
        case ReduceKind.MAX | ReduceKind.ARGMAX:
            return _extreme(dtype, -1)
        case ReduceKind.MIN | ReduceKind.ARGMIN:
            return _extreme(dtype, 1)


def _extreme(dtype: DType, sign: int) -> Array:
    """The lowest or highest value: infinite where the dtype has infinities."""
    if dtype == np.bool_:
        return np.asarray(sign > 0)
    if dtype.kind in "iu" or "int" in dtype.name:
        limits = ml_dtypes.iinfo(dtype)
        return np.asarray(int(limits.max if sign > 0 else limits.min)).astype(dtype)
    infinite = np.asarray(sign * np.inf, np.float32).astype(dtype)
    if np.isinf(infinite.astype(np.float32)):
        return infinite
    limits = ml_dtypes.finfo(dtype)
    return np.asarray(limits.max if sign > 0 else limits.min).astype(dtype)
