"""Control flow and structure: return, if, case, while, composite, custom_call, tuples, barriers, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    i1,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
)

from . import shapes
from .attributes import TokenType
from .syntax import (
    ClausedOp,
    StableHLOOp,
    new_line,
    parse_attributes,
    print_attributes,
    share_names,
    tensor_operand,
)

Value = SSAValue | Operation


@irdl_op_definition
class ReturnOp(StableHLOOp):
    """Ends a region and gives its results.

    `stablehlo.return %a, %b : tensor<f32>, tensor<i1>`
    """

    name = "stablehlo.return"
    results_ = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, results: Sequence[Value] = ()):
        self._build(results, result_types=())

    def verify_(self) -> None:
        super().verify_()
        if isinstance(self.parent_op(), FuncOp):
            shapes.fail("a function ends with func.return")

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_operand)
        print_attributes(printer, self)
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> ReturnOp:
        operands = (
            parser.parse_optional_undelimited_comma_separated_list(
                parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
            )
            or []
        )
        attributes = parser.parse_optional_attr_dict()
        kinds: list[Attribute] = []
        if operands:
            parser.parse_punctuation(":")
            kinds = list(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))
        return cls.create(operands=parser.resolve_operands(operands, kinds, parser.pos), attributes=attributes)


def is_block_with(region: Region, arguments: int) -> bool:
    """Whether the region is one block with so many arguments."""
    block = region.blocks.first
    return block is not None and block.next_block is None and len(block.args) == arguments


def returned(region: Region, name: str) -> list[Attribute]:
    """The types that a region returns."""
    block = region.block if region.blocks.first is not None and region.blocks.first.next_block is None else None
    if block is None or not isinstance(block.last_op, ReturnOp):
        shapes.fail(f"{name} must be one block that ends in stablehlo.return")
    return list(block.last_op.operand_types)


def check_region(
    region: Region,
    name: str,
    inputs: Sequence[Attribute],
    outputs: Sequence[Attribute] | None,
    constraint: str,
) -> None:
    """The region takes `inputs` and returns `outputs`, where these are given."""
    found = returned(region, name)
    taken = list(region.block.arg_types)
    if taken != list(inputs):
        shapes.fail(f"{name} must take ({list_types(inputs)}), got ({list_types(taken)})", constraint)
    if outputs is not None and found != list(outputs):
        shapes.fail(f"{name} must return ({list_types(outputs)}), got ({list_types(found)})", constraint)


def list_types(types: Sequence[Attribute]) -> str:
    """`T, U`, for messages."""
    return ", ".join(map(str, types))


@irdl_op_definition
class IfOp(StableHLOOp):
    """Runs one of two regions (C1-C3).

    `%r = "stablehlo.if"(%p) ({ stablehlo.return %a : .. }, { stablehlo.return %b : .. }) : (tensor<i1>) -> ..`
    """

    name = "stablehlo.if"
    pred = tensor_operand()
    results_ = var_result_def()
    true_branch = region_def("single_block")
    false_branch = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, pred: Value, true_branch: Region, false_branch: Region):
        self._build([pred], regions=[true_branch, false_branch])

    def infer(self) -> Sequence[Attribute] | None:
        if self.pred.type != shapes.scalar(i1):
            shapes.fail(f"pred must be tensor<i1>, got {self.pred.type}", "I1")
        results = returned(self.true_branch, "true_branch")
        check_region(self.true_branch, "true_branch", (), None, "C1")
        check_region(self.false_branch, "false_branch", (), results, "C2")
        return results


@irdl_op_definition
class CaseOp(StableHLOOp):
    """Runs the region that `index` names; the last one where the index is out of range (C1-C4)."""

    name = "stablehlo.case"
    index = tensor_operand()
    results_ = var_result_def()
    branches = var_region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, index: Value, branches: Sequence[Region]):
        self._build([index], regions=branches)

    def infer(self) -> Sequence[Attribute] | None:
        if self.index.type != shapes.scalar(i32):
            shapes.fail(f"index must be tensor<i32>, got {self.index.type}", "I1")
        if not self.branches:
            shapes.fail("needs at least one branch", "C1")
        results = returned(self.branches[0], "branch #0")
        for i, branch in enumerate(self.branches):
            check_region(branch, f"branch #{i}", (), None, "C2")
            check_region(branch, f"branch #{i}", (), results, "C3")
        return results


@irdl_op_definition
class WhileOp(StableHLOOp):
    """Runs `body` on the operands as long as `cond` holds (C1-C3).

    `%r:2 = stablehlo.while(%i = %a, %s = %b) : tensor<i64>, tensor<f32>
        cond { ... stablehlo.return %p : tensor<i1> } do { ... stablehlo.return %n, %t : ... }`
    """

    name = "stablehlo.while"
    operand = var_operand_def()
    results_ = var_result_def()
    cond = region_def("single_block")
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, operand: Sequence[Value], cond: Region, body: Region):
        self._build(operand, regions=[cond, body])

    def infer(self) -> Sequence[Attribute] | None:
        kinds = [v.type for v in self.operands]
        check_region(self.cond, "cond", kinds, [shapes.scalar(i1)], "C1")
        check_region(self.body, "body", kinds, kinds, "C2")
        return kinds

    def print(self, printer: Printer) -> None:
        if not is_block_with(self.cond, len(self.operands)) or not is_block_with(self.body, len(self.operands)):
            printer.print_op_with_default_format(self)  # not valid, but to be seen
            return
        args = self.body.block.args
        printer.print_string("(")
        for i, (argument, value) in enumerate(zip(args, self.operands, strict=True)):
            printer.print_string(", " if i else "")
            printer.print_ssa_value(argument)
            printer.print_string(" = ")
            printer.print_operand(value)
        printer.print_string(")")
        share_names(printer, args, self.cond.block.args)
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        new_line(printer)
        printer.print_string(" cond ")
        printer.print_region(self.cond, print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        def binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            return argument, parser.parse_unresolved_operand()

        position = parser.pos
        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)
        kinds: list[Attribute] = []
        if bindings:
            parser.parse_punctuation(":")
            kinds = list(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))
        operands = parser.resolve_operands([operand for _, operand in bindings], kinds, position)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        arguments = [argument.resolve(kind) for (argument, _), kind in zip(bindings, kinds, strict=True)]
        parser.parse_keyword("cond")
        cond = parser.parse_region(arguments)
        parser.parse_keyword("do")
        body = parser.parse_region(arguments)
        return cls.create(
            operands=operands,
            result_types=kinds,
            attributes=attributes.data if attributes else {},
            regions=[cond, body],
        )


@irdl_op_definition
class OptimizationBarrierOp(StableHLOOp):
    """The operands, none of which may be computed later, or any user earlier, than the barrier (C1).

    `%r:2 = stablehlo.optimization_barrier %a, %b : tensor<f32>, tensor<i1>`
    """

    name = "stablehlo.optimization_barrier"
    operand = var_operand_def()
    results_ = var_result_def()
    traits = traits_def(Pure())

    def __init__(self, operand: Sequence[Value]):
        self._build(operand)

    def infer(self) -> Sequence[Attribute] | None:
        return [v.type for v in self.operands]

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self)
        if not self.operands:
            printer.print_string("()")
            return
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> OptimizationBarrierOp:
        attributes = parse_attributes(cls, parser, {})
        if parser.parse_optional_punctuation("("):
            parser.parse_punctuation(")")
            return cls.create(attributes=attributes)
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        position = parser.pos
        kinds = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(
            operands=parser.resolve_operands(operands, kinds, position),
            result_types=kinds,
            attributes=attributes,
        )


@irdl_op_definition
class AfterAllOp(ClausedOp):
    """A token that is there when all the given ones are.

    `%t = stablehlo.after_all %a, %b : !stablehlo.token`
    """

    name = "stablehlo.after_all"
    inputs = var_operand_def(TokenType)
    result = result_def(TokenType)
    traits = traits_def(Pure())
    ONE_TYPE: ClassVar = True

    def __init__(self, inputs: Sequence[Value]):
        self._build(inputs)

    def infer(self) -> Sequence[Attribute] | None:
        return (TokenType(),)


def single_block(arg_types: Sequence[Attribute]) -> tuple[Region, Block]:
    """A region of one block with arguments, to be filled and ended by ReturnOp."""
    block = Block(arg_types=arg_types)
    return Region(block), block
