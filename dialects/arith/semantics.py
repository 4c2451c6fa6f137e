"""What arith ops mean, on NumPy scalars, vectors or whole iteration spaces alike.

Integers wrap; signless integers are held as signed ones, so the unsigned ops reinterpret. What MLIR leaves
undefined (division by zero, shifts beyond the width) gives some value here, never an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, FloatAttr, IntegerAttr
from xdsl.ir import Operation

from ...compiler.dtypes import DType, dense_array, dtype_of
from ...compiler.semantics import Call, semantics
from ...compiler.weights import Array, WeightStore


def attribute_array(attr: Any, weights: WeightStore) -> Array:
    """The array a constant's value attribute stands for; resources are looked up in the store."""
    match attr:
        case IntegerAttr() | FloatAttr():
            value = cast(Any, attr.value).data
            return np.asarray(value).astype(dtype_of(attr.type))
        case DenseIntOrFPElementsAttr():
            return dense_array(attr)
        case DenseResourceAttr():
            array, dtype = weights.get(attr.resource_handle.data), dtype_of(attr.type)
            return array if array.dtype == dtype else array.view(dtype)  # unsigned in the store, signless here
        case _:
            raise TypeError(f"not the value of a constant: {attr}")


def unsigned(x: Array) -> Array:
    """The same bits as unsigned integers."""
    x = np.asarray(x)
    return x if x.dtype == np.bool_ else x.view(f"u{x.dtype.itemsize}")


def _result_dtype(op: Operation) -> DType:
    return dtype_of(op.results[0].type)


@semantics("arith.constant")
def constant(*, call: Call) -> Array:
    return attribute_array(call.op.properties["value"], call.weights)


def _elementwise(name: str, function: Callable[..., Any], boolean: Callable[..., Any] | None = None) -> None:
    """Declares a binary op; `boolean` is its meaning on i1 where NumPy's differs."""

    def apply(x: Array, y: Array) -> Array:
        if boolean is not None and np.asarray(x).dtype == np.bool_:
            return boolean(x, y)
        return function(x, y)

    semantics(name)(apply)


_elementwise("arith.addi", np.add, np.not_equal)
_elementwise("arith.subi", np.subtract, np.not_equal)
_elementwise("arith.muli", np.multiply, np.logical_and)
_elementwise("arith.andi", np.bitwise_and)
_elementwise("arith.ori", np.bitwise_or)
_elementwise("arith.xori", np.bitwise_xor)
# The one-bit signed integers are 0 and -1.
_elementwise("arith.maxsi", np.maximum, np.logical_and)
_elementwise("arith.minsi", np.minimum, np.logical_or)
_elementwise("arith.addf", np.add)
_elementwise("arith.subf", np.subtract)
_elementwise("arith.mulf", np.multiply)
_elementwise("arith.divf", np.divide)
_elementwise("arith.remf", np.fmod)
_elementwise("arith.maximumf", np.maximum)
_elementwise("arith.minimumf", np.minimum)
_elementwise("arith.maxnumf", np.fmax)
_elementwise("arith.minnumf", np.fmin)


def _unsigned_binary(name: str, function: Callable[[Array, Array], Any]) -> None:
    def apply(x: Array, y: Array) -> Array:
        x = np.asarray(x)
        return np.asarray(function(unsigned(x), unsigned(y))).view(x.dtype)

    semantics(name)(apply)


