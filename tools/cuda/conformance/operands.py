"""What operands of a test are: special values of each type crossed with each other, then random ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ....backends.cuda.emulator.decode import PAIRS, TYPES
from ....compiler.signature import Array

LANES = 4096  # of a test, where nothing else asks for fewer
COUNT = "count"  # an operand of 32 bits that says how far, or how many
_COUNTS = (0, 1, 2, 7, 8, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 1 << 31, (1 << 32) - 1)
_NUMBERS = (0.0, 1.0, 1.5, 0.5, 2.5, 3.0, 0.1, 255.0, 256.0, 65504.0, 65536.0, 2.0**31, 2.0**32, 2.0**63, 2.0**64)


def dtype_of(kind: str) -> np.dtype[Any]:
    """How an operand lies in memory. Predicates and pairs are words of 32 bits."""
    if kind in (COUNT, "pred") or kind in PAIRS or kind.endswith("x2"):
        return np.dtype(np.uint32)
    return np.dtype(TYPES[kind])


def halves_of(kind: str) -> np.dtype[Any] | None:
    """The type of each of the two that share a register; None for a kind that is no pair."""
    if kind.endswith("x2"):
        return np.dtype(PAIRS[kind] if kind in PAIRS else TYPES[kind[:-2]])
    return None


def is_float(kind: str) -> bool:
    """Whether it has NaNs and infinities."""
    return "f" in kind


def specials(kind: str) -> Array:
    """The values at which instructions of a type go wrong: limits, zeros of both signs, subnormal numbers, NaN."""
    if kind == "pred":
        return np.array([0, 1], np.uint32)
    if kind == COUNT:
        return np.array(_COUNTS, np.uint32)
    half = halves_of(kind)
    if half is not None:
        each = specials(kind[:-2]).view(half)
        low, high = np.repeat(each, 4), np.concatenate([np.roll(each, i) for i in (0, 1, 5, 9)])
        return np.ascontiguousarray(np.stack([low, high], 1)).view(np.uint32).reshape(-1)
    dtype = dtype_of(kind)
    if is_float(kind):
        info = ml_dtypes.finfo(dtype)
        tiny, small, large = (float(v) for v in (info.smallest_subnormal, info.smallest_normal, info.max))
        below = small - tiny  # the largest subnormal number
        with np.errstate(over="ignore"):
            plain = np.array([*_NUMBERS, tiny, below, small, large, large / 2, 1 + float(info.eps)]).astype(dtype)
        return np.concatenate([plain, -plain, np.array([np.inf, -np.inf, np.nan], dtype)])
    bits = 8 * dtype.itemsize
    places = {0, 1, 2, 3, 5, 10, 100, (1 << bits) - 1, (1 << bits) - 2, (1 << bits) - 7}
    places |= {v for n in (7, 8, 15, 16, 31, 32, 63) if n < bits for v in (1 << n, (1 << n) - 1, (1 << n) + 1)}
    unsigned = np.array(sorted(places), np.dtype(f"u{dtype.itemsize}"))
    return unsigned.view(dtype)


def random(kind: str, count: int, rng: np.random.Generator) -> Array:
    """Half of them any bits, half numbers of a size that is common."""
    if kind == "pred":
        return rng.integers(0, 2, count, np.uint32)
    if kind == COUNT:
        return rng.integers(0, 72, count, np.uint32)
    half = halves_of(kind)
    if half is not None:
        return np.ascontiguousarray(random(kind[:-2], 2 * count, rng)).view(np.uint32)
    dtype = dtype_of(kind)
    found = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).copy()
    middle = count // 2
    if is_float(kind):
        found[:middle] = (rng.standard_normal(middle) * 2.0 ** rng.integers(-6, 12, middle)).astype(dtype)
    else:
        found[:middle] = rng.integers(0, 120, middle).astype(dtype)
        found[: middle // 2] = (0 - found[: middle // 2]).astype(dtype)
    rng.shuffle(found)
    return found


def crossed(kinds: Sequence[str], rng: np.random.Generator, lanes: int = LANES) -> list[Array]:
    """Operands of these kinds for each lane: every combination of special values if half of the lanes is enough.

    Where it is not, each lane of that half has special values that are drawn.
    """
    each = [specials(kind) for kind in kinds]
    half = lanes // 2
    if np.prod([len(values) for values in each]) <= half:
        rows = list(itertools.product(*(range(len(values)) for values in each)))
        index = np.array(rows).T
    else:
        index = np.array([rng.integers(0, len(values), half) for values in each])
    count = index.shape[1]
    return [
        np.concatenate([values[chosen], random(kind, lanes - count, rng)])
        for kind, values, chosen in zip(kinds, each, index, strict=True)
    ]
