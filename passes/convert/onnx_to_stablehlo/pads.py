"""Windows over spatial dimensions, shared by convolutions and pools: strides, dilations, pads, auto_pad, ceil_mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .builder import GraphBuilder

MOST_PADDING = 1 << 20  # elements: with more, nearly every window would lie outside of any image


@dataclass(frozen=True)
class Window:
    """A window per spatial dimension. `low` and `high` pad the input; `output` is how many windows fit."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    low: list[int]
    high: list[int]
    output: list[int]

    @property
    def extents(self) -> list[int]:
        """How many elements a window spans, holes included."""
        return [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]

    def padding(self) -> list[list[int]]:
        """[low, high] per spatial dimension, high such that exactly `output` windows fit."""
        return [[low, high] for low, high in zip(self.low, self.high, strict=True)]


def window(
    b: GraphBuilder,
    spatial: Sequence[int],
    kernel: Sequence[int],
    *,
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: int = 0,
) -> Window:
    """The window that the attributes of a convolution or pool describe over `spatial` dimensions.

    Raises LaminaError for attributes of the wrong length and windows larger than the padded input.
    """
    n = len(spatial)
    steps, holes = list(strides or [1] * n), list(dilations or [1] * n)
    if not len(kernel) == len(steps) == len(holes) == n or (pads and len(pads) != 2 * n):
        raise b.fail(f"kernel_shape, strides, dilations and pads must fit {n} spatial dimensions")
    if min([1, *steps, *holes]) < 1:
        raise b.fail(f"strides {steps} and dilations {holes} must be positive")
    if max([0, *(pads or ())]) > MOST_PADDING:
        raise b.fail(f"pads {list(pads or ())} are more than {MOST_PADDING}")
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, holes, strict=True)]
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output = [-(-size // step) for size, step in zip(spatial, steps, strict=True)]
        total = [
            max((out - 1) * step + extent - size, 0)
            for out, step, extent, size in zip(output, steps, extents, spatial, strict=True)
        ]
        small, large = [t // 2 for t in total], [t - t // 2 for t in total]
        low, high = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
        return Window(list(kernel), steps, holes, low, high, output)
    if auto_pad not in ("NOTSET", "VALID", ""):
        raise b.fail(f"auto_pad '{auto_pad}' is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER")
    given = list(pads) if pads and auto_pad != "VALID" else [0] * (2 * n)
    low, high = given[:n], given[n:]
    output = []
    for i in range(n):
        room = spatial[i] + low[i] + high[i] - extents[i]
        if room < 0 and not (ceil_mode and -(-room // steps[i]) == 0):  # ceil_mode admits one that is cut off
            raise b.fail(f"window {list(kernel)} is larger than the padded input {list(spatial)}")
        out = (-(-room // steps[i]) if ceil_mode else room // steps[i]) + 1
        if ceil_mode:
            if (out - 1) * steps[i] >= spatial[i] + low[i]:  # a window must begin inside the input
                out -= 1
            high[i] = (out - 1) * steps[i] + extents[i] - spatial[i] - low[i]
        output.append(out)
    return Window(list(kernel), steps, holes, low, high, output)
