"""ONNX's operators on signals. A discrete Fourier transform is products with matrices of sines and cosines.

A length with factors is transformed in two steps (Cooley and Tukey 1965), so that no matrix is large.
"""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import Float64Type, f32

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from ....dialects.onnx.types import numpy_dtype
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .table import lowers
from .taking import windows

_DIRECT = 64  # lengths up to this are one product

Complex = tuple[Value, Value | None]  # real and imaginary part; None is zero


@lowers("DFT", since=20)
def dft(
    b: GraphBuilder,
    x: Value,
    dft_length: Value | None = None,
    axis: Value | None = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
) -> Value:
    along = -2 if axis is None else int(b.number(axis, "axis of DFT"))
    length = None if dft_length is None else int(b.number(dft_length, "length of DFT"))
    return _dft(b, x, along, length, bool(inverse), bool(onesided))


@lowers("DFT", since=17)
def dft_17(
    b: GraphBuilder, x: Value, dft_length: Value | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Value:
    length = None if dft_length is None else int(b.number(dft_length, "length of DFT"))
    return _dft(b, x, axis, length, bool(inverse), bool(onesided))


def _dft(b: GraphBuilder, x: Value, axis: int, length: int | None, inverse: bool, onesided: bool) -> Value:
    rank = rank_of(x)
    along = b.axis(axis, rank)
    if along == rank - 1 or shape_of(x)[-1] not in (1, 2):
        raise b.fail(f"DFT along axis {axis} of shape {list(shape_of(x))}: the last dimension is real and imaginary")
    own = shape_of(x)[along]
    backwards = inverse and onesided  # half of the frequencies of a real signal
    if length is None:
        length = 2 * (own - 1) if backwards else own
    if length < 1:
        raise b.fail(f"the length of DFT is {length}")
    real, imaginary = _parts(b, x if isinstance(element_of(x), Float64Type) else b.convert(x, f32))
    order = [*(i for i in range(rank - 1) if i != along), along]  # the transformed axis last
    taken = length // 2 + 1 if backwards else length
    signal = tuple(None if part is None else _fitted(b, b.transpose(part, order), taken) for part in (real, imaginary))
    if backwards:
        signal = _completed(b, signal, length)  # pyright: ignore[reportArgumentType]
    result = _transform(b, signal, length, 1 if inverse else -1)  # pyright: ignore[reportArgumentType]
    if onesided and not inverse:
        result = (_cut(b, result[0], length // 2 + 1), _cut(b, result[1], length // 2 + 1))
    back = [order.index(i) for i in range(rank - 1)]
    kept = [result[0]] if backwards else list(result)
    columns = [b.expand_dims(b.transpose(part, back), [rank - 1]) for part in kept]
    whole = b.concatenate(columns, rank - 1)
    return b.convert(b.divide(whole, float(length)) if inverse else whole, element_of(x))


def _parts(b: GraphBuilder, x: Value) -> Complex:
    last = rank_of(x) - 1
    parts = [b.reshape(b.slice_axis(x, last, i, i + 1), shape_of(x)[:-1]) for i in range(shape_of(x)[-1])]
    return parts[0], parts[1] if len(parts) > 1 else None


def _cut(b: GraphBuilder, x: Value, length: int) -> Value:
    return b.slice_axis(x, rank_of(x) - 1, 0, length)


def _fitted(b: GraphBuilder, x: Value, length: int) -> Value:
    """The last axis cut, or filled with zeros, to `length`."""
    rank, own = rank_of(x), shape_of(x)[-1]
    if own >= length:
        return _cut(b, x, length)
    return b.pad(x, b.scalar(0, element_of(x)), [0] * rank, [*[0] * (rank - 1), length - own])


def _completed(b: GraphBuilder, half: Complex, length: int) -> Complex:
    """All frequencies of a real signal from the first half: the others are conjugate."""
    last = rank_of(half[0]) - 1
    real, imaginary = half
    if imaginary is not None:  # the first frequency, and the middle one, are real whatever stands there
        keep = np.ones(length // 2 + 1)
        keep[0] = 0
        if length % 2 == 0:
            keep[-1] = 0
        imaginary = b.select(b.constant(keep.astype(np.bool_)), imaginary, 0.0)

    def rest(x: Value) -> Value:
        mirrored = b.slice_axis(x, last, 1, (length + 1) // 2)
        return b(hlo.ReverseOp(mirrored, dimensions=[last]))

    real = b.concatenate([real, rest(real)], last)
    if imaginary is not None:
        imaginary = b.concatenate([imaginary, b.negate(rest(imaginary))], last)
    return real, imaginary


def _transform(b: GraphBuilder, signal: Complex, n: int, sign: int) -> tuple[Value, Value]:
    """sum over t of x[t] exp(sign 2 pi i f t / n), along the last axis."""
    factor = next((p for p in range(math.isqrt(n), 1, -1) if n % p == 0), 1)
    if n <= _DIRECT or factor == 1:
        real, imaginary = signal
        if n % 2 or imaginary is None:
            return _folded(b, signal, n, sign)
        return _halved(b, real, imaginary, n, sign)
    # t = p a + b', f = q c + d with n = p q: over a, then a turn by the angle of (b', d), then over b'
    p, q = factor, n // factor
    lead = list(shape_of(signal[0])[:-1])
    swap = [*range(len(lead)), len(lead) + 1, len(lead)]

    def apart(x: Value | None) -> Value | None:
        return None if x is None else b.transpose(b.reshape(x, [*lead, q, p]), swap)  # [..., b', a]

    real, imaginary = _transform(b, (b.transpose(b.reshape(signal[0], [*lead, q, p]), swap), apart(signal[1])), q, sign)
    turn = np.exp(sign * 2j * np.pi * np.outer(np.arange(p), np.arange(q)) / n)
    real, imaginary = _turned(b, real, imaginary, turn)  # [..., b', d]
    real, imaginary = (b.transpose(part, swap) for part in (real, imaginary))  # [..., d, b']
    real, imaginary = _transform(b, (real, imaginary), p, sign)  # [..., d, c]
    return b.reshape(b.transpose(real, swap), [*lead, n]), b.reshape(b.transpose(imaginary, swap), [*lead, n])


def _constants(
    b: GraphBuilder, like: Value, array: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]
) -> list[Value]:
    dtype = dtype_of(element_of(like))
    return [b.constant(part.astype(dtype), name="fourier") for part in (array.real, array.imag)]


def _halved(b: GraphBuilder, real: Value, imaginary: Value, n: int, sign: int) -> tuple[Value, Value]:
    """Sums of what is n / 2 apart give the even frequencies, differences, turned, the odd ones."""
    half, last = n // 2, rank_of(real) - 1
    lead = list(shape_of(real)[:-1])
    halves = [[b.slice_axis(x, last, i * half, (i + 1) * half) for i in range(2)] for x in (real, imaginary)]
    sums = [b.add(x, y) for x, y in halves]
    turn = np.exp(sign * 2j * np.pi * np.arange(half) / n)
    differences = [b.subtract(x, y) for x, y in halves]
    turned = _turned(b, differences[0], differences[1], turn)
    both = [b.concatenate([b.expand_dims(x, [0]) for x in pair], 0) for pair in zip(sums, turned, strict=True)]
    found = _folded(b, (both[0], both[1]), half, sign)
    order = [*range(1, last + 2), 0]
    real, imaginary = (b.reshape(b.transpose(x, order), [*lead, n]) for x in found)
    return real, imaginary


def _folded(b: GraphBuilder, signal: Complex, n: int, sign: int) -> tuple[Value, Value]:
    """By products with cosines of sums, and with sines of differences, of what is as far from both ends."""
    pairs, last = (n - 1) // 2, rank_of(signal[0]) - 1
    most = n // 2 + 1

    def part(x: Value, start: int, stop: int, backwards: bool = False) -> Value:
        piece = b.slice_axis(x, last, start, stop)
        return b(hlo.ReverseOp(piece, dimensions=[last])) if backwards else piece

    angles = 2 * np.pi * (np.outer(np.arange(most), np.arange(most)) % n) / n
    dtype = dtype_of(element_of(signal[0]))
    cosines = b.constant(np.cos(angles).astype(dtype), name="fourier")
    sines = b.constant((sign * np.sin(angles[1 : pairs + 1])).astype(dtype), name="fourier")

    def times(x: Value, matrix: Value) -> Value:
        return b.dot(x, matrix, ([last], [0]))

    def even(x: Value) -> Value:
        middle = [part(x, n // 2, n // 2 + 1)] if n % 2 == 0 else []
        sums = [b.add(part(x, 1, pairs + 1), part(x, n - pairs, n, True))] if pairs else []
        return times(b.concatenate([part(x, 0, 1), *sums, *middle], last), cosines)

    def odd(x: Value) -> Value | None:
        return times(b.subtract(part(x, 1, pairs + 1), part(x, n - pairs, n, True)), sines) if pairs else None

    def joined(x: Value, y: Value | None, above: bool) -> Value:
        """x + y (or x - y) for the first frequencies, the other for those as far from the end."""
        if y is None:
            return x
        first, mirrored = (b.add(x, y), b.subtract(x, y)) if above else (b.subtract(x, y), b.add(x, y))
        return b.concatenate([first, part(mirrored, 1, pairs + 1, True)], last)

    real, imaginary = signal
    zero = b.broadcast_to(b.scalar(0, element_of(real)), [*shape_of(real)[:-1], most])
    if imaginary is None:
        whole = even(real)
        mirror = b.concatenate([whole, part(whole, 1, pairs + 1, True)], last) if pairs else whole
        return mirror, joined(zero, odd(real), True)
    return joined(even(real), odd(imaginary), False), joined(even(imaginary), odd(real), True)


def _turned(
    b: GraphBuilder, real: Value, imaginary: Value, by: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]
) -> tuple[Value, Value]:
    cos, sin = _constants(b, real, by)
    return (
        b.subtract(b.multiply(real, cos), b.multiply(imaginary, sin)),
        b.add(b.multiply(real, sin), b.multiply(imaginary, cos)),
    )


@lowers("STFT", since=17)
def stft(
    b: GraphBuilder,
    signal: Value,
    frame_step: Value,
    window: Value | None = None,
    frame_length: Value | None = None,
    *,
    onesided: int = 1,
) -> Value:
    """Frames of the signal, [batch, samples, 1 or 2], and a Fourier transform of each.

    A signal without the last dimension is real, as ONNX Runtime takes it.
    """
    step = int(b.number(frame_step, "frame_step of STFT"))
    if rank_of(signal) == 2:
        signal = b.expand_dims(signal, [2])
    if rank_of(signal) != 3:
        raise b.fail(f"the signal of STFT has the shape {list(shape_of(signal))}, expected [batch, samples, 1 or 2]")
    _, total, parts = shape_of(signal)
    if frame_length is not None:
        length = int(b.number(frame_length, "frame_length of STFT"))
    elif window is not None:
        length = shape_of(window)[0]
    else:
        raise b.fail("STFT has neither a window nor a frame_length")
    if step < 1 or not 0 < length <= total or (window is not None and shape_of(window) != (length,)):
        raise b.fail(f"STFT of {total} samples in frames of {length}, every {step}")
    if onesided and parts != 1:
        raise b.fail("STFT of complex samples has two sides")
    whole = windows(b, signal, 1, length, step)  # [batch, frames, length, parts]
    if window is not None:
        whole = b.multiply(whole, b.reshape(window, [1, 1, length, 1]))
    return _dft(b, whole, 2, None, False, bool(onesided))


@lowers("MelWeightMatrix", since=17)
def mel_weight_matrix(
    b: GraphBuilder,
    num_mel_bins: Value,
    dft_length: Value,
    sample_rate: Value,
    lower_edge_hertz: Value,
    upper_edge_hertz: Value,
    *,
    output_datatype: int = 1,
) -> Value:
    bins, length, rate = (
        int(b.number(x, f"{what} of MelWeightMatrix"))
        for x, what in ((num_mel_bins, "num_mel_bins"), (dft_length, "dft_length"), (sample_rate, "sample_rate"))
    )
    low, high = (
        2595 * np.log10(1 + float(b.number(x, "edges of MelWeightMatrix")) / 700)
        for x in (lower_edge_hertz, upper_edge_hertz)
    )
    mel = np.arange(bins + 2) * ((high - low) / (bins + 2)) + low
    edges = ((length + 1) * (700 * (10 ** (mel / 2595) - 1)) // rate).astype(np.int64)
    matrix = np.zeros((length // 2 + 1, bins))
    for i in range(bins):
        left, centre, right = edges[i : i + 3]
        rows = np.arange(matrix.shape[0])
        if left == centre:
            matrix[centre, i] = 1
        else:
            rising = (rows >= left) & (rows <= centre)
            matrix[rising, i] = (rows[rising] - left) / (centre - left)
        falling = (rows >= centre) & (rows < right)
        matrix[falling, i] = (right - rows[falling]) / max(right - centre, 1)
    return b.constant(matrix.astype(numpy_dtype(output_datatype)))
