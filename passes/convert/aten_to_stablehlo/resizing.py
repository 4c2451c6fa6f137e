"""ATen's upsampling: along each axis elements at known places, or sums of neighbours with known weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ....compiler.weights import Array
from ..onnx_to_stablehlo import resizing as onnx
from ..onnx_to_stablehlo.blending import blend
from .builder import AtenBuilder, Value, shape_of
from .table import lowers

Scales = Sequence[float] | None
Matrix = Callable[[int, int, bool, float | None], Array]
"""What makes the weights of `n` input elements for each of `m` output elements: (n, m, align_corners, scale)."""


def _sizes(
    b: AtenBuilder, x: Value, output_size: Sequence[int] | None, factors: Scales
) -> tuple[list[int], list[float | None]]:
    """The sizes wanted and, where they were given, the factors that lead to them."""
    own = shape_of(x)[2:]
    if output_size is not None:
        return list(output_size), [None] * len(own)
    assert factors is not None
    return [math.floor(n * f) for n, f in zip(own, factors, strict=True)], list(factors)


def _places(n: int, m: int, align_corners: bool, scale: float | None) -> Array:
    """Where in the input (n elements) each element of the output (m) lies."""
    if align_corners:
        return np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)
    return (np.arange(m) + 0.5) * (1 / scale if scale else n / m) - 0.5


def linear_matrix(n: int, m: int, align_corners: bool, scale: float | None) -> Array:
    """How much each of `n` elements counts for each of `m`, between its two neighbours."""
    places = np.maximum(_places(n, m, align_corners, scale), 0.0)
    return onnx.weights(places, n, onnx.Kernel(cubic=False), False)


def _cubic_matrix(n: int, m: int, align_corners: bool, scale: float | None) -> Array:
    """How much each of `n` elements counts for each of `m`, by a cubic through four neighbours."""
    return onnx.weights(_places(n, m, align_corners, scale), n, onnx.Kernel(cubic=True), False)


def _nearest_matrix(n: int, m: int, align_corners: bool, scale: float | None) -> Array:
    """1 for the one of `n` elements that each of `m` is."""
    return np.arange(n) == nearest_places(n, m, scale)[:, None]


def _resized(
    b: AtenBuilder,
    x: Value,
    sizes: Sequence[int],
    scales: Sequence[float | None],
    matrix: Matrix,
    align_corners: bool = False,
) -> Value:
    """`x` times the weights along each of its spatial dimensions."""
    own = shape_of(x)
    return blend(
        b,
        x,
        {
            axis: matrix(own[axis], m, align_corners, scale)
            for axis, (m, scale) in enumerate(zip(sizes, scales, strict=True), start=2)
            if own[axis] != m
        },
    )


def _backward(
    b: AtenBuilder,
    grad: Value,
    input_size: Sequence[int],
    scales: Sequence[float | None],
    matrix: Matrix,
    align_corners: bool = False,
) -> Value:
    """What each element of the input counted for: the product with the transposed weights."""
    grown = shape_of(grad)
    return blend(
        b,
        grad,
        {
            axis: matrix(input_size[axis], grown[axis], align_corners, scale).T
            for axis, scale in enumerate(scales, start=2)
            if input_size[axis] != grown[axis]
        },
    )


def nearest_places(n: int, m: int, scale: float | None, exact: bool = False) -> Array:
    """Which of `n` elements each of `m` is."""
    step = np.float32(1 / scale if scale else n / m)
    offset = np.float32(0.5 if exact else 0.0)
    places = np.floor((np.arange(m, dtype=np.float32) + offset) * step).astype(np.int64)
    return np.minimum(places, n - 1)


def _nearest(b: AtenBuilder, x: Value, sizes: Sequence[int], scales: Sequence[float | None], exact: bool) -> Value:
    own = shape_of(x)
    picks = {
        axis: nearest_places(own[axis], m, scale, exact)
        for axis, (m, scale) in enumerate(zip(sizes, scales, strict=True), start=2)
        if own[axis] != m
    }
    return onnx.pick(b, x, picks)


@lowers("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def nearest_vec(b: AtenBuilder, x: Value, output_size: Sequence[int] | None, scale_factors: Scales) -> Value:
    return _nearest(b, x, *_sizes(b, x, output_size, scale_factors), exact=False)


@lowers("_upsample_nearest_exact1d.vec", "_upsample_nearest_exact2d.vec")
def nearest_exact_vec(b: AtenBuilder, x: Value, output_size: Sequence[int] | None, scale_factors: Scales) -> Value:
    return _nearest(b, x, *_sizes(b, x, output_size, scale_factors), exact=True)


@lowers("upsample_nearest1d")
def nearest_1d(b: AtenBuilder, x: Value, output_size: Sequence[int], scales: float | None = None) -> Value:
    return _nearest(b, x, output_size, [scales], exact=False)


@lowers("upsample_nearest2d")
def nearest_2d(
    b: AtenBuilder, x: Value, output_size: Sequence[int], scales_h: float | None = None, scales_w: float | None = None
) -> Value:
    return _nearest(b, x, output_size, [scales_h, scales_w], exact=False)


@lowers("upsample_nearest2d_backward")
def nearest_2d_backward(
    b: AtenBuilder,
    grad_output: Value,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    return _backward(b, grad_output, input_size, [scales_h, scales_w], _nearest_matrix)


@lowers("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")
def linear_vec(
    b: AtenBuilder, x: Value, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Scales
) -> Value:
    return _resized(b, x, *_sizes(b, x, output_size, scale_factors), linear_matrix, align_corners)


@lowers("upsample_linear1d")
def linear_1d(
    b: AtenBuilder, x: Value, output_size: Sequence[int], align_corners: bool, scales: float | None = None
) -> Value:
    return _resized(b, x, output_size, [scales], linear_matrix, align_corners)


@lowers("upsample_bilinear2d")
def bilinear_2d(
    b: AtenBuilder,
    x: Value,
    output_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    return _resized(b, x, output_size, [scales_h, scales_w], linear_matrix, align_corners)


@lowers("upsample_bilinear2d_backward")
def bilinear_2d_backward(
    b: AtenBuilder,
    grad_output: Value,
    output_size: Sequence[int],
    input_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    return _backward(b, grad_output, input_size, [scales_h, scales_w], linear_matrix, align_corners)


@lowers("upsample_bicubic2d.vec")
def bicubic_vec(
    b: AtenBuilder, x: Value, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Scales
) -> Value:
    return _resized(b, x, *_sizes(b, x, output_size, scale_factors), _cubic_matrix, align_corners)


@lowers("upsample_bicubic2d")
def bicubic_2d(
    b: AtenBuilder,
    x: Value,
    output_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    return _resized(b, x, output_size, [scales_h, scales_w], _cubic_matrix, align_corners)


@lowers("upsample_bicubic2d_backward")
def bicubic_2d_backward(
    b: AtenBuilder,
    grad_output: Value,
    output_size: Sequence[int],
    input_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Value:
    return _backward(b, grad_output, input_size, [scales_h, scales_w], _cubic_matrix, align_corners)
