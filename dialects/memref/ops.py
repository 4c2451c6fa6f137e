"""`memref.copy`, `memref.cast` and `memref.prefetch` in MLIR's own syntax; everything else of memref is xDSL's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects import memref
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


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


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """`memref.prefetch %m[%i], read, locality<3>, data : memref<64xf32>`

    A hint: the element will be read (or written) soon. Locality 0 is none, 3 keeps it in all caches.
    """

    name = "memref.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    isWrite = prop_def(BoolAttr)
    localityHint = prop_def(IntegerAttr)
    isDataCache = prop_def(BoolAttr)

    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        *,
        write: bool = False,
        locality: int = 3,
        data: bool = True,
    ):
        super().__init__(
            operands=[buffer, indices],
            properties={
                "isWrite": BoolAttr.from_bool(write),
                "localityHint": IntegerAttr(locality, i32),
                "isDataCache": BoolAttr.from_bool(data),
            },
        )

    def verify_(self) -> None:
        assert isinstance(self.memref.type, MemRefType)
        rank = self.memref.type.get_num_dims()
        if len(self.indices) != rank:
            raise VerifyException(f"{self.memref.type} takes {rank} indices, got {len(self.indices)}")
        if not 0 <= self.localityHint.value.data <= 3:
            raise VerifyException(f"the locality is 0 to 3, got {self.localityHint.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, lambda: parser.parse_operand(IndexType()))
        parser.parse_punctuation(",")
        write = parser.expect(lambda: _parse_optional_choice(parser, "read", "write"), "expected read or write")
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        parser.parse_punctuation("<")
        locality = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(">")
        parser.parse_punctuation(",")
        data = parser.expect(lambda: _parse_optional_choice(parser, "instr", "data"), "expected data or instr")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(source, parser.parse_type())
        op = cls(operand, indices, write=write, locality=locality, data=data)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        kind = "write" if self.isWrite else "read"
        cache = "data" if self.isDataCache else "instr"
        printer.print_string(f", {kind}, locality<{self.localityHint.value.data}>, {cache}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)


def _parse_optional_choice(parser: Parser, no: str, yes: str) -> bool | None:
    """Which of two keywords stands here; None for neither."""
    if parser.parse_optional_keyword(no) is not None:
        return False
    return True if parser.parse_optional_keyword(yes) is not None else None
