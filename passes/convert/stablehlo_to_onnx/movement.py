"""Constants, and what only moves elements."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64

from ....compiler.dtypes import dtype_of
from ....compiler.semantics import plain
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo.constants import constant_value
from .builder import NodeBuilder, Value, element_of, shape_of
from .table import writes

_COUNTED = 4096  # a longer iota is counted by the model, not stored in it


@writes(hlo.ConstantOp)
def constant(b: NodeBuilder, op: hlo.ConstantOp) -> Value:
    array = constant_value(op, b.weights)
    assert array is not None
    if array.size > _COUNTED and not any(array.strides):  # one value repeated
        return b.expand(b.constant(array.reshape(-1)[:1].reshape([1] * array.ndim)), array.shape)
    return b.constant(array, op.results[0].name_hint or "weight")


@writes(hlo.IotaOp)
def iota(b: NodeBuilder, op: hlo.IotaOp) -> Value:
    kind, shape = element_of(op.results[0]), shape_of(op.results[0])
    axis = plain(op.properties["iota_dimension"])
    along = [n if d == axis else 1 for d, n in enumerate(shape)]
    if shape[axis] <= _COUNTED:
        return b.expand(b.constant(np.arange(shape[axis]).astype(dtype_of(kind)).reshape(along)), shape)
    ends = [b.number(n, i64) for n in (0, shape[axis], 1)]
    counts = b("Range", *ends, shape=[shape[axis]], element=i64)
    return b.expand(b.reshape(b.cast(counts, kind), along), shape)


@writes(hlo.ReshapeOp)
def reshape(b: NodeBuilder, op: hlo.ReshapeOp, x: Value) -> Value:
    return b.reshape(x, shape_of(op.results[0]))


@writes(hlo.TransposeOp)
def transpose(b: NodeBuilder, op: hlo.TransposeOp, x: Value) -> Value:
    return b.transpose(x, plain(op.properties["permutation"]))


@writes(hlo.BroadcastInDimOp)
def broadcast(b: NodeBuilder, op: hlo.BroadcastInDimOp, x: Value) -> Value:
    shape = shape_of(op.results[0])
    places = list(plain(op.properties["broadcast_dimensions"]))
    placed = [1] * len(shape)
    for place, size in zip(places, shape_of(x), strict=True):
        placed[place] = size
    ordered = b.transpose(x, sorted(range(len(places)), key=places.__getitem__))
    return b.expand(b.reshape(ordered, placed), shape)


@writes(hlo.ConcatenateOp)
def concatenate(b: NodeBuilder, op: hlo.ConcatenateOp, *xs: Value) -> Value:
    result = op.results[0]
    return b("Concat", *xs, shape=shape_of(result), element=element_of(result), axis=plain(op.properties["dimension"]))


@writes(hlo.SliceOp)
def slice_(b: NodeBuilder, op: hlo.SliceOp, x: Value) -> Value:
    names = ("start_indices", "limit_indices", "strides")
    start, limit, steps = (list(plain(op.properties[name])) for name in names)
    return b.slice(x, start, limit, steps)


@writes(hlo.PadOp)
def pad(b: NodeBuilder, op: hlo.PadOp, x: Value, value: Value) -> Value:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, gaps = (list(plain(op.properties[name])) for name in names)
    return b.pad(x, value, low, high, gaps)


@writes(hlo.ReverseOp)
def reverse(b: NodeBuilder, op: hlo.ReverseOp, x: Value) -> Value:
    return b.reverse(x, plain(op.properties["dimensions"]))


@writes(hlo.GetDimensionSizeOp)
def dimension_size(b: NodeBuilder, op: hlo.GetDimensionSizeOp, x: Value) -> Value:
    return b.constant(np.array(shape_of(x)[plain(op.properties["dimension"])], np.int32))
