"""Quantised operators of ONNX as layers: what the accelerator would have to compute, or None for what it does not.

The zero point of the input is part of the bias (bias - zero * sum of the weights); around the image lies the zero point
itself. Unsigned bytes are signed ones with the top bit turned, so that zero points and limits are 128 less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ...compiler.dtypes import dtype_of
from ...compiler.weights import Array, WeightStore
from ...dialects.onnx import OnnxOp, is_absent
from ...dialects.onnx.attributes import python_value
from ...dialects.systolic.numerics import usable
from .geometry import Convolution

MICROSOFT = "onnx.com.microsoft"
_MOST_COLUMNS = 65535  # of a matrix whose rows are loaded as weights: as far as a load steps in the widest array
MOST_WINDOW = 15  # what the vector unit walks over in one instruction
Post = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Summed:
    """A convolution (`depthwise` or not) or product; weights are [kh, kw, channels, filters] or [kh, kw, channels].

    Where there are `groups` the geometry is that of all, and the weights' channels are those of one.
    """

    geometry: Convolution
    weights: Array
    bias: Array
    scale: Array
    pad: int
    post: Post
    depthwise: bool = False
    groups: int = 1


@dataclass(frozen=True)
class Multiplied:
    """Products of two activations, `count` of them: `filters` columns with one scale."""

    count: int
    filters: int
    scale: float
    post: Post


@dataclass(frozen=True)
class Pooled:
    """The greatest of windows."""

    geometry: Convolution


@dataclass(frozen=True)
class Added:
    """A sum in new scales."""

    factors: tuple[float, float, float]
    post: Post


@dataclass(frozen=True)
class Joined:
    """Images beside each other, channels behind channels."""


@dataclass(frozen=True)
class Limited:
    """Another limit for the layer before."""

    low: int
    high: int


@dataclass(frozen=True)
class Same:
    """The same bytes in the same order."""


Layer = Summed | Multiplied | Pooled | Added | Joined | Limited | Same


class Reader:
    """Reads operators; `weights` has the constants."""

    def __init__(self, weights: WeightStore):
        self.weights = weights

    def layer(self, op: OnnxOp) -> Layer | None:
        """The layer that an operator is, None for what does not run on the accelerator."""
        read = _READS.get(op.name)
        if read is None or len(op.results) != 1 or not _is_bytes(op.results[0]) or not _is_bytes(op.operands[0]):
            return None
        return read(self, op)

    def constant(self, value: SSAValue) -> Array | None:
        """The elements of a constant."""
        owner = value.owner
        if not isinstance(owner, OnnxOp) or owner.name != "onnx.Constant" or "value" not in owner.attributes:
            return None
        return np.asarray(python_value(owner.attributes["value"], self.weights))

    def constants(self, values: Sequence[SSAValue]) -> list[Array] | None:
        """The elements of constants; None unless all are."""
        found = [self.constant(value) for value in values]
        return None if any(a is None for a in found) else cast("list[Array]", found)

    def attributes(self, op: OnnxOp) -> dict[str, Any]:
        """The attributes as Python values."""
        return {name: python_value(a, self.weights) for name, a in op.attributes.items()}

    def summed(
        self,
        geometry: Convolution,
        weights: Array,
        bias: Array | None,
        factor: Array,
        zeros: tuple[int, int],
        scale: Any,
    ) -> Summed | None:
        """The layer with its zero points: `zeros` of input and result, `factor` the scales of products."""
        if weights.dtype != np.int8:
            return None
        axes = tuple(range(weights.ndim - 1))
        total = weights.sum(axis=axes, dtype=np.int64)
        whole = (0 if bias is None else bias.astype(np.int64)) - zeros[0] * total
        scales = np.broadcast_to((factor / scale).astype(np.float32), total.shape)
        if np.abs(whole).max(initial=0) > 2**31 - 1 or not usable(np.ascontiguousarray(scales).view(np.uint32)):
            return None
        return Summed(geometry, weights, whole.astype(np.int32), scales, zeros[0], (zeros[1], -128, 127))


def _is_bytes(value: SSAValue) -> bool:
    type_ = value.type
    if not isinstance(type_, TensorType) or not type_.has_static_shape() or 0 in type_.get_shape():
        return False
    return dtype_of(type_) in (np.dtype(np.int8), np.dtype(np.uint8))


def sizes(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor."""
    type_ = value.type
    assert isinstance(type_, TensorType)
    return tuple(type_.get_shape())


def image_shape(shape: Sequence[int]) -> tuple[int, int, int, int]:
    """The image that a tensor is."""
    if len(shape) == 4:
        return shape[0], shape[2], shape[3], shape[1]
    return 1, 1, prod(shape[:-1]), shape[-1] if shape else 1


def signed(number: Array) -> int:
    """A zero point or limit as one of signed bytes."""
    value = int(number.reshape(-1)[0])
    return value - 128 if number.dtype == np.uint8 else value


