"""Built-in functions that combine elements along axes; without `axis` along all of them."""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from ....stablehlo import ReturnOp
from ..types import TensorType
from . import kinds
from .builder import Builder, Region, Value, hlo, ints, ssa
from .elementwise import binary
from .table import Axes, builtin


@builtin("sum")
def sum_(b: Builder, x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The sum along axes, in the dtype of x."""
    x = kinds.accept(b, x, kinds.NUMBER, hint=_COUNT)
    return b.reduce("add", x, b.axes(x, axis), keepdims)


_COUNT = "to count what is true, cast: sum(i64(x))"


@builtin("prod")
def prod(b: Builder, x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The product along axes, in the dtype of x."""
    x = kinds.accept(b, x, kinds.NUMBER)
    return b.reduce("multiply", x, b.axes(x, axis), keepdims)


def _register_extreme(name: str, kind: str, op: type[hlo.BinaryOp], doc: str) -> None:
    @builtin(name)
    def extreme(b: Builder, x: Value, y: Value | None = None, axis: Axes = None, keepdims: bool = False) -> Value:
        if y is not None:
            for given in ("axis", "keepdims"):
                if given in b.places:
                    raise b.fail("E553", f"'{given}' is for the {name} of one tensor, here are two", given)
            return binary(b, op, kinds.ANY, x, y)
        x = kinds.accept(b, x, kinds.ANY)
        return b.reduce(kind, x, b.axes(x, axis), keepdims)

    extreme.__doc__ = doc


_register_extreme("max", "maximum", hlo.MaximumOp, "The largest along axes, or the larger of two; NaN where any is.")
_register_extreme("min", "minimum", hlo.MinimumOp, "The smallest along axes, or the smaller of two; NaN where any is.")


def _register_logical(name: str, kind: str, doc: str) -> None:
    @builtin(name)
    def logical(b: Builder, x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
        x = kinds.accept(b, x, (kinds.BOOLEAN,), hint="compare first: x != 0")
        return b.reduce(kind, x, b.axes(x, axis), keepdims)

    logical.__doc__ = doc


_register_logical("any", "or", "Whether any is true along axes.")
_register_logical("all", "and", "Whether all are true along axes.")


@builtin("mean")
def mean(b: Builder, x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The mean along axes; of floats and complex numbers."""
    x = kinds.accept(b, x, kinds.INEXACT)
    return _mean(b, x, b.axes(x, axis), keepdims)


def _mean(b: Builder, x: Value, axes: list[int], keepdims: bool) -> Value:
    total = b.reduce("add", x, axes, keepdims)
    return b.binary(hlo.DivideOp, total, b.splat(b.count(x, axes), total))


@builtin("variance")
def variance(b: Builder, x: Value, axis: Axes = None, keepdims: bool = False, ddof: int = 0) -> Value:
    """The variance along axes: the mean square distance from the mean, over count - ddof."""
    x = kinds.accept(b, x, kinds.FLOATS)
    return _variance(b, x, b.axes(x, axis), keepdims, ddof)


@builtin("std")
def std(b: Builder, x: Value, axis: Axes = None, keepdims: bool = False, ddof: int = 0) -> Value:
    """The standard deviation along axes: the root of the variance."""
    x = kinds.accept(b, x, kinds.FLOATS)
    return b.unary(hlo.SqrtOp, _variance(b, x, b.axes(x, axis), keepdims, ddof))


def _variance(b: Builder, x: Value, axes: list[int], keepdims: bool, ddof: int) -> Value:
    apart = b.binary(hlo.SubtractOp, x, b.broadcast_to(_mean(b, x, axes, True), x.type.shape))
    total = b.reduce("add", b.binary(hlo.MultiplyOp, apart, apart), axes, keepdims)
    return b.binary(hlo.DivideOp, total, b.splat(b.count(x, axes) - ddof, total))


@builtin("argmax")
def argmax(b: Builder, x: Value, axis: int | None = None, keepdims: bool = False) -> Value:
    """Where the largest is along an axis, i64: the first of equals, NaN counts as the largest."""
    return _arg(b, x, axis, keepdims, "GT")


@builtin("argmin")
def argmin(b: Builder, x: Value, axis: int | None = None, keepdims: bool = False) -> Value:
    """Where the smallest is along an axis, i64: the first of equals, NaN counts as the smallest."""
    return _arg(b, x, axis, keepdims, "LT")


def _arg(b: Builder, x: Value, axis: int | None, keepdims: bool, direction: str) -> Value:
    x = kinds.accept(b, x, kinds.REAL)
    whole = x
    if axis is None:
        x = b.reshape(x, [b.count(x, None)])
        along = 0
    else:
        along = b.axis(x, axis)
    dtype, shape = x.type.dtype, x.type.shape
    if b.emits and b.size(x, along) == 0:
        raise b.fail("E350", f"no {'largest' if direction == 'GT' else 'smallest'} of no elements", "x")
    places = b.iota("i32", shape, along)
    start = b.scalar(kinds.extreme(dtype, largest=direction == "LT"), dtype)
    outside = b.scalar(2**31 - 1, "i32")
    kept = [extent for i, extent in enumerate(shape) if i != along]
    _, found = b.results(
        lambda: hlo.ReduceOp(
            [ssa(x), ssa(places)],
            [ssa(start), ssa(outside)],
            dimensions=[along],
            body=_better(kinds.element_type(dtype), direction, kinds.may_be_nan(dtype)),
        ),
        [TensorType(dtype, tuple(kept)), TensorType("i32", tuple(kept))],
    )
    found = b.convert(found, "i64")
    if not keepdims:
        return found
    if axis is None:
        return b.reshape(found, [1] * len(whole.type.shape))
    return b.keep(found, x, [along])


def _better(element: kinds.Element, direction: str, nan: bool) -> Region:
    """((a, i), (b, j)) -> the pair whose value is first under `direction`, NaN before all, then the lower place."""
    value, index = kinds.scalar_tensor(element), kinds.scalar_tensor(i32)
    region, block = hlo.single_block([value, index, value, index])
    a, i, b, j = block.args

    def add(op: hlo.StableHLOOp) -> hlo.StableHLOOp:
        block.add_op(op)
        return op

    first = add(hlo.CompareOp(a, b, comparison_direction=direction))
    equal = add(hlo.CompareOp(a, b, comparison_direction="EQ"))
    if nan:
        nan_a = add(hlo.CompareOp(a, a, comparison_direction="NE"))
        nan_b = add(hlo.CompareOp(b, b, comparison_direction="NE"))
        both = add(hlo.AndOp(nan_a, nan_b))
        first = add(hlo.OrOp(first, nan_a))  # where both are, the earlier one is settled below
        equal = add(hlo.OrOp(equal, both))
        only_b = add(hlo.AndOp(nan_b, add(hlo.NotOp(nan_a))))
        first = add(hlo.AndOp(first, add(hlo.NotOp(only_b))))
    earlier = add(hlo.CompareOp(i, j, comparison_direction="LT"))
    tie = add(hlo.AndOp(equal, earlier))
    unequal = add(hlo.NotOp(equal))
    chosen = add(hlo.OrOp(add(hlo.AndOp(first, unequal)), tie))
    best, place = add(hlo.SelectOp(chosen, a, b)), add(hlo.SelectOp(chosen, i, j))
    block.add_op(ReturnOp([best, place]))
    return region


__all__ = ["ints"]
