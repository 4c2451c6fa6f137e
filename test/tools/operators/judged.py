"""Where NaN, infinities and overflow may come out otherwise than in ONNX's reference and ONNX Runtime, and why.

Each operator is named with what is accepted of it, element by element; any other difference is a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
_LARGEST_PLACE = 2.0**31


def _ours_is_nan(inputs: Sequence[Array], got: Array, want: Array) -> Array:
    return np.isnan(got)


def _theirs_is_nan(inputs: Sequence[Array], got: Array, want: Array) -> Array:
    return np.isnan(want)


def _of_no_number(inputs: Sequence[Array], got: Array, want: Array) -> Array:
    """What integer a NaN, an infinity or a number out of range becomes."""
    return np.full(np.shape(got), "int" in got.dtype.name)


def _of_no_place(inputs: Sequence[Array], got: Array, want: Array) -> Array:
    """The pixels of which a coordinate in the grid [N, ..., r] is NaN or larger than any integer."""
    outside = ~(np.abs(inputs[1]) < _LARGEST_PLACE).all(-1)
    return np.broadcast_to(outside[:, None], np.shape(got))


def _nan_or_its_place(inputs: Sequence[Array], got: Array, want: Array) -> Array:
    return np.isnan(got) if np.issubdtype(got.dtype, np.floating) else np.full(np.shape(got), True)


def _rest_of_sums(inputs: Sequence[Array], got: Array, want: Array) -> Array:
    """Where an infinity took part, and what rounding leaves of the largest sums."""
    finite = np.isfinite(got) & np.isfinite(want)
    largest = np.max(np.abs(want), where=np.isfinite(want), initial=0.0)
    with np.errstate(invalid="ignore"):
        return ~finite | (np.abs(got - want) <= 1e-5 * largest)


@dataclass(frozen=True)
class Judged:
    """Why another answer is right too, and at which elements of (inputs, ours, theirs)."""

    reason: str
    admits: Callable[[Sequence[Array], Array, Array], Array]


_OPEN_CAST = Judged("ONNX leaves open which integer becomes of NaN and of what is out of range", _of_no_number)
_SUMS = Judged("sums of products in another order: infinities meet, 1e30 - 1e30 leaves a rest", _rest_of_sums)
_COORDINATES = Judged("pixels at NaN or beyond the integers are outside; the runtime leaves them open", _of_no_place)

JUDGED = {
    "Attention": Judged("a row with NaN is NaN; the reference writes 0 for every NaN of softmax", _ours_is_nan),
    "Cast": _OPEN_CAST,
    "CastLike": _OPEN_CAST,
    "ConvTranspose": Judged("by zeros between pixels, as StableHLO has it: 0 times an infinite weight", _ours_is_nan),
    "DFT": _SUMS,
    "GridSample": _COORDINATES,
    "GroupNormalization": Judged("a variance that overflows; the peers take infinity from infinity", _theirs_is_nan),
    "MaxPool": Judged("the maximum of NaN is NaN, as of ONNX's Max; the peers skip NaN", _nan_or_its_place),
    "QuantizeLinear": _OPEN_CAST,
    "Resize": Judged("a neighbour of weight 0 counts: 0 times infinity is NaN", _ours_is_nan),
    "RoiAlign": Judged("a neighbour of weight 0 counts: 0 times infinity is NaN", _ours_is_nan),
    "STFT": _SUMS,
}
