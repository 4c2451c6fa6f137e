"""Sorting without comparisons: by a few bits of a number after the other, the lowest first.

    for every number:     counts[r, digit] += 1                      // for all digits in one pass
    %first = how many numbers have a lower digit                     // for each digit
    for every number:     %place = first[r, digit];  first[r, digit] += 1;  result[r, %place] = number

The last two for one digit after the other: each keeps the order of those before among equals. The highest bit counts
the other way round, as the numbers have signs.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, TensorType, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ....compiler.conversion import RuleBuilder
from ....dialects.tensor import ExtractOp, InsertOp
from .indexing import loop_nest
from .rules import PARALLEL, REDUCTION, Scalars, d, empty, filled, generic, scalar_constant, tensor_type

WIDEST = 11  # bits of a digit: counts that stay in the first-level cache


def digit_width(n: int, bits: int) -> int:
    """How many bits to go by at a time: each pass takes some five cycles for a number, and one for a count.

    >>> [digit_width(n, 32) for n in (40, 300, 1000, 100000)]
    [6, 8, 8, 11]
    """
    return min(range(2, WIDEST + 1), key=lambda width: -(-bits // width) * (5 * n + (1 << width)))


def by_digits(operands: Sequence[SSAValue], low: int, high: int, b: RuleBuilder) -> Sequence[SSAValue]:
    """Rows sorted by the bits from `low` up to, without, `high` of the first operand, signed numbers of 64 bits."""
    rows, n = tensor_type(operands[0]).get_shape()
    step = digit_width(n, high - low)
    starts = range(low, high, step)
    widths = [min(step, high - start) for start in starts]
    digits = [_Digit(start, width, start + width == high) for start, width in zip(starts, widths, strict=True)]
    zero = b(scalar_constant(0, i32)).result
    empties = [filled(b, zero, TensorType(i32, [rows, 1 << width])) for width in widths]

    def count(s: Scalars, at: Sequence[SSAValue], totals: Sequence[SSAValue]) -> list[SSAValue]:
        number = s(ExtractOp(operands[0], at, i64))
        return [
            _one_more(s, counts, [at[0], digit.of(number, s)])[1] for digit, counts in zip(digits, totals, strict=True)
        ]

    counted = loop_nest(b, [rows, n], empties, count)
    values = operands
    for digit, counts in zip(digits, counted, strict=True):
        values = _placed(values, digit, _before(counts, b), b)
    return values


class _Digit:
    """Some bits of a number; those with the sign of it in the order of the numbers."""

    def __init__(self, start: int, width: int, has_sign: bool):
        self.start = start
        self.width = width
        self.has_sign = has_sign

    def of(self, number: SSAValue, s: Scalars) -> SSAValue:
        """The digit as a subscript."""
        moved = s(arith.ShRUIOp(number, s.constant(self.start, i64))) if self.start else number
        bits = s(arith.AndIOp(moved, s.constant((1 << self.width) - 1, i64)))
        if self.has_sign:
            bits = s(arith.XOrIOp(bits, s.constant(1 << (self.width - 1), i64)))
        return s(arith.IndexCastOp(bits, IndexType()))


def _one_more(s: Scalars, counts: SSAValue, at: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
    """What a count was, and the counts with one more there."""
    old = s(ExtractOp(counts, at, i32))
    return old, s(InsertOp(s(arith.AddiOp(old, s.constant(1, i32))), counts, at))


def _before(counts: SSAValue, b: RuleBuilder) -> SSAValue:
    """For each digit of a row how many numbers have a lower one."""
    rows, many = tensor_type(counts).get_shape()
    total = filled(b, b(scalar_constant(0, i32)).result, TensorType(i32, [rows]))
    here, row = AffineMap.identity(2), AffineMap(2, 0, (d(0),))

    def body(s: Scalars, args: Sequence[SSAValue]) -> list[SSAValue]:
        return [s(arith.AddiOp(args[1], args[0])), args[1]]

    outputs = [total, empty(b, TensorType(i32, [rows, many]))]
    return generic(b, [counts], outputs, [here, row, here], [PARALLEL, REDUCTION], body)[1]


def _placed(values: Sequence[SSAValue], digit: _Digit, first: SSAValue, b: RuleBuilder) -> Sequence[SSAValue]:
    """The values in the order of a digit."""
    rows, n = tensor_type(values[0]).get_shape()

    def put(s: Scalars, at: Sequence[SSAValue], totals: Sequence[SSAValue]) -> list[SSAValue]:
        number = s(ExtractOp(values[0], at, i64))
        where = [at[0], digit.of(number, s)]
        place, after = _one_more(s, totals[0], where)
        target = [at[0], s(arith.IndexCastOp(place, IndexType()))]
        elements = [number, *(s(ExtractOp(v, at, tensor_type(v).element_type)) for v in values[1:])]
        return [after, *(s(InsertOp(e, total, target)) for e, total in zip(elements, totals[1:], strict=True))]

    return loop_nest(b, [rows, n], [first, *(empty(b, tensor_type(v)) for v in values)], put)[1:]
