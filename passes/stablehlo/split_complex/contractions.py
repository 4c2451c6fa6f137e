"""Products of matrices and convolutions: four of real numbers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ....compiler.conversion import Replacement, RuleBuilder
from ....dialects import stablehlo as hlo
from ..elements import Elements
from .parts import SPLIT, alike, split


@SPLIT.lowers(hlo.DotGeneralOp, hlo.ConvolutionOp)
def contraction(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> Replacement:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i, of which a real operand leaves two products."""
    types = split(op.results[0].type)
    if not isinstance(types, tuple):
        return b(alike(op, operands, [types])).results[0]

    def product(left: SSAValue, right: SSAValue) -> Elements:
        return Elements(b, b(alike(op, [left, right], types[:1])).results[0])

    left, right = (b.values(v) for v in op.operands)
    re, im = product(left[0], right[0]), None
    if len(left) == 2:
        im = product(left[1], right[0])
    if len(right) == 2:
        other = product(left[0], right[1])
        im = other if im is None else other + im
        re = re - product(left[1], right[1]) if len(left) == 2 else re
    assert im is not None
    return [[re.value, im.value]]
