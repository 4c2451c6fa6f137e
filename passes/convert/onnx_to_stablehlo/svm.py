"""Support vector machines of ai.onnx.ml: kernels of the rows with the support vectors, then products."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64

from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, shape_of
from .loops import while_loop
from .reduction import arg_max
from .scores import ML, labelled, like, matrix, transformed
from .table import lowers

_PROBABILITY_STEPS = 100


def _kernels(b: GraphBuilder, x: Value, vectors: Array, kind: str, parameters: Sequence[float]) -> Value:
    """[rows, vectors] of rows [rows, features]."""
    gamma, offset, degree = parameters or (0.0, 0.0, 0.0)
    if vectors.shape[1] != shape_of(x)[1]:
        raise b.fail(f"vectors of {vectors.shape[1]} features for rows of {shape_of(x)[1]}")
    if kind == "RBF":
        apart = b.subtract(b.expand_dims(x, [1]), like(b, vectors[None], x))
        return b.exponential(b.multiply(b.reduce("add", b.multiply(apart, apart), [2]), -gamma))
    products = b.dot(x, like(b, vectors, x), ([1], [1]))
    if kind == "LINEAR":
        return products
    moved = b.add(b.multiply(products, gamma), offset)
    match kind:
        case "POLY":
            return b.power(moved, degree)
        case "SIGMOID":
            return b(hlo.TanhOp(moved))
        case _:
            raise b.fail(f"kernel_type '{kind}' is none of LINEAR, POLY, RBF, SIGMOID")


@lowers("SVMRegressor", domain=ML)
def svm_regressor(
    b: GraphBuilder,
    x: Value,
    *,
    coefficients: Sequence[float],
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    n_supports: int = 0,
    one_class: int = 0,
    post_transform: str = "NONE",
    rho: Sequence[float] = (0.0,),
    support_vectors: Sequence[float] = (),
) -> Value:
    rows = b.convert(matrix(b, x), f32)
    weights = np.array(coefficients, np.float32).reshape(1, -1)
    if n_supports:
        vectors = np.array(support_vectors, np.float32).reshape(n_supports, -1)
        rows = _kernels(b, rows, vectors, kernel_type, kernel_params)
    if weights.shape[1] != shape_of(rows)[1]:
        raise b.fail(f"{weights.shape[1]} coefficients for {shape_of(rows)[1]} values")
    scores = b.add(b.dot(rows, b.constant(weights), ([1], [1])), rho[0])
    if one_class:
        return b.select(b.compare(scores, 0.0, "GT"), b.scalar(1.0, element_of(scores)), -1.0)
    return transformed(b, scores, post_transform)


@lowers("SVMClassifier", domain=ML)
def svm_classifier(
    b: GraphBuilder,
    x: Value,
    *,
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    coefficients: Sequence[float],
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    post_transform: str = "NONE",
    prob_a: Sequence[float] = (),
    prob_b: Sequence[float] = (),
    rho: Sequence[float],
    support_vectors: Sequence[float] = (),
    vectors_per_class: Sequence[int] = (),
) -> list[Value]:
    """With support vectors every pair of classes votes (libsvm), without each class has a row of coefficients."""
    if classlabels_strings and b.wanted[0]:
        raise b.fail("labels that are strings have no generated code")
    rows = b.convert(matrix(b, x), f32)
    classes = max(len(classlabels_ints or classlabels_strings), 1)
    if sum(vectors_per_class):
        vectors = np.array(support_vectors, np.float32).reshape(sum(vectors_per_class), -1)
        kernels = _kernels(b, rows, vectors, kernel_type, kernel_params)
        scores = _of_pairs(b, kernels, np.array(coefficients, np.float32), vectors_per_class, rho)
        place = arg_max(b, _votes(b, scores, classes), axis=1, keepdims=0)
        if prob_a:
            scores = _coupled(b, _pair_probabilities(b, scores, classes, prob_a, prob_b))
    else:
        weights = np.array(coefficients, np.float32).reshape(classes, -1)
        scores = b.add(_kernels(b, rows, weights, "LINEAR", ()), rho[0])
        place = arg_max(b, scores, axis=1, keepdims=0)
    if len(rho) == 1 and classes == 1:  # one score tells two classes
        positive = b.compare(b.reshape(scores, shape_of(scores)[:1]), 0.0, "GT")
        return [b.convert(positive, i64), transformed(b, scores, post_transform)]
    if shape_of(scores)[1] == 1:
        scores = b.concatenate([b.negate(scores), scores], 1)
    return [labelled(b, place, classlabels_ints), transformed(b, scores, post_transform)]


def _of_pairs(
    b: GraphBuilder, kernels: Value, coefficients: Array, counts: Sequence[int], rho: Sequence[float]
) -> Value:
    """[rows, pairs]: above 0 where the first class of a pair is the likelier."""
    table = coefficients.reshape(len(counts) - 1, -1)
    ends = np.cumsum(counts)
    places = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    pairs = list(combinations(range(len(counts)), 2))
    weights = np.zeros((len(pairs), table.shape[1]), np.float32)
    for row, (i, j) in zip(weights, pairs, strict=True):
        row[places[i]], row[places[j]] = table[j - 1, places[i]], table[i, places[j]]
    scores = b.dot(kernels, b.constant(weights), ([1], [1]))
    return b.add(scores, like(b, rho, scores))


def _votes(b: GraphBuilder, scores: Value, classes: int) -> Value:
    """[rows, classes]: how many of its pairs each class wins."""
    firsts, seconds = (
        np.eye(classes, dtype=np.float32)[list(side)] for side in zip(*combinations(range(classes), 2), strict=True)
    )
    wins = b.convert(b.compare(scores, 0.0, "GT"), f32)
    return b.add(
        b.dot(wins, b.constant(firsts), ([1], [0])), b.dot(b.subtract(1.0, wins), b.constant(seconds), ([1], [0]))
    )


def _pair_probabilities(
    b: GraphBuilder, scores: Value, classes: int, slopes: Sequence[float], offsets: Sequence[float]
) -> Value:
    """[rows, i, j]: how likely class i is when it is i or j; 0 where i = j."""
    value = b.add(b.multiply(scores, like(b, slopes, scores)), like(b, offsets, scores))
    one = b.minimum(b.maximum(b(hlo.LogisticOp(b.negate(value))), 1e-7), 1 - 1e-7)
    first = np.zeros((len(slopes), classes, classes), np.float32)
    for k, (i, j) in enumerate(combinations(range(classes), 2)):
        first[k, i, j] = 1
    there = b.dot(one, b.constant(first), ([1], [0]))
    back = b.dot(b.subtract(1.0, one), b.constant(first.transpose(0, 2, 1)), ([1], [0]))
    return b.add(there, back)


def _coupled(b: GraphBuilder, pairs: Value) -> Value:
    """[rows, classes]: probabilities that fit those of the pairs best (Wu, Lin and Weng 2004, as libsvm finds them)."""
    rows, classes, _ = shape_of(pairs)
    flipped = b.transpose(pairs, [0, 2, 1])
    own = b.expand_dims(b.reduce("add", b.multiply(pairs, pairs), [1]), [2])
    errors = b.add(
        b.multiply(own, b.constant(np.eye(classes, dtype=np.float32)[None])),
        b.negate(b.multiply(pairs, flipped)),
    )
    start = b.broadcast_to(b.scalar(1 / classes, f32), [rows, classes])

    def products(inner: GraphBuilder, q: Value, p: Value) -> tuple[Value, Value]:
        each = inner.reduce("add", inner.multiply(q, inner.expand_dims(p, [1])), [2])
        return each, inner.reduce("add", inner.multiply(p, each), [1], keepdims=True)

    def unsettled(inner: GraphBuilder, q: Value, p: Value) -> Value:
        each, total = products(inner, q, p)
        worst = inner.reduce("maximum", inner.abs(inner.subtract(each, total)), [1], keepdims=True)
        return inner.compare(worst, 0.005 / classes, "GE")

    def goes_on(inner: GraphBuilder, state: Sequence[Value]) -> Value:
        count, q, p = state
        left = inner.compare(count, max(_PROBABILITY_STEPS, classes), "LT")
        return inner.logical_and(left, inner.reduce("or", unsettled(inner, q, p), [0, 1]))

    def step(inner: GraphBuilder, state: Sequence[Value]) -> Sequence[Value]:
        count, q, p = state
        each, total = products(inner, q, p)
        better = p
        for t in range(classes):
            row = inner.reshape(inner.slice_axis(q, 1, t, t + 1), [rows, classes])
            corner = inner.slice_axis(row, 1, t, t + 1)
            mine = inner.slice_axis(each, 1, t, t + 1)
            change = inner.divide(inner.subtract(total, mine), corner)
            grown = inner.add(change, 1.0)
            gain = inner.multiply(change, inner.add(inner.multiply(change, corner), inner.multiply(mine, 2.0)))
            total = inner.divide(inner.add(total, gain), inner.multiply(grown, grown))
            here = inner.constant((np.arange(classes) == t).astype(np.float32)[None])
            better = inner.divide(inner.add(better, inner.multiply(change, here)), grown)
            each = inner.divide(inner.add(each, inner.multiply(change, row)), grown)
        return [inner.add(count, 1), q, inner.select(unsettled(inner, q, p), better, p)]

    return while_loop(b, [b.scalar(0, i32), errors, start], goes_on, step)[2]
