"""What the models of ai.onnx.ml have in common: rows of floats that come in, scores and labels that go out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import Float64Type, f32

from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .normalization import softmax

ML = "ai.onnx.ml"


def floats(b: GraphBuilder, x: Value) -> Value:
    """What models compute in: f64 stays, all else is f32."""
    return x if isinstance(element_of(x), Float64Type) else b.convert(x, f32)


def like(b: GraphBuilder, numbers: Sequence[float] | Array, x: Value) -> Value:
    return b.constant(np.asarray(numbers).astype(dtype_of(element_of(x))))


def matrix(b: GraphBuilder, x: Value) -> Value:
    return b.reshape(x, [1, *shape_of(x)]) if rank_of(x) == 1 else x


def transformed(b: GraphBuilder, scores: Value, how: str) -> Value:
    """The scores after `post_transform`."""
    match how:
        case "NONE":
            return scores
        case "LOGISTIC":
            return b(hlo.LogisticOp(scores))
        case "SOFTMAX":
            return softmax(b, scores, axis=1)
        case "SOFTMAX_ZERO":  # what is zero counts, but as if it were e^-max
            top = b.reduce("maximum", scores, [1], keepdims=True)
            zero = b.compare(b.abs(scores), 1e-7, "LE")
            grown = b.select(
                zero,
                b.multiply(scores, b.exponential(b.negate(top))),
                b.exponential(b.subtract(scores, top)),
            )
            total = b.reduce("add", grown, [1], keepdims=True)
            return b.select(b.compare(total, 0.0, "EQ"), b.scalar(0.5, element_of(scores)), b.divide(grown, total))
        case "PROBIT":
            return _probit(b, scores)
        case _:
            raise b.fail(f"post_transform '{how}' is not supported")


def _probit(b: GraphBuilder, x: Value) -> Value:
    """sqrt(2) times the inverse of erf at 2 x - 1, by Winitzki's formula, as other runtimes have it."""
    y = b.subtract(b.multiply(x, 2.0), 1.0)
    product = b.multiply(b.subtract(1.0, y), b.add(y, 1.0))
    log = b(hlo.LogOp(product))
    half = b.add(b.multiply(log, 0.5), 2 / (math.pi * 0.147))
    root = b.sqrt(b.subtract(b.multiply(half, half), b.multiply(log, 1 / 0.147)))
    size = b.multiply(b.sqrt(b.subtract(root, half)), math.sqrt(2))
    signed = b.select(b.compare(y, 0.0, "LT"), b.negate(size), size)
    return b.select(b.compare(product, 0.0, "EQ"), b.scalar(0.0, element_of(x)), signed)


def labelled(b: GraphBuilder, places: Value, labels: Sequence[int]) -> Value:
    """The labels at these places; without labels the places themselves."""
    if not labels or list(labels) == list(range(len(labels))):
        return places
    return looked_up(b, b.constant(np.array(labels, np.int64)), places)


def looked_up(b: GraphBuilder, table: Value, places: Value) -> Value:
    """Elements of a table of one dimension."""
    rank = rank_of(places)
    return b(
        hlo.GatherOp(
            table,
            places,
            collapsed_slice_dims=[0],
            start_index_map=[0],
            index_vector_dim=rank,
            slice_sizes=[1],
        )
    )
