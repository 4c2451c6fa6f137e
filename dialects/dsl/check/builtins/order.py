"""Built-in functions of order along an axis: sorting, the k best, running sums."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import TensorType
from ..values import TupleValue
from . import kinds
from .builder import Builder, Dim, Region, Value, hlo, ssa
from .table import builtin


@builtin("sort")
def sort(b: Builder, x: Value, axis: int = -1, descending: bool = False) -> Value:
    """The elements in order along an axis; NaN counts as the largest."""
    x = kinds.accept(b, x, kinds.REAL)
    return _sorted(b, [x], b.axis(x, axis), descending)[0]


@builtin("argsort")
def argsort(b: Builder, x: Value, axis: int = -1, descending: bool = False) -> Value:
    """Where the elements in order are, i64; equal ones stay in their order."""
    x = kinds.accept(b, x, kinds.REAL)
    return _with_places(b, x, b.axis(x, axis), descending)[1]


@builtin("topk")
def topk(b: Builder, x: Value, k: Dim, axis: int = -1, largest: bool = True) -> TupleValue:
    """The k largest (or smallest) along an axis, in order, and where they are (i64)."""
    x = kinds.accept(b, x, kinds.REAL)
    along = b.axis(x, axis)
    size = b.size(x, along)
    if isinstance(k, int) and isinstance(size, int) and not 0 <= k <= size:
        raise b.fail("E350", f"k is {k}, axis {axis} has {size} elements", "k")
    values, places = _with_places(b, x, along, largest)
    return b.tuple([b.slice_axis(values, along, 0, k), b.slice_axis(places, along, 0, k)])


def _with_places(b: Builder, x: Value, axis: int, descending: bool) -> list[Value]:
    return _sorted(b, [x, b.iota("i64", x.type.shape, axis)], axis, descending)


def _sorted(b: Builder, values: Sequence[Value], axis: int, descending: bool) -> list[Value]:
    """All sorted by the first."""
    types = [TensorType(v.type.dtype, v.type.shape) for v in values]
    return b.results(
        lambda: hlo.SortOp(
            [ssa(v) for v in values],
            _before([kinds.element_type(t.dtype) for t in types], descending, kinds.may_be_nan(types[0].dtype)),
            dimension=axis,
            is_stable=True,
        ),
        types,
    )


def _before(elements: Sequence[kinds.Element], descending: bool, nan: bool) -> Region:
    """(a0, b0, a1, b1, …) -> whether a0 comes before b0."""
    region, block = hlo.single_block([kinds.scalar_tensor(element) for element in elements for _ in range(2)])
    a, c = block.args[0], block.args[1]
    before = hlo.CompareOp(a, c, comparison_direction="GT" if descending else "LT")
    block.add_op(before)
    result: hlo.StableHLOOp = before
    if nan:
        number, other = (c, a) if descending else (a, c)
        is_number = hlo.CompareOp(number, number, comparison_direction="EQ")
        is_none = hlo.CompareOp(other, other, comparison_direction="NE")
        last = hlo.AndOp(is_number, is_none)
        result = hlo.OrOp(before, last)
        block.add_ops([is_number, is_none, last, result])
    block.add_op(hlo.ReturnOp([result]))
    return region


_STEPS = 16  # longer axes are combined by doubling: log2(n) additions of the whole instead of windows of n


def _register_running(name: str, kind: str, op: type[hlo.BinaryOp], accepted: tuple[str, ...], doc: str) -> None:
    @builtin(name)
    def running(b: Builder, x: Value, axis: int | None = None, exclusive: bool = False, reverse: bool = False) -> Value:
        x = kinds.accept(b, x, accepted)
        if axis is None:
            x = b.reshape(x, [b.count(x)])
        return _running(b, x, 0 if axis is None else b.axis(x, axis), kind, op, exclusive, reverse)

    running.__doc__ = doc


def _running(
    b: Builder, x: Value, axis: int, kind: str, op: type[hlo.BinaryOp], exclusive: bool, reverse: bool
) -> Value:
    """Each element combined with all before it (after it, when reversed)."""
    size = x.type.shape[axis]
    if not isinstance(size, int) or size == 0:
        return x  # of the same type
    neutral = b.scalar(kinds.neutral(kind, x.type.dtype), x.type.dtype)

    def shifted(value: Value, by: int) -> Value:
        low, high = [0] * len(value.type.shape), [0] * len(value.type.shape)
        low[axis], high[axis] = (-by, by) if reverse else (by, -by)
        return b.pad(value, neutral, low, high)

    if exclusive:
        x = shifted(x, 1)
    if size <= _STEPS:
        rank = len(x.type.shape)
        window, padding = [1] * rank, [[0, 0] for _ in range(rank)]
        window[axis], padding[axis] = size, [0, size - 1] if reverse else [size - 1, 0]
        return b.emit(
            lambda: hlo.ReduceWindowOp([ssa(x)], [ssa(neutral)], window_dimensions=window, padding=padding, body=kind),
            x.type.dtype,
            x.type.shape,
        )
    step = 1
    while step < size:
        x = b.binary(op, x, shifted(x, step))
        step *= 2
    return x


_register_running("cumsum", "add", hlo.AddOp, kinds.NUMBER, "Sums of all elements so far along an axis.")
_register_running("cumprod", "multiply", hlo.MultiplyOp, kinds.NUMBER, "Products of all elements so far.")
_register_running("cummax", "maximum", hlo.MaximumOp, kinds.REAL, "The largest element so far.")
_register_running("cummin", "minimum", hlo.MinimumOp, kinds.REAL, "The smallest element so far.")
