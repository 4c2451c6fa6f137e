"""Element-wise ops with rules of their own: comparison, selection, conversion, precision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from . import shapes
from .attributes import (
    ComparisonDirection,
    ComparisonDirectionAttr,
    ComparisonType,
    ComparisonTypeAttr,
    int_attr,
)
from .ops_unary import BOOLEAN, COMPLEX, FLOAT, SIGNED, UNSIGNED, ElementwiseOp, UnaryOp, Value, element_kind
from .quant import UniformQuantizedType
from .syntax import TENSOR, ClausedOp, finish, print_attributes, print_types, tensor_operand


@irdl_op_definition
class ComplexOp(ElementwiseOp):
    """Complex numbers from real and imaginary parts (C1-C3).

    `%z = stablehlo.complex %re, %im : tensor<2xcomplex<f32>>`
    """

    name = "stablehlo.complex"
    lhs = tensor_operand()
    rhs = tensor_operand()
    result = result_def(TENSOR)

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
    lhs = tensor_operand()
    rhs = tensor_operand()
    result = result_def(TENSOR)
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
    pred = tensor_operand()
    on_true = tensor_operand()
    on_false = tensor_operand()
    result = result_def(TENSOR)
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
    min = tensor_operand()
    operand = tensor_operand()
    max = tensor_operand()
    result = result_def(TENSOR)

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
    operand = tensor_operand()
    output = result_def(TENSOR)
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
    """Floats, or values quantised otherwise, to the quantised element type of the result (C1, C2).

    `%q = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:15>>`
    """

    name = "stablehlo.uniform_quantize"
    ACCEPTS: ClassVar = (FLOAT,)

    def __init__(self, operand: Value, *, result_type: Attribute):
        super().__init__(operand, result_type=result_type)

    def infer(self) -> Sequence[Attribute] | None:
        return None

    def verify_(self) -> None:
        super().verify_()
        operand, result = self.operand.type, self.result.type
        shapes.same_shape((operand, result), "operand and result", "C1")
        target, source = result.element_type, operand.element_type
        if not isinstance(target, UniformQuantizedType):
            shapes.fail(f"result must be a quantized tensor, got {result}", "C2")
        expressed = source.data.expressed_type if isinstance(source, UniformQuantizedType) else source
        if target.data.expressed_type != expressed:
            shapes.fail(f"result must express {expressed}, got {result}", "C2")


@irdl_op_definition
class UniformDequantizeOp(UnaryOp):
    """Quantised values to the floats they stand for (C1, C2).

    `%x = stablehlo.uniform_dequantize %q : (tensor<2x!quant.uniform<i8:f32, 0.5:15>>) -> tensor<2xf32>`
    """

    name = "stablehlo.uniform_dequantize"

    def infer(self) -> Sequence[Attribute] | None:
        element = self.operand.type.element_type
        if not isinstance(element, UniformQuantizedType):
            shapes.fail(f"operand must be a quantized tensor, got {self.operand.type}", "I1")
        return (shapes.with_element(self.operand.type, element.data.expressed_type),)
