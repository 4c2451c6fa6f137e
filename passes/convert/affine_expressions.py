"""Affine expressions as arith ops. What ranges say is used: a division of what is never negative is unsigned."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from ...compiler.conversion import RuleBuilder
from ...dialects.gpu.ops import IdOp

Range = tuple[int, int]  # lowest and highest value, both included
_INDEX = IndexType()
# Affine arithmetic is that of whole numbers: a program in which it wraps has no meaning.
NO_WRAP = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NSW])


def constant_index(b: RuleBuilder, number: int) -> SSAValue:
    """An `arith.constant` of index type."""
    return b.shared(number, lambda: arith.ConstantOp.create(result_types=[_INDEX], properties=_index(number)))


def _index(number: int) -> dict[str, Attribute]:
    return {"value": IntegerAttr(number, _INDEX)}


def _binary(
    b: RuleBuilder, op: type[Operation], lhs: SSAValue, rhs: SSAValue, overflow: Attribute | None = None
) -> SSAValue:
    def made() -> Operation:
        told = {} if overflow is None else {"overflowFlags": overflow}
        return op.create(operands=[lhs, rhs], result_types=[lhs.type], properties=told)

    return b.shared((op, lhs, rhs), made)


def apply_map(
    b: RuleBuilder, map: AffineMap, operands: Sequence[SSAValue], sources: Sequence[SSAValue]
) -> list[SSAValue]:
    """The results of `map` as values. `sources` are the operands before conversion, whose ranges can be seen."""
    return [expand(b, result, map.num_dims, operands, sources) for result in map.results]


def expand(
    b: RuleBuilder, expr: AffineExpr, num_dims: int, operands: Sequence[SSAValue], sources: Sequence[SSAValue]
) -> SSAValue:
    """The value of one expression. Division rounds down (up for ceildiv), `mod` is never negative."""
    match expr:
        case AffineConstantExpr():
            return constant_index(b, expr.value)
        case AffineDimExpr():
            return operands[expr.position]
        case AffineSymExpr():
            return operands[num_dims + expr.position]
        case AffineBinaryOpExpr():
            pass
        case _:
            raise b.fail(f"unknown affine expression {expr}")

    if expr.kind is AffineBinaryOpKind.Add and isinstance(expr.rhs, AffineConstantExpr) and expr.rhs.value == 0:
        return expand(b, expr.lhs, num_dims, operands, sources)
    if expr.kind in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul):
        lhs, rhs = (expand(b, side, num_dims, operands, sources) for side in (expr.lhs, expr.rhs))
        return _binary(b, arith.AddiOp if expr.kind is AffineBinaryOpKind.Add else arith.MuliOp, lhs, rhs, NO_WRAP)

    span = expression_range(expr.lhs, num_dims, sources)
    divisor = expr.rhs.value if isinstance(expr.rhs, AffineConstantExpr) else None
    if divisor is not None and divisor <= 0:
        raise b.fail(f"the divisor in {expr} is not positive")
    if divisor is not None and span is not None and span[0] >= 0 and span[1] < divisor:
        if expr.kind is AffineBinaryOpKind.Mod:
            return expand(b, expr.lhs, num_dims, operands, sources)
        if expr.kind is AffineBinaryOpKind.FloorDiv:
            return constant_index(b, 0)
    if expr.kind is AffineBinaryOpKind.FloorDiv and divisor is not None and (exact := _quotient(expr.lhs, divisor)):
        return expand(b, exact, num_dims, operands, sources)
    lhs, rhs = (expand(b, side, num_dims, operands, sources) for side in (expr.lhs, expr.rhs))
    if span is not None and span[0] >= 0:
        return _unsigned(b, expr.kind, lhs, rhs, divisor)
    return _signed(b, expr.kind, lhs, rhs)


def _quotient(expr: AffineExpr, divisor: int) -> AffineExpr | None:
    """`expr` over `divisor`, where it is a multiple of a constant that `divisor` divides."""
    if not isinstance(expr, AffineBinaryOpExpr) or expr.kind is not AffineBinaryOpKind.Mul:
        return None
    if not isinstance(expr.rhs, AffineConstantExpr) or expr.rhs.value % divisor:
        return None
    return expr.lhs * (expr.rhs.value // divisor)


def _unsigned(b: RuleBuilder, kind: AffineBinaryOpKind, lhs: SSAValue, rhs: SSAValue, divisor: int | None) -> SSAValue:
    if kind is AffineBinaryOpKind.Mod:
        return _binary(b, arith.RemUIOp, lhs, rhs)
    if kind is AffineBinaryOpKind.CeilDiv:
        if divisor is not None:
            lhs = _binary(b, arith.AddiOp, lhs, constant_index(b, divisor - 1))
        else:
            less = b(arith.SubiOp(rhs, constant_index(b, 1))).result
            lhs = b(arith.AddiOp(lhs, less)).result
    return _binary(b, arith.DivUIOp, lhs, rhs)


def _signed(b: RuleBuilder, kind: AffineBinaryOpKind, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    zero = constant_index(b, 0)
    remainder = b(arith.RemSIOp(lhs, rhs)).result
    if kind is AffineBinaryOpKind.Mod:
        negative = b(arith.CmpiOp(remainder, zero, "slt")).result
        return b(arith.SelectOp(negative, b(arith.AddiOp(remainder, rhs)).result, remainder)).result
    quotient = b(arith.DivSIOp(lhs, rhs)).result  # rounds to zero: one off where signs and rounding disagree
    one = constant_index(b, 1)
    if kind is AffineBinaryOpKind.FloorDiv:
        off = b(arith.CmpiOp(remainder, zero, "slt")).result
        return b(arith.SelectOp(off, b(arith.SubiOp(quotient, one)).result, quotient)).result
    off = b(arith.CmpiOp(remainder, zero, "sgt")).result
    return b(arith.SelectOp(off, b(arith.AddiOp(quotient, one)).result, quotient)).result


def expression_range(expr: AffineExpr, num_dims: int, operands: Sequence[SSAValue]) -> Range | None:
    """The interval an expression lies in, or None when an operand's range is not known."""
    match expr:
        case AffineConstantExpr():
            return expr.value, expr.value
        case AffineDimExpr():
            return value_range(operands[expr.position])
        case AffineSymExpr():
            return value_range(operands[num_dims + expr.position])
        case AffineBinaryOpExpr():
            left = expression_range(expr.lhs, num_dims, operands)
            right = expression_range(expr.rhs, num_dims, operands)
            return _combine(expr.kind, left, right) if left and right else None
        case _:
            return None