def signed_weights(weights: Array, zero: Array) -> Array | None:
    """Weights around 0; None where their zero points are others than that of signed bytes."""
    if weights.dtype == np.uint8:
        weights, zero = (weights ^ np.uint8(0x80)).view(np.int8), zero.astype(np.int64) - 128
    return weights if weights.dtype == np.int8 and not np.any(zero) else None


def _windows(
    told: dict[str, Any], image: tuple[int, int], channels: int, filters: int, kernel: Sequence[int]
) -> Convolution | None:
    """The geometry; None for padding that the result's size does not tell."""
    plain = Convolution(image, channels, filters, (kernel[0], kernel[1]))
    strides, dilations = told.get("strides", [1, 1]), told.get("dilations", [1, 1])
    pads = list(told.get("pads", [0, 0, 0, 0]))
    given = told.get("auto_pad", "NOTSET")
    if given not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER") or told.get("ceil_mode", 0):
        return None
    if given.startswith("SAME"):
        for axis in range(2):
            extent = (kernel[axis] - 1) * dilations[axis] + 1
            needed = max((-(-image[axis] // strides[axis]) - 1) * strides[axis] + extent - image[axis], 0)
            small, large = needed // 2, needed - needed // 2
            pads[axis], pads[2 + axis] = (small, large) if given == "SAME_UPPER" else (large, small)
    elif given == "VALID":
        pads = [0, 0, 0, 0]
    told_pads = (pads[0], pads[1], pads[2], pads[3])
    return replace(plain, strides=(strides[0], strides[1]), dilations=(dilations[0], dilations[1]), pads=told_pads)


def _convolution(r: Reader, op: OnnxOp) -> Layer | None:
    found = r.constants(op.operands[1:])
    shape = sizes(op.operands[0])
    if found is None or len(shape) != 4:
        return None
    x_scale, x_zero, w, w_scale, w_zero, scale, zero, *bias = found
    weights = signed_weights(w, w_zero)
    told = r.attributes(op)
    group = told.get("group", 1)
    if weights is None or scale.size != 1 or x_scale.size != 1:
        return None
    channels, filters, kernel = shape[1], w.shape[0], w.shape[2:]
    depthwise = group == channels == filters and group > 1
    geometry = _windows(told, (shape[2], shape[3]), channels, filters, kernel)
    if geometry is None:
        return None
    if depthwise and max(*kernel) > MOST_WINDOW:
        return None
    moved = weights.transpose(2, 3, 1, 0)
    factor = x_scale.reshape(-1)[0] * w_scale.reshape(-1)
    zeros = signed(x_zero), signed(zero)
    made = r.summed(geometry, moved, bias[0] if bias else None, factor, zeros, scale.reshape(-1)[0])
    if made is None:
        return None
    return replace(made, weights=moved[:, :, 0], depthwise=True) if depthwise else replace(made, groups=group)


def _gemm(r: Reader, op: OnnxOp) -> Layer | None:
    used = [v for v in op.operands[1:] if not is_absent(v)]
    found, told = r.constants(used), r.attributes(op)
    if found is None or told.get("transA", 0) or len(op.operands) < 9 or len(sizes(op.operands[0])) != 2:
        return None
    x_scale, x_zero, w, w_scale, w_zero, *bias, scale, zero = found
    weights = signed_weights(w.T if told.get("transB", 0) else w, w_zero)
    if weights is None or (bias and bias[0].size not in (1, weights.shape[1])):
        return None
    alpha = np.float32(told.get("alpha", 1.0))
    factor = x_scale.reshape(-1)[0] * alpha * w_scale.reshape(-1)
    return _product(r, op, weights, bias[0].reshape(-1) if bias else None, factor, (x_zero, zero), scale)


def _matmul(r: Reader, op: OnnxOp) -> Layer | None:
    if r.constant(op.operands[3]) is None:
        return _multiplied(r, op)
    found = r.constants(op.operands[1:])
    if found is None:
        return None
    x_scale, x_zero, w, w_scale, w_zero, scale, zero = found
    weights = signed_weights(w, w_zero) if w.ndim == 2 else None
    if weights is None or x_scale.size != 1 or scale.size != 1 or len(sizes(op.operands[0])) == 4:
        return None
    factor = x_scale.reshape(-1)[0] * w_scale.reshape(-1)
    return _product(r, op, weights, None, factor, (x_zero, zero), scale)


def _multiplied(r: Reader, op: OnnxOp) -> Layer | None:
    """As many products as both have matrices; around zero, as their sums tell nothing of other zero points."""
    found = r.constants([*op.operands[1:3], *op.operands[4:]])
    a, b = sizes(op.operands[0]), sizes(op.operands[3])
    if found is None or any(c.size != 1 for c in found) or not _is_bytes(op.operands[3]):
        return None
    a_scale, a_zero, b_scale, b_zero, scale, zero = found
    alike = len(a) == len(b) in (2, 3) and a[:-2] == b[:-2] and b[-1] <= _MOST_COLUMNS
    factor = (a_scale.reshape(-1) * b_scale.reshape(-1) / scale.reshape(-1)).astype(np.float32)
    if not alike or signed(a_zero) or signed(b_zero) or not usable(factor.view(np.uint32)):
        return None
    return Multiplied(prod(a[:-2]), b[-1], float(factor[0]), (signed(zero), -128, 127))


def _product(
    r: Reader, op: OnnxOp, weights: Array, bias: Array | None, factor: Array, zeros: tuple[Array, Array], scale: Array
) -> Layer | None:
    shape = sizes(op.operands[0])
    channels, filters = weights.shape
    geometry = Convolution((1, prod(shape[:-1])), channels, filters)
    told = signed(zeros[0]), signed(zeros[1])
    return r.summed(geometry, weights[None, None], bias, factor, told, scale.reshape(-1)[0])


def _add(r: Reader, op: OnnxOp) -> Layer | None:
    if sizes(op.operands[0]) != sizes(op.operands[3]) or len(op.operands) != 8:
        return None
    found = r.constants([*op.operands[1:3], *op.operands[4:]])
    if found is None or any(a.size != 1 for a in found) or r.constant(op.operands[3]) is not None:
        return None
    a_scale, a_zero, b_scale, b_zero, scale, zero = (a.reshape(-1) for a in found)
    ra, rb = a_scale[0] / scale[0], b_scale[0] / scale[0]
    offset = np.float32(signed(zero)) - (ra * np.float32(signed(a_zero)) + rb * np.float32(signed(b_zero)))
    factors = np.array([ra, rb, offset], np.float32)
    return Added((float(ra), float(rb), float(offset)), (0, -128, 127)) if usable(factors.view(np.uint32)) else None


def _mean(r: Reader, op: OnnxOp) -> Layer | None:
    found, shape = r.constants(op.operands[1:]), sizes(op.operands[0])
    if found is None or len(found) != 4 or len(shape) != 4 or r.attributes(op).get("channels_last", 0):
        return None
    x_scale, x_zero, scale, zero = found
    image = shape[2], shape[3]
    geometry = Convolution(image, shape[1], shape[1], image)
    ones = np.ones((*image, shape[1]), np.int8)
    below = scale.reshape(-1)[0] * np.float32(prod(image))
    zeros = signed(x_zero), signed(zero)
    made = r.summed(geometry, ones[:, :, None], None, x_scale.reshape(-1)[:1], zeros, below)
    if made is None:
        return None
    bias = np.full(shape[1], -zeros[0] * prod(image), np.int32)
    scales = np.full(shape[1], made.scale.reshape(-1)[0], np.float32)
    return replace(made, weights=ones, bias=bias, scale=scales, depthwise=True)


def _max_pool(r: Reader, op: OnnxOp) -> Layer | None:
    told, shape = r.attributes(op), sizes(op.operands[0])
    if len(shape) != 4 or told.get("storage_order", 0) or max(told["kernel_shape"]) > MOST_WINDOW:
        return None
    geometry = _windows(told, (shape[2], shape[3]), shape[1], shape[1], told["kernel_shape"])
    return None if geometry is None else Pooled(geometry)


def _clip(r: Reader, op: OnnxOp) -> Layer | None:
    bounds = [r.constant(v) for v in op.operands[1:]]
    before = op.operands[0].owner
    known = isinstance(before, OnnxOp) and len(list(op.operands[0].uses)) == 1
    if len(bounds) != 2 or any(b is None or b.size != 1 for b in bounds) or not known:
        return None
    assert isinstance(before, OnnxOp)
    if not isinstance(r.layer(before), Summed | Multiplied | Added):
        return None
    low, high = (signed(cast(Array, bound)) for bound in bounds)
    return Limited(low, high) if low <= high else None


def _concat(r: Reader, op: OnnxOp) -> Layer | None:
    rank, types = len(sizes(op.results[0])), {value.type.element_type for value in op.operands if _is_bytes(value)}  # pyright: ignore
    known = all(_is_bytes(value) and r.constant(value) is None for value in op.operands)
    channels = 1 if rank == 4 else rank - 1
    return Joined() if known and len(types) == 1 and r.attributes(op)["axis"] % rank == channels else None


def _reshaped(r: Reader, op: OnnxOp) -> Layer | None:
    shapes = sizes(op.operands[0]), sizes(op.results[0])
    before, after = (image_shape(shape) for shape in shapes)
    moved = 4 in (len(shape) for shape in shapes) and before[1:3] != (1, 1)  # channels come last, or do not
    return Same() if before == after and not moved else None


_READS: dict[str, Callable[[Reader, OnnxOp], Layer | None]] = {
    "onnx.QLinearConv": _convolution,
    "onnx.QLinearMatMul": _matmul,
    "onnx.MaxPool": _max_pool,
    "onnx.Clip": _clip,
    "onnx.Concat": _concat,
    f"{MICROSOFT}.QGemm": _gemm,
    f"{MICROSOFT}.QLinearAdd": _add,
    f"{MICROSOFT}.QLinearGlobalAveragePool": _mean,
    **{f"onnx.{name}": _reshaped for name in ("Flatten", "Reshape", "Squeeze", "Unsqueeze", "Identity")},
}
