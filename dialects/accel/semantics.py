"""Meanings of `accel`: whole layers on arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from ...compiler.dtypes import dtype_of
from ...compiler.semantics import Call, Spec, semantics
from ...compiler.weights import Array
from ..systolic.numerics import add as add_bytes
from ..systolic.numerics import requantize
from .ops import ConvPoolOp, EnterOp, ProductOp, WindowedOp

_SIGN = np.uint8(0x80)  # between a byte with a sign and one without


def to_image(array: Array, shape: Sequence[int], gather: Sequence[int] = ()) -> Array:
    """Channels last, signed; rows beside each other with `gather`."""
    signed = (array ^ _SIGN).view(np.int8) if array.dtype == np.uint8 else array
    image = signed.transpose(0, 2, 3, 1) if array.ndim == 4 else signed
    if gather:
        count, stride, dilation, first, pad = gather
        rows = first + np.arange(shape[1])[:, None] * stride + np.arange(count) * dilation
        inside = (rows >= 0) & (rows < image.shape[1])
        taken = image[:, np.where(inside, rows, 0)]  # images, rows, rows of a window, columns, channels
        image = np.where(inside[:, :, None, None], taken, np.int8(pad)).transpose(0, 1, 3, 2, 4)
    return np.ascontiguousarray(image).reshape(shape)


def from_image(image: Array, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
    """As the model has it."""
    array = image.transpose(0, 3, 1, 2) if len(shape) == 4 else image
    array = np.ascontiguousarray(array).reshape(shape)
    return array.view(np.uint8) ^ _SIGN if dtype == np.uint8 else array


@semantics("accel.enter")
def enter(source: Array, *, call: Call, result: Spec) -> Array:
    """A rearrangement."""
    assert result.shape is not None
    return to_image(source, result.shape, cast(EnterOp, call.op).gathered)


@semantics("accel.leave")
def leave(source: Array, *, call: Call, result: Spec) -> Array:
    """A rearrangement."""
    assert result.shape is not None
    return from_image(source, result.shape, dtype_of(call.op.results[0].type))


def _windows(image: Array, op: WindowedOp) -> Iterator[Array]:
    """What each tap of the kernel reads, in the order of the taps."""
    top, left, bottom, right = op.numbers("pads")
    around = np.pad(image, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=op.pad_value)
    (kh, kw), (sh, sw), (dh, dw) = (op.numbers(name) for name in ("kernel", "strides", "dilations"))
    height, width = op.counts
    for r in range(kh):
        for q in range(kw):
            rows = slice(r * dh, r * dh + (height - 1) * sh + 1, sh)
            yield around[:, rows, q * dw : q * dw + (width - 1) * sw + 1 : sw]


def _post(total: Array, table: Array, post: Sequence[int]) -> Array:
    pairs = table.reshape(-1, 2)[: total.shape[-1]]
    scale = np.ascontiguousarray(pairs[:, 1]).view(np.float32)
    zero, low, high = post
    return requantize(total.astype(np.int32), pairs[:, 0], scale, zero, low, high)


@semantics("accel.conv")
def conv(image: Array, weights: Array, table: Array, *, call: Call, result: Spec) -> Array:
    """Tap by tap, with whole numbers."""
    op = cast(WindowedOp, call.op)
    assert result.shape is not None
    return _post(_sums(image, weights, op, result.shape), table, op.numbers("post"))


def _sums(image: Array, weights: Array, op: WindowedOp, shape: Sequence[int]) -> Array:
    kh, kw = op.numbers("kernel")
    flat = weights.transpose(2, 1, 3, 0, 4)  # taps, channels, filters
    flat = flat.reshape(flat.shape[0], flat.shape[1] * flat.shape[2], -1)[..., : shape[3]]
    channels = image.shape[3]
    if flat.shape[0] != kh * kw:  # rows of the kernel are blocks of channels
        flat = flat[:, : kw * channels].reshape(kh * kw, channels, -1)
    total = np.zeros(shape, np.float64)  # exact: sums stay below 2^53
    for tap, window in enumerate(_windows(image, op)):
        total += window.astype(np.float64) @ flat[tap, :channels].astype(np.float64)
    return total.astype(np.int64)


@semantics("accel.grouped_conv")
def grouped_conv(image: Array, weights: Array, table: Array, *, call: Call, result: Spec) -> Array:
    """Group by group."""
    op = cast(WindowedOp, call.op)
    assert result.shape is not None
    groups = weights.shape[0]
    shape = *result.shape[:3], result.shape[3] // groups
    parts = np.split(image, groups, axis=3)
    made = [_post(_sums(parts[g], weights[g], op, shape), table[g], op.numbers("post")) for g in range(groups)]
    return np.concatenate(made, axis=3)


@semantics("accel.conv_add")
def conv_add(
    image: Array,
    weights: Array,
    table: Array,
    residual: Array,
    *,
    factors: list[float],
    total: list[int],
    call: Call,
    result: Spec,
) -> Array:
    """One behind the other."""
    addends = conv(image, weights, table, call=call, result=result), residual
    first, second = reversed(addends) if "behind" in call.op.properties else addends
    return add(first, second, factors=factors, post=total)


@semantics("accel.conv_pool")
def conv_pool(image: Array, weights: Array, table: Array, *, call: Call, result: Spec) -> Array:
    """One behind the other; what is in no whole block is left out."""
    op = cast(ConvPoolOp, call.op)
    assert result.shape is not None
    images, height, width, filters = result.shape
    (rows, columns), shape = op.block, (images, *op.counts, filters)
    made = _post(_sums(image, weights, op, shape), table, op.numbers("post"))
    whole = made[:, : height * rows, : width * columns]
    return whole.reshape(images, height, rows, width, columns, filters).max(axis=(2, 4))


@semantics("accel.product")
def product(a: Array, b: Array, table: Array, *, post: list[int], call: Call, result: Spec) -> Array:
    """With whole numbers."""
    op = cast(ProductOp, call.op)
    m, k, n = op.sizes
    total = a.reshape(-1, m, k).astype(np.float64) @ b.reshape(-1, k, n).astype(np.float64)  # exact below 2^53
    assert result.shape is not None
    return _post(total.astype(np.int64).reshape(result.shape), table, post)


@semantics("accel.depthwise")
def depthwise(image: Array, weights: Array, table: Array, *, call: Call, result: Spec) -> Array:
    """Tap by tap."""
    op = cast(WindowedOp, call.op)
    assert result.shape is not None
    flat = weights.transpose(1, 0, 2).reshape(weights.shape[1], -1)[:, : image.shape[3]]
    total = np.zeros(result.shape, np.int64)
    for tap, window in enumerate(_windows(image, op)):
        total += window.astype(np.int64) * flat[tap]
    return _post(total, table, op.numbers("post"))


@semantics("accel.max_pool")
def max_pool(image: Array, *, call: Call) -> Array:
    """Of the taps."""
    return np.maximum.reduce(list(_windows(image, cast(WindowedOp, call.op))))


@semantics("accel.add")
def add(a: Array, b: Array, *, factors: list[float], post: list[int]) -> Array:
    """As the hardware rounds."""
    return add_bytes(a, b, np.array(factors, np.float32), *post)


@semantics("accel.concat")
def concat(*parts: Array) -> Array:
    """Along the channels."""
    return np.concatenate(parts, axis=3)
