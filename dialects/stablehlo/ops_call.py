"""Ops that stand for others: composite and custom_call; and tuples, which those may take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
    SymbolTable,
)

from ...compiler.effects import Effect, effects, nested_effects
from . import shapes
from .attributes import OperandAlias, OutputOperandAliasAttr, bool_attr, int_attr, string_attr
from .ops_control import list_types
from .syntax import (
    ClausedOp,
    StableHLOOp,
    finish,
    print_attributes,
    print_types,
)

Value = SSAValue | Operation


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
        if re.fullmatch(r"[a-zA-Z_]\w*(\.[a-zA-Z_][\w$]*)+", self.composite_name.data) is None:
            shapes.fail(f"name must be a namespaced op name, got '{self.composite_name.data}'", "C1")
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
                    f"{what} must have the types of {self.decomposition}, ({list_types(expected)}), "
                    f"got ({list_types(got)})",
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


_asked: set[Operation] = set()  # composites whose effects are being asked: one that contains itself has unknown ones


@effects("stablehlo.composite")
def composite_effects(op: Operation) -> Effect:
    """Those of the decomposition."""
    assert isinstance(op, CompositeOp)
    function = None if op in _asked else SymbolTable.lookup_symbol(op, op.decomposition)
    if function is None:
        return Effect.UNKNOWN
    _asked.add(op)
    try:
        return nested_effects(function)
    finally:
        _asked.discard(op)


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

    def verify_(self) -> None:
        super().verify_()
        self._verify_layouts()
        for alias in self.output_operand_aliases or ():
            self._verify_alias(alias.data)
        if self.backend_config is not None:
            typed_ffi = self.api_version is not None and self.api_version.value.data == 4
            if isinstance(self.backend_config, DictionaryAttr) != typed_ffi:
                what = "dictionary" if typed_ffi else "string"
                shapes.fail(f"backend_config must be a {what} for this api_version, got {self.backend_config}")

    def _verify_layouts(self) -> None:
        if self.operand_layouts is None and self.result_layouts is None:
            return
        if self.operand_layouts is None or self.result_layouts is None:
            shapes.fail("layouts must be given for both operands and results, or for neither")
        results = self.result_types
        if len(results) == 1 and isinstance(results[0], TupleType):
            results = results[0].types.data
        for what, kinds, layouts in (
            ("operand", self.operand_types, self.operand_layouts),
            ("result", results, self.result_layouts),
        ):
            if len(kinds) != len(layouts):
                shapes.fail(f"got {len(kinds)} {what}s and {len(layouts)} {what} layouts")
            for i, (kind, layout) in enumerate(zip(kinds, layouts, strict=True)):
                if not isinstance(layout, DenseIntOrFPElementsAttr):
                    shapes.fail(f"layout of {what} #{i} must be dense<...> : tensor<Nxindex>, got {layout}")
                rank = kind.get_num_dims() if isinstance(kind, TensorType) else 0
                if sorted(layout.get_values()) != list(range(rank)):
                    shapes.fail(f"layout of {what} #{i} must be a permutation of [0, {rank}), got {layout}")

    def _verify_alias(self, alias: OperandAlias) -> None:
        if not 0 <= alias.operand_index < len(self.operands):
            shapes.fail(f"operand_index of an alias must be in [0, {len(self.operands)}), got {alias.operand_index}")
        operand = _member(self.operand_types[alias.operand_index], alias.operand_tuple_indices, "operand")
        results = self.result_types
        whole = results[0] if len(results) == 1 else _tuple_type(results)
        output = _member(whole, alias.output_tuple_indices, "output")
        if operand != output:
            shapes.fail(f"an alias pairs an operand of type {operand} with an output of type {output}")

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


def _tuple_type(kinds: Iterable[Attribute]) -> TupleType:
    return TupleType(tuple(cast(TypeAttribute, kind) for kind in kinds))


def _member(kind: Attribute, path: Sequence[int], what: str) -> Attribute:
    """The type inside nested tuples that `path` leads to."""
    for index in path:
        if not isinstance(kind, TupleType) or not 0 <= index < len(kind.types):
            shapes.fail(f"{what}_tuple_indices of an alias are out of bounds: {list(path)}")
        kind = kind.types.data[index]
    return kind


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
        return (_tuple_type(self.operand_types),)

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
        kind, index = self.operand.type, self.index.value.data
        assert isinstance(kind, TupleType)
        members = kind.types.data
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
