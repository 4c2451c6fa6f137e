"""Ops that apply a region to scalars without reducing: map and sort."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, TensorType, i1
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.traits import RecursiveMemoryEffect

from . import shapes
from .attributes import Ints, bool_attr, int_array, int_attr, ints
from .ops_control import check_region, returned
from .shapes import fail, scalar
from .syntax import TENSOR, StableHLOOp, tensor_operands

Value = SSAValue | Operation


@irdl_op_definition
class MapOp(StableHLOOp):
    """Applies a region on scalars to each element of the inputs (C1-C4)."""

    name = "stablehlo.map"
    inputs = tensor_operands()
    result = result_def(TENSOR)
    dimensions = prop_def(DenseArrayBase)
    computation = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, inputs: Sequence[Value], computation: Region, *, dimensions: Ints | None = None):
        if dimensions is None:
            dimensions = range(shapes.tensor(SSAValue.get(inputs[0])).get_num_dims())
        self._build(inputs, {"dimensions": int_array(dimensions)}, regions=[computation])

    def infer(self) -> Sequence[Attribute] | None:
        kinds = [v.type for v in self.inputs]
        if not kinds:
            fail("needs at least one input", "C2")
        shapes.same_shape(kinds, "inputs", "C1")
        rank = kinds[0].get_num_dims()
        if ints(self.dimensions) != tuple(range(rank)):
            fail(f"dimensions must be {list(range(rank))}, got {list(ints(self.dimensions))}", "C3")
        check_region(self.computation, "computation", [scalar(k.element_type) for k in kinds], None, "C4")
        results = returned(self.computation, "computation")
        if len(results) != 1 or not isinstance(results[0], TensorType) or results[0].get_num_dims():
            fail("computation must return one scalar tensor", "C4")
        return (shapes.with_element(kinds[0], results[0].element_type),)


@irdl_op_definition
class SortOp(StableHLOOp):
    """Sorts the inputs together along one dimension by a comparator (C1-C5)."""

    name = "stablehlo.sort"
    inputs = tensor_operands()
    results_ = var_result_def(TENSOR)
    dimension = opt_prop_def(IntegerAttr)
    is_stable = opt_prop_def(BoolAttr)
    comparator = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, inputs: Sequence[Value], comparator: Region, *, dimension: int = -1, is_stable: bool = False):
        properties = {"dimension": int_attr(dimension), "is_stable": bool_attr(is_stable)}
        self._build(inputs, properties, regions=[comparator])

    def infer(self) -> Sequence[Attribute] | None:
        kinds = [v.type for v in self.inputs]
        if not kinds:
            fail("needs at least one input", "C1")
        shapes.same_shape(kinds, "inputs", "C3")
        rank = kinds[0].get_num_dims()
        dimension = -1 if self.dimension is None else self.dimension.value.data
        if not -rank <= dimension < rank:
            fail(f"dimension = {dimension} must be in [{-rank}, {rank})", "C4")
        arguments = [scalar(kind.element_type) for kind in kinds for _ in range(2)]
        check_region(self.comparator, "comparator", arguments, [scalar(i1)], "C5")
        return kinds
