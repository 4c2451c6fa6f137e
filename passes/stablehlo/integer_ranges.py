"""What values the integers of a tensor can have, as far as the ops that made them tell; and the same in fewer bits."""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import SSAValue

from ...dialects.stablehlo import (
    AddOp,
    BroadcastInDimOp,
    ConcatenateOp,
    ConvertOp,
    MaximumOp,
    MinimumOp,
    PadOp,
    ReshapeOp,
    ReverseOp,
    SliceOp,
    SubtractOp,
    TransposeOp,
)
from ...dialects.stablehlo.canonical.rules import Builder, element_type, shape_of

MOVING = (BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp)  # ops of one operand that compute nothing
DEEPEST = 32  # ops looked through


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


def value_range(value: SSAValue, b: Builder, depth: int = 0) -> Range | None:
    """The range of an integer tensor, None where it is no integer. An op whose result may wrap has its type's."""
    element = element_type(value)
    if not isinstance(element, IntegerType):
        return None
    whole = type_range(element)
    found = _computed(value, b, depth)
    return found if found is not None and found.within(whole) else whole


def _computed(value: SSAValue, b: Builder, depth: int) -> Range | None:
    """What the op that made `value` gives in exact arithmetic, None where that is not known."""
    array = b.constant_of(value)
    if array is not None:
        return Range(int(array.min()), int(array.max())) if array.size else Range(0, 0)
    op = value.owner
    if depth >= DEEPEST:
        return None
    match op:
        case ConvertOp() | BroadcastInDimOp() | ReshapeOp() | TransposeOp() | SliceOp() | ReverseOp():
            return value_range(op.operand, b, depth + 1)
        case AddOp() | SubtractOp() | MaximumOp() | MinimumOp():
            left, right = value_range(op.lhs, b, depth + 1), value_range(op.rhs, b, depth + 1)
            assert left is not None and right is not None
            match op:
                case AddOp():
                    return Range(left.low + right.low, left.high + right.high)
                case SubtractOp():
                    return Range(left.low - right.high, left.high - right.low)
                case MaximumOp():
                    return Range(max(left.low, right.low), max(left.high, right.high))
                case _:
                    return Range(min(left.low, right.low), min(left.high, right.high))
        case PadOp() | ConcatenateOp():
            parts = [value_range(operand, b, depth + 1) for operand in op.operands]
            known = [part for part in parts if part is not None]
            return Range(min(p.low for p in known), max(p.high for p in known)) if len(known) == len(parts) else None
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
            source = value_range(op.operand, b)
            if source is not None and source.within(type_range(type_)):
                return op.operand if element_type(op.operand) == type_ else b.value(ConvertOp(op.operand, type_))
        case AddOp() | SubtractOp():
            operands = (op.lhs, op.rhs)
            if all((r := value_range(v, b)) is not None and r.within(type_range(type_)) for v in operands):
                return b.value(type(op)(*(narrowed(v, type_, b) for v in operands)))
        case BroadcastInDimOp() | ReshapeOp() | TransposeOp() | SliceOp() | ReverseOp():
            source = value_range(op.operand, b)
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
