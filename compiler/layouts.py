"""Layouts: functions from coordinates to places in memory, written as shape and stride, and what can be made of them.

The algebra is that of CuTe (NVIDIA CUTLASS 3, "CuTe Layout Algebra"; Shah, "A Note on the Algebra of CuTe Layouts",
2024): modes nest, coordinates count from the first mode on, and a whole number stands for the coordinate it counts.
From one layout come addresses, the boxes of tensor maps, and which thread holds which element of a fragment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .diagnostics import LaminaError

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"
PlaceT = TypeVar("PlaceT", int, "npt.NDArray[np.int64]")


def flat(value: IntTuple) -> tuple[int, ...]:
    """The numbers of a nested tuple, in order.

    >>> flat(((4, 8), 2))
    (4, 8, 2)
    """
    return (value,) if isinstance(value, int) else tuple(n for item in value for n in flat(item))


def size(shape: IntTuple) -> int:
    """How many coordinates a shape has."""
    return prod(flat(shape))


def _like(values: Iterator[int], pattern: IntTuple) -> IntTuple:
    return next(values) if isinstance(pattern, int) else tuple(_like(values, item) for item in pattern)


def column_major(shape: IntTuple) -> IntTuple:
    """The strides with which a shape fills memory, first mode first.

    >>> column_major(((4, 8), 2))
    ((1, 4), 32)
    """
    strides: list[int] = []
    step = 1
    for extent in flat(shape):
        strides.append(step)
        step *= extent
    return _like(iter(strides), shape)


@dataclass(frozen=True)
class Layout:
    """`shape:stride`, two tuples nested alike.

    >>> Layout((4, 8), (8, 1))(1, 3)
    11
    >>> [Layout((2, 2), (1, 4))(i) for i in range(4)]
    [0, 1, 4, 5]
    """

    shape: IntTuple
    stride: IntTuple = ()

    def __post_init__(self) -> None:
        """Without strides, those of `column_major`. Raises LaminaError where the two are not nested alike."""
        if self.stride == () and self.shape != ():
            object.__setattr__(self, "stride", column_major(self.shape))
        if not _congruent(self.shape, self.stride):
            raise LaminaError(f"not a layout: {self.shape} and {self.stride} are not nested alike")

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"

    def __call__(self, *coordinate: IntTuple) -> int:
        """The place of a coordinate, given mode by mode or as one number."""
        at: IntTuple = coordinate[0] if len(coordinate) == 1 else coordinate
        return _place(at, self.shape, self.stride)

    def __len__(self) -> int:
        return 1 if isinstance(self.shape, int) else len(self.shape)

    def __getitem__(self, mode: int) -> Layout:
        """One mode as a layout."""
        if isinstance(self.shape, int):
            if mode:
                raise IndexError(mode)
            return self
        assert isinstance(self.stride, tuple)
        return Layout(self.shape[mode], self.stride[mode])

    @property
    def modes(self) -> list[Layout]:
        """All modes as layouts."""
        return [self[i] for i in range(len(self))]

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return size(self.shape)

    @property
    def cosize(self) -> int:
        """One more than the largest place, for strides that are not negative."""
        return 1 + sum((n - 1) * s for n, s in self.pairs) if self.size else 0

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Extent and stride of each innermost mode."""
        return list(zip(flat(self.shape), flat(self.stride), strict=True))

    def places(self) -> list[int]:
        """The place of every coordinate, in order."""
        found = [0]
        for extent, stride in self.pairs:
            found = [start + i * stride for i in range(extent) for start in found]
        return found


def concatenated(*layouts: Layout) -> Layout:
    """A layout whose modes are the given ones.

    >>> str(concatenated(Layout(4, 2), Layout((2, 3), (1, 8))))
    '(4,(2,3)):(2,(1,8))'
    """
    return Layout(tuple(a.shape for a in layouts), tuple(a.stride for a in layouts))


def coalesced(layout: Layout) -> Layout:
    """The same function of whole numbers with as few modes as possible.

    >>> str(coalesced(Layout((2, (1, 6)), (1, (6, 2)))))
    '12:1'
    """
    kept: list[tuple[int, int]] = []
    for extent, stride in layout.pairs:
        if extent == 1:
            continue
        if kept and kept[-1][0] * kept[-1][1] == stride:
            kept[-1] = (kept[-1][0] * extent, kept[-1][1])
        else:
            kept.append((extent, stride))
    return _of_pairs(kept)


def cut(layout: Layout, part: int) -> tuple[Layout, Layout] | None:
    """The first `part` coordinates of a layout, and where each next so many begin; None where a mode has no such end.

    A division by `part:1` in CuTe's algebra.

    >>> [str(each) for each in cut(Layout((64, 9), (1, 512)), 192)]
    ['(64,3):(1,512)', '3:1536']
    >>> cut(Layout((64, 9), (1, 512)), 96) is None
    True
    """
    inner: list[tuple[int, int]] = []
    outer: list[tuple[int, int]] = []
    for extent, stride in layout.pairs:
        inside = extent if part % extent == 0 else part
        if extent % inside:
            return None
        inner.append((inside, stride))
        outer.append((extent // inside, stride * inside))
        part //= inside
    if part != 1:
        return None
    return _of_pairs([pair for pair in inner if pair[0] != 1]), _of_pairs([pair for pair in outer if pair[0] != 1])


def _of_pairs(pairs: list[tuple[int, int]]) -> Layout:
    if not pairs:
        return Layout(1, 0)
    if len(pairs) == 1:
        return Layout(*pairs[0])
    return Layout(tuple(n for n, _ in pairs), tuple(s for _, s in pairs))


@dataclass(frozen=True)
class Swizzle:
    """Exchanges places so that a column of rows lies in different banks: CuTe's `Swizzle<bits, base, shift>`.

    `bits` bits from `base + shift` on are added, bit by bit, to those from `base` on. The three that the copy engine of
    sm_90 knows, on bytes: (1, 4, 3) for rows of 32, (2, 4, 3) of 64, (3, 4, 3) of 128.

    >>> Swizzle(3, 4, 3)(0x90)
    128
    """

    bits: int
    base: int
    shift: int

    def __call__(self, place: PlaceT) -> PlaceT:
        """Where the place goes, or each place of an array; twice, and it is back."""
        mask = (1 << self.bits) - 1
        return place ^ (place >> (self.base + self.shift) & mask) << self.base


def _congruent(a: IntTuple, b: IntTuple) -> bool:
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int)
    return len(a) == len(b) and all(map(_congruent, a, b))


def _place(at: IntTuple, shape: IntTuple, stride: IntTuple) -> int:
    if isinstance(shape, int):
        assert isinstance(at, int) and isinstance(stride, int)
        return at * stride
    assert isinstance(stride, tuple)
    if isinstance(at, int):
        total = 0
        for i, (part, step) in enumerate(zip(shape, stride, strict=True)):
            last = i == len(shape) - 1
            total += _place(at if last else at % size(part), part, step)
            at //= size(part)
        return total
    return sum(map(_place, at, shape, stride))


def _text(value: IntTuple) -> str:
    return str(value) if isinstance(value, int) else f"({','.join(map(_text, value))})"
