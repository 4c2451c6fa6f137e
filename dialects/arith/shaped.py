"""arith ops that MLIR has on vectors and tensors too, where xDSL takes scalars alone.

Each class extends the upstream op of the same name, so that code which knows the upstream class knows ours.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Self, get_args

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    ContainerType,
    IndexType,
    IntegerType,
    ShapedType,
    TensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Operation, OpTraits, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

_FLOATS: tuple[type, ...] = get_args(AnyFloat)
_PURE = OpTraits(lambda: (Pure(),))


def element_type(type_: Attribute) -> Attribute:
    """The element type of a vector or tensor, any other type itself."""
    return type_.get_element_type() if isinstance(type_, ContainerType) else type_


def shape_of(type_: Attribute) -> tuple[int, ...] | None:
    """The shape of a vector or tensor, None for a scalar."""
    return type_.get_shape() if isinstance(type_, ShapedType) else None


def with_element(type_: Attribute, element: Attribute) -> Attribute:
    """`type_` with another element type; a scalar becomes `element`."""
    match type_:
        case VectorType():
            return VectorType(element, type_.get_shape(), type_.scalable_dims)
        case TensorType():
            return TensorType(element, type_.get_shape(), type_.encoding)
        case _:
            return element


def _check_conversion(
    op: Operation, source: type | tuple[type, ...], target: type | tuple[type, ...], grows: int
) -> None:
    """One operand, one result, of one shape; `grows` is the sign of the change of width, 0 for any."""
    if len(op.operands) != 1 or len(op.results) != 1:
        raise VerifyException("expected one operand and one result")
    from_type, to_type = op.operands[0].type, op.results[0].type
    if shape_of(from_type) != shape_of(to_type):
        raise VerifyException(f"operand {from_type} and result {to_type} have different shapes")
    a, b = element_type(from_type), element_type(to_type)
    if not isinstance(a, source) or not isinstance(b, target):
        raise VerifyException(f"cannot convert {from_type} to {to_type}")
    if grows and isinstance(a, IntegerType) and isinstance(b, IntegerType):
        difference = b.width.data - a.width.data
        if difference * grows <= 0:
            raise VerifyException(
                f"the result must be {'wider' if grows > 0 else 'narrower'}: {from_type} to {to_type}"
            )


class _ConversionSyntax(IRDLOperation, ABC):
    """`%x : type to type`, for any types: upstream's format knows scalars alone."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(name, parser.parse_type())
        parser.parse_keyword("to")
        return cls.create(operands=[operand], result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)
        printer.print_string(" to ")
        printer.print_attribute(self.results[0].type)


class ExtSIOp(_ConversionSyntax, arith.ExtSIOp):
    """`%r = arith.extsi %x : vector<8xi8> to vector<8xi32>`"""

    traits = _PURE

    def verify_(self) -> None:
        _check_conversion(self, IntegerType, IntegerType, 1)


class ExtUIOp(_ConversionSyntax, arith.ExtUIOp):
    """`%r = arith.extui %x : vector<8xi1> to vector<8xi32>`"""

    traits = _PURE

    def verify_(self) -> None:
        _check_conversion(self, IntegerType, IntegerType, 1)


class TruncIOp(_ConversionSyntax, arith.TruncIOp):
    """`%r = arith.trunci %x : vector<8xi32> to vector<8xi8>`"""

    traits = _PURE

    def verify_(self) -> None:
        _check_conversion(self, IntegerType, IntegerType, -1)


class SIToFPOp(_ConversionSyntax, arith.SIToFPOp):
    """`%r = arith.sitofp %x : vector<8xi32> to vector<8xf32>`"""

    traits = _PURE

    def verify_(self) -> None:
        _check_conversion(self, IntegerType, _FLOATS, 0)


class UIToFPOp(_ConversionSyntax, arith.UIToFPOp):
    """`%r = arith.uitofp %x : vector<8xi32> to vector<8xf32>`"""

    traits = _PURE

    def verify_(self) -> None:
        _check_conversion(self, IntegerType, _FLOATS, 0)


