"""stablehlo-expand-fft: Fourier transforms become products with matrices of roots of unity.

before: %y = stablehlo.fft %x, type = FFT, length = [8] : (tensor<3x8xcomplex<f32>>) -> tensor<3x8xcomplex<f32>>
after:  %re, %im = ...                                          // the parts of %x
        %0 = stablehlo.concatenate %re, %im, dim = 1 : (...) -> tensor<3x16xf32>
        %1 = stablehlo.dot_general %0, %roots, contracting_dims = [1] x [0] : (...) -> tensor<3x16xf32>
        %y = stablehlo.complex %2, %3                           // its halves

A transform of up to `DIRECT` points is one product. One of n = p q points is a matrix of p by q: transforms down the
columns, a factor for each element, transforms along the rows, and its transpose (Cooley and Tukey 1965). One of more
points, of a prime number, is a convolution, for which it is multiplied in the next power of two (Bluestein 1970).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.dtypes import dtype_of
from ...compiler.weights import Array, WeightStore
from ...dialects.stablehlo import (
    ComplexOp,
    ConcatenateOp,
    DotGeneralOp,
    FftOp,
    ImagOp,
    PadOp,
    RealOp,
    ReverseOp,
    TransposeOp,
    ints,
)
from ...dialects.stablehlo.constants import make_constant
from .elements import Elements, before
from .expansion import expand

DIRECT = 64
"""Transforms of up to so many points are one product with a matrix."""


@dataclass(frozen=True)
class ExpandFft(ModulePass):
    """Fourier transforms in terms of products."""

    name = "stablehlo-expand-fft"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = lamina_context(ctx).weights
        expand(op, {FftOp: lambda fft: [_expanded(fft, weights)]})


def _expanded(op: FftOp, weights: WeightStore) -> SSAValue:
    insert, kind, lengths = before(op), op.fft_type.data.value, ints(op.fft_length)
    if 0 in op.result.type.get_shape():
        empty = np.zeros(op.result.type.get_shape(), dtype_of(op.result.type))
        return insert(make_constant(empty, weights)).results[0]
    transform = _Transform(weights, -1.0 if kind in ("FFT", "RFFT") else 1.0)
    first = op.operand.type.get_num_dims() - len(lengths)
    axes = [(first + i, n) for i, n in enumerate(lengths)]
    if kind == "RFFT":
        *others, (last, n) = axes
        x = transform.along(_Signal(Elements(insert, op.operand), None), last, n, n // 2 + 1)
        axes = others
    else:
        x = _Signal(*(Elements(insert, insert(part(op.operand)).results[0]) for part in (RealOp, ImagOp)))
    for axis, n in axes:
        x = _mirrored(x, n) if kind == "IRFFT" and axis == axes[-1][0] else x
        x = transform.along(x, axis, n, n)
    if kind == "IRFFT":
        return x.re.value
    return insert(ComplexOp(x.re.value, x.imaginary.value)).results[0]


@dataclass(frozen=True)
class _Signal:
    """The parts of complex numbers; real numbers have no second one."""

    re: Elements
    im: Elements | None

    @property
    def imaginary(self) -> Elements:
        return self.re.like(0.0) if self.im is None else self.im

    def both(self, function: Callable[[Elements], Elements]) -> _Signal:
        """Both parts moved in the same way."""
        return _Signal(function(self.re), None if self.im is None else function(self.im))

    def times(self, factors: Array, weights: WeightStore) -> _Signal:
        """Each element times a number that is known, over the last dimensions."""
        c, s = (_constant(self.re, part, weights) for part in (np.real(factors), np.imag(factors)))
        if self.im is None:
            return _Signal(self.re * c, self.re * s)
        return _Signal(self.re * c - self.im * s, self.re * s + self.im * c)


def _constant(like: Elements, array: Array, weights: WeightStore) -> Elements:
    """An array of the element type of `like`, repeated along the dimensions that it has before those of the array."""
    typed = np.ascontiguousarray(array).astype(dtype_of(like.element_type))
    made = like.of(make_constant(typed, weights, "roots"))
    rank = len(like.shape)
    return made if made.shape == like.shape else made.broadcast(like.shape, tuple(range(rank - array.ndim, rank)))


def _mirrored(x: _Signal, n: int) -> _Signal:
    """All n frequencies of a real signal from the first n // 2 + 1, over the last dimension."""
    axis = len(x.re.shape) - 1

    def whole(part: Elements, sign: float) -> Elements:
        rest = n - part.shape[axis]
        if rest <= 0:
            return part.part(axis, 0, n)
        back = part.of(ReverseOp(part.part(axis, 1, rest + 1).value, dimensions=[axis]))
        return part.of(ConcatenateOp([part.value, (back * sign).value], dimension=axis))

    return _Signal(whole(x.re, 1.0), whole(x.imaginary, -1.0))


