"""stablehlo-dilations-as-images: what a dilated window skips are images of their own, for Winograd.

before: %y = stablehlo.convolution(%x, %w), window = {pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]}
            : (1x28x28x512, 3x3x512x512) -> 1x28x28x512
after:  %a = %x as 1x14x2x14x2x512, its dimensions in the order 0, 2, 4, 1, 3, 5, as 4x14x14x512
        %b = stablehlo.convolution(%a, %w), window = {pad = [[1, 1], [1, 1]]} -> 4x14x14x512
        %y = the same back

The same sums. Images are filled up with zeros where the steps do not divide them. So it is done where `linalg-winograd`
says that its form of the images costs less, with the copies, than the sums by the taps that meet the image
(`stablehlo-split-taps`). Two of the four stages of a network for segmentation have such windows; of 512 channels, on 28
x 28 points, with steps of 2 or 4, they take 9 ms instead of 23. Filters are constants, channels last, as
`stablehlo-propagate-layout` leaves what stands among others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.machine import Machine
from ...dialects.stablehlo import ConvolutionOp, PadOp
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, element_type, shape_of
from ...dialects.stablehlo.canonical.windows import convolution_like
from ...dialects.stablehlo.conv_dimensions import with_channels_last
from ..linalg.winograd import NEAR, STRIDED, Convolution, best_tile, cost, direct_cost
from .one_rule import apply_rule
from .split_taps import share_left


@dataclass(frozen=True)
class DilationsAsImages(ModulePass):
    """Rewrites dilated convolutions of float32 images with windows of 3 x 3, where that pays."""

    name = "stablehlo-dilations-as-images"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        apply_rule(ctx, op, partial(images_of_phases, machine=machine), ConvolutionOp)


def images_of_phases(op: ConvolutionOp, b: Builder, machine: Machine) -> Replacement:
    """An image for each row and column among those that a window skips."""
    if not _is_dilated(op) or b.constant_of(op.rhs) is None:
        return None
    window, (batch, *space, channels), filters = op.window(), shape_of(op.lhs), shape_of(op.rhs)[-1]
    down, across = steps = window.dilation
    height, width = sizes = [-(-n // step) for n, step in zip(space, steps, strict=True)]
    padding = [(low // step, -(-high // step)) for (low, high), step in zip(window.padding, steps, strict=True)]
    rows, columns = (n + low + high - 2 for n, (low, high) in zip(sizes, padding, strict=True))
    result = shape_of(op.result)
    whole = Convolution(op.lhs, (1, 1), batch, result[1], result[2], channels, filters)
    images = replace(whole, batch=batch * down * across, rows=rows, columns=columns)
    if _cost(images, machine) >= share_left(op) * direct_cost(whole, machine):
        return None
    filled = _filled_up(op.lhs, (height * down, width * across), b)
    apart = b.transpose(b.reshape(filled, (batch, height, down, width, across, channels)), (0, 2, 4, 1, 3, 5))
    each = b.reshape(apart, (images.batch, height, width, channels))
    convolved = b.value(convolution_like(op, each, op.rhs, padding=padding, rhs_dilation=None))
    back = b.transpose(b.reshape(convolved, (batch, down, across, rows, columns, filters)), (0, 3, 1, 4, 2, 5))
    together = b.reshape(back, (batch, rows * down, columns * across, filters))
    return b.slice(together, (0,) * 4, result, (1,) * 4)


def _filled_up(image: SSAValue, size: tuple[int, int], b: Builder) -> SSAValue:
    """An image with zeros at the ends of its columns and rows."""
    _, height, width, _ = shape_of(image)
    more = (0, size[0] - height, size[1] - width, 0)
    if not any(more):
        return image
    zero = b.constant(np.zeros((), np.float32), "zero")
    return b.value(PadOp(image, zero, edge_padding_low=(0,) * 4, edge_padding_high=more, interior_padding=(0,) * 4))


def _is_dilated(op: ConvolutionOp) -> bool:
    """Whether a window of 3 x 3 takes every so many-th row and column, with so many zeros around."""
    window, groups = op.window(), (op.feature_group_count.value.data, op.batch_group_count.value.data)
    if op.dims != with_channels_last(2) or window.size != (3, 3) or any(window.reversal):
        return False
    sides = zip(window.padding, window.dilation, strict=True)
    even = all(low % step == 0 and low >= 0 <= high for (low, high), step in sides)
    floats = all(element_type(v) == f32 for v in (op.lhs, op.rhs, op.result))
    known = min((*shape_of(op.lhs), *shape_of(op.result))) > 0 and max(window.dilation) > 1
    return even and floats and known and all(n == 1 for n in (*window.strides, *window.base_dilation, *groups))


def _cost(images: Convolution, machine: Machine) -> float:
    """Of Winograd's form, with a copy there and one back."""
    tile = best_tile(images, machine)
    copied = 4 * images.batch * images.rows * images.columns * (images.channels + images.filters)
    return cost(images, tile, machine) + copied * (1 / NEAR + 1 / STRIDED) if tile else inf
