"""Comparing outputs: exact for integers, relative to the largest expected value for floats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compiler.signature import Array


@dataclass(frozen=True)
class Comparison:
    """How far an array is from what was expected. `error` is relative to the largest finite expected magnitude."""

    name: str
    error: float
    limit: float
    mismatch: str = ""

    @property
    def good(self) -> bool:
        """Whether shape, dtype, non-finite positions and values agree within the limit."""
        return not self.mismatch and self.error <= self.limit

    def __str__(self) -> str:
        if self.mismatch:
            return f"{self.name}: {self.mismatch}"
        sign = "<=" if self.good else ">"
        return f"{self.name}: largest error {self.error:.2e} {sign} {self.limit:.0e} of the largest value"


def compare(name: str, got: Array, expected: Array, limit: float = 1e-3) -> Comparison:
    """`got` against `expected`: same shape and dtype, the same NaN and infinities, errors within `limit`.

    The error of each float is taken relative to the larger of its own magnitude and a hundredth of the largest
    expected magnitude, so that small values count but rounding noise around zero does not.
    """
    if got.shape != expected.shape or got.dtype != expected.dtype:
        both = f"{got.dtype}{list(got.shape)}, expected {expected.dtype}{list(expected.shape)}"
        return Comparison(name, np.inf, limit, f"got {both}")
    if got.size == 0:
        return Comparison(name, 0.0, limit)
    if got.dtype.kind in "biu":
        wrong = int(np.count_nonzero(got != expected))
        return Comparison(name, 0.0, limit, f"{wrong} of {got.size} integers differ" if wrong else "")
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), expected.astype(wide)
    finite = np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    odd = int(np.count_nonzero(~same & ~(finite & np.isfinite(a))))
    if odd:
        return Comparison(name, np.inf, limit, f"{odd} values differ in NaN or infinity")
    if not finite.any():
        return Comparison(name, 0.0, limit)
    difference, size = np.abs(a[finite] - b[finite]), np.abs(b[finite])
    scale = np.maximum(size, 0.01 * size.max())
    error = np.divide(difference, scale, out=np.where(difference > 0, np.inf, 0.0), where=scale > 0)
    return Comparison(name, float(error.max()), limit)
