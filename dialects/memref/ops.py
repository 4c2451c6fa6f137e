"""`memref.copy` and `memref.cast` in MLIR's own syntax; everything else of memref is xDSL's."""

from __future__ import annotations

from typing import Self

from xdsl.dialects import memref
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer


def _parse_pair(parser: Parser) -> tuple[Attribute, Attribute]:
    parser.parse_punctuation(":")
    first = parser.parse_type()
    parser.parse_keyword("to")
    return first, parser.parse_type()


def _print_pair(printer: Printer, first: Attribute, second: Attribute) -> None:
    printer.print_string(" : ")
    printer.print_attribute(first)
    printer.print_string(" to ")
    printer.print_attribute(second)


class CopyOp(memref.CopyOp):
    """`memref.copy %from, %to : memref<4xf32> to memref<4xf32>`"""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        target = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        source_type, target_type = _parse_pair(parser)
        op = cls(parser.resolve_operand(source, source_type), parser.resolve_operand(target, target_type))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(", ")
        printer.print_ssa_value(self.destination)
        printer.print_op_attributes(self.attributes)
        _print_pair(printer, self.source.type, self.destination.type)


class CastOp(memref.CastOp):
    """`%1 = memref.cast %0 : memref<4xf32> to memref<?xf32>`"""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        source_type, target_type = _parse_pair(parser)
        operand: SSAValue = parser.resolve_operand(source, source_type)
        return cls.create(operands=[operand], result_types=[target_type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_op_attributes(self.attributes)
        _print_pair(printer, self.source.type, self.dest.type)
