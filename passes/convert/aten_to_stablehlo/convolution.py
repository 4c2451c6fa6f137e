"""ATen's convolutions and their derivatives, which are convolutions too."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects import stablehlo as hlo
from ..onnx_to_stablehlo import convolution as onnx
from .builder import AtenBuilder, Value, element_of, rank_of, shape_of
from .table import lowers


def spread(values: Sequence[int] | int, count: int) -> list[int]:
    """One number for each spatial dimension; a single one stands for all."""
    given = [values] if isinstance(values, int) else list(values)
    return given * count if len(given) == 1 else given


@lowers("convolution", "_convolution")
def convolution(
    b: AtenBuilder,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    benchmark: bool = False,
    deterministic: bool = False,
    cudnn_enabled: bool = False,
    allow_tf32: bool = False,
) -> Value:
    n = rank_of(x) - 2
    steps, pads, holes = spread(stride, n), spread(padding, n), spread(dilation, n)
    if transposed:
        extra = spread(output_padding, n)
        return onnx.conv_transpose(
            b, x, weight, bias, strides=steps, pads=pads + pads, dilations=holes, output_padding=extra, group=groups
        )
    return onnx.conv(b, x, weight, bias, strides=steps, pads=pads + pads, dilations=holes, group=groups)


@lowers("conv1d", "conv2d", "conv3d", "conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv(
    b: AtenBuilder,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Sequence[int] | int = 1,
    padding: Sequence[int] | int | str = 0,
    dilation: Sequence[int] | int = 1,
    groups: int = 1,
) -> Value:
    n = rank_of(weight) - 2
    alone = rank_of(x) == n + 1
    batch = b.expand_dims(x, [0]) if alone else x
    steps, holes = spread(stride, n), spread(dilation, n)
    if isinstance(padding, str):
        spans = [(k - 1) * d for k, d in zip(shape_of(weight)[2:], holes, strict=True)]
        pads = [s // 2 for s in spans] + [s - s // 2 for s in spans] if padding == "same" else [0] * (2 * n)
    else:
        pads = spread(padding, n) * 2
    result = onnx.conv(b, batch, weight, bias, strides=steps, pads=pads, dilations=holes, group=groups)
    return b.reshape(result, shape_of(result)[1:]) if alone else result


@lowers("convolution_backward")
def convolution_backward(
    b: AtenBuilder,
    grad_output: Value,
    input: Value,
    weight: Value,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> list[Value | None]:
    n = rank_of(input) - 2
    steps, pads, holes = spread(stride, n), spread(padding, n), spread(dilation, n)
    by_input = by_weight = by_bias = None
    if output_mask[0] and transposed:
        by_input = onnx.conv(b, grad_output, weight, strides=steps, pads=pads + pads, dilations=holes, group=groups)
        by_input = b.slice(by_input, [0] * (n + 2), shape_of(input))
    elif output_mask[0]:
        missing = [
            size - ((out - 1) * s - 2 * p + d * (k - 1) + 1)
            for size, out, s, p, d, k in zip(
                shape_of(input)[2:], shape_of(grad_output)[2:], steps, pads, holes, shape_of(weight)[2:], strict=True
            )
        ]
        by_input = onnx.conv_transpose(
            b, grad_output, weight, strides=steps, pads=pads * 2, dilations=holes, output_padding=missing, group=groups
        )
    if output_mask[1]:
        wide, narrow = (grad_output, input) if transposed else (input, grad_output)
        by_weight = _by_weight(b, wide, narrow, shape_of(weight)[2:], steps, pads, holes, groups)
    if output_mask[2]:
        by_bias = b.reduce("add", grad_output, [0, *range(2, n + 2)])
    return [by_input, by_weight, by_bias]


def _by_weight(
    b: AtenBuilder,
    x: Value,
    grad: Value,
    kernel: Sequence[int],
    steps: Sequence[int],
    pads: Sequence[int],
    holes: Sequence[int],
    groups: int,
) -> Value:
    """A convolution that sums over the batch: channels are its batch, the batch its channels, `grad` its kernel."""
    places = ", ".join(map(str, range(len(kernel))))
    ends = [
        d * (k - 1) + s * (out - 1) + 1 - size - p
        for d, k, s, out, size, p in zip(holes, kernel, steps, shape_of(grad)[2:], shape_of(x)[2:], pads, strict=True)
    ]
    return b(
        hlo.ConvolutionOp(
            x,
            grad,
            dimension_numbers=f"[f, b, {places}]x[i, o, {places}]->[f, b, {places}]",
            window_strides=list(holes),
            padding=[[p, end] for p, end in zip(pads, ends, strict=True)],
            rhs_dilation=list(steps),
            batch_group_count=groups,
            element_type=element_of(x),
        )
    )
