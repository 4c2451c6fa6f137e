"""ATen's embedding_bag: rows of a table, added up, averaged or compared bag by bag."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i64

from ....dialects import stablehlo as hlo
from ..onnx_to_stablehlo import indexing as onnx
from .builder import AtenBuilder, Value, element_of, shape_of
from .table import lowers

SUM, MEAN, MAX = range(3)


@lowers("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    b: AtenBuilder,
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> list[Value]:
    """The bags; what PyTorch gives for the gradient besides is left out."""
    bags, count, width = shape_of(offsets)[0] - include_last_offset, shape_of(indices)[0], shape_of(weight)[1]
    starts = b.reshape(b.convert(offsets, i64), [shape_of(offsets)[0], 1])
    begun = b.compare(starts, b.iota([1, count], 1, i64), "LE")
    bag = b.subtract(b.reduce("add", b.convert(begun, i64), [0]), 1)  # the last bag that has begun
    if padding_idx >= 0:  # a place that is outside is dropped
        bag = b.select(b.compare(indices, padding_idx, "EQ"), bags, bag)
    rows = onnx.gather(b, weight, indices, axis=0)
    if per_sample_weights is not None:
        rows = b.multiply(rows, b.expand_dims(per_sample_weights, [1]))
    element = element_of(weight)
    one = b.broadcast_to(b.scalar(1, element), [count, 1])
    sizes = _added(b, bag, one, bags, 1, "add", 0.0)
    if mode == MAX:
        largest = _added(b, bag, rows, bags, width, "maximum", -math.inf)
        return [b.select(b.compare(sizes, 0.0, "GT"), largest, 0.0)]
    total = _added(b, bag, rows, bags, width, "add", 0.0)
    return [total if mode == SUM else b.divide(total, b.maximum(sizes, 1.0))]


def _added(b: AtenBuilder, bag: Value, rows: Value, bags: int, width: int, kind: str, start: float) -> Value:
    """[bags, width]: the rows of each bag together; rows of a bag that there is not are left out."""
    return b(
        hlo.ScatterOp(
            [b.broadcast_to(b.scalar(start, element_of(rows)), [bags, width])],
            b.expand_dims(bag, [1]),
            [rows],
            update_computation=kind,
            update_window_dims=[1],
            inserted_window_dims=[0],
            scatter_dims_to_operand_dims=[0],
            index_vector_dim=1,
        )
    )
