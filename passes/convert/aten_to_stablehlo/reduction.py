"""ATen's reductions and running sums in hub ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import Attribute

from ....dialects import stablehlo as hlo
from ..onnx_to_stablehlo import reduction as onnx
from ..onnx_to_stablehlo.regions import best_of_pairs
from .builder import AtenBuilder, Number, Value, element_of, is_bool, is_complex, is_float, rank_of, shape_of
from .table import lowers

Dims = Sequence[int] | int | None


def _axes(b: AtenBuilder, x: Value, dim: Dims) -> list[int]:
    """The reduced dimensions: all where none is named."""
    named = [dim] if isinstance(dim, int) else list(dim or ())
    if not rank_of(x):
        return []
    return b.axes(named or None, rank_of(x))


def _summed_as(x: Value, dtype: Attribute | None) -> Attribute:
    """What sums and products of `x` are computed in: integers and truth values as i64."""
    return dtype or (i64 if isinstance(element_of(x), IntegerType) else element_of(x))


@lowers("sum", "sum.dim_IntList")
def total(
    b: AtenBuilder, x: Value, dim: Dims = None, keepdim: bool = False, *, dtype: Attribute | None = None
) -> Value:
    element = _summed_as(x, dtype)
    wide = b.wide(b.convert(x, element))
    return b.convert(b.reduce("add", wide, _axes(b, x, dim), keepdim), element)


@lowers("mean", "mean.dim")
def mean(b: AtenBuilder, x: Value, dim: Dims = None, keepdim: bool = False, *, dtype: Attribute | None = None) -> Value:
    element = dtype or element_of(x)
    axes = _axes(b, x, dim)
    wide = b.wide(b.convert(x, element))
    if not math.prod(shape_of(x)[axis] for axis in axes):
        return b.divide(b.zeros([], element), 0.0)
    return b.convert(b.mean(wide, axes, keepdim), element)


@lowers("prod")
def product(b: AtenBuilder, x: Value, *, dtype: Attribute | None = None) -> Value:
    return b.reduce("multiply", b.convert(x, _summed_as(x, dtype)), _axes(b, x, None))


@lowers("prod.dim_int")
def product_dim(b: AtenBuilder, x: Value, dim: int, keepdim: bool = False, *, dtype: Attribute | None = None) -> Value:
    return b.reduce("multiply", b.convert(x, _summed_as(x, dtype)), _axes(b, x, dim), keepdim)


def _extreme(b: AtenBuilder, x: Value, dim: Dims, keepdim: bool, kind: str) -> Value:
    if is_bool(x):
        return b.reduce("or" if kind == "maximum" else "and", x, _axes(b, x, dim), keepdim)
    return b.reduce(kind, x, _axes(b, x, dim), keepdim)


@lowers("amax")
def amax(b: AtenBuilder, x: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return _extreme(b, x, dim, keepdim, "maximum")


@lowers("amin")
def amin(b: AtenBuilder, x: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return _extreme(b, x, dim, keepdim, "minimum")


@lowers("max")
def largest(b: AtenBuilder, x: Value) -> Value:
    return amax(b, x)


@lowers("min")
def smallest(b: AtenBuilder, x: Value) -> Value:
    return amin(b, x)


@lowers("aminmax")
def aminmax(b: AtenBuilder, x: Value, *, dim: int | None = None, keepdim: bool = False) -> list[Value]:
    return [amin(b, x, dim, keepdim), amax(b, x, dim, keepdim)]


@lowers("max.dim")
def max_dim(b: AtenBuilder, x: Value, dim: int, keepdim: bool = False) -> list[Value]:
    return [amax(b, x, [dim], keepdim), argmax(b, x, dim, keepdim)]


@lowers("min.dim")
def min_dim(b: AtenBuilder, x: Value, dim: int, keepdim: bool = False) -> list[Value]:
    return [amin(b, x, [dim], keepdim), argmin(b, x, dim, keepdim)]


@lowers("argmax")
def argmax(b: AtenBuilder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return _place(b, x, dim, keepdim, onnx.arg_max)


@lowers("argmin")
def argmin(b: AtenBuilder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return _place(b, x, dim, keepdim, onnx.arg_min)


def _place(b: AtenBuilder, x: Value, dim: int | None, keepdim: bool, find: Callable[..., Value]) -> Value:
    shape = shape_of(x)
    if not shape:
        return b.zeros([], i64)
    if is_bool(x):
        x = b.convert(x, IntegerType(8))
    if dim is None:
        found = find(b, b.reshape(x, [math.prod(shape)]), axis=0, keepdims=0)
        return b.reshape(found, [1] * len(shape)) if keepdim else found
    return find(b, x, axis=dim, keepdims=int(keepdim))


@lowers("any", "any.dim", "any.dims")
def any_(b: AtenBuilder, x: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return b.reduce("or", b.truth(x), _axes(b, x, dim), keepdim)


@lowers("all", "all.dim", "all.dims")
def all_(b: AtenBuilder, x: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return b.reduce("and", b.truth(x), _axes(b, x, dim), keepdim)


@lowers("var", "var.dim", "var.correction", "std", "std.dim", "std.correction", "var_mean.dim", "var_mean.correction")
def variance(
    b: AtenBuilder,
    x: Value,
    dim: Dims | bool = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> Value | list[Value]:
    """The mean of the squared distances from the mean, or the root of that, or with the mean."""
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    wide, axes = b.wide(x), _axes(b, x, dim)
    count = math.prod(shape_of(x)[axis] for axis in axes)
    freedom = float(count) - (float(unbiased) if correction is None else float(correction))
    centre = b.mean(wide, axes, keepdims=True)
    centred = b.subtract(wide, centre)
    sizes = b.abs(centred) if is_complex(x) else centred
    squares = b.reduce("add", b.multiply(sizes, sizes), axes, keepdim)
    spread = b.divide(squares, b.scalar(max(freedom, 0.0), element_of(squares)))
    if b.operator.startswith("aten.std"):
        spread = b.sqrt(spread)
    result = spread if is_complex(x) else b.convert(spread, element_of(x))
    if not b.operator.startswith("aten.var_mean"):
        return result
    flat = centre if keepdim else b.reshape(centre, shape_of(spread))
    return [result, b.convert(flat, element_of(x))]


@lowers("logsumexp")
def logsumexp(b: AtenBuilder, x: Value, dim: Dims, keepdim: bool = False) -> Value:
    axes = _axes(b, x, dim)
    top = b.reduce("maximum", x, axes, True)
    top = b.select(b(hlo.IsFiniteOp(top)), top, 0.0)
    total = b.add(b(hlo.LogOp(b.reduce("add", b.exponential(b.subtract(x, top)), axes, True))), top)
    return total if keepdim else b.reshape(total, [n for i, n in enumerate(shape_of(x)) if i not in axes])


@lowers("linalg_vector_norm")
def vector_norm(
    b: AtenBuilder,
    x: Value,
    ord: Number = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: Attribute | None = None,
) -> Value:
    x = b.convert(x, dtype) if dtype is not None else x
    axes = _axes(b, x, dim)
    if ord == 2:
        return b.sqrt(b.reduce("add", b.multiply(x, x), axes, keepdim))
    size = b.abs(x)
    if ord in (math.inf, -math.inf):
        return b.reduce("maximum" if ord > 0 else "minimum", size, axes, keepdim)
    if ord == 0:
        return b.reduce("add", b.convert(b.compare(x, 0.0, "NE"), element_of(x)), axes, keepdim)
    return b.power(b.reduce("add", b.power(size, float(ord)), axes, keepdim), 1 / float(ord))


# running along a dimension


def _running(b: AtenBuilder, x: Value, dim: int, kind: str, neutral: Number) -> Value:
    shape = shape_of(x)
    if not math.prod(shape) or not shape:
        return x
    axis = b.axis(dim, len(shape))
    window, padding = [1] * len(shape), [[0, 0] for _ in shape]
    window[axis], padding[axis] = shape[axis], [shape[axis] - 1, 0]
    start = b.scalar(neutral, element_of(x))
    return b(hlo.ReduceWindowOp([x], [start], window_dimensions=window, padding=padding, body=kind))


@lowers("cumsum")
def cumsum(b: AtenBuilder, x: Value, dim: int, *, dtype: Attribute | None = None) -> Value:
    element = _summed_as(x, dtype)
    return b.convert(_running(b, b.wide(b.convert(x, element)), dim, "add", 0), element)


@lowers("cumprod")
def cumprod(b: AtenBuilder, x: Value, dim: int, *, dtype: Attribute | None = None) -> Value:
    return _running(b, b.convert(x, _summed_as(x, dtype)), dim, "multiply", 1)


@lowers("cummax", "cummin")
def cummax(b: AtenBuilder, x: Value, dim: int) -> list[Value]:
    """The largest so far and the last place where it stood."""
    shape = shape_of(x)
    if not shape:
        return [x, b.zeros([], i64)]
    largest = b.operator.startswith("aten.cummax")
    axis = b.axis(dim, len(shape))
    window, padding = [1] * len(shape), [[0, 0] for _ in shape]
    window[axis], padding[axis] = shape[axis], [shape[axis] - 1, 0]
    worst = -math.inf if largest else math.inf
    if not is_float(x):
        raise b.fail("running extremes of integers are not supported")
    body = best_of_pairs(element_of(x), i64, "GT" if largest else "LT", last=True)
    places = b.iota(shape, axis, i64)
    starts = [b.scalar(worst, element_of(x)), b.scalar(-1, i64)]
    return b.all(hlo.ReduceWindowOp([x, places], starts, window_dimensions=window, padding=padding, body=body))