@dataclass(frozen=True)
class _Transform:
    """Transforms with exp(sign 2 pi i / n) for the root; divided by n where the sign is positive."""

    weights: WeightStore
    sign: float

    def along(self, x: _Signal, axis: int, n: int, keep: int) -> _Signal:
        """Of the n points along `axis`; the first `keep` frequencies."""
        last = len(x.re.shape) - 1
        order = [i for i in range(last + 1) if i != axis] + [axis]
        found = self.last(_transposed(x, order), n, 1 / n if self.sign > 0 else 1.0)
        found = found.both(lambda part: part.part(last, 0, keep))
        return _transposed(found, [order.index(i) for i in range(last + 1)])

    def last(self, x: _Signal, n: int, scale: float) -> _Signal:
        """Of the n points in the last dimension."""
        if n <= DIRECT:
            return self._product(x, n, scale)
        columns = max(k for k in range(1, DIRECT + 1) if n % k == 0)
        return self._convolution(x, n, scale) if columns == 1 else self._matrix(x, n // columns, columns, scale)

    def roots(self, exponents: Array, n: int) -> Array:
        """The powers of the n-th root of unity, in f64."""
        return np.exp(self.sign * 2j * np.pi * (exponents % n) / n)

    def _product(self, x: _Signal, n: int, scale: float) -> _Signal:
        """The parts side by side times the matrix that multiplies by complex numbers."""
        roots = self.roots(np.outer(np.arange(n), np.arange(n)), n) * scale
        rows = [np.concatenate([roots.real, roots.imag], 1)]
        operand, axis = x.re, len(x.re.shape) - 1
        if x.im is not None:
            rows.append(np.concatenate([-roots.imag, roots.real], 1))
            operand = x.re.of(ConcatenateOp([x.re.value, x.im.value], dimension=axis))
        matrix = np.concatenate(rows, 0).astype(dtype_of(x.re.element_type))
        constant = x.re.of(make_constant(matrix, self.weights, "roots"))
        product = DotGeneralOp(
            operand.value, constant.value, lhs_contracting_dimensions=[axis], rhs_contracting_dimensions=[0]
        )
        found = x.re.of(product)
        return _Signal(found.part(axis, 0, n), found.part(axis, n, 2 * n))

    def _matrix(self, x: _Signal, rows: int, columns: int, scale: float) -> _Signal:
        """Of rows x columns points: element (i, j) is number i * columns + j, frequency (k, l) is k + rows * l."""
        n, rank = rows * columns, len(x.re.shape)
        order = [*range(rank - 1), rank, rank - 1]
        x = x.both(lambda part: part.reshape(*part.shape[:-1], rows, columns))
        x = _transposed(self.last(_transposed(x, order), rows, 1.0), order)
        x = x.times(self.roots(np.outer(np.arange(rows), np.arange(columns)), n), self.weights)
        x = _transposed(self.last(x, columns, scale), order)
        return x.both(lambda part: part.reshape(*part.shape[:-2], n))

    def _convolution(self, x: _Signal, n: int, scale: float) -> _Signal:
        """jk = (j^2 + k^2 - (k - j)^2) / 2, so that a transform is a convolution with exp(-sign pi i j^2 / n)."""
        size, squares = 1 << (2 * n - 2).bit_length(), np.arange(n, dtype=np.int64) ** 2
        chirp = self.roots(squares, 2 * n)
        padded = np.zeros(size, np.complex128)
        padded[:n] = np.conj(chirp)
        padded[size - n + 1 :] = np.conj(chirp[:0:-1])
        forward, backward = _Transform(self.weights, -1.0), _Transform(self.weights, 1.0)
        x = x.times(chirp, self.weights)
        rank = len(x.re.shape)
        high = [0] * (rank - 1) + [size - n]

        def extended(part: Elements) -> Elements:
            zero = part.of(make_constant(np.zeros((), dtype_of(part.element_type)), self.weights))
            return part.of(PadOp(part.value, zero.value, edge_padding_low=[0] * rank, edge_padding_high=high))

        spectrum = forward.last(x.both(extended), size, 1.0).times(np.fft.fft(padded), self.weights)
        found = backward.last(spectrum, size, 1 / size).both(lambda part: part.part(rank - 1, 0, n))
        return found.times(chirp * scale, self.weights)


def _transposed(x: _Signal, order: list[int]) -> _Signal:
    if order == list(range(len(order))):
        return x
    return x.both(lambda part: part.of(TransposeOp(part.value, permutation=order)))
