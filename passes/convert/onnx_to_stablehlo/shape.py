"""ONNX's operators on shapes: what moves elements without looking at them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .table import lowers
from .taking import take


@lowers("Shape")
def shape(b: GraphBuilder, x: Value, *, start: int = 0, end: int | None = None) -> Value:
    return b.constant(np.array(shape_of(x)[start:end], dtype=np.int64))


@lowers("Size")
def size(b: GraphBuilder, x: Value) -> Value:
    return b.constant(np.array(math.prod(shape_of(x)), dtype=np.int64))


@lowers("Reshape", since=5)
def reshape(b: GraphBuilder, x: Value, shape: Value, *, allowzero: int = 0) -> Value:
    own = shape_of(x)
    wanted = b.ints(shape, "shape of Reshape")
    if not allowzero:
        if any(n == 0 and i >= len(own) for i, n in enumerate(wanted)):
            raise b.fail(f"shape {wanted} copies a dimension that {list(own)} lacks")
        wanted = [own[i] if n == 0 else n for i, n in enumerate(wanted)]
    total = math.prod(own)
    if -1 in wanted:
        known = math.prod(n for n in wanted if n != -1)
        if wanted.count(-1) > 1 or known == 0 or total % known:
            raise b.fail(f"{list(own)} cannot take the shape {wanted}")
        wanted[wanted.index(-1)] = total // known
    if math.prod(wanted) != total or min(wanted, default=0) < 0:
        raise b.fail(f"{list(own)} cannot take the shape {wanted}")
    return b.reshape(x, wanted)


@lowers("Flatten")
def flatten(b: GraphBuilder, x: Value, *, axis: int = 1) -> Value:
    own = shape_of(x)
    at = axis if axis == len(own) else b.axis(axis, len(own)) if own else 0
    return b.reshape(x, [math.prod(own[:at]), math.prod(own[at:])])


@lowers("Squeeze", since=13)
def squeeze(b: GraphBuilder, x: Value, axes: Value | None = None) -> Value:
    return _squeeze(b, x, None if axes is None else b.ints(axes, "axes of Squeeze"))


@lowers("Squeeze", since=1)
def squeeze_1(b: GraphBuilder, x: Value, *, axes: Sequence[int] | None = None) -> Value:
    return _squeeze(b, x, axes)


def _squeeze(b: GraphBuilder, x: Value, axes: Sequence[int] | None) -> Value:
    own = shape_of(x)
    dropped = [i for i, n in enumerate(own) if n == 1] if axes is None else b.axes(axes, len(own))
    if any(own[i] != 1 for i in dropped):
        raise b.fail(f"cannot squeeze axes {dropped} of shape {list(own)}")
    return b.reshape(x, [n for i, n in enumerate(own) if i not in dropped])


@lowers("Unsqueeze", since=13)
def unsqueeze(b: GraphBuilder, x: Value, axes: Value) -> Value:
    return unsqueeze_1(b, x, axes=b.ints(axes, "axes of Unsqueeze"))


@lowers("Unsqueeze", since=1)
def unsqueeze_1(b: GraphBuilder, x: Value, *, axes: Sequence[int]) -> Value:
    return b.expand_dims(x, b.axes(axes, rank_of(x) + len(axes)))


@lowers("Transpose")
def transpose(b: GraphBuilder, x: Value, *, perm: Sequence[int] | None = None) -> Value:
    rank = rank_of(x)
    order = list(reversed(range(rank))) if perm is None else list(perm)
    if sorted(order) != list(range(rank)):
        raise b.fail(f"perm {order} does not permute {rank} dimensions")
    return b.transpose(x, order)


@lowers("Concat")
def concat(b: GraphBuilder, *values: Value, axis: int = 1) -> Value:
    along = b.axis(axis, rank_of(values[0]))
    return b.concatenate(values, along)


@lowers("Split", since=18)
def split(
    b: GraphBuilder, x: Value, split: Value | None = None, *, axis: int = 0, num_outputs: int | None = None
) -> list[Value]:
    along = b.axis(axis, rank_of(x))
    total = shape_of(x)[along]
    if split is not None:
        return _split(b, x, along, b.ints(split, "split of Split"))
    count = num_outputs or len(b.wanted)
    part = -(-total // count)
    return _split(b, x, along, [min(part, total - i * part) for i in range(count)])


@lowers("Split", since=13)
def split_13(b: GraphBuilder, x: Value, split: Value | None = None, *, axis: int = 0) -> list[Value]:
    return split_1(b, x, axis=axis, split=None if split is None else b.ints(split, "split of Split"))


@lowers("Split", since=1)
def split_1(b: GraphBuilder, x: Value, *, axis: int = 0, split: Sequence[int] | None = None) -> list[Value]:
    along = b.axis(axis, rank_of(x))
    count = len(b.wanted)
    return _split(b, x, along, split or [shape_of(x)[along] // count] * count)


def _split(b: GraphBuilder, x: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    if sum(sizes) != shape_of(x)[axis] or min(sizes, default=0) < 0:
        raise b.fail(f"parts {list(sizes)} do not add up to {shape_of(x)[axis]}")
    ends = np.cumsum(sizes).tolist()
    return [b.slice_axis(x, axis, end - part, end) for part, end in zip(sizes, ends, strict=True)]


@lowers("Slice", since=10)
def slice_10(
    b: GraphBuilder, x: Value, starts: Value, ends: Value, axes: Value | None = None, steps: Value | None = None
) -> Value:
    return _slice(
        b,
        x,
        b.ints(starts, "starts of Slice"),
        b.ints(ends, "ends of Slice"),
        None if axes is None else b.ints(axes, "axes of Slice"),
        None if steps is None else b.ints(steps, "steps of Slice"),
    )


@lowers("Slice", since=1)
def slice_1(
    b: GraphBuilder, x: Value, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Value:
    return _slice(b, x, starts, ends, axes, None)


def _slice(
    b: GraphBuilder,
    x: Value,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None,
    steps: Sequence[int] | None,
) -> Value:
    own = shape_of(x)
    start, limit, stride, backwards = [0] * len(own), list(own), [1] * len(own), list[int]()
    along = range(len(starts)) if axes is None else [b.axis(axis, len(own)) for axis in axes]
    for i, axis in enumerate(along):
        step = steps[i] if steps else 1
        if step == 0:
            raise b.fail("a step of Slice is 0")
        taken = range(own[axis])[slice(starts[i], ends[i], step)]
        if step < 0:
            backwards.append(axis)
            taken = taken[::-1]
        start[axis], stride[axis] = (taken[0], taken.step) if taken else (0, 1)
        limit[axis] = taken[-1] + 1 if taken else 0
    result = b.slice(x, start, limit, stride)
    return b(hlo.ReverseOp(result, dimensions=sorted(backwards))) if backwards else result


@lowers("Expand")
def expand(b: GraphBuilder, x: Value, shape: Value) -> Value:
    wanted = b.ints(shape, "shape of Expand")
    return b.broadcast_to(x, b.broadcast_shape(shape_of(x), wanted))


@lowers("Tile", since=6)
def tile(b: GraphBuilder, x: Value, repeats: Value) -> Value:
    own, counts = shape_of(x), b.ints(repeats, "repeats of Tile")
    if len(counts) != len(own):
        raise b.fail(f"repeats {counts} do not fit shape {list(own)}")
    wide = b.expand_dims(x, range(0, 2 * len(own), 2))
    apart = [n for pair in zip(counts, own, strict=True) for n in pair]
    return b.reshape(b.broadcast_to(wide, apart), [n * m for n, m in zip(counts, own, strict=True)])


@lowers("Pad", since=11)
def pad(
    b: GraphBuilder,
    x: Value,
    pads: Value,
    constant_value: Value | None = None,
    axes: Value | None = None,
    *,
    mode: str = "constant",
) -> Value:
    rank = rank_of(x)
    amounts = b.ints(pads, "pads of Pad")
    along = list(range(rank)) if axes is None else [b.axis(a, rank) for a in b.ints(axes, "axes of Pad")]
    if len(amounts) != 2 * len(along):
        raise b.fail(f"pads {amounts} do not fit {len(along)} axes")
    low, high = [0] * rank, [0] * rank
    for i, axis in enumerate(along):
        low[axis], high[axis] = amounts[i], amounts[i + len(along)]
    fill = b.scalar(0, element_of(x)) if constant_value is None else b.reshape(constant_value, [])
    return _pad(b, x, low, high, mode, fill)


@lowers("Pad", since=2)
def pad_2(b: GraphBuilder, x: Value, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> Value:
    rank = rank_of(x)
    return _pad(b, x, pads[:rank], pads[rank:], mode, b.scalar(value, element_of(x)))


def _pad(b: GraphBuilder, x: Value, low: Sequence[int], high: Sequence[int], mode: str, fill: Value) -> Value:
    if mode == "constant":
        return b.pad(x, fill, low, high)
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        if before or after:
            n = shape_of(x)[axis]
            b.make_room(before + n + after)
            positions = _outside(n, before, after, mode) if n else None
            if positions is None:
                raise b.fail(f"mode '{mode}' of Pad with pads {before} and {after} of {n} elements")
            x = take(b, x, positions, axis)
    return x


def _outside(n: int, before: int, after: int, mode: str) -> Array | None:
    """Which element stands at each place after padding an axis of `n` elements."""
    places = np.arange(-before, n + after)
    match mode:
        case "edge":
            return np.clip(places, 0, n - 1)
        case "wrap":
            return places % n
        case "reflect":
            period = max(2 * (n - 1), 1)
            folded = places % period
            return np.where(folded < n, folded, period - folded)
        case _:
            return None


@lowers("DepthToSpace")
def depth_to_space(b: GraphBuilder, x: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    n, c, h, w = shape_of(x)
    k = blocksize
    if mode == "DCR":
        parts = b.transpose(b.reshape(x, [n, k, k, c // (k * k), h, w]), [0, 3, 4, 1, 5, 2])
    else:
        parts = b.transpose(b.reshape(x, [n, c // (k * k), k, k, h, w]), [0, 1, 4, 2, 5, 3])
    return b.reshape(parts, [n, c // (k * k), h * k, w * k])


@lowers("SpaceToDepth")
def space_to_depth(b: GraphBuilder, x: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    n, c, h, w = shape_of(x)
    k = blocksize
    parts = b.reshape(x, [n, c, h // k, k, w // k, k])
    order = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    return b.reshape(b.transpose(parts, order), [n, c * k * k, h // k, w // k])


@lowers("CenterCropPad")
def center_crop_pad(b: GraphBuilder, x: Value, shape: Value, *, axes: Sequence[int] | None = None) -> Value:
    own = shape_of(x)
    along = list(range(len(own))) if axes is None else [b.axis(a, len(own)) for a in axes]
    low, high = [0] * len(own), [0] * len(own)
    for axis, wanted in zip(along, b.ints(shape, "shape of CenterCropPad"), strict=True):
        extra = wanted - own[axis]
        low[axis] = extra // 2 if extra >= 0 else -(-extra // 2)
        high[axis] = extra - low[axis]
    return b.pad(x, b.scalar(0, element_of(x)), low, high)
