"""Data movement with computed indices: gather, scatter, dynamic_slice, dynamic_update_slice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerType, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
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
from xdsl.traits import Pure, RecursiveMemoryEffect

from . import shapes, shapes_indexed
from .attributes import (
    GatherDimensionNumbersAttr,
    GatherDimensions,
    Ints,
    ScatterDimensionNumbersAttr,
    ScatterDimensions,
    bool_attr,
    int_array,
    ints,
)
from .combiners import accumulators, region_of
from .shapes import fail
from .syntax import TENSOR, Clause, ClausedOp, IntList, StableHLOOp, tensor_operand, tensor_operands

Value = SSAValue | Operation


@irdl_op_definition
class GatherOp(StableHLOOp):
    """Slices of the operand at the places that index vectors name, clamped to be inside (C1-C23)."""

    name = "stablehlo.gather"
    operand = tensor_operand()
    start_indices = tensor_operand()
    result = result_def(TENSOR)
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    slice_sizes = prop_def(DenseArrayBase)
    indices_are_sorted = opt_prop_def(BoolAttr)
    traits = traits_def(Pure())

    def __init__(
        self,
        operand: Value,
        start_indices: Value,
        *,
        slice_sizes: Ints,
        offset_dims: Iterable[int] = (),
        collapsed_slice_dims: Iterable[int] = (),
        operand_batching_dims: Iterable[int] = (),
        start_indices_batching_dims: Iterable[int] = (),
        start_index_map: Iterable[int] = (),
        index_vector_dim: int = 0,
        dimension_numbers: GatherDimensionNumbersAttr | None = None,
        indices_are_sorted: bool = False,
    ):
        if dimension_numbers is None:
            dimension_numbers = GatherDimensionNumbersAttr(
                GatherDimensions(
                    tuple(offset_dims),
                    tuple(collapsed_slice_dims),
                    tuple(operand_batching_dims),
                    tuple(start_indices_batching_dims),
                    tuple(start_index_map),
                    index_vector_dim,
                )
            )
        properties = {
            "dimension_numbers": dimension_numbers,
            "slice_sizes": int_array(slice_sizes),
            "indices_are_sorted": bool_attr(indices_are_sorted),
        }
        self._build([operand, start_indices], properties)

    @staticmethod
    def elements(operand: Value, places: Value, along: int, rank: int) -> GatherOp:
        """For each of `places`, which has `rank` dimensions as `operand`, the element that far along a dimension."""
        others = [d for d in range(rank) if d != along]
        return GatherOp(
            operand,
            places,
            collapsed_slice_dims=[along],
            operand_batching_dims=others,
            start_indices_batching_dims=others,
            start_index_map=[along],
            index_vector_dim=rank,
            slice_sizes=[1] * rank,
        )

    def infer(self) -> Sequence[Attribute] | None:
        _check_indices(self.start_indices.type, "start_indices", "I2")
        dims, sizes = self.dimension_numbers.data, ints(self.slice_sizes)
        return (shapes_indexed.gather(self.operand.type, self.start_indices.type, dims, sizes),)


@irdl_op_definition
class ScatterOp(StableHLOOp):
    """The inputs with updates combined in at the places that index vectors name (C1-C25).

    Updates whose place is outside are dropped.
    """

    name = "stablehlo.scatter"
    inputs = tensor_operands()
    scatter_indices = tensor_operand()
    updates = tensor_operands()
    results_ = var_result_def(TENSOR)
    scatter_dimension_numbers = prop_def(ScatterDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(BoolAttr)
    unique_indices = opt_prop_def(BoolAttr)
    update_computation = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        inputs: Sequence[Value],
        scatter_indices: Value,
        updates: Sequence[Value],
        *,
        update_computation: Region | str,
        update_window_dims: Iterable[int] = (),
        inserted_window_dims: Iterable[int] = (),
        input_batching_dims: Iterable[int] = (),
        scatter_indices_batching_dims: Iterable[int] = (),
        scatter_dims_to_operand_dims: Iterable[int] = (),
        index_vector_dim: int = 0,
        scatter_dimension_numbers: ScatterDimensionNumbersAttr | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ):
        if scatter_dimension_numbers is None:
            scatter_dimension_numbers = ScatterDimensionNumbersAttr(
                ScatterDimensions(
                    tuple(update_window_dims),
                    tuple(inserted_window_dims),
                    tuple(input_batching_dims),
                    tuple(scatter_indices_batching_dims),
                    tuple(scatter_dims_to_operand_dims),
                    index_vector_dim,
                )
            )
        properties = {
            "scatter_dimension_numbers": scatter_dimension_numbers,
            "indices_are_sorted": bool_attr(indices_are_sorted),
            "unique_indices": bool_attr(unique_indices),
        }
        regions = [region_of(update_computation, inputs)]
        self._build([*inputs, scatter_indices, *updates], properties, regions=regions)

    def infer(self) -> Sequence[Attribute] | None:
        _check_indices(self.scatter_indices.type, "scatter_indices", "I2")
        inputs, updates = [v.type for v in self.inputs], [v.type for v in self.updates]
        dims = self.scatter_dimension_numbers.data
        shapes_indexed.scatter(inputs, self.scatter_indices.type, updates, dims)
        elements = accumulators(self.update_computation, inputs, "update_computation", "C23")
        return [shapes.with_element(kind, element) for kind, element in zip(inputs, elements, strict=True)]


def _check_indices(kind: TensorType, name: str, constraint: str) -> None:
    if not isinstance(kind.element_type, IntegerType) or kind.element_type.width.data == 1:
        fail(f"{name} must be a tensor of integers, got {kind}", constraint)


def _check_starts(starts: Sequence[SSAValue[TensorType]], rank: int, count: str, same: str) -> None:
    if len(starts) != rank:
        fail(f"needs one start index per dimension, {rank}, got {len(starts)}", count)
    for start in starts:
        if start.type.get_num_dims() or start.type != starts[0].type:
            fail(f"start_indices must be scalars of one type, got {starts[0].type} and {start.type}", same)
        _check_indices(start.type, "start_indices", "I2")


@irdl_op_definition
class DynamicSliceOp(ClausedOp):
    """A slice of fixed size at computed start indices, clamped to be inside (C1-C5).

    `%r = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 4] :
        (tensor<3x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>`
    """

    name = "stablehlo.dynamic_slice"
    operand = tensor_operand()
    start_indices = tensor_operands()
    result = result_def(TENSOR)
    slice_sizes = prop_def(DenseArrayBase)
    traits = traits_def(Pure())
    CLAUSES: ClassVar = (Clause("sizes", "slice_sizes", IntList),)

    def __init__(self, operand: Value, start_indices: Sequence[Value], *, slice_sizes: Ints):
        self._build([operand, *start_indices], {"slice_sizes": int_array(slice_sizes)})

    def infer(self) -> Sequence[Attribute] | None:
        shape, sizes = self.operand.type.get_shape(), ints(self.slice_sizes)
        _check_starts(self.start_indices, len(shape), "C2", "C3")
        shapes.check_sizes(len(shape), "C2", slice_sizes=sizes)
        for axis, (size, limit) in enumerate(zip(sizes, shape, strict=True)):
            if not 0 <= size <= limit:
                fail(f"slice_sizes[{axis}] = {size} must be in [0, {limit}]", "C4")
        return (shapes.with_shape(self.operand.type, sizes),)


@irdl_op_definition
class DynamicUpdateSliceOp(ClausedOp):
    """The operand with `update` written at computed start indices, clamped to be inside (C1-C6).

    `%r = stablehlo.dynamic_update_slice %x, %u, %i :
        (tensor<4xf32>, tensor<2xf32>, tensor<i64>) -> tensor<4xf32>`
    """

    name = "stablehlo.dynamic_update_slice"
    operand = tensor_operand()
    update = tensor_operand()
    start_indices = tensor_operands()
    result = result_def(TENSOR)
    traits = traits_def(Pure())

    def __init__(self, operand: Value, update: Value, start_indices: Sequence[Value]):
        self._build([operand, update, *start_indices])

    def infer(self) -> Sequence[Attribute] | None:
        operand, update = self.operand.type, self.update.type
        shapes.same_element((operand, update), "operand and update", "C2")
        if operand.get_num_dims() != update.get_num_dims():
            fail(f"operand and update must have the same rank, got {operand} and {update}", "C3")
        _check_starts(self.start_indices, operand.get_num_dims(), "C4", "C5")
        if any(n > limit for n, limit in zip(update.get_shape(), operand.get_shape(), strict=True)):
            fail(f"update must not be larger than operand, got {update} and {operand}", "C6")
        return (operand,)
