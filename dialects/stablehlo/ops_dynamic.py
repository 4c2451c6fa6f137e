"""Ops whose result has a shape that is a value: the last operands say what the attributes of their static forms do.

`stablehlo-refine-shapes` replaces them by those forms where the values are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from . import shapes
from .attributes import GatherDimensionNumbersAttr, PrecisionAttr, ints
from .conv_dimensions import ConvDimensionNumbersAttr
from .syntax import TENSOR, Clause, ClausedOp, Int, IntList, StableHLOOp, tensor_operand

Value = SSAValue | Operation


def check_shape_operand(kind: TensorType, entries: int | None, name: str, constraint: str) -> None:
    """A static tensor of integers with one dimension, of so many entries where that is known."""
    if not isinstance(kind.element_type, IntegerType | IndexType) or kind.get_num_dims() != 1:
        shapes.fail(f"{name} must be a one-dimensional tensor of integers, got {kind}", "I2")
    found = kind.get_shape()[0]
    if entries is not None and found >= 0 and found != entries:
        shapes.fail(f"{name} has {found} entries, expected {entries}", constraint)


def fits(size: int, other: int) -> bool:
    """Whether two sizes may be the same: those that are not known may be any."""
    return size == other or size < 0 or other < 0


@irdl_op_definition
class DynamicReshapeOp(ClausedOp):
    """The elements in the shape that `output_shape` holds (C1-C3).

    `%r = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>`
    """

    name = "stablehlo.dynamic_reshape"
    operand = tensor_operand()
    output_shape = tensor_operand()
    result = result_def(TENSOR)
    traits = traits_def(Pure())
    SIZES_KNOWN: ClassVar = False

    def verify_(self) -> None:
        operand, result = self.operand.type, self.result.type
        shapes.same_element((operand, result), "operand and result", "C1")
        check_shape_operand(self.output_shape.type, result.get_num_dims(), "output_shape", "C4")
        if operand.has_static_shape() and result.has_static_shape() and _count(operand) != _count(result):
            shapes.fail(f"operand and result must have the same number of elements, got {operand} and {result}", "C2")


def _count(kind: TensorType) -> int:
    total = 1
    for size in kind.get_shape():
        total *= size
    return total


@irdl_op_definition
class DynamicBroadcastInDimOp(ClausedOp):
    """`broadcast_in_dim` to the shape that `output_dimensions` holds (C1-C9).

    `%r = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>`
    """

    name = "stablehlo.dynamic_broadcast_in_dim"
    operand = tensor_operand()
    output_dimensions = tensor_operand()
    result = result_def(TENSOR)
    broadcast_dimensions = prop_def(DenseArrayBase)
    known_expanding_dimensions = opt_prop_def(DenseArrayBase)
    known_nonexpanding_dimensions = opt_prop_def(DenseArrayBase)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("dims", "broadcast_dimensions", IntList),)
    SIZES_KNOWN: ClassVar = False

    def verify_(self) -> None:
        operand, result, dims = self.operand.type, self.result.type, ints(self.broadcast_dimensions)
        shapes.same_element((operand, result), "operand and result", "C1")
        shapes.check_sizes(operand.get_num_dims(), "C2", broadcast_dimensions=dims)
        shapes.check_axes(dims, result.get_num_dims(), "broadcast_dimensions", "C3", "C4")
        for axis, target in enumerate(dims):
            size, wide = operand.get_shape()[axis], result.get_shape()[target]
            if size != 1 and not fits(size, wide):
                shapes.fail(f"dimension {axis} of operand has size {size}, expected 1 or {wide}", "C5")
        check_shape_operand(self.output_dimensions.type, result.get_num_dims(), "output_dimensions", "C7")
        known = [*ints(self.known_expanding_dimensions), *ints(self.known_nonexpanding_dimensions)]
        shapes.check_axes(known, operand.get_num_dims(), "known dimensions", "C9", "C8")


@irdl_op_definition
class DynamicIotaOp(ClausedOp):
    """`iota` of the shape that `output_shape` holds (C1, C2).

    `%r = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>`
    """

    name = "stablehlo.dynamic_iota"
    output_shape = tensor_operand()
    result = result_def(TENSOR)
    iota_dimension = prop_def(IntegerAttr)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("dim", "iota_dimension", Int),)
    SIZES_KNOWN: ClassVar = False

    def verify_(self) -> None:
        rank, dimension = self.result.type.get_num_dims(), self.iota_dimension.value.data
        check_shape_operand(self.output_shape.type, rank, "output_shape", "C2")
        if not 0 <= dimension < rank:
            shapes.fail(f"iota_dimension = {dimension} must be in [0, {rank})", "C1")


@irdl_op_definition
class DynamicPadOp(ClausedOp):
    """`pad` by the amounts that the last three operands hold (C1-C6).

    `%r = stablehlo.dynamic_pad %x, %v, %low, %high, %interior :
        (tensor<2xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>`
    """

    name = "stablehlo.dynamic_pad"
    operand = tensor_operand()
    padding_value = tensor_operand()
    edge_padding_low = tensor_operand()
    edge_padding_high = tensor_operand()
    interior_padding = tensor_operand()
    result = result_def(TENSOR)
    traits = traits_def(Pure())
    SIZES_KNOWN: ClassVar = False

    def verify_(self) -> None:
        operand, value, result = self.operand.type, self.padding_value.type, self.result.type
        shapes.same_element((operand, value, result), "operand, padding_value and result", "C1")
        if value.get_num_dims():
            shapes.fail(f"padding_value must be a scalar tensor, got {value}", "I2")
        for name in ("edge_padding_low", "edge_padding_high", "interior_padding"):
            check_shape_operand(shapes.tensor(getattr(self, name)), operand.get_num_dims(), name, "C2")
        if operand.get_num_dims() != result.get_num_dims():
            shapes.fail(f"operand and result must have the same rank, got {operand} and {result}", "C4")


@irdl_op_definition
class RealDynamicSliceOp(ClausedOp):
    """`slice` between the places that the last three operands hold.

    `%r = stablehlo.real_dynamic_slice %x, %start, %limit, %strides :
        (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>`
    """

    name = "stablehlo.real_dynamic_slice"
    operand = tensor_operand()
    start_indices = tensor_operand()
    limit_indices = tensor_operand()
    strides = tensor_operand()
    result = result_def(TENSOR)
    traits = traits_def(Pure())
    SIZES_KNOWN: ClassVar = False

    def verify_(self) -> None:
        operand, result = self.operand.type, self.result.type
        shapes.same_element((operand, result), "operand and result", "C1")
        if operand.get_num_dims() != result.get_num_dims():
            shapes.fail(f"operand and result must have the same rank, got {operand} and {result}", "C2")
        for name in ("start_indices", "limit_indices", "strides"):
            check_shape_operand(shapes.tensor(getattr(self, name)), operand.get_num_dims(), name, "C3")


@irdl_op_definition
class DynamicGatherOp(StableHLOOp):
    """`gather` of slices whose sizes `slice_sizes` holds."""

    name = "stablehlo.dynamic_gather"
    operand = tensor_operand()
    start_indices = tensor_operand()
    slice_sizes = tensor_operand()
    result = result_def(TENSOR)
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(BoolAttr)
    traits = traits_def(Pure())
    SIZES_KNOWN: ClassVar = False

    def verify_(self) -> None:
        shapes.same_element((self.operand.type, self.result.type), "operand and result", "C22")
        check_shape_operand(self.slice_sizes.type, self.operand.type.get_num_dims(), "slice_sizes", "C18")


@irdl_op_definition
class DynamicConvOp(StableHLOOp):
    """`convolution` whose padding is a value."""

    name = "stablehlo.dynamic_conv"
    lhs = tensor_operand()
    rhs = tensor_operand()
    padding = tensor_operand()
    result = result_def(TENSOR)
    window_strides = opt_prop_def(DenseArrayBase)
    lhs_dilation = opt_prop_def(DenseArrayBase)
    rhs_dilation = opt_prop_def(DenseArrayBase)
    window_reversal = opt_prop_def(DenseArrayBase)
    dimension_numbers = prop_def(ConvDimensionNumbersAttr)
    feature_group_count = prop_def(IntegerAttr)
    batch_group_count = prop_def(IntegerAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    traits = traits_def(Pure())
    SIZES_KNOWN: ClassVar = False

    def verify_(self) -> None:
        spatial, kind = len(self.dimension_numbers.data.input_spatial_dimensions), self.padding.type
        if not isinstance(kind.element_type, IntegerType | IndexType) or kind.get_shape() != (spatial, 2):
            shapes.fail(f"padding must be a tensor of {spatial}x2 integers, got {kind}", "C4")
        if self.lhs.type.get_num_dims() != self.rhs.type.get_num_dims():
            shapes.fail(f"lhs and rhs must have the same rank, got {self.lhs.type} and {self.rhs.type}", "C1")


@irdl_op_definition
class SetDimensionSizeOp(ClausedOp):
    """The operand, of which only the first `size` entries of one dimension count.

    `%r = stablehlo.set_dimension_size %x, %n, dim = 0 :
        (tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>`
    """

    name = "stablehlo.set_dimension_size"
    operand = tensor_operand()
    size = tensor_operand()
    result = result_def(TENSOR)
    dimension = prop_def(IntegerAttr)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("dim", "dimension", Int),)
    SIZES_KNOWN: ClassVar = False

    def verify_(self) -> None:
        shapes.same_element((self.operand.type, self.result.type), "operand and result", "C1")
        shapes.dimension_size(self.operand.type, self.dimension.value.data)
        if self.size.type.get_num_dims() or self.size.type.element_type != IntegerType(32):
            shapes.fail(f"size must be tensor<i32>, got {self.size.type}", "I2")


OPS: Sequence[type[Operation]] = (
    DynamicReshapeOp,
    DynamicBroadcastInDimOp,
    DynamicIotaOp,
    DynamicPadOp,
    RealDynamicSliceOp,
    DynamicGatherOp,
    DynamicConvOp,
    SetDimensionSizeOp,
)
