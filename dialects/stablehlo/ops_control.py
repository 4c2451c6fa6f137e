"""Control flow and structure: return, if, case, while, composite, custom_call, tuples, barriers, tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
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
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
    RecursiveMemoryEffect,
    SymbolTable,
)

from . import shapes
from .attributes import OutputOperandAliasAttr, TokenType, bool_attr, int_attr, string_attr
from .syntax import (
    ClausedOp,
    StableHLOOp,
    finish,
    new_line,
    parse_attributes,
    print_attributes,
    print_types,
    share_names,
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
        shapes.fail(f"{name} must take ({_list(inputs)}), got ({_list(taken)})", constraint)
    if outputs is not None and found != list(outputs):
        shapes.fail(f"{name} must return ({_list(outputs)}), got ({_list(found)})", constraint)


def _list(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))


@irdl_op_definition
class IfOp(StableHLOOp):
    """Runs one of two regions (C1-C3).

    `%r = "stablehlo.if"(%p) ({ stablehlo.return %a : .. }, { stablehlo.return %b : .. }) : (tensor<i1>) -> ..`
    """

    name = "stablehlo.if"
    pred = operand_def(TensorType)
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
    index = operand_def(TensorType)
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
class CompositeOp(StableHLOOp):
    """An op made of others: it means what the function `decomposition` computes (C1-C4).

    `%r = stablehlo.composite "nn.softmax" %x {composite_attributes = {axis = 1 : i64}, decomposition = @softmax}
        : (tensor<2x3xf32>) -> tensor<2x3xf32>`
    """

    name = "stablehlo.composite"
    inputs = var_operand_def()
    results_ = var_result_def()
    composite_name = prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def(DictionaryAttr)
    decomposition = prop_def(FlatSymbolRefAttrConstr)
    version = opt_prop_def(IntegerAttr)
    composite_regions = var_region_def()

    def __init__(
        self,
        inputs: Sequence[Value],
        result_types: Sequence[Attribute],
        *,
        name: str | StringAttr,
        decomposition: str | SymbolRefAttr,
        composite_attributes: Mapping[str, Attribute] | DictionaryAttr | None = None,
        version: int | None = None,
        composite_regions: Sequence[Region] = (),
    ):
        if composite_attributes is not None and not isinstance(composite_attributes, DictionaryAttr):
            composite_attributes = DictionaryAttr(composite_attributes)
        properties = {
            "name": string_attr(name),
            "composite_attributes": composite_attributes,
            "decomposition": SymbolRefAttr(decomposition) if isinstance(decomposition, str) else decomposition,
            "version": None if version is None else int_attr(version, 32),
        }
        self._build(inputs, properties, regions=composite_regions, result_types=result_types)

    def verify_(self) -> None:
        super().verify_()
        dialect, dot, op = self.composite_name.data.partition(".")
        if not (dialect and dot and op):
            shapes.fail(f"name must be dialect.op, got '{self.composite_name.data}'", "C1")
        function = SymbolTable.lookup_symbol(self, self.decomposition)
        kind = getattr(function, "function_type", None)
        if kind is None:
            shapes.fail(f"decomposition {self.decomposition} is not a function in scope", "C2")
        for what, got, expected, constraint in (
            ("inputs", self.operand_types, kind.inputs.data, "C3"),
            ("results", self.result_types, kind.outputs.data, "C4"),
        ):
            if tuple(got) != tuple(expected):
                shapes.fail(
                    f"{what} must have the types of {self.decomposition}, ({_list(expected)}), got ({_list(got)})",
                    constraint,
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.composite_name)
        printer.print_string(" " if self.operands else "")
        printer.print_list(self.operands, printer.print_operand)
        if self.composite_regions:
            printer.print_string(" ")
            printer.print_regions(self.composite_regions)
        print_attributes(printer, self, ("name",))
        print_types(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> CompositeOp:
        properties: dict[str, Attribute] = {"name": StringAttr(parser.parse_str_literal())}
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        regions = parser.parse_region_list()
        return finish(cls, parser, operands or [], properties, regions=regions)


class CustomCallEffects(MemoryEffect):
    """No effects unless the op says it has some; then unknown ones."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, CustomCallOp)
        if op.has_side_effect is None or not op.has_side_effect.value.data:
            return set()
        return {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}


