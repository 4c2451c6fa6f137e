"""Ops by which the processes of a program that runs many times at once exchange tensors.

A process is a replica and a partition of the program; `replica_groups` says who talks to whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, Signedness, TensorType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure, RecursiveMemoryEffect

from . import shapes
from .ops_control import check_region, returned
from .syntax import TENSOR, ClausedOp, StableHLOOp, tensor_operand, tensor_operands
from .types import ChannelHandleAttr, FutureType

Value = SSAValue | Operation

UI32 = IntegerType(32, Signedness.UNSIGNED)


def group_rows(groups: DenseIntOrFPElementsAttr, name: str = "replica_groups") -> list[list[int]]:
    """The groups, without the -1 that fill up short ones. Raises VerifyException where an id is there twice."""
    shape = groups.get_shape()
    if len(shape) != 2 or not isinstance(groups.get_element_type(), IntegerType):
        shapes.fail(f"{name} must be a tensor of integers with two dimensions, got {groups.type}", "I")
    values = [int(value) for value in cast(Any, groups).get_values()]
    rows = [[value for value in values[i : i + shape[1]] if value >= 0] for i in range(0, len(values), shape[1] or 1)]
    ids = [value for row in rows for value in row]
    if len(set(ids)) != len(ids):
        shapes.fail(f"{name} must name each process once, got {rows}", "C2")
    return rows


class CollectiveOp(StableHLOOp):
    """What exchanges tensors within groups of processes."""

    def group_size(self, groups: DenseIntOrFPElementsAttr) -> int | None:
        """How many processes a group has, where all have as many."""
        sizes = {len(row) for row in group_rows(groups)}
        return sizes.pop() if len(sizes) == 1 else None


def _check_axis(axis: IntegerAttr, kind: TensorType, name: str) -> int:
    number = axis.value.data
    if not 0 <= number < kind.get_num_dims():
        shapes.fail(f"{name} = {number} must be in [0, {kind.get_num_dims()})", "C1")
    return number


def _scaled(kind: TensorType, axis: int, result: Attribute, by: int | None, constraint: str) -> None:
    """`result` is `kind` but for one dimension, which is `by` times as large where that is known."""
    shape, other = kind.get_shape(), shapes.tensor(result, "result").get_shape()
    same = len(shape) == len(other) and all(
        a == b for i, (a, b) in enumerate(zip(shape, other, strict=True)) if i != axis
    )
    shapes.same_element((kind, shapes.tensor(result)), "operand and result", constraint)
    if not same or (by is not None and other[axis] != shape[axis] * by):
        times = "a multiple of" if by is None else f"{by} times"
        shapes.fail(f"result must be {times} {kind} in dimension {axis}, got {result}", constraint)


@irdl_op_definition
class AllGatherOp(CollectiveOp):
    """The operands of all processes of a group, one after another along `all_gather_dim` (C1-C6)."""

    name = "stablehlo.all_gather"
    operands_ = tensor_operands()
    results_ = var_result_def(TENSOR)
    all_gather_dim = prop_def(IntegerAttr)
    replica_groups = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        if len(self.operands) != len(self.results):
            shapes.fail(f"expected {len(self.operands)} results, got {len(self.results)}", "C6")
        size = self.group_size(self.replica_groups)
        for operand, result in zip(self.operands_, self.results, strict=True):
            axis = _check_axis(self.all_gather_dim, operand.type, "all_gather_dim")
            _scaled(operand.type, axis, result.type, size, "C6")


@irdl_op_definition
class AllReduceOp(CollectiveOp):
    """The operands of all processes of a group, combined by the computation (C1-C7)."""

    name = "stablehlo.all_reduce"
    operands_ = tensor_operands()
    results_ = var_result_def(TENSOR)
    replica_groups = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    computation = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def infer(self) -> Sequence[Attribute] | None:
        found = returned(self.computation, "computation")
        if len(found) != 1:
            shapes.fail(f"computation must return one value, got {len(found)}", "C5")
        group_rows(self.replica_groups)
        element = shapes.tensor(found[0]).element_type
        check_region(self.computation, "computation", [shapes.scalar(element)] * 2, None, "C5")
        return [shapes.with_element(operand.type, element) for operand in self.operands_]


@irdl_op_definition
class CollectiveReduceOp(CollectiveOp):
    """The operands of a group combined by the computation, on one process of it; zeros elsewhere (C1-C4).

    That is the first of the group, or, with a dynamic root, the one whose number the last operand holds.
    """

    name = "stablehlo.collective_reduce"
    operands_ = tensor_operands()
    results_ = var_result_def(TENSOR)
    replica_groups = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    has_dynamic_root = opt_prop_def(UnitAttr)
    computation = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def infer(self) -> Sequence[Attribute] | None:
        data = list(self.operands_)
        dynamic = self.has_dynamic_root is not None
        if dynamic and (not data or data.pop().type != shapes.tensor_type(IntegerType(32), [len(data)])):
            shapes.fail(f"the last operand must be tensor<{len(data)}xi32>: a root for each of the others", "C3")
        found = returned(self.computation, "computation")
        if len(found) != 1:
            shapes.fail(f"computation must return one value, got {len(found)}", "C4")
        group_rows(self.replica_groups)
        element = shapes.tensor(found[0]).element_type
        check_region(self.computation, "computation", [shapes.scalar(element)] * 2, None, "C4")
        return [shapes.with_element(operand.type, element) for operand in data]


@irdl_op_definition
class ReduceScatterOp(CollectiveOp):
    """The operands of a group combined by the computation, of which each process gets its part (C1-C9)."""

    name = "stablehlo.reduce_scatter"
    operand = tensor_operand()
    result = result_def(TENSOR)
    scatter_dimension = prop_def(IntegerAttr)
    replica_groups = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    computation = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        operand, result = self.operand.type, self.result.type
        axis = _check_axis(self.scatter_dimension, operand, "scatter_dimension")
        element = result.element_type
        check_region(self.computation, "computation", [shapes.scalar(element)] * 2, [shapes.scalar(element)], "C7")
        _scaled(result, axis, shapes.with_element(operand, element), self.group_size(self.replica_groups), "C8")


@irdl_op_definition
class AllToAllOp(CollectiveOp):
    """Each process gives one part of its operand, split, to each of its group, and joins what it gets (C1-C9)."""

    name = "stablehlo.all_to_all"
    operands_ = tensor_operands()
    results_ = var_result_def(TENSOR)
    split_dimension = prop_def(IntegerAttr)
    concat_dimension = prop_def(IntegerAttr)
    split_count = prop_def(IntegerAttr)
    replica_groups = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)

    def infer(self) -> Sequence[Attribute] | None:
        count = self.split_count.value.data
        if count <= 0:
            shapes.fail(f"split_count = {count} must be positive", "C4")
        size = self.group_size(self.replica_groups)
        if size is not None and size != count:
            shapes.fail(f"groups have {size} processes, split_count is {count}", "C8")
        results: list[Attribute] = []
        for operand in self.operands_:
            split = _check_axis(self.split_dimension, operand.type, "split_dimension")
            join = _check_axis(self.concat_dimension, operand.type, "concat_dimension")
            shape = list(operand.type.get_shape())
            if shape[split] % count:
                shapes.fail(f"dimension {split} of {operand.type} must be a multiple of {count}", "C2")
            shape[split] //= count
            shape[join] *= count
            results.append(shapes.with_shape(operand.type, shape))
        return results


@irdl_op_definition
class CollectivePermuteOp(CollectiveOp):
    """Each source gives its operand to its target; who gets none has zeros (C1-C5)."""

    name = "stablehlo.collective_permute"
    operand = tensor_operand()
    result = result_def(TENSOR)
    source_target_pairs = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)

    def infer(self) -> Sequence[Attribute] | None:
        check_pairs(self.source_target_pairs)
        return (self.operand.type,)


def check_pairs(pairs: DenseIntOrFPElementsAttr) -> None:
    """A tensor of Nx2 ids, none of which is a source or a target twice."""
    shape = pairs.get_shape()
    if len(shape) != 2 or (shape[1] != 2 and prod(shape)):
        shapes.fail(f"source_target_pairs must be a tensor of Nx2 integers, got {pairs.type}", "C1")
    values = [int(value) for value in cast(Any, pairs).get_values()]
    for name, ids, constraint in (("sources", values[::2], "C2"), ("targets", values[1::2], "C3")):
        if len(set(ids)) != len(ids):
            shapes.fail(f"{name} must be unique, got {ids}", constraint)


@irdl_op_definition
class CollectiveBroadcastOp(CollectiveOp):
    """The operand of the first process of each group; who is in none has zeros (C1-C3)."""

    name = "stablehlo.collective_broadcast"
    operands_ = tensor_operands()
    results_ = var_result_def(TENSOR)
    replica_groups = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)

    def infer(self) -> Sequence[Attribute] | None:
        group_rows(self.replica_groups)
        return [operand.type for operand in self.operands_]


@irdl_op_definition
class CrossReplicaSumOp(CollectiveOp):
    """The sum of the operands of each group: a form of `all_reduce` that the specification has left behind."""

    name = "stablehlo.cross-replica-sum"
    operand = tensor_operand()
    result = result_def(TENSOR)
    replica_groups = prop_def(DenseIntOrFPElementsAttr)

    def infer(self) -> Sequence[Attribute] | None:
        group_rows(self.replica_groups)
        return (self.operand.type,)


class ProcessIdOp(ClausedOp):
    """`%r = stablehlo.replica_id : tensor<ui32>`"""

    result = result_def(TENSOR)
    traits = traits_def(Pure())
    ONE_TYPE: ClassVar = True

    def __init__(self) -> None:
        self._build([])

    def infer(self) -> Sequence[Attribute] | None:
        return (shapes.scalar(UI32),)


@irdl_op_definition
class ReplicaIdOp(ProcessIdOp):
    """Which replica this is.

    `%r = stablehlo.replica_id : tensor<ui32>`
    """

    name = "stablehlo.replica_id"


@irdl_op_definition
class PartitionIdOp(ProcessIdOp):
    """Which partition this is.

    `%r = stablehlo.partition_id : tensor<ui32>`
    """

    name = "stablehlo.partition_id"


@irdl_op_definition
class AsyncStartOp(StableHLOOp):
    """Begins what its region does; the future gives the results."""

    name = "stablehlo.async_start"
    operands_ = var_operand_def()
    result = result_def(FutureType)
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        assert isinstance(self.result.type, FutureType)
        check_region(self.body, "body", self.operand_types, self.result.type.types.data, "C1")


@irdl_op_definition
class AsyncDoneOp(StableHLOOp):
    """Waits for the results of a future."""

    name = "stablehlo.async_done"
    operand = operand_def(FutureType)
    results_ = var_result_def(TENSOR)

    def infer(self) -> Sequence[Attribute] | None:
        kind = self.operand.type
        assert isinstance(kind, FutureType)
        return kind.types.data


OPS: Sequence[type[Operation]] = (
    AllGatherOp,
    AllReduceOp,
    CollectiveReduceOp,
    ReduceScatterOp,
    AllToAllOp,
    CollectivePermuteOp,
    CollectiveBroadcastOp,
    CrossReplicaSumOp,
    ReplicaIdOp,
    PartitionIdOp,
    AsyncStartOp,
    AsyncDoneOp,
)
