"""CHLO's scan: a body that is run for one slice after another, and carries values on."""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, RecursiveMemoryEffect

from . import shapes
from .ops_control import check_region
from .syntax import TENSOR, StableHLOOp, parse_attributes, tensor_operands

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


@irdl_op_definition
class ScanOp(StableHLOOp):
    """The body's first results for each slice of the inputs side by side; its others go on to the next slice.

    `%sums, %sum = chlo.scan(%x) inits (%zero) dimension=0 {
       ^bb0(%slice: tensor<3xf32>, %so_far: tensor<3xf32>):
         %s = stablehlo.add %slice, %so_far : tensor<3xf32>
         stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
     } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)`
    """

    name = "chlo.scan"
    inputs = tensor_operands()
    inits = tensor_operands()
    outputs = var_result_def(TENSOR)
    carries = var_result_def(TENSOR)
    dimension = prop_def(IntegerAttr)
    scan_dim_size = opt_prop_def(IntegerAttr)
    is_reverse = opt_prop_def(BoolAttr)
    is_associative = opt_prop_def(BoolAttr)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments(as_property=True))
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    @property
    def length(self) -> int:
        """How many slices there are."""
        if self.scan_dim_size is not None:
            return self.scan_dim_size.value.data
        kinds = [value.type for value in (*self.inputs, *self.outputs)]
        return kinds[0].get_shape()[self.dimension.value.data]

    def verify_(self) -> None:
        super().verify_()
        if not self.inputs and not self.outputs:
            shapes.fail("there must be an input or an output")
        slices = [self._slice(value.type, f"input #{i}") for i, value in enumerate(self.inputs)]
        made = [self._slice(value.type, f"output #{i}") for i, value in enumerate(self.outputs)]
        carried = [value.type for value in self.inits]
        check_region(self.body, "body", [*slices, *carried], [*made, *carried], "body")
        if [value.type for value in self.carries] != carried:
            shapes.fail(f"carries must have the types of inits, got {list(map(str, self.carries.types))}")

    def _slice(self, kind: Attribute, what: str) -> Attribute:
        """The type of one slice of `kind`."""
        whole, axis = shapes.tensor(kind, what), self.dimension.value.data
        shape = whole.get_shape()
        if not 0 <= axis < len(shape):
            shapes.fail(f"dimension = {axis} must be a dimension of {what}, got {kind}")
        if shape[axis] != self.length:
            shapes.fail(f"dimension {axis} of {what} must have size {self.length}, got {kind}")
        return shapes.with_shape(whole, shape[:axis] + shape[axis + 1 :])

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_list(self.inputs, printer.print_operand)
        printer.print_string(") inits (")
        printer.print_list(self.inits, printer.print_operand)
        printer.print_string(f") dimension={self.dimension.value.data} ")
        rest = self.attributes | {k: v for k, v in self.properties.items() if k not in ("dimension", *_SEGMENTS)}
        if rest:
            printer.print_string("attributes")
            printer.print_op_attributes(dict(sorted(rest.items())))
            printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> ScanOp:
        inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_keyword("inits")
        inits = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_keyword("dimension")
        parser.parse_punctuation("=")
        properties: dict[str, Attribute] = {"dimension": IntegerAttr(parser.parse_integer(), i64)}
        attributes: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("attributes"):
            attributes = parse_attributes(cls, parser, properties)
        region = parser.parse_region()
        parser.parse_punctuation(":")
        position = parser.pos
        kind = parser.parse_function_type()
        made = len(kind.outputs) - len(inits)
        if made < 0:
            parser.raise_error(
                f"expected at least {len(inits)} results, one per init, got {len(kind.outputs)}", position
            )
        operands = parser.resolve_operands([*inputs, *inits], kind.inputs.data, position)
        for name, sizes in zip(_SEGMENTS, ((len(inputs), len(inits)), (made, len(inits))), strict=True):
            properties[name] = DenseArrayBase.from_list(i32, sizes)
        return cls.create(
            operands=operands,
            result_types=kind.outputs.data,
            properties=properties,
            attributes=attributes,
            regions=[region],
        )
