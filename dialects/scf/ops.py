"""`scf.parallel` in MLIR's own syntax; everything else of scf is xDSL's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer


class ParallelOp(scf.ParallelOp):
    """`scf.parallel (%i) = (%lb) to (%ub) step (%s) init (%x) -> f32 { ... scf.reduce(%v : f32) { ... } }`"""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        index = IndexType()

        def values() -> Sequence[SSAValue]:
            return parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: parser.parse_operand(index))

        variables = parser.parse_comma_separated_list(
            Parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_punctuation("=")
        lower = values()
        parser.parse_keyword("to")
        upper = values()
        parser.parse_keyword("step")
        step = values()
        start = parser.pos
        inits: Sequence[SSAValue] = ()
        if parser.parse_optional_keyword("init"):
            names = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_unresolved_operand)
            parser.parse_punctuation("->")
            types: list[Attribute] = list(
                parser.parse_optional_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
                or [parser.parse_type()]
            )
            inits = parser.resolve_operands(names, types, start)
        body = parser.parse_region([variable.resolve(index) for variable in variables])
        if not isinstance(body.block.last_op, scf.ReduceOp):
            body.block.add_op(scf.ReduceOp())
        op = cls(lower, upper, step, body, inits)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        def values(operands: Sequence[SSAValue]) -> None:
            with printer.in_parens():
                printer.print_list(operands, printer.print_ssa_value)

        printer.print_string(" ")
        values(self.body.block.args)
        printer.print_string(" = ")
        values(self.lowerBound)
        printer.print_string(" to ")
        values(self.upperBound)
        printer.print_string(" step ")
        values(self.step)
        if self.initVals:
            printer.print_string(" init ")
            values(self.initVals)
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.result_types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)
