"""Element-wise ops: each element of the result depends on the elements at the same place of the operands."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, Pure

from . import shapes
from .attributes import (
    ComparisonDirection,
    ComparisonDirectionAttr,
    ComparisonType,
    ComparisonTypeAttr,
    ResultAccuracyAttr,
    int_attr,
)
from .syntax import ClausedOp, finish, print_attributes, print_types

Value = SSAValue | Operation

BOOLEAN, SIGNED, UNSIGNED, FLOAT, COMPLEX = (
    "boolean",
    "signed integer",
    "unsigned integer",
    "float",
    "complex",
)
INTEGER = (SIGNED, UNSIGNED)


def element_kind(element_type: Attribute) -> str:
    """Which of the specification's classes of element types this is; i1 is boolean, i8 and si8 are signed."""
    if isinstance(element_type, IntegerType):
        if element_type.width.data == 1:
            return BOOLEAN
        return UNSIGNED if element_type.signedness.data is Signedness.UNSIGNED else SIGNED
    if isinstance(element_type, AnyFloat):
        return FLOAT
    return COMPLEX if isinstance(element_type, ComplexType) else str(element_type)


class ElementwiseOp(ClausedOp, ABC):
    """Same shape in and out. `ACCEPTS` lists the kinds of elements; empty means all."""

    ONE_TYPE: ClassVar = True
    ACCEPTS: ClassVar[tuple[str, ...]] = ()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if self.ACCEPTS:
            for i, value in enumerate(self.operands):
                kind = shapes.tensor(value, f"operand #{i}")
                if element_kind(kind.element_type) not in self.ACCEPTS:
                    what = " or ".join(self.ACCEPTS)
                    shapes.fail(f"operand #{i} must be a tensor of {what} elements, got {kind}", f"I{i + 1}")
        super().verify_()


class UnaryOp(ElementwiseOp, ABC):
    """`%r = stablehlo.name %x : tensor<..>`, the result of the type of the operand (C1)."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, operand: Value, *, result_type: Attribute | None = None):
        self._build([operand], result_types=None if result_type is None else [result_type])

    def infer(self) -> Sequence[Attribute] | None:
        return (self.operand.type,)


class AccurateOp(UnaryOp, ABC):
    """A function of real or complex numbers, which may ask for an accuracy."""

    ACCEPTS: ClassVar = (FLOAT, COMPLEX)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


class BinaryOp(ElementwiseOp, ABC):
    """`%r = stablehlo.name %a, %b : tensor<..>`, all of one type (C1)."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, lhs: Value, rhs: Value, *, result_type: Attribute | None = None):
        self._build([lhs, rhs], result_types=None if result_type is None else [result_type])

    def infer(self) -> Sequence[Attribute] | None:
        lhs, rhs = self.lhs.type, self.rhs.type
        if lhs != rhs:
            shapes.fail(f"lhs and rhs must have the same type, got {lhs} and {rhs}", "C1")
        return (lhs,)


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


@irdl_op_definition
class ComplexOp(ElementwiseOp):
    """Complex numbers from real and imaginary parts (C1-C3).

    `%z = stablehlo.complex %re, %im : tensor<2xcomplex<f32>>`
    """

    name = "stablehlo.complex"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, lhs: Value, rhs: Value):
        self._build([lhs, rhs])

    def infer(self) -> Sequence[Attribute] | None:
        if self.lhs.type.element_type not in (f32, f64):
            shapes.fail(f"operand #0 must be a tensor of f32 or f64, got {self.lhs.type}", "I1")
        return (shapes.complex_of(self.lhs.type, self.rhs.type),)

    def print(self, printer: Printer) -> None:
        real = shapes.real_part(self.result.type)
        if self.lhs.type != real or self.rhs.type != real:
            super().print(printer)
            return
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> ComplexOp:
        def parts(kind: Attribute) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
            if not (isinstance(kind, TensorType) and shapes.is_complex(kind)):
                parser.raise_error("expected tensor with complex element type")
            return [shapes.real_part(kind)] * 2, [kind]

        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        return finish(cls, parser, operands, {}, short=parts)


