"""Making hub ops before one point, each with the place of the op that is being lowered."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....compiler.locations import locate
from ....compiler.weights import Array, WeightStore
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo.constants import make_constant


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor."""
    return cast(TensorType, value.type).get_shape()


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    return cast(TensorType, value.type).element_type


class Builder:
    """Inserts ops at `point`; `location` goes to every one."""

    def __init__(self, point: InsertPoint, location: LocationAttr, weights: WeightStore):
        self.point = point
        self.location = location
        self.weights = weights

    def __call__(self, op: Operation) -> SSAValue:
        """Inserts `op` and returns its first result."""
        self.insert(op)
        return op.results[0]

    def insert(self, op: Operation) -> None:
        """Inserts `op`."""
        locate(op, self.location)
        Rewriter.insert_op(op, self.point)

    @contextmanager
    def at(self, location: LocationAttr) -> Generator[None]:
        """Ops made inside stand at `location`."""
        before, self.location = self.location, location
        yield
        self.location = before

    @contextmanager
    def inside(self, point: InsertPoint) -> Generator[None]:
        """Ops made inside go to `point`."""
        before, self.point = self.point, point
        yield
        self.point = before

    # movement: each does nothing where nothing is to be done

    def constant(self, array: Array | np.generic) -> SSAValue:
        """A constant with the elements of `array`; large ones go to the weight store."""
        return self(make_constant(np.asarray(array), self.weights, "index"))

    def filled(self, value: SSAValue | Array, shape: Sequence[int]) -> SSAValue:
        """`value`, a scalar, in every element of `shape`."""
        scalar = value if isinstance(value, SSAValue) else self.constant(value)
        return self.broadcast(scalar, shape, ())

    def broadcast(self, value: SSAValue, shape: Sequence[int], dims: Sequence[int]) -> SSAValue:
        """Dimension i of `value` becomes dimension `dims[i]` of `shape`; `dims` rises."""
        if shape_of(value) == tuple(shape):
            return value
        return self(hlo.BroadcastInDimOp(value, broadcast_dimensions=list(dims), shape=list(shape)))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The same elements in another shape."""
        return value if shape_of(value) == tuple(shape) else self(hlo.ReshapeOp(value, list(shape)))

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Dimension i of the result is dimension `permutation[i]` of `value`."""
        same = list(permutation) == list(range(len(permutation)))
        return value if same else self(hlo.TransposeOp(value, permutation=list(permutation)))

    def slice(
        self, value: SSAValue, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None
    ) -> SSAValue:
        """Every `strides`-th element from `start` up to `limit`."""
        steps = list(strides or [1] * len(start))
        if not any(start) and tuple(limit) == shape_of(value) and all(step == 1 for step in steps):
            return value
        return self(hlo.SliceOp(value, start_indices=list(start), limit_indices=list(limit), strides=steps))

    def reverse(self, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        """The elements of `dims` in the opposite order."""
        return self(hlo.ReverseOp(value, dimensions=list(dims))) if dims else value

    def pad(self, value: SSAValue, fill: SSAValue, low: Sequence[int], high: Sequence[int]) -> SSAValue:
        """`fill` around `value`, or less of it where negative."""
        if not any((*low, *high)):
            return value
        return self(hlo.PadOp(value, fill, edge_padding_low=list(low), edge_padding_high=list(high)))

    def concatenate(self, values: Sequence[SSAValue], dim: int) -> SSAValue:
        """One after the other along `dim`."""
        return values[0] if len(values) == 1 else self(hlo.ConcatenateOp(values, dimension=dim))

    # computation

    def iota(self, size: int) -> SSAValue:
        """0, 1, ... as tensor<i64>."""
        return self(hlo.IotaOp(TensorType(i64, [size]), 0))

    def select(self, predicate: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        """Elements of one or the other, all of one shape."""
        return self(hlo.SelectOp(predicate, on_true, on_false))

    def reduce(self, kind: str, value: SSAValue, start: SSAValue, dims: Sequence[int]) -> SSAValue:
        """`dims` combined by the hub op called `kind`."""
        return self(hlo.ReduceOp([value], [start], dimensions=list(dims), body=kind)) if dims else value
