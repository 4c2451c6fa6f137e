"""ONNX's reductions in hub ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import i32, i64

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, is_bool, is_float, rank_of, shape_of
from .table import lowers

Reduction = Callable[[GraphBuilder, Value, list[int], bool], Value]


def _sum(b: GraphBuilder, x: Value, axes: list[int], keep: bool) -> Value:
    return b.reduce("add", x, axes, keep)


def _extreme(kind: str) -> Reduction:
    def reduce(b: GraphBuilder, x: Value, axes: list[int], keep: bool) -> Value:
        if is_bool(x):
            return b.reduce("or" if kind == "maximum" else "and", x, axes, keep)
        return b.reduce(kind, x, axes, keep)

    return reduce


def _l1(b: GraphBuilder, x: Value, axes: list[int], keep: bool) -> Value:
    return _sum(b, b.abs(x), axes, keep)


def _l2(b: GraphBuilder, x: Value, axes: list[int], keep: bool) -> Value:
    squares = _sum_square(b, x, axes, keep)
    return b.sqrt(squares) if is_float(x) else b.power(squares, 0.5)


def _sum_square(b: GraphBuilder, x: Value, axes: list[int], keep: bool) -> Value:
    return _sum(b, b.multiply(x, x), axes, keep)


def _log_sum(b: GraphBuilder, x: Value, axes: list[int], keep: bool) -> Value:
    return b(hlo.LogOp(_sum(b, x, axes, keep)))


def _log_sum_exp(b: GraphBuilder, x: Value, axes: list[int], keep: bool) -> Value:
    # shifted by the maximum, where that is finite, so that exp cannot overflow
    top = b.reduce("maximum", x, axes, True)
    top = b.select(b(hlo.IsFiniteOp(top)), top, b.scalar(0.0, element_of(x)))
    total = b.add(b(hlo.LogOp(_sum(b, b.exponential(b.subtract(x, top)), axes, True))), top)
    if keep:
        return total
    return b.reshape(total, [n for i, n in enumerate(shape_of(total)) if i not in axes])


_REDUCTIONS: dict[str, tuple[int, Reduction]] = {  # operator -> since when axes are an input, meaning
    "ReduceSum": (13, _sum),
    "ReduceMean": (18, lambda b, x, axes, keep: b.mean(x, axes, keep)),
    "ReduceMax": (18, _extreme("maximum")),
    "ReduceMin": (18, _extreme("minimum")),
    "ReduceProd": (18, lambda b, x, axes, keep: b.reduce("multiply", x, axes, keep)),
    "ReduceL1": (18, _l1),
    "ReduceL2": (18, _l2),
    "ReduceSumSquare": (18, _sum_square),
    "ReduceLogSum": (18, _log_sum),
    "ReduceLogSumExp": (18, _log_sum_exp),
}


def _register(name: str, since: int, reduction: Reduction) -> None:
    @lowers(name, since=since)
    def by_input(
        b: GraphBuilder, x: Value, axes: Value | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Value:
        chosen = None if axes is None else b.ints(axes, f"axes of {name}")
        if not chosen and noop_with_empty_axes:
            return reduction(b, x, [], True)
        return reduction(b, x, b.axes(chosen or None, rank_of(x)), bool(keepdims))

    @lowers(name, since=1)
    def by_attribute(b: GraphBuilder, x: Value, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> Value:
        return reduction(b, x, b.axes(axes or None, rank_of(x)), bool(keepdims))

    _: Any = (by_input, by_attribute)


for _name, (_since, _reduction) in _REDUCTIONS.items():
    _register(_name, _since, _reduction)


@lowers("ArgMax")
def arg_max(b: GraphBuilder, x: Value, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Value:
    return _arg(b, x, "GT", axis, bool(keepdims), bool(select_last_index))


@lowers("ArgMin")
def arg_min(b: GraphBuilder, x: Value, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Value:
    return _arg(b, x, "LT", axis, bool(keepdims), bool(select_last_index))


def _arg(b: GraphBuilder, x: Value, direction: str, axis: int, keep: bool, last: bool) -> Value:
    """Where the extreme is: two plain reductions, of which each takes less than one of pairs. A NaN is the extreme."""
    along = b.axis(axis, rank_of(x))
    best = b.reduce("maximum" if direction == "GT" else "minimum", x, [along], True)
    there = b.compare(x, best, "EQ")
    if is_float(x):
        there = b.logical_or(there, b.compare(x, x, "NE"))  # with a NaN the extreme equals nothing
    places, nowhere = b.iota(shape_of(x), along, i32), b.scalar(-1 if last else 2**31 - 1, i32)
    found = b.reduce("maximum" if last else "minimum", b.select(there, places, nowhere), [along], keep)
    return b.convert(found, i64)
