"""Convolutions of images that are spread out by s, as transposed ones are, without the zeros between.

Every s-th result reads the same taps, each s-th of the window, of the image as it was. So each such part is a
convolution of its own, and the parts are interleaved:

    %y = stablehlo.convolution(%x, %w), window = {pad = [[2, 2]], lhs_dilate = [2]} : (1x1x5, 1x1x4) -> 1x1x10

    %a = stablehlo.convolution(%x, %w0), window = {pad = [[1, 0]]} : (1x1x5, 1x1x2) -> 1x1x5    // %w[0], %w[2]
    %b = stablehlo.convolution(%x, %w1), window = {pad = [[0, 1]]} : (1x1x5, 1x1x2) -> 1x1x5    // %w[1], %w[3]
    %y = concatenate of %a and %b as 1x1x5x1, as 1x1x10

Where all parts read the same places, as those of a window of s, they are one convolution with more filters. Others read
one image with all the zeros that any of them has around it, each from where it begins (padding below zero); but parts
of 3 x 3 taps, which Winograd's transform reads without zeros around, have each their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from .. import ConcatenateOp, ConvolutionOp, PadOp
from .rules import Array, Builder, Replacement, element_type, shape_of, simplifies
from .windows import convolution_like

MOST_PARTS = 64  # convolutions in place of one


@simplifies(ConvolutionOp)
def image_without_holes(op: ConvolutionOp, b: Builder) -> Replacement:
    """Constant filters only: 0 times a number is 0, times an infinity it is not."""
    window, d = op.window(), op.dims
    plain = all(n == 1 for n in (*window.strides, *window.dilation)) and not any(window.reversal)
    steps = window.base_dilation
    if not plain or all(n == 1 for n in steps) or any(k < s for k, s in zip(window.size, steps, strict=True)):
        return None
    image = [shape_of(op.lhs)[i] for i in d.input_spatial_dimensions]
    result = [shape_of(op.result)[i] for i in d.output_spatial_dimensions]
    # of each result up to the s-th in a dimension: its first tap on an element, how many those are, and which it is
    parts = [
        [
            (first := (low - place) % step, -(-(size - first) // step), (place + first - low) // step)
            for place in range(step)
        ]
        for (low, _), size, step in zip(window.padding, window.size, steps, strict=True)
    ]
    alike = all(len({(count, at) for _, count, at in along}) == 1 for along in parts)
    if min((*shape_of(op.lhs), *shape_of(op.result))) < 1 or not (alike or prod(steps) <= MOST_PARTS):
        return None
    filters = b.constant_of(op.rhs)
    if filters is None or not np.isfinite(filters).all():
        return None

    def taps(places: tuple[int, ...]) -> Array:
        kept: list[slice] = [slice(None)] * filters.ndim
        for i, place in enumerate(places):
            kept[d.kernel_spatial_dimensions[i]] = slice(parts[i][place][0], None, steps[i])
        return filters[tuple(kept)]

    def padding(i: int, place: int) -> tuple[int, int]:
        _, count, at = parts[i][place]
        return -at, -(-result[i] // steps[i]) - 1 + at + count - image[i]

    sides = [[padding(i, place) for place in range(step)] for i, step in enumerate(steps)]
    around = [(max(low for low, _ in along), max(high for _, high in along)) for along in sides]
    three = all(count == 3 for along in parts for _, count, _ in along) and len(steps) == 2
    mixed = element_type(op.lhs) != element_type(op.rhs)
    if alike or three or mixed or min(min(pair) for pair in around) < 0:
        around = [(0, 0)] * len(steps)
    source = _with_zeros(op, around, filters.dtype, b)

    def convolved(own: Array, places: tuple[int, ...]) -> SSAValue:
        own_sides = [sides[i][place] for i, place in enumerate(places)]
        rest = [(low - l, high - h) for (low, high), (l, h) in zip(own_sides, around, strict=True)]
        return b.value(convolution_like(op, source, b.constant(own), padding=rest, lhs_dilation=None))

    if alike:
        every = np.stack([taps(places) for places in np.ndindex(*steps)])
        whole = _features_into_space(convolved(_as_features(every, op), (0,) * len(steps)), op, steps, b)
    else:
        whole = _interleaved(lambda places: convolved(np.ascontiguousarray(taps(places)), places), op, steps, b)
    limits = shape_of(op.result)
    return b.slice(whole, [0] * len(limits), limits, [1] * len(limits))


def _with_zeros(op: ConvolutionOp, around: Sequence[tuple[int, int]], dtype: np.dtype[Any], b: Builder) -> SSAValue:
    """The image of a convolution with so many zeros before and after each spatial dimension."""
    if not any(any(pair) for pair in around):
        return op.lhs
    low, high = [0] * len(shape_of(op.lhs)), [0] * len(shape_of(op.lhs))
    for dim, (before, after) in zip(op.dims.input_spatial_dimensions, around, strict=True):
        low[dim], high[dim] = before, after
    zero = b.constant(np.zeros((), dtype), "zero")
    padded = PadOp(op.lhs, zero, edge_padding_low=low, edge_padding_high=high, interior_padding=[0] * len(low))
    return b.value(padded)


def _as_features(filters: Array, op: ConvolutionOp) -> Array:
    """Filters of several parts, which come first, as those of one convolution: group by group, then part by part.

    So a place of the image gets its features, which lie next to each other once they are last, in one piece.
    """
    axis = op.dims.kernel_output_feature_dimension
    shape = filters.shape[1:]
    groups = _groups(op)
    apart = filters.reshape(-1, *shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    return np.moveaxis(apart, 0, axis + 1).reshape(*shape[:axis], -1, *shape[axis + 1 :])


def _groups(op: ConvolutionOp) -> int:
    return op.feature_group_count.value.data * op.batch_group_count.value.data


def _features_into_space(value: SSAValue, op: ConvolutionOp, steps: Sequence[int], b: Builder) -> SSAValue:
    """Of the features of each group, part by part, those of a part become those of its place of the image."""
    feature, space = op.dims.output_feature_dimension, op.dims.output_spatial_dimensions
    shape = shape_of(value)
    groups = [n for n in (_groups(op),) if n != 1]
    own = shape[feature] // prod([*steps, *groups])
    split = [*groups, *steps, own]
    apart = b.reshape(value, (*shape[:feature], *split, *shape[feature + 1 :]))
    first = feature + len(groups)  # of what steps become
    order: list[int] = []
    final: list[int] = []
    for dim, size in enumerate(shape):
        if dim == feature:
            order += [*range(feature, first), first + len(steps)]
            final.append(prod(groups) * own)
            continue
        order.append(dim + (len(split) - 1) * (dim > feature))
        final.append(size)
        if dim in space:
            i = space.index(dim)
            order.append(first + i)
            final[-1] *= steps[i]
    return b.reshape(b.transpose(apart, order), final)


def _interleaved(
    part: Callable[[tuple[int, ...]], SSAValue], op: ConvolutionOp, steps: Sequence[int], b: Builder
) -> SSAValue:
    """The image whose every `steps`-th element, from each of so many places on, is in a part."""

    def along(places: tuple[int, ...]) -> SSAValue:
        if len(places) == len(steps):
            return part(places)
        step, dim = steps[len(places)], op.dims.output_spatial_dimensions[len(places)]
        parts = [along((*places, place)) for place in range(step)]
        shape = shape_of(parts[0])
        apart = [b.reshape(value, (*shape[: dim + 1], 1, *shape[dim + 1 :])) for value in parts]
        joined = b.value(ConcatenateOp(apart, dimension=dim + 1))
        return b.reshape(joined, (*shape[:dim], shape[dim] * step, *shape[dim + 1 :]))

    return along(())
