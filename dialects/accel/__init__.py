"""The `accel` dialect: what an accelerator of quantised tensors computes, layer by layer.

Images are tensors of bytes with their channels last, [images, height, width, channels]; a product of [M, K] is an image
of one row and M pixels. Weights are blocked for the array, [blocks of filters, blocks of channels, taps, rows, cols];
tables hold for each filter a bias and the bits of an f32 scale. `accel.enter` and `accel.leave` are the borders.
"""

from xdsl.ir import Dialect

from .ops import (
    AddOp,
    ConcatOp,
    ConvAddOp,
    ConvOp,
    ConvPoolOp,
    DepthwiseOp,
    EnterOp,
    GroupedConvOp,
    LayerOp,
    LeaveOp,
    MaxPoolOp,
    ProductOp,
    WindowedOp,
)

ACCEL = Dialect(
    "accel",
    [
        AddOp,
        ConcatOp,
        ConvAddOp,
        ConvOp,
        ConvPoolOp,
        DepthwiseOp,
        EnterOp,
        GroupedConvOp,
        LeaveOp,
        MaxPoolOp,
        ProductOp,
    ],
)

__all__ = [
    "ACCEL",
    "AddOp",
    "ConcatOp",
    "ConvAddOp",
    "ConvOp",
    "ConvPoolOp",
    "DepthwiseOp",
    "EnterOp",
    "GroupedConvOp",
    "LayerOp",
    "LeaveOp",
    "MaxPoolOp",
    "ProductOp",
    "WindowedOp",
]
