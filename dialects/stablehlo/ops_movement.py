"""Data movement with static indices: reshape, transpose, broadcast, slice, pad, concatenate, reverse, bitcast."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import ComplexType, DenseArrayBase, FixedBitwidthType, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from . import shapes
from .attributes import Ints, int_array, int_attr, ints
from .syntax import (
    TENSOR,
    Clause,
    ClausedOp,
    Int,
    IntList,
    finish,
    print_attributes,
    print_types,
    tensor_operand,
    tensor_operands,
)

Value = SSAValue | Operation


@irdl_op_definition
class ReshapeOp(ClausedOp):
    """The same elements in row-major order under another shape (C1, C2).

    `%r = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>`
    """

    name = "stablehlo.reshape"
    operand = tensor_operand()
    result = result_def(TENSOR)
    traits = traits_def(Pure())

    def __init__(self, operand: Value, shape: Sequence[int] | None = None, *, result_type: Attribute | None = None):
        if result_type is None:
            if shape is None:
                raise ValueError("ReshapeOp needs shape or result_type")
            result_type = shapes.with_shape(shapes.tensor(SSAValue.get(operand)), shape)
        self._build([operand], result_types=[result_type])

    def verify_(self) -> None:
        super().verify_()
        operand, result = self.operand.type, self.result.type
        shapes.same_element((operand, result), "operand and result", "C1")
        if prod(operand.get_shape()) != prod(result.get_shape()):
            shapes.fail(f"operand and result must have as many elements, got {operand} and {result}", "C2")


@irdl_op_definition
class TransposeOp(ClausedOp):
    """Dimension i of the result is dimension `permutation[i]` of the operand (C1-C3).

    `%r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>`
    """

    name = "stablehlo.transpose"
    operand = tensor_operand()
    result = result_def(TENSOR)
    permutation = prop_def(DenseArrayBase)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("dims", "permutation", IntList),)

    def __init__(self, operand: Value, *, permutation: Ints):
        self._build([operand], {"permutation": int_array(permutation)})

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.transpose(self.operand.type, ints(self.permutation)),)


@irdl_op_definition
class BroadcastInDimOp(ClausedOp):
    """Repeats along dimensions of size 1 and along those of the result that are not listed (C1-C5).

    `%r = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>`
    """

    name = "stablehlo.broadcast_in_dim"
    operand = tensor_operand()
    result = result_def(TENSOR)
    broadcast_dimensions = prop_def(DenseArrayBase)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("dims", "broadcast_dimensions", IntList),)

    def __init__(
        self,
        operand: Value,
        *,
        broadcast_dimensions: Ints,
        shape: Sequence[int] | None = None,
        result_type: Attribute | None = None,
    ):
        if result_type is None:
            if shape is None:
                raise ValueError("BroadcastInDimOp needs shape or result_type")
            result_type = shapes.with_shape(shapes.tensor(SSAValue.get(operand)), shape)
        self._build([operand], {"broadcast_dimensions": int_array(broadcast_dimensions)}, result_types=[result_type])

    def verify_(self) -> None:
        super().verify_()
        shapes.broadcast_in_dim(self.operand.type, ints(self.broadcast_dimensions), self.result.type)


@irdl_op_definition
class ConcatenateOp(ClausedOp):
    """Joins along one dimension (C1-C6).

    `%r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>`
    """

    name = "stablehlo.concatenate"
    inputs = tensor_operands()
    result = result_def(TENSOR)
    dimension = prop_def(IntegerAttr)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("dim", "dimension", Int),)

    def __init__(self, inputs: Sequence[Value], *, dimension: int | IntegerAttr):
        self._build(inputs, {"dimension": int_attr(dimension)})

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.concatenate([v.type for v in self.inputs], self.dimension.value.data),)


@irdl_op_definition
class SliceOp(ClausedOp):
    """Every `strides`-th element from `start_indices` up to, without, `limit_indices` (C1-C5).

    `%r = stablehlo.slice %x [1:3, 4:8:2] : (tensor<3x8xf32>) -> tensor<2x2xf32>`
    """

    name = "stablehlo.slice"
    operand = tensor_operand()
    result = result_def(TENSOR)
    start_indices = prop_def(DenseArrayBase)
    limit_indices = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    traits = traits_def(Pure())

    def __init__(self, operand: Value, *, start_indices: Ints, limit_indices: Ints, strides: Ints | None = None):
        start = int_array(start_indices)
        properties = {
            "start_indices": start,
            "limit_indices": int_array(limit_indices),
            "strides": int_array((1,) * len(start) if strides is None else strides),
        }
        self._build([operand], properties)

    def infer(self) -> Sequence[Attribute] | None:
        start, limit, step = ints(self.start_indices), ints(self.limit_indices), ints(self.strides)
        return (shapes.slice(self.operand.type, start, limit, step),)

    def print(self, printer: Printer) -> None:
        start, limit, strides = ints(self.start_indices), ints(self.limit_indices), ints(self.strides)
        printer.print_string(" ")
        printer.print_operand(self.operand)
        ranges = [
            f"{low}:{high}" + (f":{step}" if step != 1 else "")
            for low, high, step in zip(start, limit, strides, strict=True)
        ]
        printer.print_string(f" [{', '.join(ranges)}]")
        print_attributes(printer, self, ("start_indices", "limit_indices", "strides"))
        print_types(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> SliceOp:
        def bounds() -> tuple[int, int, int]:
            low = parser.parse_integer()
            parser.parse_punctuation(":")
            high = parser.parse_integer()
            return low, high, parser.parse_integer() if parser.parse_optional_punctuation(":") else 1

        operand = parser.parse_unresolved_operand()
        ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, bounds)
        names = ("start_indices", "limit_indices", "strides")
        values = zip(*ranges, strict=True) if ranges else ((), (), ())
        properties: dict[str, Attribute] = {n: int_array(v) for n, v in zip(names, values, strict=True)}
        return finish(cls, parser, [operand], properties)


@irdl_op_definition
class PadOp(ClausedOp):
    """Adds `padding_value` before, after and between elements; negative amounts remove (C1-C4).

    `%r = stablehlo.pad %x, %v, low = [1], high = [0], interior = [0] :
        (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>`
    """

    name = "stablehlo.pad"
    operand = tensor_operand()
    padding_value = tensor_operand()
    result = result_def(TENSOR)
    edge_padding_low = prop_def(DenseArrayBase)
    edge_padding_high = prop_def(DenseArrayBase)
    interior_padding = prop_def(DenseArrayBase)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (
        Clause("low", "edge_padding_low", IntList),
        Clause("high", "edge_padding_high", IntList),
        Clause("interior", "interior_padding", IntList),
    )

    def __init__(
        self,
        operand: Value,
        padding_value: Value,
        *,
        edge_padding_low: Ints,
        edge_padding_high: Ints,
        interior_padding: Ints | None = None,
    ):
        low = int_array(edge_padding_low)
        properties = {
            "edge_padding_low": low,
            "edge_padding_high": int_array(edge_padding_high),
            "interior_padding": int_array((0,) * len(low) if interior_padding is None else interior_padding),
        }
        self._build([operand, padding_value], properties)

    def infer(self) -> Sequence[Attribute] | None:
        low, high = ints(self.edge_padding_low), ints(self.edge_padding_high)
        interior = ints(self.interior_padding)
        return (shapes.pad(self.operand.type, self.padding_value.type, low, high, interior),)


@irdl_op_definition
class ReverseOp(ClausedOp):
    """Reverses the order of elements along `dimensions` (C1-C3).

    `%r = stablehlo.reverse %x, dims = [0] : tensor<3xf32>`
    """

    name = "stablehlo.reverse"
    operand = tensor_operand()
    result = result_def(TENSOR)
    dimensions = prop_def(DenseArrayBase)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("dims", "dimensions", IntList),)
    ONE_TYPE: ClassVar = True

    def __init__(self, operand: Value, *, dimensions: Ints):
        self._build([operand], {"dimensions": int_array(dimensions)})

    def infer(self) -> Sequence[Attribute] | None:
        operand = self.operand.type
        shapes.check_axes(ints(self.dimensions), operand.get_num_dims(), "dimensions", "C3", "C2")
        return (operand,)


@irdl_op_definition
class BitcastConvertOp(ClausedOp):
    """The same bits as another element type; unequal widths move a last dimension in or out (C1, C2).

    `%r = stablehlo.bitcast_convert %x : (tensor<f32>) -> tensor<4xi8>`
    """

    name = "stablehlo.bitcast_convert"
    operand = tensor_operand()
    result = result_def(TENSOR)
    traits = traits_def(Pure())

    def __init__(self, operand: Value, element_type: Attribute | None = None, *, result_type: Attribute | None = None):
        if result_type is None:
            if element_type is None:
                raise ValueError("BitcastConvertOp needs element_type or result_type")
            source = shapes.tensor(SSAValue.get(operand))
            wide, narrow = bit_width(source.element_type), bit_width(element_type)
            shape = list(source.get_shape())
            if wide > narrow:
                shape.append(wide // narrow)
            elif wide < narrow:
                shape.pop()
            result_type = shapes.tensor_type(element_type, shape)
        self._build([operand], result_types=[result_type])

    def verify_(self) -> None:
        super().verify_()
        operand, result = self.operand.type, self.result.type
        if shapes.is_complex(operand) != shapes.is_complex(result):
            shapes.fail(f"operand and result must both be complex or both not, got {operand} and {result}", "C2")
        shape, other = operand.get_shape(), result.get_shape()
        wide, narrow = bit_width(operand.element_type), bit_width(result.element_type)
        if wide < narrow:
            shape, other, wide, narrow = other, shape, narrow, wide
        ratio = () if wide == narrow else (wide // narrow,)
        if wide % narrow or (*shape, *ratio) != other:
            shapes.fail(f"operand and result must hold the same bits, got {operand} and {result}", "C1")


def bit_width(element_type: Attribute) -> int:
    """Bits of one element."""
    if isinstance(element_type, ComplexType):
        return 2 * bit_width(element_type.element_type)
    if not isinstance(element_type, FixedBitwidthType):
        shapes.fail(f"element type {element_type} has no fixed width", "C1")
    return element_type.bitwidth


@irdl_op_definition
class GetDimensionSizeOp(ClausedOp):
    """The size of one dimension as an i32 (C1).

    `%r = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>`
    """

    name = "stablehlo.get_dimension_size"
    operand = tensor_operand()
    result = result_def(TENSOR)
    dimension = prop_def(IntegerAttr)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("dim", "dimension", Int),)
    SIZES_KNOWN: ClassVar = False

    def __init__(self, operand: Value, *, dimension: int | IntegerAttr):
        self._build([operand], {"dimension": int_attr(dimension)})

    def verify_(self) -> None:
        self.infer()  # which dimensions there are is known where their sizes are not
        super().verify_()

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.dimension_size(self.operand.type, self.dimension.value.data),)
