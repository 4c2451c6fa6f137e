"""Ops that combine elements by a region: reduce, reduce_window, select_and_scatter, map, sort; and batch norm."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect

from . import shapes
from .attributes import Ints, Pads, int_array, ints, pads, pads_attr
from .combiners import COMBINERS, accumulators, combiner, combiner_of, region_of
from .ops_comparison import CompareOp
from .ops_control import ReturnOp, check_region, is_block_with
from .shapes import Window, check_window, fail, is_promotable, scalar
from .syntax import TENSOR, StableHLOOp, new_line, parse_attributes, print_attributes, tensor_operand, tensor_operands

Value = SSAValue | Operation


def _inputs_and_inits(
    inputs: Sequence[SSAValue], inits: Sequence[SSAValue], count: str, shape: str, element: str
) -> list[TensorType]:
    if not inputs or len(inputs) != len(inits):
        fail(f"needs as many inputs as init_values and at least one, got {len(inputs)} and {len(inits)}", count)
    kinds = [shapes.tensor(value, "input") for value in inputs]
    shapes.same_shape(kinds, "inputs", shape)
    for kind, value in zip(kinds, inits, strict=True):
        init = shapes.tensor(value, "init_value")
        if init.get_num_dims() or not is_promotable(init.element_type, kind.element_type):
            fail(f"init_value of {kind} must be {scalar(kind.element_type)}, got {init}", element)
    return kinds


@irdl_op_definition
class ReduceOp(StableHLOOp):
    """Combines all elements along `dimensions`, in any order, starting from the initial values (C1-C8).

    `%r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] :
        (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>`
    """

    name = "stablehlo.reduce"
    inputs = tensor_operands()
    init_values = tensor_operands()
    results_ = var_result_def(TENSOR)
    dimensions = prop_def(DenseArrayBase)
    body = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, inputs: Sequence[Value], init_values: Sequence[Value], *, dimensions: Ints, body: Region | str):
        properties = {"dimensions": int_array(dimensions)}
        self._build([*inputs, *init_values], properties, regions=[region_of(body, inputs)])

    def infer(self) -> Sequence[Attribute] | None:
        kinds = _inputs_and_inits(self.inputs, self.init_values, "C3", "C1", "C2")
        dimensions = ints(self.dimensions)
        shapes.check_axes(dimensions, kinds[0].get_num_dims(), "dimensions", "C4", "C5")
        shape = shapes.reduced(kinds[0], dimensions)
        return [shapes.tensor_type(element, shape) for element in accumulators(self.body, kinds, "body", "C6")]

    def _compact(self) -> str | None:
        """The name of the op that the short form shows, where there is a short form."""
        kind = combiner_of(self.body)
        if kind is None or len(self.inputs) != 1:
            return None
        expected = scalar(self.inputs[0].type.element_type)
        return f"stablehlo.{kind}" if self.body.block.args[0].type == expected else None

    def print(self, printer: Printer) -> None:
        if not is_block_with(self.body, len(self.operands)):
            printer.print_op_with_default_format(self)  # not valid, but to be seen
            return
        for i, (value, init) in enumerate(zip(self.inputs, self.init_values, strict=True)):
            printer.print_string(", (" if i else "(")
            printer.print_operand(value)
            printer.print_string(" init: ")
            printer.print_operand(init)
            printer.print_string(")")
        compact = self._compact()
        if compact:
            printer.print_string(f" applies {compact}")
        printer.print_string(f" across dimensions = {list(ints(self.dimensions))}")
        print_attributes(printer, self, ("dimensions",))
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)
        if compact:
            return
        new_line(printer)
        printer.print_string(" reducer")
        args, count = self.body.block.args, len(self.inputs)
        for element, accumulator in zip(args[:count], args[count:], strict=True):
            printer.print_string("(")
            printer.print_block_argument(element)
            printer.print_string(", ")
            printer.print_block_argument(accumulator)
            printer.print_string(") ")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        def pair() -> tuple[UnresolvedOperand, UnresolvedOperand]:
            with parser.in_parens():
                value = parser.parse_unresolved_operand()
                parser.parse_keyword("init")
                parser.parse_punctuation(":")
                return value, parser.parse_unresolved_operand()

        pairs = parser.parse_comma_separated_list(parser.Delimiter.NONE, pair)
        operands = [value for value, _ in pairs] + [init for _, init in pairs]
        compact = None
        if parser.parse_optional_keyword("applies"):
            position = parser.pos
            compact = parser.parse_identifier().removeprefix("stablehlo.")
            if compact not in COMBINERS or len(pairs) != 1:
                parser.raise_error(f"expected one of {', '.join(COMBINERS)}, and one input, got {compact}", position)
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dimensions = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        properties: dict[str, Attribute] = {"dimensions": int_array(dimensions)}
        attributes = parse_attributes(cls, parser, properties)
        parser.parse_punctuation(":")
        position = parser.pos
        kind = parser.parse_function_type()
        values = parser.resolve_operands(operands, kind.inputs.data, position)
        if compact is not None:
            region = combiner(compact, shapes.tensor(values[0]).element_type)
        else:
            parser.parse_keyword("reducer")
            elements, accumulators = [], []
            for _ in pairs:
                with parser.in_parens():
                    elements.append(parser.parse_argument())
                    parser.parse_punctuation(",")
                    accumulators.append(parser.parse_argument())
            region = parser.parse_region([*elements, *accumulators])
        return cls.create(
            operands=values,
            result_types=kind.outputs.data,
            properties=properties,
            attributes=attributes,
            regions=[region],
        )


@irdl_op_definition
class ReduceWindowOp(StableHLOOp):
    """Combines the elements under each position of a window (C1-C16); pooling is one of these."""

    name = "stablehlo.reduce_window"
    inputs = tensor_operands()
    init_values = tensor_operands()
    results_ = var_result_def(TENSOR)
    window_dimensions = prop_def(DenseArrayBase)
    window_strides = opt_prop_def(DenseArrayBase)
    base_dilations = opt_prop_def(DenseArrayBase)
    window_dilations = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    body = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        inputs: Sequence[Value],
        init_values: Sequence[Value],
        *,
        window_dimensions: Ints,
        body: Region | str,
        window_strides: Ints | None = None,
        base_dilations: Ints | None = None,
        window_dilations: Ints | None = None,
        padding: Pads | None = None,
    ):
        properties = {
            "window_dimensions": int_array(window_dimensions),
            "window_strides": None if window_strides is None else int_array(window_strides),
            "base_dilations": None if base_dilations is None else int_array(base_dilations),
            "window_dilations": None if window_dilations is None else int_array(window_dilations),
            "padding": None if padding is None else pads_attr(padding),
        }
        self._build([*inputs, *init_values], properties, regions=[region_of(body, inputs)])

    def window(self) -> Window:
        """The window over all dimensions, with defaults where the op states nothing."""
        size = ints(self.window_dimensions)
        ones = (1,) * len(size)
        return Window(
            size,
            ints(self.window_strides, ones),
            pads(self.padding, len(size)),
            ints(self.base_dilations, ones),
            ints(self.window_dilations, ones),
        )

    def infer(self) -> Sequence[Attribute] | None:
        kinds = _inputs_and_inits(self.inputs, self.init_values, "C1", "C2", "C3")
        window = self.window()
        check_window(window, kinds[0].get_num_dims(), _REDUCE_WINDOW)
        shape = window.output_shape(kinds[0].get_shape())
        return [shapes.tensor_type(element, shape) for element in accumulators(self.body, kinds, "body", "C13")]


_REDUCE_WINDOW = {
    "size": "window_dimensions C4 C5",
    "strides": "window_strides C6 C7",
    "base_dilation": "base_dilations C8 C9",
    "dilation": "window_dilations C10 C11",
    "padding": "padding C12 -",
}
_SELECT_WINDOW = {
    "size": "window_dimensions C4 C5",
    "strides": "window_strides C6 C7",
    "padding": "padding C8 -",
}


@irdl_op_definition
class SelectAndScatterOp(StableHLOOp):
    """Adds each element of `source` where its window of the operand selects: the derivative of pooling (C1-C12)."""

    name = "stablehlo.select_and_scatter"
    operand = tensor_operand()
    source = tensor_operand()
    init_value = tensor_operand()
    result = result_def(TENSOR)
    window_dimensions = opt_prop_def(DenseArrayBase)
    window_strides = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    select = region_def("single_block")
    scatter = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        operand: Value,
        source: Value,
        init_value: Value,
        *,
        select: Region | str,
        scatter: Region | str = "add",
        window_dimensions: Ints | None = None,
        window_strides: Ints | None = None,
        padding: Pads | None = None,
    ):
        element = shapes.tensor(SSAValue.get(operand)).element_type
        if isinstance(select, str):
            block = Block(arg_types=[scalar(element)] * 2)
            compared = CompareOp(*block.args, comparison_direction=select)
            block.add_ops([compared, ReturnOp([compared])])
            select = Region(block)
        properties = {
            "window_dimensions": None if window_dimensions is None else int_array(window_dimensions),
            "window_strides": None if window_strides is None else int_array(window_strides),
            "padding": None if padding is None else pads_attr(padding),
        }
        regions = [select, region_of(scatter, [operand])]
        self._build([operand, source, init_value], properties, regions=regions)

    def window(self) -> Window:
        """The window over all dimensions, with defaults where the op states nothing."""
        ones = (1,) * self.operand.type.get_num_dims()
        return Window(
            ints(self.window_dimensions), ints(self.window_strides, ones), pads(self.padding, len(ones)), ones, ones
        )

    def infer(self) -> Sequence[Attribute] | None:
        operand, source = self.operand.type, self.source.type
        shapes.same_element((operand, source), "operand and source", "C1")
        window = self.window()
        check_window(window, operand.get_num_dims(), _SELECT_WINDOW)
        expected = window.output_shape(operand.get_shape())
        if source.get_shape() != expected:
            fail(f"source must have shape {list(expected)}, one element per window, got {source}", "C2")
        if self.init_value.type != scalar(operand.element_type):
            fail(f"init_value must be {scalar(operand.element_type)}, got {self.init_value.type}", "C3")
        check_region(self.select, "select", [scalar(operand.element_type)] * 2, [scalar(i1)], "C9")
        element = accumulators(self.scatter, [operand], "scatter", "C10")[0]
        return (shapes.with_element(operand, element),)
