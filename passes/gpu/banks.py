"""How often warps ask banks of shared memory, and gaps in what lies there that keep banks apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from xdsl.ir.affine import AffineExpr

from ...compiler.layouts import Swizzle
from ...dialects.gpu.ops import WARP

BANKS = 32
BITS = 5  # of their number
WORD = 4  # bytes
Numbers: TypeAlias = "npt.NDArray[np.int64]"
NumberT = TypeVar("NumberT", int, "npt.NDArray[np.int64]", AffineExpr)


@dataclass(frozen=True)
class Lanes:
    """What lanes that are neighbours take, in an order: stretches of `run` neighbours each, so far `apart`.

    Where stretches are whole sectors, warps move as many as without, and other banks.

    >>> Lanes(2, 8, 4).taken(np.arange(16)).tolist()
    [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]
    """

    stretches: int
    apart: int  # a multiple of `run`
    run: int

    @property
    def whole(self) -> int:
        """Numbers that change places among each other."""
        return self.stretches * self.apart

    def taken(self, number: NumberT) -> NumberT:
        """What a number becomes."""
        if self.stretches == 1:
            return number
        several = self.stretches * self.run
        stretch = number % self.whole % several // self.run
        return (
            number // self.whole * self.whole
            + stretch * self.apart
            + number % self.whole // several * self.run
            + number % self.run
        )


def whole_banks(count: int, itemsize: int) -> int:
    """Elements, no fewer than so many, that fill all banks: among which a swizzle exchanges places."""
    return count + -count % (BANKS * WORD // itemsize)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements between neighbours in each dimension."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def numbers_of(sizes: Sequence[int], most: int, step: int = 1) -> Numbers:
    """The first numbers of loops of these sizes, or of every so many, a row for each."""
    count = min(prod(sizes) // step, most)
    return np.stack(np.unravel_index(np.arange(count) * step, tuple(sizes)), axis=1).astype(np.int64)


def asked_again(places: Numbers, strides: Sequence[int], itemsize: int, swizzle: Swizzle | None = None) -> float:
    """How often more than needed banks are asked, each time that a warp takes elements of these places.

    >>> asked_again(numbers_of([32], 32) * 2, [1], 4), asked_again(numbers_of([32], 32) * 2, [1], 4, Swizzle(1, 0, 5))
    (1.0, 0.0)
    """
    flat: Numbers = places @ np.array(strides, dtype=np.int64)
    words = (flat if swizzle is None else swizzle(flat)) * itemsize // WORD
    lanes = min(len(words), WARP * WORD // max(itemsize, WORD))
    warps = np.sort(words[: len(words) // lanes * lanes].reshape(-1, lanes), axis=1)
    first = np.ones(warps.shape, np.bool_)  # a word that several lanes ask for is asked for once
    first[:, 1:] = warps[:, 1:] != warps[:, :-1]
    banks = np.arange(len(warps))[:, None] * BANKS + warps % BANKS
    asked = np.bincount(banks[first], minlength=len(warps) * BANKS).reshape(-1, BANKS)
    return float(np.mean(asked.max(axis=1) - 1))


def swizzles_of(itemsize: int) -> Iterator[Swizzle]:
    """Exchanges of places among those that fill all banks, by what is counted of such places.

    >>> len(list(swizzles_of(4))), next(swizzles_of(2))
    (36, Swizzle(bits=1, base=5, shift=1))
    """
    bits_of_word = WORD.bit_length() - itemsize.bit_length()
    for base in range(BITS - 1, -1, -1):
        for bits in range(1, min(3, BITS - base) + 1):
            for source in range(BITS, BITS + 3):
                if base + bits_of_word >= 0:
                    yield Swizzle(bits, base + bits_of_word, source - base)


def strides_of(box: Sequence[int], itemsize: int, words: int = 1) -> Iterator[tuple[int, ...]]:
    """Elements between neighbours of a box in shared memory: without gaps, and with some behind one or two levels.

    Gaps are multiples of so many words.
    """
    yield row_major(box)
    step = max(1, words * WORD // itemsize)
    gaps = range(step, BANKS * WORD // itemsize, step)
    levels = [d for d in range(len(box) - 1) if box[d] > 1][:2]
    for several in (*([level] for level in levels), levels if len(levels) > 1 else []):
        for behind in product(gaps, repeat=len(several)):
            yield _with_gaps(box, dict(zip(several, behind, strict=True)))


def _with_gaps(box: Sequence[int], gaps: Mapping[int, int]) -> tuple[int, ...]:
    """Elements between neighbours, with gaps behind what lies inside these dimensions."""
    strides = [1]
    for d in range(len(box) - 2, -1, -1):
        strides.insert(0, strides[0] * box[d + 1] + gaps.get(d, 0))
    return tuple(strides)
