"""An op for each instruction, made from its row, and the program that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, SymbolNameConstraint, i64
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, MemoryReadEffect, MemoryWriteEffect, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from .control import check_structure
from .encoding import RECORDS, Instruction, check, text_of
from .instructions import SPECS, Spec
from .limits import check_all_limits
from .syntax import parse_values


class InstructionOp(IRDLOperation):
    """`systolic.wl src=0x40 rows=4 wait(2)`: one word of the program; `values` holds its fields in their order."""

    values = prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, instruction: Instruction):
        values = [value - (1 << 64) if value >> 63 == 1 else value for value in instruction.values()]
        super().__init__(properties={"values": DenseArrayBase.from_list(i64, values)})

    @classmethod
    def row(cls) -> Spec:
        """The row of the table that this op was made from."""
        return SPECS[cls.name.removeprefix("systolic.")]

    @property
    def instruction(self) -> Instruction:
        """The instruction as a record."""
        fields = zip(self.row().fields, self.values.get_values(), strict=True)
        wide = 1 << 64  # the array's integers are signed
        return RECORDS[self.row().name](v + wide if f.bits == 64 and v < 0 else v for f, v in fields)

    def verify_(self) -> None:
        if len(self.values) != len(self.row().fields):
            raise VerifyException(f"has {len(self.row().fields)} fields, got {len(self.values)}")
        try:
            check(self.instruction)
        except LaminaError as error:
            raise VerifyException(f"{error.message} ({error.hint})" if error.hint else error.message) from None

    @classmethod
    def parse(cls, parser: Parser) -> InstructionOp:
        op = cls(RECORDS[cls.row().name](parse_values(cls.row(), parser)))
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(text_of(self.instruction))
        printer.print_op_attributes(self.attributes)


def _define(spec: Spec) -> type[InstructionOp]:
    body: dict[str, Any] = {
        "name": f"systolic.{spec.name}",
        "values": prop_def(DenseArrayBase.constr(i64)),
        "traits": InstructionOp.traits,
        "__doc__": f"{spec.summary} {spec.meaning}",
        "__module__": __name__,
    }
    return irdl_op_definition(cast(Any, type(f"{spec.name.capitalize()}Op", (InstructionOp,), body)))


OPS: dict[str, type[InstructionOp]] = {spec.name: _define(spec) for spec in SPECS.values()}


class ForMachine(IRDLOperation):
    """A symbol whose body is for a machine: `NAME @symbol for "machine" {...}`."""

    sym_name = prop_def(SymbolNameConstraint())
    machine = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    def __init__(self, name: str, machine: str, ops: Iterable[Operation] = ()):
        super().__init__(
            properties={"sym_name": StringAttr(name), "machine": StringAttr(machine)}, regions=[Region(Block(ops))]
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        parser.parse_keyword("for")
        machine = parser.parse_str_literal()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(name.data, machine)
        op.attributes |= dict[str, Attribute](attributes.data) if attributes is not None else {}
        region = parser.parse_region()
        op.detach_region(op.body)
        op.add_region(region)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" for ")
        printer.print_string_literal(self.machine.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


@irdl_op_definition
class ProgramOp(ForMachine):
    """The instructions of one program, in their order, for the machine that `machine` names.

    systolic.program @main for "tiny4" {
      systolic.halt
    }

    C1 only instructions are in it, and every address on the chip and length is one that the machine has;
    C2 every `loop` has its `end`, at most 3 are open at once, and nothing follows the last `halt`.
    """

    name = "systolic.program"

    def __init__(self, name: str, machine: str, instructions: Iterable[Instruction] = ()):
        super().__init__(name, machine, [OPS[instruction.spec.name](instruction) for instruction in instructions])

    @property
    def instructions(self) -> list[Instruction]:
        """The instructions as records."""
        return [op.instruction for op in self.body.block.ops if isinstance(op, InstructionOp)]

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, InstructionOp):
                raise VerifyException(f"C1: holds instructions only, got '{op.name}'")
        try:
            machine = SystolicMachine.preset(self.machine.data)
            check_structure(self.instructions)
            check_all_limits(self.instructions, machine)
        except LaminaError as error:
            raise VerifyException(str(error)) from None


def all_ops() -> Sequence[type[IRDLOperation]]:
    """The ops of the dialect."""
    return [ProgramOp, *OPS.values()]
