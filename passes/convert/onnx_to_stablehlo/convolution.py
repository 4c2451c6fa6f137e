"""ONNX's convolutions: Conv, ConvTranspose, ConvInteger."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .pads import window
from .table import lowers


def _layout(spatial: int) -> str:
    places = ", ".join(map(str, range(spatial)))
    return f"[b, f, {places}]x[o, i, {places}]->[b, f, {places}]"


@lowers("Conv")
def conv(
    b: GraphBuilder,
    x: Value,
    w: Value,
    bias: Value | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    _check(b, x, w, kernel_shape)
    spatial = shape_of(x)[2:]
    view = window(b, spatial, shape_of(w)[2:], strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    if group < 1 or shape_of(x)[1] != shape_of(w)[1] * group or shape_of(w)[0] % group:
        raise b.fail(
            f"{shape_of(x)[1]} input channels do not fit weights of shape {list(shape_of(w))} in {group} groups"
        )
    result = b(
        hlo.ConvolutionOp(
            x,
            w,
            dimension_numbers=_layout(len(spatial)),
            window_strides=view.strides,
            padding=view.padding(),
            rhs_dilation=view.dilations,
            feature_group_count=group,
        )
    )
    return _with_bias(b, result, bias)


def _check(b: GraphBuilder, x: Value, w: Value, kernel_shape: Sequence[int] | None) -> None:
    if rank_of(x) != rank_of(w) or rank_of(x) < 3:
        raise b.fail(f"input {list(shape_of(x))} and weights {list(shape_of(w))} need one rank of at least 3")
    if kernel_shape and tuple(kernel_shape) != shape_of(w)[2:]:
        raise b.fail(f"kernel_shape {list(kernel_shape)} is not that of the weights {list(shape_of(w))}")


def _with_bias(b: GraphBuilder, x: Value, bias: Value | None) -> Value:
    if bias is None:
        return x
    if shape_of(bias) != (shape_of(x)[1],):
        raise b.fail(f"bias of shape {list(shape_of(bias))} for {shape_of(x)[1]} channels")
    return b.add(x, b.expand_dims(bias, [0, *range(2, rank_of(x))]))


@lowers("ConvTranspose")
def conv_transpose(
    b: GraphBuilder,
    x: Value,
    w: Value,
    bias: Value | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    """A convolution over the input spread out by the strides, with the kernel reversed."""
    _check(b, x, w, kernel_shape)
    spatial, kernel = shape_of(x)[2:], shape_of(w)[2:]
    n = len(spatial)
    steps, holes = list(strides or [1] * n), list(dilations or [1] * n)
    extra = list(output_padding or [0] * n)
    full = [
        (size - 1) * step + (k - 1) * hole + 1 + more
        for size, step, k, hole, more in zip(spatial, steps, kernel, holes, extra, strict=True)
    ]
    cut = _cropped(b, spatial, steps, full, auto_pad, output_shape, pads)
    reach = [(k - 1) * hole for k, hole in zip(kernel, holes, strict=True)]
    channels, per_group = shape_of(w)[:2]
    if group < 1 or channels != shape_of(x)[1] or channels % group:
        raise b.fail(
            f"{shape_of(x)[1]} input channels do not fit weights of shape {list(shape_of(w))} in {group} groups"
        )
    grouped = b.reshape(w, [group, channels // group, per_group, *kernel])
    swapped = b.transpose(grouped, [0, 2, 1, *range(3, 3 + n)])
    weights = b.reshape(swapped, [group * per_group, channels // group, *kernel])
    result = b(
        hlo.ConvolutionOp(
            x,
            b(hlo.ReverseOp(weights, dimensions=list(range(2, 2 + n)))),
            dimension_numbers=_layout(n),
            window_strides=[1] * n,
            padding=[[reach[i] - cut[i][0], reach[i] - cut[i][1] + extra[i]] for i in range(n)],
            lhs_dilation=steps,
            rhs_dilation=holes,
            feature_group_count=group,
        )
    )
    return _with_bias(b, result, bias)


def _cropped(
    b: GraphBuilder,
    spatial: Sequence[int],
    steps: Sequence[int],
    full: Sequence[int],
    auto_pad: str,
    output_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
) -> list[tuple[int, int]]:
    """How much of the full result is cut off before and after, per dimension."""
    n = len(spatial)
    if output_shape or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = list(output_shape or [size * step for size, step in zip(spatial, steps, strict=True)])[-n:]
        totals = [have - want for have, want in zip(full, wanted, strict=True)]  # below 0: more is asked for
        if auto_pad == "SAME_UPPER":
            return [(total // 2, total - total // 2) for total in totals]
        return [(total - total // 2, total // 2) for total in totals]
    given = list(pads) if pads and auto_pad != "VALID" else [0] * (2 * n)
    if len(given) != 2 * n:
        raise b.fail(f"pads {given} do not fit {n} spatial dimensions")
    return [(given[i], given[n + i]) for i in range(n)]


@lowers("ConvInteger")
def conv_integer(
    b: GraphBuilder,
    x: Value,
    w: Value,
    x_zero: Value | None = None,
    w_zero: Value | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    data, weights = b.convert(x, i32), b.convert(w, i32)
    if x_zero is not None:
        data = b.subtract(data, b.convert(b.reshape(x_zero, []), i32))
    if w_zero is not None:
        zero = b.convert(w_zero, i32)
        per_channel = rank_of(zero) == 1 and shape_of(zero)[0] > 1
        weights = b.subtract(weights, b.expand_dims(zero, range(1, rank_of(w))) if per_channel else b.reshape(zero, []))
    return conv(
        b,
        data,
        weights,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )


@lowers("Col2Im", since=18)
def col2im(
    b: GraphBuilder,
    x: Value,
    image_shape: Value,
    block_shape: Value,
    *,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Value:
    """Every element of a block is a whole column of the image; they are spread to their places and added up."""
    image, block = b.ints(image_shape, "image_shape of Col2Im"), b.ints(block_shape, "block_shape of Col2Im")
    count = len(image)
    step, apart = list(strides or [1] * count), list(dilations or [1] * count)
    low, high = list(pads or [0] * 2 * count)[:count], list(pads or [0] * 2 * count)[count:]
    if {len(block), len(step), len(apart), len(low), len(high)} != {count} or min([1, *block, *step, *apart]) < 1:
        raise b.fail(f"block {block}, strides {step} and dilations {apart} need {count} positive numbers each")
    size = math.prod(block)
    blocks = [(image[i] + low[i] + high[i] - apart[i] * (block[i] - 1) - 1) // step[i] + 1 for i in range(count)]
    n, channels, places = shape_of(x) if rank_of(x) == 3 else (0, 0, -1)
    if min([0, *blocks]) < 0 or channels % size or math.prod(blocks) != places:
        raise b.fail(f"shape {list(shape_of(x))} does not hold blocks {block} of an image {image}")
    columns = b.reshape(x, [n, channels // size, size, *blocks])
    zero = b.scalar(0, element_of(x))
    total: Value | None = None
    for number, at in enumerate(np.ndindex(*block)):
        column = b.reshape(b.slice_axis(columns, 2, number, number + 1), [n, channels // size, *blocks])
        before = [at[i] * apart[i] - low[i] for i in range(count)]
        after = [image[i] - before[i] - (blocks[i] - 1) * step[i] - 1 for i in range(count)]
        spread = b(
            hlo.PadOp(
                column,
                zero,
                edge_padding_low=[0, 0, *before],
                edge_padding_high=[0, 0, *after],
                interior_padding=[0, 0, *(s - 1 for s in step)],
            )
        )
        total = spread if total is None else b.add(total, spread)
    assert total is not None
    return total
