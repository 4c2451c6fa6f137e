"""Ops of MLIR's arith that xDSL lacks."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr, floatingPointLike
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .shaped import element_type


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """`%i = arith.index_castui %n : i32 to index`: between index and an integer, zero-extended."""

    name = "arith.index_castui"
    input = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue | Operation, target_type: Attribute):
        super().__init__(operands=[input], result_types=[target_type])

    def verify_(self) -> None:
        elements = [element_type(value.type) for value in (self.input, self.result)]
        if {type(element) for element in elements} != {IndexType, IntegerType}:
            raise VerifyException(f"casts between index and an integer, got {elements[0]} and {elements[1]}")


@irdl_op_definition
class RemFOp(IRDLOperation):
    """`%r = arith.remf %x, %y : f32`: the rest of the division rounded to zero; its sign is that of `%x`."""

    name = "arith.remf"
    T: ClassVar = VarConstraint("T", floatingPointLike)
    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(operands=[lhs, rhs], result_types=[SSAValue.get(lhs).type])
