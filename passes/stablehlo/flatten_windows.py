"""stablehlo-flatten-windows: the outermost dimension of a three-dimensional window becomes channels, for Winograd.

before: %y = stablehlo.convolution(%x, %w), window = {pad = [[1, 1], [1, 1], [1, 1]]}
            : (1x8x56x56x64, 3x3x3x64x64) -> 1x8x56x56x64
after:  %p = pad of %x by a zero frame at both ends                                  -> 1x10x56x56x64
        %c = concatenate of %p[:, 0:8], %p[:, 1:9], %p[:, 2:10]                      -> 1x8x56x56x192
        %z = stablehlo.convolution(%c as 8x56x56x192, %v), window = {pad = [[1, 1], [1, 1]]}
            : (8x56x56x192, 3x3x192x64) -> 8x56x56x64
        %y = reshape of %z

The same sums, as a convolution of images of 3 x 3 taps, where `linalg-winograd` says that its form of that costs less:
two layers of 64 channels on 8 frames of 56 x 56 take 15 ms each instead of 30. Filters are constants, channels last, as
`stablehlo-propagate-layout` leaves what stands among others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.machine import Machine
from ...dialects.stablehlo import ConcatenateOp, ConvolutionOp, PadOp
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, element_type, shape_of
from ...dialects.stablehlo.canonical.windows import convolution_like
from ...dialects.stablehlo.conv_dimensions import with_channels_last
from ..linalg.winograd import Convolution, best_tile
from .one_rule import apply_rule


@dataclass(frozen=True)
class FlattenWindows(ModulePass):
    """Rewrites convolutions of volumes with windows of 3 x 3 in the last two dimensions, where that pays."""

    name = "stablehlo-flatten-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        apply_rule(ctx, op, partial(frames_as_channels, machine=machine), ConvolutionOp)


def frames_as_channels(op: ConvolutionOp, b: Builder, machine: Machine) -> Replacement:
    """The frames that a window reads, side by side as channels of one image."""
    weights = b.constant_of(op.rhs) if _is_flat(op) and best_tile(_as_images(op), machine) else None
    if weights is None:
        return None
    window = op.window()
    (low, high), stride, step = window.padding[0], window.strides[0], window.dilation[0]
    volume, result, (taps, height, width, channels, filters) = op.lhs, shape_of(op.result), shape_of(op.rhs)
    if low or high:
        zero = b.constant(np.zeros((), np.float32), "zero")
        edges = {"edge_padding_low": (0, low, 0, 0, 0), "edge_padding_high": (0, high, 0, 0, 0)}
        volume = b.value(PadOp(volume, zero, interior_padding=(0,) * 5, **edges))
    frames = [_frames(volume, tap * step, stride, result[1], b) for tap in range(taps)]
    together = frames[0] if taps == 1 else b.value(ConcatenateOp(frames, dimension=4))
    flat = convolution_like(
        op,
        b.reshape(together, (result[0] * result[1], *shape_of(together)[2:])),
        b.constant(np.moveaxis(weights, 0, 2).reshape(height, width, taps * channels, filters)),
        dimension_numbers=with_channels_last(2),
        window_strides=None,
        padding=window.padding[1:],
        lhs_dilation=None,
        rhs_dilation=None,
        window_reversal=None,
    )
    return b.reshape(b.value(flat), result)


def _is_flat(op: ConvolutionOp) -> bool:
    window, groups = op.window(), (op.feature_group_count.value.data, op.batch_group_count.value.data)
    if op.dims != with_channels_last(3) or window.size[1:] != (3, 3) or any(window.reversal):
        return False
    ones = (*window.strides[1:], *window.dilation[1:], *window.base_dilation, *groups)
    sides = [side for pair in window.padding for side in pair]
    floats = all(element_type(v) == f32 for v in (op.lhs, op.rhs, op.result))
    known = min((*shape_of(op.lhs), *shape_of(op.result))) > 0 and min(sides) >= 0
    return floats and known and all(n == 1 for n in ones)


def _as_images(op: ConvolutionOp) -> Convolution:
    """The convolution of images that `op` would become."""
    (batch, frames, rows, columns, filters), (taps, _, _, channels, _) = shape_of(op.result), shape_of(op.rhs)
    (pad, _), (across, _) = op.window().padding[1:]
    return Convolution(op.lhs, (pad, across), batch * frames, rows, columns, taps * channels, filters)


def _frames(volume: SSAValue, first: int, stride: int, count: int, b: Builder) -> SSAValue:
    """`count` frames from the first on."""
    shape = list(shape_of(volume))
    starts, limits = [0, first, 0, 0, 0], [shape[0], first + (count - 1) * stride + 1, *shape[2:]]
    return b.slice(volume, starts, limits, [1, stride, 1, 1, 1])
