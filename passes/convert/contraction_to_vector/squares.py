"""Squares of vectors transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, VectorType, f32, i64
from xdsl.dialects.vector import ShuffleOp
from xdsl.ir import SSAValue

from .loops import Loops


def transpose(code: Loops, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """As many vectors as each has lanes (a power of two), rows and columns exchanged: halves first, neighbours last.

    Each round exchanges the lanes and rows whose numbers differ in one bit.
    """
    values = list(rows)
    lanes = len(values)
    bit = lanes // 2
    while bit:
        for row in range(lanes):
            if row & bit:
                continue
            upper, lower = values[row], values[row | bit]
            first = [lane if not lane & bit else lanes + (lane ^ bit) for lane in range(lanes)]
            second = [lane ^ bit if not lane & bit else lanes + lane for lane in range(lanes)]
            values[row], values[row | bit] = (shuffle(code, upper, lower, mask) for mask in (first, second))
        bit //= 2
    return values


def shuffle(code: Loops, left: SSAValue, right: SSAValue, mask: Sequence[int]) -> SSAValue:
    """The lanes of both, chosen by number."""
    type_ = VectorType(f32, [len(mask)])
    properties = {"mask": DenseArrayBase.from_list(i64, mask)}
    return code(ShuffleOp.create(operands=[left, right], result_types=[type_], properties=properties)).results[0]
