"""`math-expand`: functions without a machine instruction become arithmetic, so that no math library is called.

before:
    %y = math.exp %x : vector<8xf32>
after:
    %k = math.fma ...                 // x = k ln 2 + r
    %p = math.fma ...                 // a polynomial in r
    %y = arith.mulf %p, %two_to_k : vector<8xf32>

f32 and f64, scalars and vectors; f16 and bf16 are computed in f32. NaN, infinities, signed zeros and subnormals are
right; the error is below 4 ulp for f32 and a few ulp for f64 over the whole range.
Square root, absolute value and copysign have instructions and stay, and so do fma and rounding to integers where
the machine has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    ModuleOp,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.conversion import Rule, RuleBuilder, Rules, convert
from ...dialects import arith
from ...dialects.arith.shaped import element_type
from ...dialects.math import BELOW_ONE, WEIGHT
from . import (
    erf_by_table,
    error_function,
    exp_by_short_table,
    exp_by_table,
    exponential,
    hyperbolic,
    power,
    substitutes,
    trigonometric,
)
from .numbers import Numbers, constant_of, in_f32, quotient

RULES = Rules("math-expand")
BY_TABLE = Rules("math-expand")  # instead, where registers hold tables of sixteen numbers
BY_SHORT_TABLE = Rules("math-expand")  # of eight
_Unary = Callable[[Numbers, SSAValue], SSAValue]

_UNARY: dict[type[Operation], _Unary] = {
    math.Exp2Op: exponential.exp2,
    math.ExpM1Op: exponential.expm1,
    math.LogOp: exponential.log,
    math.Log2Op: exponential.log2,
    math.Log10Op: exponential.log10,
    math.Log1pOp: exponential.log1p,
    math.SinOp: trigonometric.sin,
    math.CosOp: trigonometric.cos,
    math.TanOp: trigonometric.tan,
    math.AsinOp: trigonometric.asin,
    math.AcosOp: trigonometric.acos,
    math.AtanOp: trigonometric.atan,
    math.SinhOp: hyperbolic.sinh,
    math.CoshOp: hyperbolic.cosh,
    math.TanhOp: hyperbolic.tanh,
    math.AsinhOp: hyperbolic.asinh,
    math.AcoshOp: hyperbolic.acosh,
    math.AtanhOp: hyperbolic.atanh,
    math.CbrtOp: power.cbrt,
    math.RsqrtOp: power.rsqrt,
}


def _unary_rule(function: _Unary) -> Rule:
    return lambda op, operands, b: in_f32(b, operands, lambda e, values: function(e, values[0]))


for _op, _function in _UNARY.items():
    RULES.lowers(_op)(_unary_rule(_function))


@RULES.lowers(math.ExpOp)
def expand_exp(op: math.ExpOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _exp(op, operands, b, exponential)


@BY_TABLE.lowers(math.ExpOp)
def expand_exp_by_table(op: math.ExpOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _exp(op, operands, b, exp_by_table)


@BY_SHORT_TABLE.lowers(math.ExpOp)
def expand_exp_by_short_table(op: math.ExpOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _exp(op, operands, b, exp_by_short_table)


def _exp(op: math.ExpOp, operands: Sequence[SSAValue], b: RuleBuilder, in_single: ModuleType) -> SSAValue:
    """What is known of the argument and the result tells which of the module's ways is the shortest."""
    ways = exponential if isinstance(element_type(op.operand.type), Float64Type) else in_single
    work = ways.exp_beside_one if _only_beside_one(op.result) else ways.exp
    if BELOW_ONE in op.attributes:
        work = ways.exp_below_one
    if WEIGHT in op.attributes:
        work = ways.exp_as_weight
    return in_f32(b, operands, lambda e, values: work(e, values[0]))


@RULES.lowers(math.Atan2Op)
def expand_atan2(op: math.Atan2Op, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return in_f32(b, operands, lambda e, values: trigonometric.atan2(e, *values))


@RULES.lowers(arith.RemFOp)
def expand_remf(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return in_f32(b, operands, lambda e, values: power.remainder(e, *values))


@RULES.lowers(math.ErfOp)
def expand_erf(op: math.ErfOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """As GELU takes it, of a quotient by a constant and beside 1: a division would take as long as all the rest."""
    work = error_function.erf_beside_one if _only_beside_one(op.result) else error_function.erf
    return _erf(operands, b, work)


@BY_TABLE.lowers(math.ErfOp)
def expand_erf_by_table(op: math.ErfOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _erf(operands, b, erf_by_table.erf)


def _erf(operands: Sequence[SSAValue], b: RuleBuilder, in_single: _Unary) -> SSAValue:
    """`in_single` in f32; a quotient by a constant, of which erf often is, without a division."""
    [value] = operands
    if isinstance(element_type(value.type), Float64Type):
        return error_function.erf(Numbers(b, value.type), value)
    if not isinstance(element_type(value.type), Float32Type):
        return in_f32(b, operands, lambda e, values: in_single(e, values[0]))
    e = Numbers(b, value.type)
    divided = value.owner
    divisor = constant_of(divided.rhs) if isinstance(divided, arith.DivfOp) else None
    if isinstance(divided, arith.DivfOp) and divisor is not None and 2.0**-100 < abs(divisor) < 2.0**100:
        value = quotient(e, divided.lhs, divisor)
    return in_single(e, value)


def _only_beside_one(value: SSAValue) -> bool:
    """Whether all that is done with `value` is to add 1."""
    users = [use.operation for use in value.uses]
    return bool(users) and all(
        isinstance(user, arith.AddfOp) and 1.0 in (constant_of(user.lhs), constant_of(user.rhs)) for user in users
    )


@RULES.lowers(math.PowFOp)
def expand_powf(op: math.PowFOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    exponent = constant_of(operands[1])

    def work(e: Numbers, values: list[SSAValue]) -> SSAValue:
        simple = None if exponent is None else power.power_of_constant(e, values[0], exponent)
        return power.pow(e, *values) if simple is None else simple

    return in_f32(b, operands, work)


@RULES.lowers(math.FPowIOp)
def expand_fpowi(op: math.FPowIOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    exponent = constant_of(operands[1])

    def work(e: Numbers, values: list[SSAValue]) -> SSAValue:
        simple = None if exponent is None else power.power_of_constant(e, values[0], exponent)
        return power.fpowi(e, values[0], operands[1]) if simple is None else simple

    return in_f32(b, operands, work)


@RULES.lowers(math.IPowIOp)
def expand_ipowi(op: math.IPowIOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return power.ipowi(b, operands[0], operands[1])


_TABLES = {16: BY_TABLE, 8: BY_SHORT_TABLE}


@dataclass(frozen=True)
class ExpandMath(ModulePass):
    """Functions without a machine instruction become arithmetic."""

    name = "math-expand"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        if rules := _TABLES.get(machine.table_lanes):
            convert(op, rules, illegal=set())
        convert(op, RULES, illegal=set())
        if not machine.rounds:
            convert(op, substitutes.ROUNDING, illegal=set())
        if not machine.fuses:
            convert(op, substitutes.FUSED, illegal=set())
