"""Linear models of ai.onnx.ml, and support vector machines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i64

from .builder import GraphBuilder, Value, shape_of
from .reduction import arg_max
from .scores import ML, labelled, like, matrix, transformed
from .table import lowers


@lowers("LinearRegressor", domain=ML)
def linear_regressor(
    b: GraphBuilder,
    x: Value,
    *,
    coefficients: Sequence[float] = (),
    intercepts: Sequence[float] = (),
    post_transform: str = "NONE",
    targets: int = 1,
) -> Value:
    return transformed(b, _linear(b, matrix(b, x), coefficients, intercepts, targets), post_transform)


def _linear(
    b: GraphBuilder, x: Value, coefficients: Sequence[float], intercepts: Sequence[float], targets: int
) -> Value:
    wide = b.convert(x, f32)
    matrix = np.array(coefficients, np.float32).reshape(targets, -1)
    if matrix.shape[1] != shape_of(x)[1]:
        raise b.fail(f"{matrix.size} coefficients for {targets} targets of {shape_of(x)[1]} features")
    scores = b.dot(wide, b.constant(matrix), ([1], [1]))
    return b.add(scores, like(b, intercepts, scores)) if intercepts else scores


@lowers("LinearClassifier", domain=ML)
def linear_classifier(
    b: GraphBuilder,
    x: Value,
    *,
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> list[Value]:
    if classlabels_strings and b.wanted[0]:
        raise b.fail("labels that are strings have no generated code")
    features = shape_of(x)[-1]
    scores = _linear(b, matrix(b, x), coefficients, intercepts, len(coefficients) // features)
    if shape_of(scores)[1] == 1 and len(classlabels_ints or classlabels_strings) == 2:
        scores = b.concatenate([b.negate(scores), scores], 1)
    scores = transformed(b, scores, post_transform)
    if shape_of(scores)[1] == 1:
        hit = b.compare(b.reshape(scores, shape_of(scores)[:1]), 0.0 if post_transform == "NONE" else 0.5, "GE")
        label = classlabels_ints[0] if classlabels_ints else 1
        return [b.select(hit, b.scalar(label, i64), b.scalar(0, i64)), scores]
    return [labelled(b, arg_max(b, scores, axis=1, keepdims=0), classlabels_ints), scores]
