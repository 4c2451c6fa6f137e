"""Meanings of `tile`, on arrays; rings are a matter of places, and change no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ...compiler.semantics import Call, Spec, semantics
from ...compiler.weights import Array
from ..systolic.numerics import add as add_bytes
from ..systolic.numerics import requantize
from .ops import PatchOp, RequantizeOp, StoreOp, WeightsOp


@semantics("tile.patch")
def patch(source: Array, row: Array, byte: Array, *, result: Spec, call: Call) -> Array:
    """Pixel by pixel; what lies outside is `pad`."""
    op = cast(PatchOp, call.op)
    assert result.shape is not None
    planes, height, width, lanes = result.shape
    block, run = op.block.value.data, op.run.value.data
    ys = int(row) + np.arange(height) * op.step[0]
    lane = np.arange(planes)[:, None] * block + np.arange(lanes)
    xs = int(byte) + (np.arange(width) * op.step[1])[None, :, None] + lane[:, None, :]
    inside_y, inside_x = (ys >= 0) & (ys < source.shape[0]), (xs >= 0) & (xs < source.shape[1])
    taken = source[np.where(inside_y, ys, 0)[None, :, None, None], np.where(inside_x, xs, 0)[:, None]]
    kept = np.where(inside_y[None, :, None, None] & inside_x[:, None], taken, np.int8(op.pad.value.data))
    return np.where(((np.arange(lanes) < block) & (lane < run))[:, None, None, :], kept, np.int8(0))


@semantics("tile.load")
def load(source: Array, *indices: Array, result: Spec) -> Array:
    """A copy."""
    assert result.shape is not None
    sizes = [1] * (source.ndim - len(result.shape)) + list(result.shape)
    starts = [int(i) for i in indices] + [0] * (source.ndim - len(indices))
    part = source[tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))]
    return part.reshape(result.shape).copy()


@semantics("tile.weights")
def weights(source: Array, row: Array, column: Array, *, result: Spec, call: Call) -> Array:
    """Tiles one below the other, zeros behind."""
    assert result.shape is not None
    planes, _, rows, lanes = result.shape
    length = cast(WeightsOp, call.op).len.value.data
    made = np.zeros((planes * rows, lanes), np.int8)
    made[:, :length] = source[int(row) : int(row) + planes * rows, int(column) : int(column) + length]
    return made.reshape(result.shape)


@semantics("tile.sums")
def sums(*, result: Spec) -> Array:
    """Values that betray a read before the first write."""
    assert result.shape is not None
    return np.full(result.shape, 0x55555555, np.int32)


def _windows(patch: Array, out: Sequence[int], op: Any) -> list[Array]:
    """What each tap of the kernel reads, in the order of the taps."""
    (kh, kw), (sh, sw), (dh, dw) = op.geometry
    rows, columns = np.arange(out[0]) * sh, np.arange(out[1]) * sw
    return [patch[:, rows[:, None] + r * dh, columns + q * dw] for r in range(kh) for q in range(kw)]


@semantics("tile.contract")
def contract(patch: Array, weights: Array, sums: Array, part: Array, *, call: Call) -> tuple[()]:
    """Sums modulo 2^32."""
    op = cast(Any, call.op)
    channels = weights.shape[2]
    total = np.zeros(sums.shape[1:], np.int64)
    for tap, window in enumerate(_windows(patch, sums.shape[1:3], op)):
        total += np.einsum("kyxl,kln->yxn", window[..., :channels].astype(np.int64), weights[:, tap].astype(np.int64))
    before = sums[int(part)].astype(np.int64) if op.accumulate else 0
    sums[int(part)] = (total + before).astype(np.int32)
    return ()


@semantics("tile.depthwise")
def depthwise(patch: Array, weights: Array, sums: Array, *, call: Call) -> tuple[()]:
    """Tap by tap."""
    columns = sums.shape[3]
    windows = _windows(patch[..., :columns], sums.shape[1:3], call.op)
    products = [w[0].astype(np.int32) * weights[tap, :columns].astype(np.int32) for tap, w in enumerate(windows)]
    sums[0] = np.sum(products, axis=0) + (sums[0] if cast(Any, call.op).accumulate else 0)
    return ()


@semantics("tile.max")
def maximum(patch: Array, *, result: Spec, call: Call) -> Array:
    """Of the taps."""
    assert result.shape is not None
    return np.maximum.reduce(_windows(patch, result.shape[1:3], call.op))


@semantics("tile.add")
def add(a: Array, b: Array, *, factors: list[float], post: list[int]) -> Array:
    """As the hardware rounds."""
    return add_bytes(a, b, np.array(factors, np.float32), *post)


@semantics("tile.requantize")
def requantized(source: Array, part: Array, table: Array, *, result: Spec, call: Call) -> Array:
    """As stores do it, with zeros behind."""
    assert result.shape is not None
    op = cast(RequantizeOp, call.op)
    length = op.len.value.data
    made = np.zeros(result.shape, np.int8)
    made[0, :, :, :length] = _bytes(source[int(part)], table, op.post.get_values())[..., :length]
    return made


def _bytes(sums: Array, table: Array, post: Sequence[Any]) -> Array:
    bias, scale = table[:, 0], np.ascontiguousarray(table[:, 1]).view(np.float32)
    return requantize(sums, bias, scale, *(int(v) for v in post))


@semantics("tile.store")
def store(*operands: Array, call: Call) -> tuple[()]:
    """The first channels of each pixel."""
    op = cast(StoreOp, call.op)
    source, part, *table, target, row, column, channel = operands
    data = source[int(part)]
    length = op.len.value.data
    if op.post is not None:
        data = _bytes(data, table[0], op.post.get_values())
    h, w, n = int(row), int(column), int(channel)
    target[h : h + data.shape[0], w : w + data.shape[1], n : n + length] = data[..., :length]
    return ()
