"""ONNX's Resize: along each axis elements at known places, or sums of neighbours with known weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....compiler.weights import Array
from .blending import blend
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .table import lowers
from .taking import repeat, take


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
    _check(b, "mode", mode, ("nearest", "linear", "cubic"))
    _check(b, "coordinate_transformation_mode", coordinate_transformation_mode, TRANSFORMATIONS)
    _check(b, "nearest_mode", nearest_mode, ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"))
    _check(b, "keep_aspect_ratio_policy", keep_aspect_ratio_policy, ("stretch", "not_larger", "not_smaller"))
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
    crop = coordinate_transformation_mode == "tf_crop_and_resize"
    starts, ends = [0.0] * rank, [1.0] * rank
    if crop:
        if roi is None:
            raise b.fail("Resize in mode tf_crop_and_resize has no roi")
        region = b.require_constant(roi, "roi of Resize").astype(np.float64).tolist()
        for i, axis in enumerate(along):
            starts[axis], ends[axis] = region[i], region[i + len(along)]
    outside: list[Array] = []
    picks: dict[int, Array] = {}
    matrices: dict[int, Array] = {}
    for axis in range(rank):
        n, m, factor = own[axis], wanted[axis], factors[axis]
        if n == m and factor == 1.0 and (starts[axis], ends[axis]) == (0.0, 1.0):
            continue
        if crop:
            places = _cropped(np.arange(m), n, factor * n, starts[axis], ends[axis])
            outside.append(((places < 0) | (places > n - 1)).reshape([m if i == axis else 1 for i in range(rank)]))
        else:
            places = _source(np.arange(m), n, m, factor, coordinate_transformation_mode)
        if mode == "nearest":
            picks[axis] = np.clip(_round(places, nearest_mode), 0, n - 1)
        else:
            kernel = Kernel(mode == "cubic", cubic_coeff_a, min(factor, 1.0) if antialias else 1.0)
            matrices[axis] = weights(places, n, kernel, bool(exclude_outside))
    if matrices and not is_float(x):
        raise b.fail("Resize of integers is supported in mode nearest only")
    x = blend(b, pick(b, x, picks), matrices) if matrices else pick(b, x, picks)
    for out in outside:
        if out.any():
            x = b.select(b.constant(out), b.scalar(extrapolation_value, element_of(x)), x)
    return x


TRANSFORMATIONS = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)


def _check(b: GraphBuilder, what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise b.fail(f"{what} '{value}' of Resize is none of {', '.join(known)}")


def _cropped(places: Array, n: int, width: float, start: float, end: float) -> Array:
    """Where in the region between `start` and `end`, parts of the whole, each element of the output lies."""
    if width == 1:
        return np.full(len(places), (end - start) * (n - 1) / 2) + start * (n - 1)
    return places * (end - start) * (n - 1) / (width - 1) + start * (n - 1)


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
        case "tf_half_pixel_for_nn":  # of opset 11 and 12; TensorFlow's converter writes it later, too
            return (places + 0.5) / factor
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


def pick(b: GraphBuilder, x: Value, picks: Mapping[int, Array]) -> Value:
    """The elements at known positions along each of the axes."""
    counts: dict[int, int] = {}
    for axis, positions in picks.items():
        n, m = shape_of(x)[axis], len(positions)
        if n and m % n == 0 and (positions == np.repeat(np.arange(n), m // n)).all():  # each element repeated
            counts[axis] = m // n
        else:
            x = take(b, x, positions, axis)
    return repeat(b, x, counts)


@dataclass(frozen=True)
class Kernel:
    """How much an element counts by its distance: a tent, or Keys' cubic; wider by 1 / `scale` against aliasing."""

    cubic: bool
    a: float = -0.75
    scale: float = 1.0

    def __call__(self, distance: Array) -> Array:
        d, a = np.abs(distance * self.scale), self.a
        if not self.cubic:
            return np.clip(1 - d, 0, 1)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0))

    @property
    def reach(self) -> int:
        """The first element, seen from the one before a place."""
        return math.floor(-(2 if self.cubic else 1) / self.scale) + 1


def weights(places: Array, n: int, kernel: Kernel, exclude_outside: bool) -> Array:
    """A matrix of output by input elements: how much each input counts for each output."""
    before = np.ceil(places).astype(np.int64) - 1
    taps = np.arange(kernel.reach, 2 - kernel.reach)
    positions = before[:, None] + taps
    factors = kernel(positions - places[:, None])
    if kernel.scale != 1:
        factors = factors / factors.sum(axis=1, keepdims=True)
    if exclude_outside:
        factors = np.where((positions >= 0) & (positions < n), factors, 0)
    matrix = np.zeros((len(places), n))
    np.add.at(matrix, (np.arange(len(places))[:, None], np.clip(positions, 0, n - 1)), factors)
    return matrix / matrix.sum(axis=1, keepdims=True) if exclude_outside else matrix
