"""Tensors of the hub with Python's operators, each of which becomes one op: what the expansions are written in.

x = Elements(b, value)                         # b inserts ops: a RuleBuilder
y = choose(x < 0.0, -x, x.sqrt() + 1.0).value  # numbers stand for constants of the same type
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.dtypes import dense_attribute, dtype_of
from ...compiler.locations import locate
from ...dialects import stablehlo as hlo
from ...dialects.stablehlo import chlo
from ...dialects.stablehlo.canonical.rules import element_type, shape_of

Insert = Callable[[Operation], Operation]
Number = float | int


def before(op: Operation) -> Insert:
    """Inserts before `op`, with its location."""

    def insert(new: Operation) -> Operation:
        locate(new, op.location)
        Rewriter.insert_op(new, InsertPoint.before(op))
        return new

    return insert


@dataclass(frozen=True, eq=False)
class Elements:
    """A tensor being computed with; `insert` puts an op where the computation is written."""

    insert: Insert
    value: SSAValue

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return shape_of(self.value)

    @property
    def element_type(self) -> Attribute:
        """The type of each element."""
        return element_type(self.value)

    def of(self, op: Operation) -> Elements:
        """The only result of `op`, inserted."""
        return Elements(self.insert, self.insert(op).results[0])

    def within(self, insert: Insert) -> Elements:
        """The same tensor, with what is made of it inserted elsewhere."""
        return Elements(insert, self.value)

    def like(self, number: Number) -> Elements:
        """`number` in every place of a tensor of this type."""
        kind = self.element_type
        bits = kind.width.data if isinstance(kind, IntegerType) else 0
        if bits:  # Python's integers have no width
            number = int(number) % (1 << bits)
            unsigned = np.array(number, f"u{max(1, bits // 8)}")
            scalar = unsigned.astype(bool) if bits == 1 else unsigned.view(dtype_of(kind))
        else:
            scalar = np.array(number, dtype_of(kind))
        constant = self.of(hlo.ConstantOp(dense_attribute(scalar)))
        return constant.broadcast(self.shape, ()) if self.shape else constant

    def __neg__(self) -> Elements:
        return self.of(hlo.NegateOp(self.value))

    def __invert__(self) -> Elements:
        return self.of(hlo.NotOp(self.value))

    def __add__(self, other: Elements | Number) -> Elements:
        return self.of(hlo.AddOp(self.value, self._same(other)))

    def __sub__(self, other: Elements | Number) -> Elements:
        return self.of(hlo.SubtractOp(self.value, self._same(other)))

    def __rsub__(self, other: Number) -> Elements:
        return self.like(other) - self

    def __mul__(self, other: Elements | Number) -> Elements:
        return self.of(hlo.MultiplyOp(self.value, self._same(other)))

    def __truediv__(self, other: Elements | Number) -> Elements:
        return self.of(hlo.DivideOp(self.value, self._same(other)))

    def __rtruediv__(self, other: Number) -> Elements:
        return self.like(other) / self

    def __and__(self, other: Elements | Number) -> Elements:
        return self.of(hlo.AndOp(self.value, self._same(other)))

    def __or__(self, other: Elements | Number) -> Elements:
        return self.of(hlo.OrOp(self.value, self._same(other)))

    def __xor__(self, other: Elements | Number) -> Elements:
        return self.of(hlo.XorOp(self.value, self._same(other)))

    def __lshift__(self, other: Elements | Number) -> Elements:
        return self.of(hlo.ShiftLeftOp(self.value, self._same(other)))

    def __rshift__(self, other: Elements | Number) -> Elements:
        """Without regard to the sign."""
        return self.of(hlo.ShiftRightLogicalOp(self.value, self._same(other)))

    def __lt__(self, other: Elements | Number) -> Elements:
        return self._compared("LT", other)

    def __le__(self, other: Elements | Number) -> Elements:
        return self._compared("LE", other)

    def __gt__(self, other: Elements | Number) -> Elements:
        return self._compared("GT", other)

    def __ge__(self, other: Elements | Number) -> Elements:
        return self._compared("GE", other)

    def equals(self, other: Elements | Number) -> Elements:
        """Where both are the same; NaN is not."""
        return self._compared("EQ", other)

    def maximum(self, other: Elements | Number) -> Elements:
        """The larger of the two."""
        return self.of(hlo.MaximumOp(self.value, self._same(other)))

    def minimum(self, other: Elements | Number) -> Elements:
        """The smaller of the two."""
        return self.of(hlo.MinimumOp(self.value, self._same(other)))

    def atan2(self, other: Elements) -> Elements:
        """The angle of the point (`other`, self)."""
        return self.of(hlo.Atan2Op(self.value, other.value))

    def abs(self) -> Elements:
        return self.of(hlo.AbsOp(self.value))

    def sqrt(self) -> Elements:
        return self.of(hlo.SqrtOp(self.value))

    def exp(self) -> Elements:
        return self.of(hlo.ExponentialOp(self.value))

    def expm1(self) -> Elements:
        return self.of(hlo.ExponentialMinusOneOp(self.value))

    def log(self) -> Elements:
        return self.of(hlo.LogOp(self.value))

    def log1p(self) -> Elements:
        return self.of(hlo.LogPlusOneOp(self.value))

    def sin(self) -> Elements:
        return self.of(hlo.SineOp(self.value))

    def cos(self) -> Elements:
        return self.of(hlo.CosineOp(self.value))

    def tan(self) -> Elements:
        return self.of(hlo.TanOp(self.value))

    def sinh(self) -> Elements:
        return self.of(chlo.SinhOp(self.value))

    def cosh(self) -> Elements:
        return self.of(chlo.CoshOp(self.value))

    def floor(self) -> Elements:
        return self.of(hlo.FloorOp(self.value))

    def copysign(self, sign: Elements) -> Elements:
        """The magnitude of self with the sign of `sign`, that of zeros included."""
        bits = IntegerType(8 * dtype_of(self.element_type).itemsize)
        negative = sign.of(hlo.BitcastConvertOp(sign.value, bits)) < 0
        magnitude = self.abs()
        return choose(negative, -magnitude, magnitude)

    def is_infinite(self) -> Elements:
        """Where it is plus or minus infinity."""
        return self.abs().equals(float("inf"))

    def convert(self, element: Attribute) -> Elements:
        """The same numbers as another element type; itself where that is its own."""
        return self if self.element_type == element else self.of(hlo.ConvertOp(self.value, element))

    def reshape(self, *shape: int) -> Elements:
        """The same elements in another shape."""
        return self if self.shape == shape else self.of(hlo.ReshapeOp(self.value, list(shape)))

    def broadcast(self, shape: tuple[int, ...], dimensions: tuple[int, ...]) -> Elements:
        """Repeated to `shape`, in which its own dimensions are those named."""
        return self.of(hlo.BroadcastInDimOp(self.value, shape=list(shape), broadcast_dimensions=list(dimensions)))

    def part(self, dimension: int, start: int, end: int, step: int = 1) -> Elements:
        """Every `step`-th from `start` up to, without, `end` along one dimension."""
        starts, limits, steps = [0] * len(self.shape), list(self.shape), [1] * len(self.shape)
        starts[dimension], limits[dimension], steps[dimension] = start, end, step
        if (start, end, step) == (0, self.shape[dimension], 1):
            return self
        return self.of(hlo.SliceOp(self.value, start_indices=starts, limit_indices=limits, strides=steps))

    def _same(self, other: Elements | Number) -> SSAValue:
        return (other if isinstance(other, Elements) else self.like(other)).value

    def _compared(self, direction: str, other: Elements | Number) -> Elements:
        return self.of(hlo.CompareOp(self.value, self._same(other), comparison_direction=direction))


def choose(condition: Elements, on_true: Elements, on_false: Elements | Number) -> Elements:
    """Element by element one of two."""
    other = on_false if isinstance(on_false, Elements) else on_true.like(on_false)
    return on_true.of(hlo.SelectOp(condition.value, on_true.value, other.value))


def scalar(x: Elements, number: Number) -> Elements:
    """A number of the type of `x`, without dimensions."""
    return x.of(hlo.ConstantOp(dense_attribute(np.array(number, dtype_of(x.element_type)))))
