"""ATen's operators whose result is as large as the values say: the largest there can be, and how much of it counts."""

from __future__ import annotations

import math

from ..onnx_to_stablehlo import selection as onnx
from .builder import AtenBuilder, Value, rank_of, shape_of
from .table import lowers


@lowers("nonzero")
def nonzero(b: AtenBuilder, x: Value) -> Value:
    """The places of what is not zero, a row for each."""
    found = onnx.non_zero(b, x)
    result = b.transpose(found, [1, 0])
    for size in b.extents.get(found, {}).values():
        b.bounded(result, 0, size)
    return result


@lowers("masked_select")
def masked_select(b: AtenBuilder, x: Value, mask: Value) -> Value:
    shape = b.broadcast_shape(shape_of(x), shape_of(mask))
    flat = [b.reshape(b.broadcast_to(part, shape), [math.prod(shape)]) for part in (x, mask)]
    return onnx.compress(b, *flat)


@lowers("_unique2")
def unique(
    b: AtenBuilder, x: Value, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> list[Value]:
    """The numbers that occur, in order; of each element which one it is; how often each one occurs."""
    values, _, inverse, counts = onnx.unique(b, x)
    return [values, b.reshape(inverse, shape_of(x)), counts]


@lowers("unique_dim")
def unique_dim(
    b: AtenBuilder,
    x: Value,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> list[Value]:
    """The slices that occur along a dimension."""
    values, _, inverse, counts = onnx.unique(b, x, axis=b.axis(dim, rank_of(x)))
    return [values, inverse, counts]
