"""math to llvm: what a processor has an instruction for. The rest is expanded before, by math-expand."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, math
from xdsl.ir import Operation, SSAValue

from ....compiler.conversion import Rule, RuleBuilder
from ....dialects.llvm import intrinsics as intr
from .arith import fast_math, float_op
from .rules import RULES

_FLOAT: dict[type[Operation], type[Operation]] = {
    math.SqrtOp: llvm.FSqrtOp,
    math.FmaOp: llvm.FMAOp,
    math.AbsFOp: llvm.FAbsOp,
    math.FloorOp: llvm.FFloorOp,
    math.CeilOp: llvm.FCeilOp,
    math.TruncOp: intr.TruncOp,
    math.RoundOp: intr.RoundOp,
    math.RoundEvenOp: intr.RoundEvenOp,
    math.CopySignOp: llvm.FCopySignOp,
}


def _float_rule(target: type[Operation]) -> Rule:
    return lambda op, operands, b: float_op(b, target, operands, fast_math(op))


for _source, _target in _FLOAT.items():
    RULES.lowers(_source)(_float_rule(_target))


@RULES.lowers(math.CtPopOp)
def lower_ctpop(op: math.CtPopOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return b(intr.CtPopOp(operands[0])).res


@RULES.lowers(math.CountLeadingZerosOp)
def lower_ctlz(op: math.CountLeadingZerosOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return b(intr.CtLzOp(operands[0])).res


@RULES.lowers(math.CountTrailingZerosOp)
def lower_cttz(op: math.CountTrailingZerosOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return b(intr.CtTzOp(operands[0])).res


@RULES.lowers(math.AbsIOp)
def lower_absi(op: math.AbsIOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return b(intr.AbsOp(operands[0])).res