@irdl_op_definition
class CustomCallOp(ClausedOp):
    """What the target implements under `call_target_name`.

    `%r = stablehlo.custom_call @foo(%a) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>`
    """

    name = "stablehlo.custom_call"
    inputs = var_operand_def()
    results_ = var_result_def()
    call_target_name = prop_def(StringAttr)
    has_side_effect = opt_prop_def(BoolAttr)
    backend_config = opt_prop_def(StringAttr | DictionaryAttr)
    api_version = opt_prop_def(IntegerAttr)
    called_computations = opt_prop_def(ArrayAttr[SymbolRefAttr])
    operand_layouts = opt_prop_def(ArrayAttr)
    result_layouts = opt_prop_def(ArrayAttr)
    output_operand_aliases = opt_prop_def(ArrayAttr[OutputOperandAliasAttr])
    traits = traits_def(CustomCallEffects())

    def __init__(
        self,
        inputs: Sequence[Value],
        result_types: Sequence[Attribute],
        *,
        call_target_name: str | StringAttr,
        has_side_effect: bool | None = None,
        backend_config: str | StringAttr | DictionaryAttr | None = None,
        api_version: int | None = None,
        called_computations: Iterable[str] | None = None,
        output_operand_aliases: ArrayAttr[OutputOperandAliasAttr] | None = None,
    ):
        properties = {
            "call_target_name": string_attr(call_target_name),
            "has_side_effect": None if has_side_effect is None else bool_attr(has_side_effect),
            "backend_config": StringAttr(backend_config) if isinstance(backend_config, str) else backend_config,
            "api_version": None if api_version is None else int_attr(api_version, 32),
            "called_computations": None
            if called_computations is None
            else ArrayAttr(SymbolRefAttr(name) for name in called_computations),
            "output_operand_aliases": output_operand_aliases,
        }
        self._build(inputs, properties, result_types=result_types)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.call_target_name.data)
        printer.print_operands(self.operands)
        print_attributes(printer, self, ("call_target_name",))
        print_types(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> CustomCallOp:
        properties: dict[str, Attribute] = {"call_target_name": parser.parse_symbol_name()}
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        return finish(cls, parser, operands, properties)


@irdl_op_definition
class TupleOp(ClausedOp):
    """Values as one tuple (C1).

    `%t = stablehlo.tuple %a, %b : tuple<tensor<f32>, tensor<i1>>`
    """

    name = "stablehlo.tuple"
    val = var_operand_def()
    result = result_def(TupleType)
    traits = traits_def(Pure())

    def __init__(self, val: Sequence[Value]):
        self._build(val)

    def infer(self) -> Sequence[Attribute] | None:
        return (TupleType(tuple(v.type for v in self.operands)),)

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.operands else "")
        printer.print_list(self.operands, printer.print_operand)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> TupleOp:
        def members(kind: Attribute) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
            if not isinstance(kind, TupleType):
                parser.raise_error("expected tuple type")
            return kind.types.data, [kind]

        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        return finish(cls, parser, operands or [], {}, short=members)


@irdl_op_definition
class GetTupleElementOp(ClausedOp):
    """One value of a tuple (C1, C2).

    `%a = stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>>) -> tensor<f32>`
    """

    name = "stablehlo.get_tuple_element"
    operand = operand_def(TupleType)
    result = result_def()
    index = prop_def(IntegerAttr)
    traits = traits_def(Pure())

    def __init__(self, operand: Value, *, index: int | IntegerAttr):
        self._build([operand], {"index": int_attr(index, 32)})

    def infer(self) -> Sequence[Attribute] | None:
        members, index = self.operand.type.types.data, self.index.value.data
        if not 0 <= index < len(members):
            shapes.fail(f"index = {index} must be in [0, {len(members)})", "C1")
        return (members[index],)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operand)
        printer.print_string(f"[{self.index.value.data}]")
        print_attributes(printer, self, ("index",))
        print_types(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> GetTupleElementOp:
        operand = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            index = int_attr(parser.parse_integer(), 32)
        return finish(cls, parser, [operand], {"index": index})


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