@irdl_op_definition
class CompareOp(ClausedOp):
    """Compares element by element (C1, C2).

    `%r = stablehlo.compare LT, %a, %b, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>`
    """

    name = "stablehlo.compare"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    comparison_direction = prop_def(ComparisonDirectionAttr)
    compare_type = opt_prop_def(ComparisonTypeAttr)
    traits = traits_def(Pure())

    def __init__(
        self,
        lhs: Value,
        rhs: Value,
        *,
        comparison_direction: str | ComparisonDirectionAttr,
        compare_type: str | ComparisonTypeAttr | None = None,
    ):
        if isinstance(comparison_direction, str):
            comparison_direction = ComparisonDirectionAttr(ComparisonDirection(comparison_direction))
        if isinstance(compare_type, str):
            compare_type = ComparisonTypeAttr(ComparisonType(compare_type))
        self._build([lhs, rhs], {"comparison_direction": comparison_direction, "compare_type": compare_type})

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.compare(self.lhs.type, self.rhs.type),)

    def verify_(self) -> None:
        super().verify_()
        if self.compare_type is None or self.compare_type.data == ComparisonType.NOTYPE:
            return
        kind = element_kind(self.lhs.type.element_type)
        allowed = {
            SIGNED: ("SIGNED",),
            UNSIGNED: ("UNSIGNED",),
            BOOLEAN: ("UNSIGNED",),
            FLOAT: ("FLOAT", "TOTALORDER"),
            COMPLEX: ("FLOAT",),
        }.get(kind)
        if allowed and self.compare_type.data.value not in allowed:
            shapes.fail(
                f"compare_type of {kind} elements must be {' or '.join(allowed)}, got {self.compare_type.data.value}",
                "C3",
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.comparison_direction.data.value}, ")
        printer.print_list(self.operands, printer.print_operand)
        if self.compare_type is not None:
            printer.print_string(f", {self.compare_type.data.value}")
        print_attributes(printer, self, ("comparison_direction", "compare_type"))
        print_types(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> CompareOp:
        properties: dict[str, Attribute] = {
            "comparison_direction": ComparisonDirectionAttr(ComparisonDirectionAttr.parse_parameter(parser))
        }
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        if parser.parse_optional_punctuation(","):
            properties["compare_type"] = ComparisonTypeAttr(ComparisonTypeAttr.parse_parameter(parser))
        return finish(cls, parser, [lhs, rhs], properties)


@irdl_op_definition
class SelectOp(ClausedOp):
    """Elements of `on_true` where `pred` holds, else of `on_false`; `pred` may be one scalar (C1, C2).

    `%r = stablehlo.select %p, %a, %b : tensor<2xi1>, tensor<2xf32>`
    """

    name = "stablehlo.select"
    pred = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def __init__(self, pred: Value, on_true: Value, on_false: Value):
        self._build([pred, on_true, on_false])

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.select(self.pred.type, self.on_true.type, self.on_false.type),)

    def print(self, printer: Printer) -> None:
        result = self.result.type
        if self.on_true.type != result or self.on_false.type != result:
            super().print(printer)
            return
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list((self.pred.type, result), printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        def pred_and_result(pred: Attribute) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
            parser.parse_punctuation(",")
            kind = parser.parse_type()
            return [pred, kind, kind], [kind]

        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        return finish(cls, parser, operands, {}, short=pred_and_result)


@irdl_op_definition
class ClampOp(ElementwiseOp):
    """The operand, no less than `min` and no more than `max`, which may be scalars (C1-C4).

    `%r = stablehlo.clamp %min, %x, %max : tensor<2xf32>`
    """

    name = "stablehlo.clamp"
    min = operand_def(TensorType)
    operand = operand_def(TensorType)
    max = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, min: Value, operand: Value, max: Value):
        self._build([min, operand, max])

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.clamp(self.min.type, self.operand.type, self.max.type),)


