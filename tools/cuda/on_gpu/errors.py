"""How far results are from what was expected, by three measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ....compiler.signature import Array
from ...compare import compare

APART, COMPARED, SPREAD = "largest difference", "largest error", "root of the mean square"
Measure = Callable[[Array, Array], float]


def apart(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest value."""
    if found.shape != expected.shape:
        return np.inf
    a, b = _wide(found), _wide(expected)
    return _relative(float(np.abs(a - b).max(initial=0)), float(np.abs(b).max(initial=0)))


def spread(found: Array, expected: Array) -> float:
    """The root of the mean square of differences, relative to that of values."""
    if found.shape != expected.shape:
        return np.inf
    a, b = _wide(found), _wide(expected)
    return _relative(float(np.linalg.norm(a - b)), float(np.linalg.norm(b)))


def _wide(array: Array) -> Array:
    return np.ravel(array).astype(np.float64)


def _relative(difference: float, size: float) -> float:
    """NaN where either is: that is within no limit."""
    if size == 0:
        return np.inf if difference else 0.0
    return difference / size


def _compared(found: Array, expected: Array) -> float:
    told = compare("", found, expected)
    return np.inf if told.mismatch else told.error


MEASURES: Mapping[str, Measure] = {APART: apart, COMPARED: _compared, SPREAD: spread}


def error_of(measure: str, found: Sequence[Array], expected: Sequence[Array]) -> float:
    """That of the worst of several results; infinite where one is missing."""
    if len(found) != len(expected):
        return np.inf
    return float(np.max([MEASURES[measure](a, b) for a, b in zip(found, expected, strict=True)], initial=0))
