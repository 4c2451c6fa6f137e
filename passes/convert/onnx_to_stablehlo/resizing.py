"""ONNX's Resize: along each axis a product with a matrix of weights that is known at compile time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .shape import take
from .table import lowers


@lowers("Resize", since=11)
def resize(
    b: GraphBuilder,
    x: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Value:
    if antialias or coordinate_transformation_mode == "tf_crop_and_resize":
        raise b.fail("Resize with antialias or tf_crop_and_resize is not supported")
    own, rank = shape_of(x), rank_of(x)
    along = list(range(rank)) if axes is None else [b.axis(a, rank) for a in axes]
    wanted, factors = list(own), [1.0] * rank
    if sizes is not None and shape_of(sizes) != (0,):
        given = b.ints(sizes, "sizes of Resize")
        ratios = [n / own[axis] for axis, n in zip(along, given, strict=True)]
        if keep_aspect_ratio_policy != "stretch":
            one = min(ratios) if keep_aspect_ratio_policy == "not_larger" else max(ratios)
            ratios = [one] * len(along)
            given = [math.floor(own[axis] * one + 0.5) for axis in along]
        for axis, n, ratio in zip(along, given, ratios, strict=True):
            wanted[axis], factors[axis] = n, ratio
    elif scales is not None:
        for axis, factor in zip(along, b.require_constant(scales, "scales of Resize").tolist(), strict=True):
            wanted[axis], factors[axis] = math.floor(own[axis] * factor), factor
    else:
        raise b.fail("Resize has neither scales nor sizes")
    for axis in range(rank):
        n, m, factor = own[axis], wanted[axis], factors[axis]
        if n == m and factor == 1.0:
            continue
        places = _source(np.arange(m), n, m, factor, coordinate_transformation_mode)
        if mode == "nearest":
            x = pick(b, x, np.clip(_round(places, nearest_mode), 0, n - 1), axis)
        else:
            cubic = mode == "cubic"
            x = _blend(b, x, weights(places, n, cubic, cubic_coeff_a, bool(exclude_outside)), axis)
    return x


@lowers("Resize", since=10)
def resize_10(b: GraphBuilder, x: Value, scales: Value, *, mode: str = "nearest") -> Value:
    return resize(b, x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@lowers("Upsample", since=9)
def upsample(b: GraphBuilder, x: Value, scales: Value, *, mode: str = "nearest") -> Value:
    return resize_10(b, x, scales, mode=mode)


@lowers("Upsample", since=7)
def upsample_7(b: GraphBuilder, x: Value, *, scales: Sequence[float], mode: str = "nearest") -> Value:
    return resize_10(b, x, b.constant(np.array(scales, np.float32)), mode=mode)


def _source(places: Array, n: int, m: int, factor: float, mode: str) -> Array:
    """Where in the input (n elements) each element of the output (m elements) lies."""
    match mode:
        case "half_pixel":
            return (places + 0.5) / factor - 0.5
        case "half_pixel_symmetric":
            adjustment = m / (factor * n)
            offset = n / 2 * (1 - adjustment)
            return offset + (places + 0.5) / factor - 0.5
        case "pytorch_half_pixel":
            return (places + 0.5) / factor - 0.5 if m > 1 else np.zeros(m)
        case "align_corners":
            return places * (n - 1) / (factor * n - 1) if m > 1 else np.zeros(m)
        case _:  # asymmetric
            return places / factor


def _round(places: Array, mode: str) -> Array:
    match mode:
        case "floor":
            rounded = np.floor(places)
        case "ceil":
            rounded = np.ceil(places)
        case "round_prefer_ceil":
            rounded = np.floor(places + 0.5)
        case _:  # round_prefer_floor
            rounded = np.ceil(places - 0.5)
    return rounded.astype(np.int64)


def pick(b: GraphBuilder, x: Value, positions: Array, axis: int) -> Value:
    n, m = shape_of(x)[axis], len(positions)
    if m % n == 0 and (positions == np.repeat(np.arange(n), m // n)).all():  # each element repeated
        wide = b.expand_dims(x, [axis + 1])
        shape = list(shape_of(wide))
        shape[axis + 1] = m // n
        repeated = b.broadcast_to(wide, shape)
        return b.reshape(repeated, [m if i == axis else size for i, size in enumerate(shape_of(x))])
    return take(b, x, positions, axis)


def weights(places: Array, n: int, cubic: bool, a: float, exclude_outside: bool) -> Array:
    """A matrix of output by input elements: how much each input counts for each output."""
    first = np.floor(places).astype(np.int64)
    part = places - first
    if cubic:
        taps = [-1, 0, 1, 2]
        t = [part + 1, part, 1 - part, 2 - part]
        near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t[1], t[2])]
        far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t[0], t[3])]
        factors = [far[0], near[0], near[1], far[1]]
    else:
        taps, factors = [0, 1], [1 - part, part]
    matrix = np.zeros((len(places), n))
    rows = np.arange(len(places))
    for tap, factor in zip(taps, factors, strict=True):
        position = first + tap
        inside = (position >= 0) & (position < n)
        factor = np.where(inside, factor, 0) if exclude_outside else factor
        np.add.at(matrix, (rows, np.clip(position, 0, n - 1)), factor)
    return matrix / matrix.sum(axis=1, keepdims=True) if exclude_outside else matrix


def _blend(b: GraphBuilder, x: Value, weights: Array, axis: int) -> Value:
    if not is_float(x):
        raise b.fail("Resize of integers is supported in mode nearest only")
    matrix = b.constant(weights.astype(dtype_of(element_of(x))), name="resize")
    product = b.dot(x, matrix, ([axis], [1]))  # the new axis comes out last
    rank = rank_of(x)
    order = [*range(axis), rank - 1, *range(axis, rank - 1)]
    return b.transpose(product, order)
