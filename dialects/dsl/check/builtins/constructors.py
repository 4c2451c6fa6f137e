"""Built-in functions that make tensors from a type: `zeros(f32[B, H])`."""

from __future__ import annotations

import math

import numpy as np

from . import kinds
from .builder import Builder, Value, hlo
from .table import Number, Type, builtin


@builtin("zeros")
def zeros(b: Builder, type: Type) -> Value:
    """All elements 0 (or false)."""
    return _filled(b, type, 0)


@builtin("ones")
def ones(b: Builder, type: Type) -> Value:
    """All elements 1 (or true)."""
    return _filled(b, type, 1)


def _filled(b: Builder, type: Type, number: Number) -> Value:
    return b.broadcast(b.scalar(number, type.dtype), type.shape, ())


@builtin("full")
def full(b: Builder, type: Type, value: Value) -> Value:
    """All elements `value`, a scalar of the type's dtype."""
    value = b.coerce(value, type.dtype, "value")
    if value.type.shape:
        raise b.fail("E350", f"full takes one value, got {value.type}", "value")
    return b.broadcast(value, type.shape, ())


@builtin("iota")
def iota(b: Builder, type: Type, axis: int = 0) -> Value:
    """The position along an axis: 0, 1, 2, …"""
    _counts(b, type)
    return b.iota(type.dtype, type.shape, b.axis(type, axis))


def _counts(b: Builder, type: Type) -> None:
    if wrong := [kind for kind in kinds.kinds_of(type.dtype) if kind not in kinds.NUMBER]:
        raise b.fail("E250", f"{b.name} counts in numbers, {type.dtype} may be {wrong[0]}", "type")


@builtin("arange")
def arange(b: Builder, start: Number, stop: Number | None = None, step: Number = 1) -> Value:
    """start, start + step, … up to, without, stop; of integers i64, else f32. `arange(n)` starts at 0."""
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise b.fail("E553", "the step is 0", "step")
    if not all(math.isfinite(n) for n in (first, last, step)):
        raise b.fail("E553", "arange takes finite numbers")
    whole = all(isinstance(n, int) for n in (first, last, step))
    count = max(-((first - last) // step) if whole else math.ceil((last - first) / step), 0)
    return _steps(b, first, step, int(count), "i64" if whole else "f32")


def _steps(b: Builder, first: Number, step: Number, count: int, dtype: str) -> Value:
    """first, first + step, … : written out where they are few."""
    if count <= 4096:
        return b.array(lambda: first + np.arange(count) * step, dtype, (count,))
    places = b.convert(b.iota("i64", (count,), 0), dtype)
    return b.binary(hlo.AddOp, b.binary(hlo.MultiplyOp, places, b.splat(step, places)), b.splat(first, places))


@builtin("linspace")
def linspace(b: Builder, start: Number, stop: Number, count: int) -> Value:
    """`count` numbers from start to stop, both included, evenly apart, in f32."""
    if count < 0:
        raise b.fail("E553", f"the count is {count}", "count")
    if not math.isfinite(start) or not math.isfinite(stop):
        raise b.fail("E553", "linspace takes finite numbers")
    return _steps(b, start, (stop - start) / max(count - 1, 1), count, "f32")


@builtin("eye")
def eye(b: Builder, type: Type, k: int = 0) -> Value:
    """1 where column - row = k, else 0; the matrices are the last two axes."""
    if len(type.shape) < 2:
        raise b.fail("E350", f"eye makes matrices, {type} has no two axes", "type")
    rank = len(type.shape)
    row, column = b.iota("i64", type.shape, rank - 2), b.iota("i64", type.shape, rank - 1)
    hit = b.compare(column, b.binary(hlo.AddOp, row, b.splat(k, row)), "EQ")
    return b.convert(hit, type.dtype)


@builtin("tril")
def tril(b: Builder, x: Value, k: int = 0) -> Value:
    """x with 0 above the k-th diagonal of the last two axes."""
    return _triangle(b, x, k, "LE")


@builtin("triu")
def triu(b: Builder, x: Value, k: int = 0) -> Value:
    """x with 0 below the k-th diagonal of the last two axes."""
    return _triangle(b, x, k, "GE")


def _triangle(b: Builder, x: Value, k: int, direction: str) -> Value:
    x = b.settle(x)
    if len(x.type.shape) < 2:
        raise b.fail("E350", f"{b.name} takes matrices, got {x.type}", "x")
    rank, shape = len(x.type.shape), x.type.shape
    row, column = b.iota("i64", shape, rank - 2), b.iota("i64", shape, rank - 1)
    kept = b.compare(column, b.binary(hlo.AddOp, row, b.splat(k, row)), direction)
    return b.select(kept, x, b.splat(0, x))