class FPToSIOp(_ConversionSyntax, arith.FPToSIOp):
    """`%r = arith.fptosi %x : vector<8xf32> to vector<8xi32>`"""

    traits = _PURE

    def verify_(self) -> None:
        _check_conversion(self, _FLOATS, IntegerType, 0)


class FPToUIOp(_ConversionSyntax, arith.FPToUIOp):
    """`%r = arith.fptoui %x : vector<8xf32> to vector<8xi32>`"""

    traits = _PURE

    def verify_(self) -> None:
        _check_conversion(self, _FLOATS, IntegerType, 0)


class IndexCastOp(_ConversionSyntax, arith.IndexCastOp):
    """`%r = arith.index_cast %x : vector<8xi32> to vector<8xindex>`"""

    traits = _PURE

    def verify_(self) -> None:
        _check_conversion(self, (IntegerType, IndexType), (IntegerType, IndexType), 0)
        kinds = {type(element_type(value.type)) for value in (self.operands[0], self.results[0])}
        if len(kinds) != 2:
            raise VerifyException("casts between index and an integer type")


def _check_comparison(op: Operation, element: tuple[type, ...]) -> None:
    lhs, rhs = (operand.type for operand in op.operands)
    result = op.results[0].type
    if lhs != rhs:
        raise VerifyException(f"compares {lhs} with {rhs}")
    if not isinstance(element_type(lhs), element):
        raise VerifyException(f"cannot compare values of type {lhs}")
    if result != with_element(lhs, i1):
        raise VerifyException(f"the result of comparing {lhs} is {with_element(lhs, i1)}, not {result}")


def _retype(op: IRDLOperation, lhs: SSAValue | Operation) -> None:
    """Gives the result of a comparison the operands' shape; upstream made it a single i1."""
    wanted = with_element(SSAValue.get(lhs).type, i1)
    if wanted != i1:
        op.results[0]._type = wanted  # pyright: ignore


class CmpiOp(arith.CmpiOp):
    """`%r = arith.cmpi slt, %x, %y : vector<8xi32>`"""

    def __init__(self, operand1: SSAValue | Operation, operand2: SSAValue | Operation, arg: int | str):
        super().__init__(operand1, operand2, arg)
        _retype(self, operand1)

    def verify_(self) -> None:
        _check_comparison(self, (IntegerType, IndexType))


class CmpfOp(arith.CmpfOp):
    """`%r = arith.cmpf olt, %x, %y : vector<8xf32>`"""

    def __init__(
        self,
        operand1: SSAValue | Operation,
        operand2: SSAValue | Operation,
        arg: int | str,
        fastmath: arith.FastMathFlagsAttr | None = None,
    ):
        super().__init__(operand1, operand2, arg, fastmath or arith.FastMathFlagsAttr("none"))
        _retype(self, operand1)

    def verify_(self) -> None:
        _check_comparison(self, _FLOATS)


class SelectOp(arith.SelectOp):
    """`%r = arith.select %m, %x, %y : vector<8xi1>, vector<8xf32>`: by lane where the condition has lanes."""

    def verify_(self) -> None:
        condition, lhs, rhs = (operand.type for operand in self.operands)
        if lhs != rhs or lhs != self.results[0].type:
            raise VerifyException(f"chooses between {lhs} and {rhs} for {self.results[0].type}")
        if condition != i1 and (condition != with_element(lhs, i1)):
            raise VerifyException(f"the condition must be i1 or {with_element(lhs, i1)}, got {condition}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types: Sequence[Attribute] = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
        condition = types[0] if len(types) == 2 else i1
        operands = parser.resolve_operands(names, [condition, types[-1], types[-1]], parser.pos)
        op = cls(*operands)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.operands[0].type != i1:
            printer.print_attribute(self.operands[0].type)
            printer.print_string(", ")
        printer.print_attribute(self.results[0].type)
