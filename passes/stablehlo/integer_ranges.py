"""What values the integers of a tensor can have, as far as the ops that made them tell; and the same in fewer bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import SSAValue

from ...compiler.weights import Array
from ...dialects.stablehlo import (
    AddOp,
    AndOp,
    BinaryOp,
    BroadcastInDimOp,
    ClampOp,
    ConcatenateOp,
    ConvertOp,
    DynamicSliceOp,
    GatherOp,
    IotaOp,
    MaximumOp,
    MinimumOp,
    PadOp,
    ReshapeOp,
    ReverseOp,
    SelectOp,
    ShiftRightLogicalOp,
    SliceOp,
    SubtractOp,
    TransposeOp,
)
from ...dialects.stablehlo.canonical.rules import Builder, element_type, shape_of

MOVING = (BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp)  # ops of one operand that compute nothing
DEEPEST = 32  # ops looked through
ConstantOf: TypeAlias = Callable[[SSAValue], Array | None]


class Range(NamedTuple):
    """All integers from `low` to `high`."""

    low: int
    high: int

    def within(self, other: Range) -> bool:
        """Whether all of these are among the others."""
        return other.low <= self.low and self.high <= other.high


def type_range(type_: IntegerType) -> Range:
    """All that a type holds.

    >>> type_range(IntegerType(8, Signedness.UNSIGNED))
    Range(low=0, high=255)
    """
    bits = type_.width.data
    if type_.signedness.data == Signedness.UNSIGNED or bits == 1:
        return Range(0, 2**bits - 1)
    return Range(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def value_range(value: SSAValue, constant_of: ConstantOf) -> Range | None:
    """The range of an integer tensor, None where it is no integer. An op whose result may wrap has its type's.

    `constant_of` gives the elements of a value that is a constant.
    """
    return _Ranges(constant_of).of(value, 0)


@dataclass
class _Ranges:
    """The ranges found on the way to one."""

    constant_of: ConstantOf
    known: dict[SSAValue, Range | None] = field(default_factory=dict[SSAValue, Range | None])

    def of(self, value: SSAValue, depth: int) -> Range | None:
        if value in self.known:
            return self.known[value]
        element = element_type(value)
        if not isinstance(element, IntegerType):
            return None
        whole = type_range(element)
        found = self._computed(value, depth)
        self.known[value] = result = found if found is not None and found.within(whole) else whole
        return result

    def _computed(self, value: SSAValue, depth: int) -> Range | None:
        """What the op that made `value` gives in exact arithmetic, None where that is not known."""
        array = self.constant_of(value)
        if array is not None:
            return Range(int(array.min()), int(array.max())) if array.size else Range(0, 0)
        if depth >= DEEPEST:
            return None
        match value.owner:
            case IotaOp(output=result, iota_dimension=dimension):
                return Range(0, max(shape_of(result)[dimension.value.data] - 1, 0))
            case GatherOp(operand=x) | DynamicSliceOp(operand=x):
                return self.of(x, depth + 1)
            case ConvertOp(operand=x) | BroadcastInDimOp(operand=x) | ReshapeOp(operand=x) | TransposeOp(operand=x):
                return self.of(x, depth + 1)
            case SliceOp(operand=x) | ReverseOp(operand=x):
                return self.of(x, depth + 1)
            case BinaryOp(lhs=x, rhs=y) as op:
                left, right = self.of(x, depth + 1), self.of(y, depth + 1)
                return None if left is None or right is None else _of_two(op, left, right)
            case PadOp() | ConcatenateOp() as op:
                return _any_of([self.of(operand, depth + 1) for operand in op.operands])
            case SelectOp(on_true=x, on_false=y):
                return _any_of([self.of(x, depth + 1), self.of(y, depth + 1)])
            case ClampOp(min=least, max=most):
                low, high = self.of(least, depth + 1), self.of(most, depth + 1)
                return None if low is None or high is None else Range(min(low.low, high.low), high.high)
            case _:
                return None


def _any_of(parts: Sequence[Range | None]) -> Range | None:
    known = [part for part in parts if part is not None]
    return Range(min(p.low for p in known), max(p.high for p in known)) if len(known) == len(parts) else None


def _of_two(op: BinaryOp, left: Range, right: Range) -> Range | None:
    match op:
        case AddOp():
            return Range(left.low + right.low, left.high + right.high)
        case SubtractOp():
            return Range(left.low - right.high, left.high - right.low)
        case MaximumOp():
            return Range(max(left.low, right.low), max(left.high, right.high))
        case MinimumOp():
            return Range(min(left.low, right.low), min(left.high, right.high))
        case AndOp() if right.low >= 0 or left.low >= 0:  # no bit that one of them lacks
            return Range(0, min(side.high for side in (left, right) if side.low >= 0))
        case ShiftRightLogicalOp() if left.low >= 0 and right.low == right.high >= 0:
            return Range(left.low >> right.low, left.high >> right.low)
        case _:
            return None


def narrowed(value: SSAValue, type_: IntegerType, b: Builder) -> SSAValue:
    """`value`, whose range fits into `type_`, in that type: computed in it from the start where no step can wrap."""
    dtype = f"i{type_.width.data // 8}"
    array = b.constant_of(value)
    if array is not None:
        if array.size and bool((array == array.flat[0]).all()):
            return b.splat(array.flat[0].astype(dtype), TensorType(type_, shape_of(value)))
        return b.constant(array.astype(dtype), "narrow")
    op = value.owner
    match op:
        case ConvertOp():
            source = value_range(op.operand, b.constant_of)
            if source is not None and source.within(type_range(type_)):
                return op.operand if element_type(op.operand) == type_ else b.value(ConvertOp(op.operand, type_))
        case AddOp() | SubtractOp():
            operands = (op.lhs, op.rhs)
            if all((r := value_range(v, b.constant_of)) is not None and r.within(type_range(type_)) for v in operands):
                return b.value(type(op)(*(narrowed(v, type_, b) for v in operands)))
        case BroadcastInDimOp() | ReshapeOp() | TransposeOp() | SliceOp() | ReverseOp():
            source = value_range(op.operand, b.constant_of)
            if source is not None and source.within(type_range(type_)):
                new = type(op).create(
                    operands=[narrowed(op.operand, type_, b)],
                    result_types=[TensorType(type_, shape_of(value))],
                    properties=dict(op.properties),
                    attributes=dict(op.attributes),
                )
                return b.value(cast("BroadcastInDimOp", new))
        case _:
            pass
    return b.value(ConvertOp(value, type_))
