"""Built-in functions of complex numbers, Fourier transforms, and other readings of the same bits."""

from __future__ import annotations

from . import kinds
from .builder import Builder, Dim, Extent, Value, hlo, ints, ssa
from .table import Axes, Type, builtin

_COMPLEX = {"f32": "c64", "f64": "c128"}


@builtin("real")
def real(b: Builder, x: Value) -> Value:
    """The real part."""
    x = kinds.accept(b, x, kinds.INEXACT)
    return b.unary(hlo.RealOp, x, kinds.real_part(x.type.dtype))


@builtin("imag")
def imag(b: Builder, x: Value) -> Value:
    """The imaginary part, of a real number 0."""
    x = kinds.accept(b, x, kinds.INEXACT)
    return b.unary(hlo.ImagOp, x, kinds.real_part(x.type.dtype))


@builtin("complex")
def complex_(b: Builder, re: Value, im: Value) -> Value:
    """The complex number with these parts: c64 of f32, c128 of f64."""
    re, im = b.common(re, im)
    kinds.accept(b, re, kinds.FLOATS, "re")
    return b.binary(hlo.ComplexOp, re, im, _complex(b, re, "re"))


def _complex(b: Builder, x: Value, at: str) -> str:
    dtype = _COMPLEX.get(str(x.type.dtype))
    if dtype is None:
        raise b.fail("E250", f"complex numbers have parts of f32 or f64, got {x.type.dtype}", at)
    return dtype


@builtin("conj")
def conj(b: Builder, x: Value) -> Value:
    """The complex conjugate."""
    x = kinds.accept(b, x, kinds.INEXACT)
    if kinds.kinds_of(x.type.dtype) == kinds.FLOATS:
        return x
    return b.binary(hlo.ComplexOp, real(b, x), b.unary(hlo.NegateOp, imag(b, x)), x.type.dtype)


@builtin("angle")
def angle(b: Builder, x: Value) -> Value:
    """The angle of a complex number, between -pi and pi."""
    x = kinds.accept(b, x, kinds.INEXACT)
    return b.binary(hlo.Atan2Op, imag(b, x), real(b, x))


@builtin("bitcast")
def bitcast(b: Builder, x: Value, dtype: Type) -> Value:
    """The same bits as another dtype: `bitcast(x, i32)`. A wider one takes the last axis, a narrower one adds one."""
    x = b.settle(x)
    old, new = x.type.dtype, dtype.dtype
    wide, narrow = kinds.bits(old), kinds.bits(new)
    shape: list[Extent] = list(x.type.shape)
    if wide > narrow:
        shape.append(wide // narrow)
    elif wide < narrow:
        if not shape or b.differ(shape[-1], narrow // wide):
            raise b.fail(
                "E350",
                f"{narrow // wide} elements of {old} make one of {new}: the last axis of {x.type} is not so long",
            )
        shape.pop()
    return b.emit(lambda: hlo.BitcastConvertOp(ssa(x), result_type=kinds.tensor(new, ints(shape))), new, shape)


# Fourier transforms: the hub's own, along the last axes; others are moved there and back.


def _transform(b: Builder, x: Value, kind: str, axes: list[int], lengths: list[Dim], dtype: object) -> Value:
    rank = len(x.type.shape)
    order = [i for i in range(rank) if i not in axes] + axes
    back = [order.index(i) for i in range(rank)]
    x = b.transpose(x, order)
    shape: list[Extent] = list(x.type.shape)
    if kind == "RFFT":
        shape[-1] = lengths[-1] // 2 + 1
    elif kind == "IRFFT":
        shape[-1] = lengths[-1]
    found = b.emit(lambda: hlo.FftOp(ssa(x), fft_type=kind, fft_length=ints(lengths)), dtype, shape)
    return b.transpose(found, back)


def _axes(b: Builder, x: Value, axes: Axes) -> list[int]:
    given = [axes] if isinstance(axes, int) else list(axes or ())
    found = [b.axis(x, axis) for axis in given]
    if not 1 <= len(found) <= 3 or len(set(found)) != len(found):
        raise b.fail("E351", f"a Fourier transform is along one to three axes, got {given}", "axis")
    return found


def _register_fft(name: str, kind: str, doc: str) -> None:
    @builtin(name)
    def transform(b: Builder, x: Value, axis: Axes = -1) -> Value:
        x = b.settle(x)
        if kinds.kinds_of(x.type.dtype) == kinds.FLOATS:
            x = b.binary(hlo.ComplexOp, x, b.splat(0.0, x), _complex(b, x, "x"))
        kinds.accept(b, x, (kinds.COMPLEX,))
        axes = _axes(b, x, axis)
        return _transform(b, x, kind, axes, [b.size(x, i) for i in axes], x.type.dtype)

    transform.__doc__ = doc


_register_fft("fft", "FFT", "The discrete Fourier transform along an axis, or up to three.")
_register_fft("ifft", "IFFT", "The inverse of fft.")


@builtin("rfft")
def rfft(b: Builder, x: Value, axis: Axes = -1) -> Value:
    """The Fourier transform of real numbers: n // 2 + 1 complex ones along the (last) axis."""
    x = kinds.accept(b, x, kinds.FLOATS)
    axes = _axes(b, x, axis)
    return _transform(b, x, "RFFT", axes, [b.size(x, i) for i in axes], _complex(b, x, "x"))


@builtin("irfft")
def irfft(b: Builder, x: Value, n: Dim | None = None, axis: Axes = -1) -> Value:
    """The inverse of rfft: n real numbers along the (last) axis, 2 * (m - 1) where n is not given."""
    x = kinds.accept(b, x, (kinds.COMPLEX,))
    axes = _axes(b, x, axis)
    last = 2 * (b.size(x, axes[-1]) - 1) if n is None else n
    if b.differ(last // 2 + 1, b.size(x, axes[-1])):
        raise b.fail("E350", f"{last} real numbers come from {last // 2 + 1} complex ones, got {x.type}", "n")
    lengths = [*(b.size(x, i) for i in axes[:-1]), last]
    return _transform(b, x, "IRFFT", axes, lengths, kinds.real_part(x.type.dtype))
