"""ATen's Fourier transforms in hub ops.

`dim` names the dimensions, of which the last is the one that a transform of real numbers halves; `normalization` says
what a result is divided by: nothing (0), the root of the number of points (1), that number (2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from .builder import AtenBuilder, Value, element_of, rank_of, shape_of
from .table import lowers

_MOST = 3  # dimensions of one op


@lowers("_fft_c2c")
def complex_to_complex(b: AtenBuilder, x: Value, dim: Sequence[int], normalization: int, forward: bool) -> Value:
    kind = "FFT" if forward else "IFFT"
    return _scaled(b, _along(b, x, dim, kind, kind), _points(x, dim), normalization, not forward)


@lowers("_fft_r2c")
def real_to_complex(b: AtenBuilder, x: Value, dim: Sequence[int], normalization: int, onesided: bool) -> Value:
    points = _points(x, dim)
    if not onesided:
        x = b(hlo.ComplexOp(x, b.zeros(shape_of(x), element_of(x))))
    return _scaled(b, _along(b, x, dim, "RFFT" if onesided else "FFT", "FFT"), points, normalization, False)


@lowers("_fft_c2r")
def complex_to_real(b: AtenBuilder, x: Value, dim: Sequence[int], normalization: int, last_dim_size: int) -> Value:
    last = b.axis(dim[-1], rank_of(x))
    x = b.slice_axis(x, last, 0, last_dim_size // 2 + 1)
    points = _points(x, dim[:-1]) * last_dim_size
    return _scaled(b, _along(b, x, dim, "IRFFT", "IFFT", last_dim_size), points, normalization, True)


def _along(b: AtenBuilder, x: Value, dim: Sequence[int], kind: str, others: str, last: int | None = None) -> Value:
    """Transforms of `kind` along the last three of `dim`, of the kind `others` along those before."""
    dim = [b.axis(d, rank_of(x)) for d in dim]
    if not dim:
        return x
    before, now = dim[:-_MOST], dim[-_MOST:]
    if kind == "IRFFT":  # makes real numbers, so it comes last
        x = _along(b, x, before, others, others)
    order = [d for d in range(rank_of(x)) if d not in now] + now
    moved = b.transpose(x, order)
    lengths = list(shape_of(moved)[-len(now) :])
    if last is not None:
        lengths[-1] = last
    moved = b(hlo.FftOp(moved, fft_type=kind, fft_length=lengths))
    result = b.transpose(moved, [order.index(d) for d in range(len(order))])
    return result if kind == "IRFFT" else _along(b, result, before, others, others)


def _points(x: Value, dim: Sequence[int]) -> int:
    return math.prod(shape_of(x)[d] for d in dim)


def _scaled(b: AtenBuilder, x: Value, points: int, normalization: int, inverse: bool) -> Value:
    """A transform divided as asked; the hub divides those back by the number of points."""
    divisor = (1.0, math.sqrt(points), float(points))[normalization]
    factor = points / divisor if inverse else 1 / divisor
    return x if factor == 1 else b.multiply(x, b.scalar(factor, element_of(x)))


@lowers("fft_fftfreq")
def frequencies(b: AtenBuilder, n: int, d: float = 1.0, *, dtype: Attribute | None = None) -> Value:
    return b.constant(np.fft.fftfreq(n, d).astype(dtype_of(dtype or f32)))


@lowers("fft_rfftfreq")
def frequencies_of_real(b: AtenBuilder, n: int, d: float = 1.0, *, dtype: Attribute | None = None) -> Value:
    return b.constant(np.fft.rfftfreq(n, d).astype(dtype_of(dtype or f32)))
