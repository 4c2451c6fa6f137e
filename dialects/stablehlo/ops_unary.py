"""Element-wise functions of one operand, and what all element-wise ops share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, ComplexType, IntegerType, Signedness, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure

from . import shapes
from .attributes import ResultAccuracyAttr
from .quant import UniformQuantizedType
from .syntax import TENSOR, ClausedOp, tensor_operand

Value = SSAValue | Operation

BOOLEAN, SIGNED, UNSIGNED, FLOAT, COMPLEX = (
    "boolean",
    "signed integer",
    "unsigned integer",
    "float",
    "complex",
)
QUANTIZED = "quantized"
INTEGER = (SIGNED, UNSIGNED)


def element_kind(element_type: Attribute) -> str:
    """Which of the specification's classes of element types this is; i1 is boolean, i8 and si8 are signed."""
    if isinstance(element_type, IntegerType):
        if element_type.width.data == 1:
            return BOOLEAN
        return UNSIGNED if element_type.signedness.data is Signedness.UNSIGNED else SIGNED
    if isinstance(element_type, AnyFloat):
        return FLOAT
    if isinstance(element_type, ComplexType):
        return COMPLEX
    return QUANTIZED if isinstance(element_type, UniformQuantizedType) else str(element_type)


class ElementwiseOp(ClausedOp, ABC):
    """Same shape in and out. `ACCEPTS` lists the kinds of elements; empty means all.

    What takes floats takes quantised elements too, which stand for floats.
    """

    ONE_TYPE: ClassVar = True
    ACCEPTS: ClassVar[tuple[str, ...]] = ()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if self.ACCEPTS:
            for i, value in enumerate(self.operands):
                kind = shapes.tensor(value, f"operand #{i}")
                found = element_kind(kind.element_type)
                if found not in self.ACCEPTS and not (found == QUANTIZED and FLOAT in self.ACCEPTS):
                    what = " or ".join(self.ACCEPTS)
                    shapes.fail(f"operand #{i} must be a tensor of {what} elements, got {kind}", f"I{i + 1}")
        super().verify_()


class UnaryOp(ElementwiseOp, ABC):
    """`%r = stablehlo.name %x : tensor<..>`, the result of the type of the operand (C1)."""

    operand = tensor_operand()
    result = result_def(TENSOR)

    def __init__(self, operand: Value, *, result_type: Attribute | None = None):
        self._build([operand], result_types=None if result_type is None else [result_type])

    def infer(self) -> Sequence[Attribute] | None:
        return (self.operand.type,)


class AccurateOp(UnaryOp, ABC):
    """A function of real or complex numbers, which may ask for an accuracy."""

    ACCEPTS: ClassVar = (FLOAT, COMPLEX)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@irdl_op_definition
class AbsOp(UnaryOp):
    """The absolute value; of a complex number its modulus, which is real (C1, C2)."""

    name = "stablehlo.abs"
    ACCEPTS: ClassVar = (SIGNED, FLOAT, COMPLEX)

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.real_part(self.operand.type),)


@irdl_op_definition
class CbrtOp(AccurateOp):
    """The cube root."""

    name = "stablehlo.cbrt"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The smallest whole number not below."""

    name = "stablehlo.ceil"
    ACCEPTS: ClassVar = (FLOAT,)


@irdl_op_definition
class CosineOp(AccurateOp):
    """The cosine."""

    name = "stablehlo.cosine"


@irdl_op_definition
class CountLeadingZerosOp(UnaryOp):
    """How many bits above the highest one bit."""

    name = "stablehlo.count_leading_zeros"
    ACCEPTS: ClassVar = INTEGER


@irdl_op_definition
class ExponentialOp(AccurateOp):
    """e to the power of the operand."""

    name = "stablehlo.exponential"


@irdl_op_definition
class ExponentialMinusOneOp(AccurateOp):
    """e to the power of the operand, minus one, exact near zero."""

    name = "stablehlo.exponential_minus_one"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The largest whole number not above."""

    name = "stablehlo.floor"
    ACCEPTS: ClassVar = (FLOAT,)


@irdl_op_definition
class ImagOp(UnaryOp):
    """The imaginary part, zero for real numbers (C1, C2)."""

    name = "stablehlo.imag"
    ACCEPTS: ClassVar = (FLOAT, COMPLEX)

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.real_part(self.operand.type),)


@irdl_op_definition
class IsFiniteOp(UnaryOp):
    """Whether neither infinite nor NaN (C1)."""

    name = "stablehlo.is_finite"
    ACCEPTS: ClassVar = (FLOAT,)
    ONE_TYPE: ClassVar = False

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.with_element(self.operand.type, i1),)


@irdl_op_definition
class LogOp(AccurateOp):
    """The natural logarithm."""

    name = "stablehlo.log"


@irdl_op_definition
class LogPlusOneOp(AccurateOp):
    """The natural logarithm of one plus the operand, exact near zero."""

    name = "stablehlo.log_plus_one"


@irdl_op_definition
class LogisticOp(AccurateOp):
    """1 / (1 + exp(-x))."""

    name = "stablehlo.logistic"


@irdl_op_definition
class NegateOp(UnaryOp):
    """The negative; integers wrap around."""

    name = "stablehlo.negate"
    ACCEPTS: ClassVar = (*INTEGER, FLOAT, COMPLEX)


@irdl_op_definition
class NotOp(UnaryOp):
    """Boolean or bitwise not."""

    name = "stablehlo.not"
    ACCEPTS: ClassVar = (BOOLEAN, *INTEGER)


@irdl_op_definition
class PopcntOp(UnaryOp):
    """How many bits are one."""

    name = "stablehlo.popcnt"
    ACCEPTS: ClassVar = INTEGER


@irdl_op_definition
class RealOp(UnaryOp):
    """The real part (C1, C2)."""

    name = "stablehlo.real"
    ACCEPTS: ClassVar = (FLOAT, COMPLEX)

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.real_part(self.operand.type),)


@irdl_op_definition
class RoundNearestAfzOp(UnaryOp):
    """The nearest whole number, halves away from zero."""

    name = "stablehlo.round_nearest_afz"
    ACCEPTS: ClassVar = (FLOAT,)


@irdl_op_definition
class RoundNearestEvenOp(UnaryOp):
    """The nearest whole number, halves to the even one."""

    name = "stablehlo.round_nearest_even"
    ACCEPTS: ClassVar = (FLOAT,)


@irdl_op_definition
class RsqrtOp(AccurateOp):
    """One over the square root."""

    name = "stablehlo.rsqrt"


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1; of a complex number x / abs(x); NaN stays."""

    name = "stablehlo.sign"
    ACCEPTS: ClassVar = (SIGNED, FLOAT, COMPLEX)


@irdl_op_definition
class SineOp(AccurateOp):
    """The sine."""

    name = "stablehlo.sine"


@irdl_op_definition
class SqrtOp(AccurateOp):
    """The square root."""

    name = "stablehlo.sqrt"


@irdl_op_definition
class TanOp(AccurateOp):
    """The tangent."""

    name = "stablehlo.tan"


@irdl_op_definition
class TanhOp(AccurateOp):
    """The hyperbolic tangent."""

    name = "stablehlo.tanh"