@irdl_op_definition
class ConvertOp(UnaryOp):
    """Converts to another element type, the shape staying the same (C1).

    `%r = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xf64>`
    """

    name = "stablehlo.convert"

    def __init__(self, operand: Value, element_type: Attribute | None = None, *, result_type: Attribute | None = None):
        if result_type is None:
            if element_type is None:
                raise ValueError("ConvertOp needs element_type or result_type")
            result_type = shapes.with_element(shapes.tensor(SSAValue.get(operand)), element_type)
        super().__init__(operand, result_type=result_type)

    def infer(self) -> Sequence[Attribute] | None:
        return None

    def verify_(self) -> None:
        super().verify_()
        shapes.same_shape((self.operand.type, self.result.type), "operand and result", "C1")


@irdl_op_definition
class ReducePrecisionOp(ElementwiseOp):
    """Rounds to a float format with fewer bits and back (C1-C3).

    `%r = stablehlo.reduce_precision %x, format = e5m10 : tensor<2xf32>`
    """

    name = "stablehlo.reduce_precision"
    ACCEPTS: ClassVar = (FLOAT,)
    operand = operand_def(TensorType)
    output = result_def(TensorType)
    exponent_bits = prop_def(IntegerAttr)
    mantissa_bits = prop_def(IntegerAttr)

    def __init__(self, operand: Value, *, exponent_bits: int, mantissa_bits: int):
        properties = {
            "exponent_bits": int_attr(exponent_bits, 32),
            "mantissa_bits": int_attr(mantissa_bits, 32),
        }
        self._build([operand], properties)

    def infer(self) -> Sequence[Attribute] | None:
        exponent, mantissa = self.exponent_bits.value.data, self.mantissa_bits.value.data
        if exponent < 1:
            shapes.fail(f"exponent_bits = {exponent} must be at least 1", "C2")
        if mantissa < 0:
            shapes.fail(f"mantissa_bits = {mantissa} must not be negative", "C3")
        return (self.operand.type,)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operand)
        bits = f"e{self.exponent_bits.value.data}m{self.mantissa_bits.value.data}"
        printer.print_string(f", format = {bits}")
        print_attributes(printer, self, ("exponent_bits", "mantissa_bits"))
        print_types(printer, self, one_type=True)

    @classmethod
    def parse(cls, parser: Parser) -> ReducePrecisionOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("format")
        parser.parse_punctuation("=")
        position = parser.pos
        bits = parser.parse_identifier()
        match = re.fullmatch(r"e(\d+)m(\d+)", bits)
        if match is None:
            parser.raise_error(f"expected exponent and mantissa in format e#m#, got {bits}", position)
        properties: dict[str, Attribute] = {
            "exponent_bits": int_attr(int(match[1]), 32),
            "mantissa_bits": int_attr(int(match[2]), 32),
        }
        return finish(cls, parser, [operand], properties, one_type=True)


@irdl_op_definition
class UniformQuantizeOp(UnaryOp):
    """Floats, or values quantised otherwise, to the quantised element type of the result (C1, C2)."""

    name = "stablehlo.uniform_quantize"

    def __init__(self, operand: Value, *, result_type: Attribute):
        super().__init__(operand, result_type=result_type)

    def infer(self) -> Sequence[Attribute] | None:
        return None

    def verify_(self) -> None:
        super().verify_()
        shapes.same_shape((self.operand.type, self.result.type), "operand and result", "C1")


@irdl_op_definition
class UniformDequantizeOp(UnaryOp):
    """Quantised values to the floats they stand for (C1, C2)."""

    name = "stablehlo.uniform_dequantize"

    def __init__(self, operand: Value, *, result_type: Attribute):
        super().__init__(operand, result_type=result_type)

    def infer(self) -> Sequence[Attribute] | None:
        return None

    def verify_(self) -> None:
        super().verify_()
        shapes.same_shape((self.operand.type, self.result.type), "operand and result", "C1")
