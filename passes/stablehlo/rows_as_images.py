"""stablehlo-rows-as-images: a depthwise convolution over one dimension is one of images of a single row.

before: %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f]
            : (1x430x256, 31x1x256) -> 1x400x256
after:  %a, %k = %x as 1x1x430x256, %w as 1x31x1x256
        %b = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] -> 1x1x400x256
        %y = %b as 1x400x256

For images there is `convert-depthwise-to-vector`. Channels are last, as `stablehlo-propagate-layout` leaves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.passes import ModulePass

from ...dialects.stablehlo import ConvolutionOp
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, element_type, shape_of
from ...dialects.stablehlo.canonical.windows import convolution_like
from ...dialects.stablehlo.conv_dimensions import with_channels_last
from .one_rule import apply_rule


@dataclass(frozen=True)
class RowsAsImages(ModulePass):
    """Rewrites depthwise convolutions of float32 over one dimension."""

    name = "stablehlo-rows-as-images"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rule(ctx, op, image_of_one_row, ConvolutionOp)


def image_of_one_row(op: ConvolutionOp, b: Builder) -> Replacement:
    """The convolution with a dimension of one element before that of space."""
    lhs, rhs, result = (shape_of(value) for value in (op.lhs, op.rhs, op.result))
    window, groups = op.window(), op.feature_group_count.value.data
    if op.dims != with_channels_last(1) or any(element_type(value) != f32 for value in (op.lhs, op.rhs, op.result)):
        return None
    if not groups == lhs[-1] == rhs[-1] > 1 or op.batch_group_count.value.data != 1 or any(window.reversal):
        return None

    def both(along: Sequence[int]) -> list[int]:
        return [1, *along]

    image = b.reshape(op.lhs, (lhs[0], 1, *lhs[1:]))
    convolved = convolution_like(
        op,
        image,
        b.reshape(op.rhs, (1, *rhs)),
        dimension_numbers=with_channels_last(2),
        window_strides=both(window.strides),
        padding=[(0, 0), *window.padding],
        lhs_dilation=both(window.base_dilation),
        rhs_dilation=both(window.dilation),
        window_reversal=None,
    )
    return b.reshape(b.value(convolved), result)
