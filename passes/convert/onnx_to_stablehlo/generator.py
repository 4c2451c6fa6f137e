"""ONNX's operators that make tensors from nothing, or from shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32, i64

from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from ....dialects.onnx.types import numpy_dtype
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .indexing import from_front
from .table import lowers


@lowers("Constant")
def constant(
    b: GraphBuilder,
    *,
    value: Array | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
    sparse_value: Array | None = None,
) -> Value:
    assert b.node is not None
    name = b.node.results[0].name_hint or "constant"
    for array in (value, sparse_value):
        if array is not None:
            return b.constant(array, name=name)
    if value_float is not None or value_floats is not None:
        return b.constant(np.array(value_floats if value_float is None else value_float, dtype=np.float32))
    if value_int is not None or value_ints is not None:
        return b.constant(np.array(value_ints if value_int is None else value_int, dtype=np.int64))
    raise b.fail("the constant has no value, or one of strings")


@lowers("ConstantOfShape")
def constant_of_shape(b: GraphBuilder, shape: Value, *, value: Array | None = None) -> Value:
    one = np.zeros((), np.float32) if value is None else value.reshape(())
    wanted = b.ints(shape, "shape of ConstantOfShape")
    return b.constant(np.broadcast_to(one, tuple(wanted)), name="splat")


@lowers("Range")
def arange(b: GraphBuilder, start: Value, limit: Value, delta: Value, *, stash_type: int = 1) -> Value:
    first, last, step = (b.number(x, "bounds of Range") for x in (start, limit, delta))
    if step == 0:
        raise b.fail("delta of Range is 0")
    count = max(math.ceil((last - first) / step), 0)
    b.make_room(count)
    dtype = dtype_of(element_of(start))
    return b.constant((first + np.arange(count) * step).astype(dtype))


@lowers("EyeLike")
def eye_like(b: GraphBuilder, x: Value, *, dtype: int | None = None, k: int = 0) -> Value:
    rows, columns = shape_of(x)
    b.make_room(rows, columns)
    kind: Any = dtype_of(element_of(x)) if dtype is None else numpy_dtype(dtype)
    return b.constant(np.eye(rows, columns, k).astype(kind))


@lowers("OneHot")
def one_hot(b: GraphBuilder, indices: Value, depth: Value, values: Value, *, axis: int = -1) -> Value:
    count = int(b.number(depth, "depth of OneHot"))
    rank = rank_of(indices)
    along = b.axis(axis, rank + 1)
    wide = b.expand_dims(from_front(b, b.convert(indices, i64), count), [along])
    shape = [1] * (rank + 1)
    shape[along] = count
    hit = b.compare(wide, b.iota(shape, along, i64), "EQ")
    off, on = (b.reshape(b.slice_axis(values, 0, i, i + 1), []) for i in range(2))
    return b.select(hit, on, off)


@lowers("Trilu")
def trilu(b: GraphBuilder, x: Value, k: Value | None = None, *, upper: int = 1) -> Value:
    shape = shape_of(x)[-2:]
    shift = 0 if k is None else int(b.number(k, "k of Trilu"))
    row, column = b.iota(shape, 0, i32), b.iota(shape, 1, i32)
    kept = b.compare(column, b.add(row, shift), "GE" if upper else "LE")
    return b.select(kept, x, b.scalar(0, element_of(x)))


@lowers("Dropout", since=7)
def dropout_7(b: GraphBuilder, x: Value, *, ratio: float = 0.5) -> list[Value]:
    mask = [b.broadcast_to(b.constant(np.ones((), np.bool_)), shape_of(x))] if len(b.wanted) > 1 else []
    return [x, *mask]
