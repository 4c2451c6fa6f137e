"""CHLO's ops that are not element-wise: top_k, ragged_dot, constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Data, Dialect, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure

from . import chlo, chlo_binary, shapes
from .attributes import parse_record, print_record
from .chlo_binary import ChloPrecisionAttr
from .chlo_scan import ScanOp
from .syntax import TENSOR, StableHLOOp, parse_attributes, print_attributes, tensor_operand

Value = SSAValue | Operation


@irdl_op_definition
class TopKOp(StableHLOOp):
    """The k largest entries along the last dimension, the largest first, and where they are.

    `%v, %i = chlo.top_k(%x, k = 2) : tensor<4x5xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)`
    """

    name = "chlo.top_k"
    operand = tensor_operand()
    values = result_def(TENSOR)
    indices = result_def(TENSOR)
    k = prop_def(IntegerAttr)
    is_stable = opt_prop_def(BoolAttr)
    traits = traits_def(Pure())

    def __init__(self, operand: Value, k: int):
        self._build([operand], {"k": IntegerAttr(k, i64)})

    def infer(self) -> Sequence[Attribute] | None:
        shape, k = self.operand.type.get_shape(), self.k.value.data
        if not shape or not 0 <= k <= shape[-1]:
            shapes.fail(
                f"k = {k} must be in [0, {shape[-1] if shape else 0}], the last dimension of {self.operand.type}"
            )
        new = (*shape[:-1], k)
        return (shapes.with_shape(self.operand.type, new), shapes.tensor_type(i32, new))

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_operand(self.operand)
        printer.print_string(f", k = {self.k.value.data}")
        if self.is_stable is not None:
            printer.print_string(f", is_stable = {'true' if self.is_stable.value.data else 'false'}")
        printer.print_string(")")
        print_attributes(printer, self, ("k", "is_stable"))
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)
        printer.print_string(" -> (")
        printer.print_list(self.result_types, printer.print_attribute)
        printer.print_string(")")

    @classmethod
    def parse(cls, parser: Parser) -> TopKOp:
        properties: dict[str, Attribute] = {}
        with parser.in_parens():
            operand = parser.parse_unresolved_operand()
            for key in ("k", "is_stable"):
                if parser.parse_optional_punctuation(",") is None:
                    break
                parser.parse_keyword(key)
                parser.parse_punctuation("=")
                flag = key == "is_stable"
                properties[key] = (
                    BoolAttr.from_bool(parser.parse_boolean()) if flag else IntegerAttr(parser.parse_integer(), i64)
                )
        attributes = parse_attributes(cls, parser, properties)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        value = parser.resolve_operand(operand, kind)
        return cls.create(operands=[value], result_types=results, properties=properties, attributes=attributes)


@dataclass(frozen=True)
class RaggedDotDimensions:
    """Those of `dot_general`, which dimension of lhs is ragged, and which of rhs counts the groups."""

    lhs_batching_dimensions: tuple[int, ...] = ()
    rhs_batching_dimensions: tuple[int, ...] = ()
    lhs_contracting_dimensions: tuple[int, ...] = ()
    rhs_contracting_dimensions: tuple[int, ...] = ()
    lhs_ragged_dimensions: tuple[int, ...] = ()
    rhs_group_dimensions: tuple[int, ...] = ()


@irdl_attr_definition
class RaggedDotDimensionsAttr(Data[RaggedDotDimensions]):
    name = "chlo.ragged_dot"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> RaggedDotDimensions:
        return parse_record(parser, RaggedDotDimensions)

    def print_parameter(self, printer: Printer) -> None:
        print_record(printer, self.data, keep_empty=True)


@irdl_op_definition
class RaggedDotOp(StableHLOOp):
    """A product whose ragged dimension falls into groups of the sizes given.

    The rows of each group are multiplied by a matrix of their own: `[b,m,k], [g,b,k,n], [g] -> [b,m,n]`.
    A contracting dimension that is ragged gives a product for each group: `[b,m,k], [b,k,n], [g] -> [g,b,m,n]`.
    """

    name = "chlo.ragged_dot"
    lhs = tensor_operand()
    rhs = tensor_operand()
    group_sizes = tensor_operand()
    result = result_def(TENSOR)
    ragged_dot_dimension_numbers = prop_def(RaggedDotDimensionsAttr)
    precision_config = opt_prop_def(ArrayAttr[ChloPrecisionAttr])
    traits = traits_def(Pure())

    def verify_(self) -> None:
        super().verify_()
        numbers = self.ragged_dot_dimension_numbers.data
        left, right = self.lhs.type.get_shape(), self.rhs.type.get_shape()
        if len(numbers.lhs_ragged_dimensions) != 1:
            shapes.fail(f"there must be one ragged dimension, got {list(numbers.lhs_ragged_dimensions)}")
        shapes.check_axes(numbers.lhs_ragged_dimensions, len(left), "lhs_ragged_dimensions", "", "")
        shapes.check_axes(numbers.rhs_group_dimensions, len(right), "rhs_group_dimensions", "", "")
        if not isinstance(self.group_sizes.type.element_type, IntegerType):
            shapes.fail(f"group_sizes must be a tensor of integers, got {self.group_sizes.type}")
        if self.group_sizes.type.get_num_dims() != 1:
            shapes.fail(f"group_sizes must have one dimension, got {self.group_sizes.type}")
        groups = self.group_sizes.type.get_shape()[0]
        non_contracting = self.mode() == 1
        if non_contracting != (len(numbers.rhs_group_dimensions) == 1):
            shapes.fail("rhs has a group dimension exactly where the ragged dimension is neither batch nor contracting")
        if non_contracting and right[numbers.rhs_group_dimensions[0]] != groups:
            shapes.fail(f"rhs must have {groups} groups, got {self.rhs.type}")
        self._check_pairs(left, right)
        if (expected := self.shape()) != self.result.type.get_shape():
            shapes.fail(f"result must have shape {list(expected)}, got {self.result.type}")

    def _check_pairs(self, left: Sequence[int], right: Sequence[int]) -> None:
        numbers = self.ragged_dot_dimension_numbers.data
        for name in ("batching", "contracting"):
            mine, other = getattr(numbers, f"lhs_{name}_dimensions"), getattr(numbers, f"rhs_{name}_dimensions")
            shapes.check_axes(mine, len(left), f"lhs_{name}_dimensions", "", "")
            shapes.check_axes(other, len(right), f"rhs_{name}_dimensions", "", "")
            if [left[i] for i in mine] != [right[i] for i in other]:
                shapes.fail(f"{name} dimensions must have the same sizes, got {self.lhs.type} and {self.rhs.type}")

    def mode(self) -> int:
        """1: rows are ragged; 2: what is summed over is; 3: the batch is."""
        numbers = self.ragged_dot_dimension_numbers.data
        ragged = numbers.lhs_ragged_dimensions[0]
        if ragged in numbers.lhs_contracting_dimensions:
            return 2
        return 3 if ragged in numbers.lhs_batching_dimensions else 1

    def shape(self) -> tuple[int, ...]:
        """That of the result."""
        numbers = self.ragged_dot_dimension_numbers.data
        left, right = self.lhs.type.get_shape(), self.rhs.type.get_shape()
        gone = {*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions}
        other = {*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions, *numbers.rhs_group_dimensions}
        batch = [left[i] for i in numbers.lhs_batching_dimensions]
        rows = [n for i, n in enumerate(left) if i not in gone]
        columns = [n for i, n in enumerate(right) if i not in other]
        groups = [self.group_sizes.type.get_shape()[0]] if self.mode() == 2 else []
        return (*groups, *batch, *rows, *columns)


def rows_by_groups(x: SSAValue, matrices: SSAValue, sizes: SSAValue, summed: int) -> RaggedDotOp:
    """Rows [n, k], so many after the other by each of the matrices [groups, ...], along their dimension `summed`."""
    left, right = (cast("TensorType[Attribute]", value.type) for value in (x, matrices))
    numbers = RaggedDotDimensions((), (), (1,), (summed,), (0,), (0,))
    result = TensorType(left.element_type, [left.get_shape()[0], right.get_shape()[3 - summed]])
    properties = {"ragged_dot_dimension_numbers": RaggedDotDimensionsAttr(numbers)}
    return RaggedDotOp.create(operands=[x, matrices, sizes], result_types=[result], properties=properties)


@irdl_op_definition
class ChloConstantOp(StableHLOOp):
    """`%c = chlo.constant dense<1.0> : tensor<2xf32>`"""

    name = "chlo.constant"
    value = prop_def(DenseIntOrFPElementsAttr)
    output = result_def(TENSOR)
    traits = traits_def(Pure(), ConstantLike())

    def infer(self) -> Sequence[Attribute] | None:
        return (cast(Any, self.value).get_type(),)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self, ("value",))
        printer.print_string(" ")
        printer.print_attribute(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> ChloConstantOp:
        properties: dict[str, Attribute] = {}
        attributes = parse_attributes(cls, parser, properties)
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error("expected dense<...>", position)
        kind = cast(Any, value).get_type()
        return cls.create(result_types=[kind], properties={"value": value}, attributes=attributes)


@irdl_op_definition
class ConstantLikeOp(StableHLOOp):
    """A tensor of the operand's shape that holds one value everywhere."""

    name = "chlo.constant_like"
    operand = tensor_operand()
    result = result_def(TENSOR)
    value = prop_def(IntegerAttr | FloatAttr)
    traits = traits_def(Pure())

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.with_element(self.operand.type, cast(Any, self.value).type),)


CHLO = Dialect(
    "chlo",
    [*chlo.UNARY, *chlo_binary.BINARY, TopKOp, RaggedDotOp, ChloConstantOp, ConstantLikeOp, ScanOp],
    [
        chlo_binary.ChloDirectionAttr,
        chlo_binary.ChloComparisonTypeAttr,
        ChloPrecisionAttr,
        RaggedDotDimensionsAttr,
    ],
)