def _combine(kind: AffineBinaryOpKind, left: Range, right: Range) -> Range | None:
    if kind is AffineBinaryOpKind.Add:
        return left[0] + right[0], left[1] + right[1]
    if kind is AffineBinaryOpKind.Mul:
        corners = [a * c for a in left for c in right]
        return min(corners), max(corners)
    if right[0] != right[1] or right[0] <= 0:
        return None
    divisor = right[0]
    if kind is AffineBinaryOpKind.Mod:
        return left if left[0] >= 0 and left[1] < divisor else (0, divisor - 1)
    if kind is AffineBinaryOpKind.FloorDiv:
        return left[0] // divisor, left[1] // divisor
    return -(-left[0] // divisor), -(-left[1] // divisor)


def value_range(value: SSAValue) -> Range | None:
    """What the op that defines `value` says of it: loop variables, constants, applied maps."""
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        if isinstance(loop, affine.ForOp) and value.index == 0:
            low = _bound_range(loop.lowerBoundMap, loop.lowerBoundOperands, max)
            high = _bound_range(loop.upperBoundMap, loop.upperBoundOperands, min)
            return (low[0], max(low[0], high[1] - 1)) if low and high else None
        if isinstance(loop, affine.ParallelOp):
            return _parallel_range(loop, value.index)
        return None
    if not isinstance(value, OpResult):
        return None
    op = value.op
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data, op.value.value.data
    if isinstance(op, IdOp):
        return 0, op.MOST
    if isinstance(op, affine.ApplyOp):
        return expression_range(op.map.data.results[0], op.map.data.num_dims, op.operands)
    return None


def _bound_range(map: AffineMapAttr, operands: Sequence[SSAValue], pick: type | object) -> Range | None:
    ranges = [expression_range(result, map.data.num_dims, operands) for result in map.data.results]
    known = [span for span in ranges if span is not None]
    if len(known) != len(ranges):
        return None
    choose = max if pick is max else min
    return choose(span[0] for span in known), choose(span[1] for span in known)


def _parallel_range(loop: affine.ParallelOp, dim: int) -> Range | None:
    lower, upper = loop.lowerBoundsMap.data, loop.upperBoundsMap.data
    split = lower.num_dims + lower.num_symbols
    groups = ([int(n) for n in g.get_values()] for g in (loop.lowerBoundsGroups, loop.upperBoundsGroups))
    low_groups, high_groups = groups
    start, stop = sum(low_groups[:dim]), sum(high_groups[:dim])
    lows = [
        expression_range(lower.results[start + i], lower.num_dims, loop.operands[:split])
        for i in range(low_groups[dim])
    ]
    highs = [
        expression_range(upper.results[stop + i], upper.num_dims, loop.operands[split:])
        for i in range(high_groups[dim])
    ]
    if None in lows or None in highs:
        return None
    low = max(span[0] for span in lows if span)
    return low, max(low, min(span[1] for span in highs if span) - 1)
