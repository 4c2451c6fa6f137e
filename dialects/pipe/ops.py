"""The ops of `pipe`: one for each instruction that a unit executes, and the stream that holds them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    BytesAttr,
    DenseArrayBase,
    FlatSymbolRefAttr,
    MemRefType,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ..systolic.encoding import RECORDS, Instruction, check, text_of
from ..systolic.fields import NONE
from ..systolic.instructions import SPECS, Spec
from ..systolic.limits import check_limits
from ..systolic.ops import ForMachine, InstructionOp
from ..systolic.syntax import parse_values


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """That an instruction of a unit has completed: `!pipe.token`."""

    name = "pipe.token"


_TOKEN = TokenType()


def packed(instruction: Instruction) -> DenseArrayBase:
    """The fields of an instruction as an attribute."""
    return DenseArrayBase(i64, BytesAttr(struct.pack(f"<{len(instruction)}q", *instruction)))


class StepOp(IRDLOperation):
    """`%t = pipe.mm after(%a, %b) a=0x0 acc=0x40 n0=64 swap`: an instruction; `values` are its fields."""

    after = var_operand_def(TokenType)
    values = prop_def(DenseArrayBase.constr(i64))
    token = result_def(TokenType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, instruction: Instruction, after: Sequence[SSAValue] = ()):
        super().__init__(operands=[after], result_types=[_TOKEN], properties={"values": packed(instruction)})

    @classmethod
    def of(cls, values: DenseArrayBase, after: Sequence[SSAValue]) -> StepOp:
        """A step of values that are known to be right: kernels have tens of thousands."""
        properties = {"values": values}
        return cls.create(operands=after, result_types=[_TOKEN], properties=properties, location=UNKNOWN_LOC)

    def __post_init__(self) -> None:
        """Nothing: xDSL looks for defaults here, of which there are none."""

    @classmethod
    def row(cls) -> Spec:
        """The row of the instruction set that this op was made from."""
        return SPECS[cls.name.removeprefix("pipe.")]

    @property
    def instruction(self) -> Instruction:
        """The instruction as a record, without semaphores."""
        data = cast(DenseArrayBase, self.properties["values"]).data.data
        return RECORDS[self.row().name](struct.unpack(f"<{len(data) // 8}q", data))

    def verify_(self) -> None:
        try:
            if len(self.values) != len(self.row().fields):
                raise VerifyException(f"has {len(self.row().fields)} fields, got {len(self.values)}")
            instruction = self.instruction
            check(instruction)
        except LaminaError as error:
            raise VerifyException(str(error)) from None
        if instruction.wait0 != NONE or instruction.signal0 != NONE:
            raise VerifyException("tokens order here; semaphores come later")

    @classmethod
    def parse(cls, parser: Parser) -> StepOp:
        after: Sequence[SSAValue] = ()
        if parser.parse_optional_keyword("after"):
            unresolved = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
            after = [parser.resolve_operand(operand, TokenType()) for operand in unresolved]
        op = cls(RECORDS[cls.row().name](parse_values(cls.row(), parser)), after)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        if self.after:
            printer.print_string(" after(")
            printer.print_list(self.after, printer.print_ssa_value)
            printer.print_string(")")
        printer.print_string(text_of(self.instruction))
        printer.print_op_attributes(self.attributes)


def _define(spec: Spec) -> type[StepOp]:
    body: dict[str, Any] = {
        "name": f"pipe.{spec.name}",
        "after": var_operand_def(TokenType),
        "values": prop_def(DenseArrayBase.constr(i64)),
        "token": result_def(TokenType),
        "traits": StepOp.traits,
        "__doc__": spec.summary,
        "__module__": __name__,
    }
    return irdl_op_definition(cast(Any, type(f"{spec.name.capitalize()}StepOp", (StepOp,), body)))


OPS: dict[str, type[StepOp]] = {spec.name: _define(spec) for spec in SPECS.values() if spec.unit}


@irdl_op_definition
class StreamOp(ForMachine):
    """What one kernel dispatches, for the machine that `machine` names; r1, r2, ... are the addresses of its arguments.

    pipe.stream @copy for "tiny4" {
      systolic.cfg 0 stride(s0=4 d1=0)
      %0 = pipe.ld to=spm dst=0x0 src=0x0+r1 n0=8 len=4 stride=0
      %1 = pipe.st after(%0) source=spm src=0x0 to=dram dst=0x0+r2 n0=8 len=4 stride=0
    }

    C1 only steps and `systolic.cfg` are in it; every address on the chip and length is one that the machine has.
    """

    name = "pipe.stream"

    @property
    def instructions(self) -> list[Instruction]:
        """The instructions in the order of their dispatch."""
        return [op.instruction for op in self.body.block.ops if isinstance(op, StepOp | InstructionOp)]

    def verify_(self) -> None:
        try:
            machine = SystolicMachine.preset(self.machine.data)
            for at, op in enumerate(self.body.block.ops):
                if not isinstance(op, StepOp) and op.name != "systolic.cfg":
                    raise VerifyException(f"C1: holds steps only, got '{op.name}'")
                check_limits(cast(StepOp, op).instruction, machine, f"step {at}")
        except LaminaError as error:
            raise VerifyException(str(error)) from None


@irdl_op_definition
class RunOp(IRDLOperation):
    """Dispatches a kernel's stream, its arguments in r1, r2, ...: `pipe.run @conv_0(%x, %y) : memref<..>, memref<..>`.

    Nothing of it overlaps with what is dispatched before or behind.
    """

    name = "pipe.run"
    kernel = prop_def(FlatSymbolRefAttr)
    arguments = var_operand_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$kernel `(` $arguments `)` attr-dict `:` type($arguments)"

    def __init__(self, kernel: str, arguments: Sequence[SSAValue]):
        super().__init__(operands=[arguments], properties={"kernel": SymbolRefAttr(kernel)})


def all_ops() -> Sequence[type[IRDLOperation]]:
    """The ops of the dialect."""
    return [RunOp, StreamOp, *OPS.values()]
