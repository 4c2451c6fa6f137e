"""Elementwise ops: each becomes one parallel generic with the op's scalar form as its body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, DenseResourceAttr, IntegerType
from xdsl.ir import Operation, SSAValue

from ....compiler.conversion import RuleBuilder
from ....dialects import stablehlo as hlo
from .rules import RULES, Scalars, elementwise, result_type, signless, tensor_type
from .scalars import SCALARS


@RULES.lowers(*(op for op in SCALARS if op is not hlo.ConstantOp))
def lower_elementwise(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    rule = SCALARS[type(op)]
    return elementwise(b, operands, result_type(op), lambda s, args: [rule(op, s, args[:-1])])


@RULES.lowers(hlo.ConstantOp)
def lower_constant(op: hlo.ConstantOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = result_type(op)
    value = cast(Any, op.value)
    if isinstance(value, DenseResourceAttr):
        value = DenseResourceAttr.from_params(value.resource_handle, type_)
    elif isinstance(value, DenseIntOrFPElementsAttr) and value.type != type_:
        value = DenseIntOrFPElementsAttr(cast(Any, type_), value.data)
    return b(arith.ConstantOp(value, type_)).result


@RULES.lowers(hlo.BitcastConvertOp)
def lower_bitcast(op: hlo.BitcastConvertOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """Between types of one width; a change of width would change the shape."""
    type_ = result_type(op)
    source, target = tensor_type(operands[0]).element_type, type_.element_type
    if source == target:
        return operands[0]
    bits = [
        cast(Any, t).width.data if isinstance(t, IntegerType) else cast(AnyFloat, t).bitwidth for t in (source, target)
    ]
    if bits[0] != bits[1]:
        raise b.fail(f"bit casts between types of different width ({source} and {target}) are not lowered to linalg")

    def body(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [s(arith.BitcastOp(args[0], signless(target)))]

    return elementwise(b, operands, type_, body)
