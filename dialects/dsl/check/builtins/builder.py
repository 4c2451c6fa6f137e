"""What built-in functions are written in: hub ops on values whose dimensions may still be symbols.

Every method types its result; a hub op is made only in instance mode, where all dimensions are numbers.

    @builtin("mean")
    def mean(b: Builder, x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
        total = b.reduce("add", x, axes)
        return b.binary(hlo.DivideOp, total, b.splat(b.count(x, axes), total))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.builtin import TensorType as IRTensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, Region, SSAValue

from .....compiler.diagnostics import LaminaError
from .... import stablehlo as hlo
from ...language import tree
from ..dims import Dim, Extent, Pack, bounds, pack_size
from ..promotion import same_shape
from ..types import TensorType, dtype_name
from ..values import UNBOUND, TupleValue, Value
from . import kinds
from .embedding import main_of
from .failure import Failure, Undetermined

if TYPE_CHECKING:
    from ..elaborator import Elaborator

Number = int | float | bool | complex


class Builder:
    """One call of a built-in function: where it is, and the ops it may be made of."""

    def __init__(self, elaborator: Elaborator, node: tree.Call, name: str):
        self.elaborator = elaborator
        self.node = node
        self.name = name
        self.places: dict[str, tree.Node] = {}  # parameter -> the argument given for it

    @property
    def emits(self) -> bool:
        """Whether ops are made: all dimensions are numbers then."""
        return self.elaborator.emits

    # what is wrong

    def fail(self, code: str, message: str, at: str | tree.Node | None = None, hint: str = "") -> Failure:
        """What is to be raised: a problem at an argument (by its parameter's name), a node, or the call."""
        where = self.places.get(at, self.node) if isinstance(at, str) else at or self.node
        return Failure(code, message, where, hint)

    # values

    def emit(self, make: Callable[[], Operation], dtype: Any, shape: Sequence[Extent]) -> Value:
        """The one result of an op, of this type; `make` is called in instance mode only."""
        kind = TensorType(dtype, tuple(shape))
        if any(isinstance(extent, int) and extent < 0 for extent in shape):
            raise self.fail("E350", f"{self.name} would give {kind}: no axis has less than 0 elements")
        return self.elaborator.emit(make, kind, self.node)

    def scalar(self, number: Number | Dim, dtype: Any) -> Value:
        """A constant of rank 0."""
        return self.array(lambda: np.asarray(number), dtype, ())

    def array(self, make: Callable[[], np.ndarray[Any, Any]], dtype: Any, shape: Sequence[Extent]) -> Value:
        """A constant; large ones go to the weight store."""

        def op() -> Operation:
            return self.elaborator.constant(make().astype(kinds.numpy_dtype(dtype)))

        return self.emit(op, dtype, shape)

    def splat(self, number: Number | Dim, like: Value) -> Value:
        """A constant of the type of `like`, all elements equal."""
        return self.broadcast(self.scalar(number, like.type.dtype), like.type.shape, ())

    def settle(self, x: Value, *, prefer_float: bool = False) -> Value:
        """`x` with a dtype of its own: i64 or f32 for a number written out, or f32 for both."""
        return self.known(self.elaborator.settle(x, prefer_float))

    def coerce(self, x: Value, dtype: Any, at: str | tree.Node) -> Value:
        """`x` in a dtype: a number written out takes it, anything else must have it."""
        if not x.weak and x.type.dtype != dtype:
            raise self.fail("E251", f"expected {dtype}, got {x.type}", at, f"cast it: {dtype}(...)")
        where = self.places.get(at, self.node) if isinstance(at, str) else at
        return self.known(self.elaborator.coerce(x, dtype, where))

    def same_dtype(self, values: Sequence[Value], at: str) -> list[Value]:
        """The values in one dtype, numbers written out in that of the others."""
        first = next((value for value in values if not value.weak), None)
        if first is None:
            return [self.settle(value) for value in values]
        found: list[Value] = []
        for value in values:
            if not value.weak and value.type.dtype != first.type.dtype:
                where = value.node or at
                message = f"{self.name} takes tensors of one dtype, got {first.type.dtype} and {value.type.dtype}"
                raise self.fail("E251", message, where, f"cast one: {first.type.dtype}(...)")
            found.append(self.coerce(value, first.type.dtype, at))
        return found

    def tuple(self, values: Sequence[Value]) -> TupleValue:
        """Several results."""
        return TupleValue(tuple(values), self.node)

    def dim_value(self, dim: Dim) -> Value:
        """A dimension as a number known when compiling."""
        return Value(TensorType("i64"), const=dim, weak=True, node=self.node)

    def weak(self, function: Callable[[float], Any], const: Any) -> Value:
        """A function of a number known when compiling: such a number again, which takes the dtype it meets."""
        found: Any = UNBOUND
        if isinstance(const, int | float):
            with np.errstate(all="ignore"):
                found = float(function(float(const)))
        return Value(TensorType("f32"), const=found, weak=True, node=self.node)

    def wrap(self, value: SSAValue) -> Value:
        """An IR value as a value of the language."""
        return Value(self.type_of(value.type), value, node=self.node)

    def type_of(self, kind: Attribute) -> TensorType:
        """The type of the language for one of the IR. Raises Failure where there is none."""
        if isinstance(kind, IRTensorType) and kind.has_static_shape():
            with suppress(KeyError, LaminaError):
                return TensorType(dtype_name(kind), kind.get_shape())
        raise self.fail("E355", f"{self.name} gives {kind}, for which the language has no type")

    def wrap_all(self, values: Sequence[SSAValue]) -> Value | TupleValue:
        """One value, or a tuple of several."""
        found = [self.wrap(value) for value in values]
        return found[0] if len(found) == 1 else self.tuple(found)

    # shapes

    def axis(self, x: Value | TensorType, axis: int, at: str = "axis", *, extra: int = 0) -> int:
        """`axis` as a position in the shape (which may hold packs), counted from the front."""
        kind = x if isinstance(x, TensorType) else x.type
        shape = kind.shape
        packs = [i for i, extent in enumerate(shape) if isinstance(extent, Pack)]
        rank = len(shape) + extra
        if not packs and not -rank <= axis < rank:
            what = f"there are {rank} places" if extra else f"{kind} has {rank} ax{'i' if rank == 1 else 'e'}s"
            raise self.fail("E351", f"axis {axis} does not exist: {what}", at)
        position = axis + rank if axis < 0 else axis
        inside = packs and (position <= packs[-1] if axis < 0 else position >= packs[0])
        if packs and (inside or not 0 <= position < rank):
            raise Undetermined
        return position

    def axes(self, x: Value, axes: int | Sequence[int] | None, at: str = "axis") -> list[int]:
        """Positions of `axes` in the shape, all of them for None, in ascending order."""
        if axes is None:
            return list(range(len(x.type.shape)))
        given = [axes] if isinstance(axes, int) else list(axes)
        found = [self.axis(x, axis, at) for axis in given]
        if len(set(found)) != len(found):
            raise self.fail("E351", f"axes {given} name one axis twice", at)
        return sorted(found)

    def flat_shape(self, x: Value) -> tuple[Dim, ...]:
        """The shape, which must be without packs."""
        dims: list[Dim] = []
        for extent in x.type.shape:
            if isinstance(extent, Pack):
                raise Undetermined
            dims.append(extent)
        return tuple(dims)

    def size(self, x: Value, axis: int) -> Dim:
        """The extent at a position of the shape."""
        extent = x.type.shape[axis]
        if isinstance(extent, Pack):
            raise Undetermined
        return extent

    def count(self, x: Value, axes: Sequence[int] | None = None) -> Dim:
        """The product of the extents at these positions, of all for None."""
        return self.product(x.type.shape if axes is None else [x.type.shape[axis] for axis in axes])

    def product(self, dims: Iterable[Extent]) -> Dim:
        """All of them multiplied."""
        total: Dim = 1
        for extent in dims:
            total = total * (pack_size(extent) if isinstance(extent, Pack) else extent)
        return total

    @staticmethod
    def divide(dim: Dim, by: Dim) -> Dim | None:
        """The quotient where it is exact, or may be once symbols are bound; else None."""
        if by == 0:
            return None
        low, high = bounds(dim % by)
        never = low is not None and low > 0
        return None if never or (high is not None and high < 0) else dim // by

    def differ(self, left: Extent, right: Extent) -> bool:
        """Whether two dimensions are not the same: different numbers, or symbols that need not be equal."""
        if isinstance(left, Pack) or isinstance(right, Pack):
            return left != right and isinstance(left, Pack) and isinstance(right, Pack)
        return self.elaborator.may_differ(left, right)

    def number(self, dim: Dim) -> int:
        """A dimension as a number, in instance mode."""
        return ints([dim])[0]

    def is_list(self, parameter: str) -> bool:
        """Whether the argument was given in brackets."""
        return isinstance(self.places.get(parameter), tree.Array | tree.Tuple)

    def reshape(self, x: Value, shape: Sequence[Extent]) -> Value:
        """The same elements in another shape; the caller knows that there are as many."""
        if tuple(x.type.shape) == tuple(shape):
            return x
        return self.emit(lambda: hlo.ReshapeOp(ssa(x), ints(shape)), x.type.dtype, shape)

    def expand(self, x: Value, position: int) -> Value:
        """`x` with an axis of size 1 at this position of the result."""
        shape = list(x.type.shape)
        shape.insert(position, 1)
        return self.reshape(x, shape)

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """Position i of the result is position `order[i]` of `x`."""
        if list(order) == list(range(len(x.type.shape))):
            return x
        shape = [x.type.shape[i] for i in order]
        return self.emit(lambda: hlo.TransposeOp(ssa(x), permutation=list(order)), x.type.dtype, shape)

    def broadcast(self, x: Value, shape: Sequence[Extent], positions: Sequence[int]) -> Value:
        """`x` repeated: its axis i is at `positions[i]` of the result."""
        if tuple(x.type.shape) == tuple(shape):
            return x
        return self.emit(
            lambda: hlo.BroadcastInDimOp(ssa(x), shape=ints(shape), broadcast_dimensions=list(positions)),
            x.type.dtype,
            shape,
        )

    def broadcast_to(self, x: Value, shape: Sequence[Extent]) -> Value:
        """`x` in a larger shape by NumPy's rule, which the caller has checked."""
        offset = len(shape) - len(x.type.shape)
        return self.broadcast(x, shape, range(offset, len(shape)))

    def common(self, *values: Value) -> list[Value]:
        """The values with one dtype and in their common shape, by NumPy's rule; two-label errors are its own."""
        return [self.known(value) for value in self.elaborator.broadcast_together(values, self.node)]

    @staticmethod
    def known(x: Value) -> Value:
        """`x`, unless it is of unknown type: then something has been reported already."""
        if x.unknown:
            raise Undetermined
        return x

    def same_shape(self, *values: Value) -> list[Value]:
        """The values, whose dtypes may differ, in their common shape."""
        return [self.known(value) for value in same_shape(self.elaborator, values, self.node)]

    # ops

    def unary(self, op: Callable[..., Operation], x: Value, dtype: Any = None) -> Value:
        """`op` on each element."""
        return self.emit(lambda: op(ssa(x)), dtype or x.type.dtype, x.type.shape)

    def binary(self, op: Callable[..., Operation], x: Value, y: Value, dtype: Any = None) -> Value:
        """`op` on each pair of elements of two tensors of one type."""
        return self.emit(lambda: op(ssa(x), ssa(y)), dtype or x.type.dtype, x.type.shape)

    def compare(self, x: Value, y: Value, direction: str) -> Value:
        """`x < y` and so on for two tensors of one type: LT, LE, GT, GE, EQ, NE."""
        return self.binary(lambda p, q: hlo.CompareOp(p, q, comparison_direction=direction), x, y, "bool")

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        """Where the condition holds x, else y, all of one shape."""
        return self.emit(lambda: hlo.SelectOp(ssa(condition), ssa(x), ssa(y)), x.type.dtype, x.type.shape)

    def convert(self, x: Value, dtype: Any) -> Value:
        """`x` with another dtype."""
        if x.type.dtype == dtype:
            return x
        return self.emit(lambda: hlo.ConvertOp(ssa(x), kinds.element_type(dtype)), dtype, x.type.shape)

    def iota(self, dtype: Any, shape: Sequence[Extent], axis: int) -> Value:
        """Counts 0, 1, … along a position of the shape."""
        return self.emit(lambda: hlo.IotaOp(kinds.tensor(dtype, ints(shape)), axis), dtype, shape)

    def slice(
        self, x: Value, start: Sequence[Dim], limit: Sequence[Extent], step: Sequence[int] | None = None
    ) -> Value:
        """`x[start:limit:step]` along every axis; limits are within the bounds."""
        steps = [1] * len(start) if step is None else list(step)
        shape: list[Extent] = []
        for first, last, by, extent in zip(start, limit, steps, x.type.shape, strict=True):
            if isinstance(last, Pack) or isinstance(extent, Pack):
                shape.append(extent)
            else:
                shape.append(last - first if by == 1 else (last - first + by - 1) // by)
        if tuple(shape) == tuple(x.type.shape) and not any(start):
            return x
        return self.emit(
            lambda: hlo.SliceOp(ssa(x), start_indices=ints(start), limit_indices=ints(limit), strides=steps),
            x.type.dtype,
            shape,
        )

    def slice_axis(self, x: Value, axis: int, start: Dim, limit: Dim) -> Value:
        """`x[start:limit]` along one position, whole along the others."""
        starts: list[Dim] = [0] * len(x.type.shape)
        limits = list(x.type.shape)
        starts[axis], limits[axis] = start, limit
        return self.slice(x, starts, limits)

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """The values, which agree elsewhere, one after the other along a position."""
        if len(values) == 1:
            return values[0]
        total: Dim = 0
        for value in values:
            total = total + self.size(value, axis)
        shape = [total if i == axis else extent for i, extent in enumerate(values[0].type.shape)]
        return self.emit(
            lambda: hlo.ConcatenateOp([ssa(v) for v in values], dimension=axis), values[0].type.dtype, shape
        )

    def pad(self, x: Value, value: Value, low: Sequence[Dim], high: Sequence[Dim], inner: Sequence[int] = ()) -> Value:
        """`x` with `value` around it (negative amounts crop) and `inner` times between its elements."""
        gaps = list(inner) or [0] * len(low)
        shape: list[Extent] = []
        for extent, before, after, gap in zip(x.type.shape, low, high, gaps, strict=True):
            if isinstance(extent, Pack) or gap:
                shape.append(
                    extent if isinstance(extent, Pack) else before + after + (extent - 1) * gap + extent
                )  # an axis without elements has no gaps, and is refused by the hub
            else:
                shape.append(before + extent + after)
        if not any(low) and not any(high) and not any(gaps):
            return x
        return self.emit(
            lambda: hlo.PadOp(
                ssa(x), ssa(value), edge_padding_low=ints(low), edge_padding_high=ints(high), interior_padding=gaps
            ),
            x.type.dtype,
            shape,
        )

    def reverse(self, x: Value, axes: Sequence[int]) -> Value:
        """`x` backwards along these positions."""
        return self.emit(lambda: hlo.ReverseOp(ssa(x), dimensions=list(axes)), x.type.dtype, x.type.shape)

    # reductions

    def reduce(self, kind: str, x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
        """Combines along positions by add, multiply, maximum, minimum, and, or."""
        if not axes:
            return x
        start = self.scalar(kinds.neutral(kind, x.type.dtype), x.type.dtype)
        kept = [extent for i, extent in enumerate(x.type.shape) if i not in axes]
        result = self.emit(
            lambda: hlo.ReduceOp([ssa(x)], [ssa(start)], dimensions=list(axes), body=kind), x.type.dtype, kept
        )
        return self.keep(result, x, axes) if keepdims else result

    def keep(self, result: Value, x: Value, axes: Sequence[int]) -> Value:
        """A reduction of `x` with the axes it lost put back with size 1."""
        return self.reshape(result, [1 if i in axes else extent for i, extent in enumerate(x.type.shape)])

    def placed(self, op: Operation) -> Value | TupleValue:
        """An op that is made already, put here: its results."""
        self.elaborator.insert(op, self.node)
        return self.wrap_all(op.results)

    def spliced(self, module: ModuleOp, operands: Sequence[SSAValue]) -> Value | TupleValue:
        """The ops of the module's `@main`, put here on these operands: what it returns."""
        block = main_of(module).body.block
        for argument, operand in zip(block.args, operands, strict=True):
            argument.replace_all_uses_with(operand)
        ending = block.last_op
        assert isinstance(ending, ReturnOp)
        results = list(ending.operands)
        for op in list(block.ops):
            op.detach()
            if op is ending:
                op.erase()
            else:
                self.elaborator.insert(op, self.node)
        return self.wrap_all(results)

    def results(self, make: Callable[[], Operation], types: Sequence[TensorType]) -> list[Value]:
        """The results of an op that has several."""
        return self.elaborator.emit_all(make, types, self.node)


def ssa(x: Value) -> SSAValue:
    """The IR value behind a value, in instance mode."""
    if x.ssa is None:
        raise Undetermined
    return x.ssa


def ints(shape: Sequence[Extent]) -> list[int]:
    """Dimensions as numbers, in instance mode."""
    numbers: list[int] = []
    for extent in shape:
        if not isinstance(extent, int):
            raise Undetermined
        numbers.append(extent)
    return numbers


__all__ = ["Attribute", "Builder", "Dim", "Extent", "Pack", "Region", "Value", "hlo", "ints", "ssa"]
