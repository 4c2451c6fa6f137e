"""Convolutions and products as one kind of problem: windows of an image whose pixels are runs of bytes.

A product of [M, K] and [K, N] is a convolution of an image of one row and M pixels by a kernel of one. Where a kernel
is one wide or high its strides are taken while loading. A first layer, with few channels, takes the pixels of a row of
its kernel as one run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil


@dataclass(frozen=True)
class Convolution:
    """A convolution as a model tells it; `pads` are top, left, bottom, right. All sizes are height before width."""

    image: tuple[int, int]
    channels: int
    filters: int
    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def out(self) -> tuple[int, int]:
        """Height and width of the result."""
        sizes = zip(self.image, self.kernel, self.strides, self.dilations, self.pads[:2], self.pads[2:], strict=True)
        height, width = ((n + a + b - (k - 1) * d - 1) // s + 1 for n, k, s, d, a, b in sizes)
        return height, width

    @property
    def products(self) -> int:
        """Multiplications."""
        height, width = self.out
        return height * width * self.filters * self.channels * self.kernel[0] * self.kernel[1]

    def windows(self, rows: int) -> Windows:
        """As windows for an array of `rows` rows."""
        (kh, kw), (sh, sw), (dh, dw) = self.kernel, self.strides, self.dilations
        top, left = self.pads[:2]
        height, width = self.out
        image = self.image
        if kh == kw == sh == sw == 1 and not any(self.pads):  # rows follow each other without a gap
            image, height, width = (1, image[0] * image[1]), 1, height * width
        packed = dw == 1 and 4 * ceil(self.channels * kw / rows) <= 3 * ceil(self.channels / rows) * kw
        run = self.channels * (kw if packed else 1)
        narrow = packed or kw == 1
        return Windows(
            rows=image[0],
            row_bytes=image[1] * self.channels,
            out=(height, width),
            run=run,
            taps=(kh, 1 if packed else kw),
            steps=(sh if kh == 1 else 1, self.channels * (sw if narrow else 1)),
            strides=(1 if kh == 1 else sh, 1 if narrow else sw),
            dilations=(dh, 1 if narrow else dw),
            advance=(sh, sw * self.channels),
            origin=(-top, -left * self.channels),
            filters=self.filters,
            packed=packed,
        )


@dataclass(frozen=True)
class Windows:
    """What is loaded and summed: rows of bytes, runs of `run` bytes for each pixel of a patch, windows over patches.

    `steps` are rows and bytes from pixel to pixel of a patch, `strides` and `dilations` count such pixels, `advance`
    are rows and bytes from output to output, `origin` is where the first window begins.
    """

    rows: int
    row_bytes: int
    out: tuple[int, int]
    run: int
    taps: tuple[int, int]
    steps: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    advance: tuple[int, int]
    origin: tuple[int, int]
    filters: int
    packed: bool = False

    @cached_property
    def tap_count(self) -> int:
        """Taps of a kernel."""
        return self.taps[0] * self.taps[1]

    def patch(self, out: tuple[int, int]) -> tuple[int, int]:
        """The pixels that so many outputs read."""
        height, width = (
            (n - 1) * s + (k - 1) * d + 1
            for n, s, k, d in zip(out, self.strides, self.taps, self.dilations, strict=True)
        )
        return height, width
