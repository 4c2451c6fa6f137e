"""Convolutions and products as one kind of problem: windows of an image whose pixels are runs of bytes.

A product of [M, K] and [K, N] is a convolution of an image of one row and M pixels by a kernel of one. Where a kernel
is one wide or high its strides are taken while loading. A layer with few channels takes the pixels of a row of its
kernel as one run; a first one all of its kernel, if the host lays the rows of the kernel beside each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil


@dataclass(frozen=True)
class Convolution:
    """A convolution as a model tells it; `pads` are top, left, bottom, right. All sizes are height before width.

    One of a group reads `channels` of the `pitch[0]` channels of the image, and makes `filters` of the `pitch[1]`
    channels of the result, each from one that its caller tells; (0, 0) is all.
    """

    image: tuple[int, int]
    channels: int
    filters: int
    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    pitch: tuple[int, int] = (0, 0)

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

    @property
    def gather(self) -> tuple[int, int, int, int]:
        """The rows of the image that a row of windows reads: how many, the stride, the dilation, and the first."""
        return self.kernel[0], self.strides[0], self.dilations[0], -self.pads[0]

    def gathered(self) -> Convolution:
        """The same of an image that has, for each row of windows, the rows that it reads beside each other as channels.

        >>> Convolution((8, 8), 3, 4, (3, 3), (2, 2), pads=(1, 1, 1, 1)).gathered().image
        (4, 8)
        """
        return replace(
            self,
            image=(self.out[0], self.image[1]),
            channels=self.kernel[0] * self.channels,
            kernel=(1, self.kernel[1]),
            strides=(1, self.strides[1]),
            dilations=(1, self.dilations[1]),
            pads=(0, self.pads[1], 0, self.pads[3]),
        )

    def windows(self, rows: int) -> Windows:
        """As windows for an array of `rows` rows."""
        (kh, kw), (sh, sw), (dh, dw) = self.kernel, self.strides, self.dilations
        top, left = self.pads[:2]
        height, width = self.out
        image = self.image
        if kh == kw == sh == sw == 1 and not any(self.pads):  # rows follow each other without a gap
            image, height, width = (1, image[0] * image[1]), 1, height * width
        pixel = self.pitch[0] or self.channels
        fewer = 4 * ceil(self.channels * kw / rows) <= 3 * ceil(self.channels / rows) * kw
        packed = dw == 1 and pixel == self.channels and fewer
        run = self.channels * (kw if packed else 1)
        narrow = packed or kw == 1
        return Windows(
            rows=image[0],
            row_bytes=image[1] * pixel,
            out=(height, width),
            run=run,
            taps=(kh, 1 if packed else kw),
            steps=(sh if kh == 1 else 1, pixel * (sw if narrow else 1)),
            strides=(1 if kh == 1 else sh, 1 if narrow else sw),
            dilations=(dh, 1 if narrow else dw),
            advance=(sh, sw * pixel),
            origin=(-top, -left * pixel),
            filters=self.filters,
            pitch=self.pitch[1] or self.filters,
            packed=packed,
        )


@dataclass(frozen=True)
class Windows:
    """What is loaded and summed: rows of bytes, runs of `run` bytes for each pixel of a patch, windows over patches.

    `steps` are rows and bytes from pixel to pixel of a patch, `strides` and `dilations` count such pixels, `advance`
    are rows and bytes from output to output, `origin` is where the first window begins. A pixel of the result has
    `pitch` channels, of which `filters` are made. With `added` another image is added to the result. With `matrix` the
    weights are no blocks but a matrix of `run` rows, as a layer before makes it. The greatest of each block of `pool`
    results is kept.
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
    pitch: int
    packed: bool = False
    added: bool = False
    matrix: bool = False
    pool: tuple[int, int] = (1, 1)

    def pooled(self, pool: tuple[int, int]) -> Windows:
        """The same, of which the greatest of each whole block is kept."""
        (height, width), (rows, columns) = self.out, pool
        return replace(self, out=(height // rows * rows, width // columns * columns), pool=pool)

    @property
    def kept(self) -> tuple[int, int]:
        """Height and width of what is stored."""
        return self.out[0] // self.pool[0], self.out[1] // self.pool[1]

    @property
    def pieces(self) -> str:
        """The rings, each as large as the sums, for what is made of sums before it is stored."""
        return "bro" if self.added else "bo" if self.pool != (1, 1) else ""

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
