"""Element-wise functions of two operands of one type."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Commutative

from . import shapes
from .ops_unary import BOOLEAN, COMPLEX, FLOAT, INTEGER, ElementwiseOp, Value
from .syntax import TENSOR, tensor_operand


class BinaryOp(ElementwiseOp, ABC):
    """`%r = stablehlo.name %a, %b : tensor<..>`, all of one type (C1)."""

    lhs = tensor_operand()
    rhs = tensor_operand()
    result = result_def(TENSOR)

    def __init__(self, lhs: Value, rhs: Value, *, result_type: Attribute | None = None):
        self._build([lhs, rhs], result_types=None if result_type is None else [result_type])

    def infer(self) -> Sequence[Attribute] | None:
        lhs, rhs = self.lhs.type, self.rhs.type
        if lhs != rhs:
            shapes.fail(f"lhs and rhs must have the same type, got {lhs} and {rhs}", "C1")
        return (lhs,)


@irdl_op_definition
class AddOp(BinaryOp):
    """The sum; of booleans their or."""

    name = "stablehlo.add"
    traits = traits_def(Commutative())


@irdl_op_definition
class AndOp(BinaryOp):
    """Boolean or bitwise and."""

    name = "stablehlo.and"
    ACCEPTS: ClassVar = (BOOLEAN, *INTEGER)
    traits = traits_def(Commutative())


@irdl_op_definition
class Atan2Op(BinaryOp):
    """The angle of the point (rhs, lhs), between -pi and pi."""

    name = "stablehlo.atan2"
    ACCEPTS: ClassVar = (FLOAT, COMPLEX)


@irdl_op_definition
class DivideOp(BinaryOp):
    """The quotient, of integers towards zero."""

    name = "stablehlo.divide"
    ACCEPTS: ClassVar = (*INTEGER, FLOAT, COMPLEX)


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger; NaN if either is. Of booleans their or."""

    name = "stablehlo.maximum"
    traits = traits_def(Commutative())


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller; NaN if either is. Of booleans their and."""

    name = "stablehlo.minimum"
    traits = traits_def(Commutative())


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """The product; of booleans their and."""

    name = "stablehlo.multiply"
    traits = traits_def(Commutative())


@irdl_op_definition
class OrOp(BinaryOp):
    """Boolean or bitwise or."""

    name = "stablehlo.or"
    ACCEPTS: ClassVar = (BOOLEAN, *INTEGER)
    traits = traits_def(Commutative())


@irdl_op_definition
class PowerOp(BinaryOp):
    """lhs to the power of rhs."""

    name = "stablehlo.power"
    ACCEPTS: ClassVar = (*INTEGER, FLOAT, COMPLEX)


@irdl_op_definition
class RemainderOp(BinaryOp):
    """The remainder of the division towards zero: it has the sign of lhs."""

    name = "stablehlo.remainder"
    ACCEPTS: ClassVar = (*INTEGER, FLOAT, COMPLEX)


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """lhs shifted left by rhs bits; zero when rhs is the width or more."""

    name = "stablehlo.shift_left"
    ACCEPTS: ClassVar = INTEGER


@irdl_op_definition
class ShiftRightArithmeticOp(BinaryOp):
    """lhs shifted right by rhs bits, the sign bit moving in."""

    name = "stablehlo.shift_right_arithmetic"
    ACCEPTS: ClassVar = INTEGER


@irdl_op_definition
class ShiftRightLogicalOp(BinaryOp):
    """lhs shifted right by rhs bits, zeros moving in."""

    name = "stablehlo.shift_right_logical"
    ACCEPTS: ClassVar = INTEGER


@irdl_op_definition
class SubtractOp(BinaryOp):
    """The difference."""

    name = "stablehlo.subtract"
    ACCEPTS: ClassVar = (*INTEGER, FLOAT, COMPLEX)


@irdl_op_definition
class XorOp(BinaryOp):
    """Boolean or bitwise exclusive or."""

    name = "stablehlo.xor"
    ACCEPTS: ClassVar = (BOOLEAN, *INTEGER)
    traits = traits_def(Commutative())