_unsigned_binary("arith.maxui", np.maximum)
_unsigned_binary("arith.minui", np.minimum)
_unsigned_binary(
    "arith.divui", lambda x, y: np.where(y == 0, x.dtype.type(0), x // np.where(y == 0, 1, y).astype(y.dtype))
)
_unsigned_binary("arith.remui", lambda x, y: np.where(y == 0, x, x % np.where(y == 0, 1, y).astype(y.dtype)))
_unsigned_binary(
    "arith.ceildivui",
    lambda x, y: np.where(y == 0, x.dtype.type(0), -(-x.astype(object) // np.maximum(y, 1))).astype(x.dtype),
)
_unsigned_binary("arith.shrui", lambda x, y: _shift(np.right_shift, x, y))


def _shift(shift: Callable[..., Any], x: Array, y: Array) -> Array:
    bits = x.dtype.itemsize * 8
    inside = unsigned(y) < bits
    return np.where(inside, shift(x, np.where(inside, y, 0).astype(x.dtype)), x.dtype.type(0))


_elementwise("arith.shli", lambda x, y: _shift(np.left_shift, np.asarray(x), np.asarray(y)))
_elementwise("arith.shrsi", lambda x, y: _shift(np.right_shift, np.asarray(x), np.asarray(y)))


@semantics("arith.remsi")
def remsi(x: Array, y: Array) -> Array:
    """The sign is the dividend's."""
    y = np.asarray(y)
    return np.fmod(x, np.where((y == 0) | (y == -1), y.dtype.type(1), y))


@semantics("arith.divsi")
def divsi(x: Array, y: Array) -> Array:
    """Rounds towards zero."""
    y = np.asarray(y)
    safe = np.where(y == 0, y.dtype.type(1), y)
    negated = np.negative(x)
    return np.where(y == -1, negated, (x - np.fmod(x, np.where(safe == -1, y.dtype.type(1), safe))) // safe)


@semantics("arith.floordivsi")
def floordivsi(x: Array, y: Array) -> Array:
    y = np.asarray(y)
    return np.floor_divide(x, np.where(y == 0, y.dtype.type(1), y))


@semantics("arith.ceildivsi")
def ceildivsi(x: Array, y: Array) -> Array:
    y = np.asarray(y)
    return -np.floor_divide(np.negative(x), np.where(y == 0, y.dtype.type(1), y))


@semantics("arith.negf")
def negf(x: Array) -> Array:
    return np.negative(x)


_SIGNED_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


@semantics("arith.cmpi")
def cmpi(x: Array, y: Array, *, predicate: int) -> Array:
    """0 eq, 1 ne, 2-5 slt sle sgt sge, 6-9 ult ule ugt uge."""
    if predicate >= 6:
        return _SIGNED_COMPARISONS[predicate - 4](unsigned(x), unsigned(y))
    x, y = np.asarray(x), np.asarray(y)
    if predicate >= 2 and x.dtype == np.bool_:
        x, y = -x.astype(np.int8), -y.astype(np.int8)
    return _SIGNED_COMPARISONS[predicate](x, y)


_ORDERED = (np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal)


@semantics("arith.cmpf")
def cmpf(x: Array, y: Array, *, predicate: int) -> Array:
    """0 false, 1-6 ordered eq gt ge lt le ne, 7 ord, 8-13 unordered the same, 14 uno, 15 true."""
    unordered = np.isnan(x) | np.isnan(y)
    match predicate:
        case 0 | 15:
            return np.full(unordered.shape, predicate == 15)
        case 7:
            return ~unordered
        case 14:
            return unordered
        case _ if predicate < 7:
            return _ORDERED[predicate - 1](x, y) & ~unordered
        case _:
            return _ORDERED[predicate - 8](x, y) | unordered


@semantics("arith.select")
def select(condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


@semantics("arith.extsi", "arith.trunci", "arith.index_cast")
def cast_signed(x: Array, *, call: Call) -> Array:
    dtype = _result_dtype(call.op)
    x = np.asarray(x)
    if x.dtype == np.bool_:
        x = -x.astype(np.int8)
    return (x & 1).astype(bool) if dtype == np.bool_ else x.astype(dtype)


@semantics("arith.extui", "arith.index_castui")
def cast_unsigned(x: Array, *, call: Call) -> Array:
    return unsigned(x).astype(_result_dtype(call.op))


@semantics("arith.extf", "arith.truncf", "arith.sitofp")
def cast_float(x: Array, *, call: Call) -> Array:
    x = np.asarray(x)
    return (-x.astype(np.int8) if x.dtype == np.bool_ else x).astype(_result_dtype(call.op))


@semantics("arith.uitofp")
def uitofp(x: Array, *, call: Call) -> Array:
    return unsigned(x).astype(_result_dtype(call.op))


@semantics("arith.fptosi")
def fptosi(x: Array, *, call: Call) -> Array:
    dtype = _result_dtype(call.op)
    wide = np.asarray(x).astype(np.float64).astype(np.int64)
    return (wide & 1).astype(bool) if dtype == np.bool_ else wide.astype(dtype)


@semantics("arith.fptoui")
def fptoui(x: Array, *, call: Call) -> Array:
    dtype = _result_dtype(call.op)
    wide = np.asarray(x).astype(np.float64).astype(np.uint64)
    return wide.astype(bool) if dtype == np.bool_ else wide.astype(f"u{dtype.itemsize}").view(dtype)


@semantics("arith.bitcast")
def bitcast(x: Array, *, call: Call) -> Array:
    return np.asarray(x).view(_result_dtype(call.op))


@semantics("arith.mulsi_extended")
def mulsi_extended(x: Array, y: Array) -> list[Array]:
    x = np.asarray(x)
    product = x.astype(object) * np.asarray(y).astype(object)
    return _halves(product, x.dtype)


@semantics("arith.mului_extended")
def mului_extended(x: Array, y: Array) -> list[Array]:
    x = np.asarray(x)
    product = unsigned(x).astype(object) * unsigned(y).astype(object)
    return _halves(product, x.dtype)


def _halves(product: Any, dtype: DType) -> list[Array]:
    bits = dtype.itemsize * 8
    mask = (1 << bits) - 1
    halves = (product & mask, (product >> bits) & mask)
    return [np.asarray(half).astype(f"u{dtype.itemsize}").view(dtype) for half in halves]


@semantics("arith.addui_extended")
def addui_extended(x: Array, y: Array) -> list[Array]:
    total = np.add(x, y)
    return [total, unsigned(total) < unsigned(x)]
