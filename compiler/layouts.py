"""Layouts: functions from coordinates to places in memory, written as shape and stride, and what can be made of them.

The algebra is that of CuTe (NVIDIA CUTLASS 3, "CuTe Layout Algebra"; Shah, "A Note on the Algebra of CuTe Layouts",
2024): modes nest, coordinates count from the first mode on, and a whole number stands for the coordinate it counts.
From one layout come addresses, the boxes of tensor maps, and which thread holds which element of a fragment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from .diagnostics import LaminaError

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"


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


def _of_pairs(pairs: list[tuple[int, int]]) -> Layout:
    if not pairs:
        return Layout(1, 0)
    if len(pairs) == 1:
        return Layout(*pairs[0])
    return Layout(tuple(n for n, _ in pairs), tuple(s for _, s in pairs))


def composed(outer: Layout, inner: Layout) -> Layout:
    """`outer` after `inner`: the layout with i going to outer(inner(i)), with the modes of `inner`.

    Raises LaminaError where no layout is that function: where a stride or an extent of `inner` cuts a mode of `outer`.

    >>> str(composed(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))))
    '((2,2),3):((24,2),8)'
    """
    if not isinstance(inner.shape, int):
        return concatenated(*(composed(outer, mode) for mode in inner.modes))
    extent, stride = inner.shape, cast(int, inner.stride)
    if stride == 0 or extent == 1:
        return Layout(extent, 0)
    found: list[tuple[int, int]] = []
    left = extent
    modes = coalesced(outer).pairs
    for i, (n, s) in enumerate(modes):
        last = i == len(modes) - 1
        if stride >= n and not last:
            if stride % n:
                raise LaminaError(f"{outer} after {inner} is no layout: stride {stride} cuts a mode of {n}")
            stride //= n
            continue
        if not last and n % stride:
            raise LaminaError(f"{outer} after {inner} is no layout: stride {stride} cuts a mode of {n}")
        fits = left if last else min(left, n // stride)
        if left % fits:
            raise LaminaError(f"{outer} after {inner} is no layout: extent {left} cuts a mode of {n // stride}")
        found.append((fits, s * stride))
        left //= fits
        stride = 1
        if left == 1:
            break
    return _of_pairs(found)


def complement(layout: Layout, within: int) -> Layout:
    """The layout of what `layout` leaves free: each of `within` places is one of its plus one of the complement's.

    Raises LaminaError for a layout that meets a place twice.

    >>> str(complement(Layout((2, 2), (1, 6)), 24))
    '(3,2):(2,12)'
    """
    pairs = sorted((s, n) for n, s in layout.pairs if n > 1)
    kept: list[tuple[int, int]] = []
    covered = 1
    for stride, extent in pairs:
        if stride == 0 or stride % covered:
            raise LaminaError(f"{layout} has no complement: places overlap, or their distance is no multiple")
        kept.append((stride // covered, covered))
        covered = stride * extent
    kept.append((-(-within // covered), covered))
    return coalesced(_of_pairs(kept))


def divided(layout: Layout, tile: Layout) -> Layout:
    """Two modes: what `tile` chooses of `layout`, and the tiles.

    >>> str(divided(Layout(24, 3), Layout(4, 2)))
    '(4,(2,3)):(6,(3,24))'
    """
    return composed(layout, concatenated(tile, complement(tile, layout.size)))


def repeated(layout: Layout, by: Layout) -> Layout:
    """Two modes: `layout`, and copies of it, disjoint, in the order of `by`.

    >>> str(repeated(Layout((2, 2), (4, 1)), Layout(6, 1)))
    '((2,2),(2,3)):((4,1),(2,8))'
    """
    return concatenated(layout, composed(complement(layout, layout.size * by.cosize), by))


def right_inverse(layout: Layout) -> Layout:
    """The longest layout R with layout(R(i)) = i: where, counted in coordinates, the places 0, 1, 2 … are.

    >>> str(right_inverse(Layout((4, 8), (8, 1))))
    '(8,4):(4,1)'
    """
    steps = column_major(layout.shape)
    order = sorted(zip(flat(layout.stride), flat(layout.shape), flat(steps), strict=True))
    kept: list[tuple[int, int]] = []
    covered = 1
    for stride, extent, step in order:
        if extent == 1:
            continue
        if stride != covered:
            break
        kept.append((extent, step))
        covered *= extent
    return coalesced(_of_pairs(kept))


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

    def __call__(self, place: int) -> int:
        """Where the place goes; twice, and it is back."""
        mask = (1 << self.bits) - 1
        return place ^ (place >> (self.base + self.shift) & mask) << self.base

    def of_elements(self, width: int) -> Swizzle:
        """The same exchange counted in elements of `width` bytes."""
        return Swizzle(self.bits, self.base - (width.bit_length() - 1), self.shift)


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
