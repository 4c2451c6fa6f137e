"""Meanings of what processes exchange; a program that runs once is a group of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.processes import ProcessId
from ....compiler.semantics import Call, Region, Spec, semantics
from ....compiler.weights import Array
from ..ops_collective import group_rows


def _groups(call: Call, rows: Sequence[Sequence[int]]) -> list[list[ProcessId]]:
    """The process groups that the ids mean: of replicas, of both, of partitions, or flattened."""
    grid = call.process.grid
    handle = call.op.properties.get("channel_handle")
    channel = handle is not None and cast(Any, handle).data.handle > 0
    if call.op.properties.get("use_global_device_ids") is not None:
        ids = grid.ids()
        _check(call, rows, len(ids))
        return [[ids[i] for i in row] for row in rows]
    by_partition = channel and call.op.name in _BY_PARTITION
    _check(call, rows, grid.partitions if by_partition else grid.replicas)
    if by_partition:
        return [[(replica, i) for i in row] for replica in range(grid.replicas) for row in rows]
    if channel:
        return [[(i, partition) for i in row for partition in range(grid.partitions)] for row in rows]
    return [[(i, partition) for i in row] for partition in range(grid.partitions) for row in rows]


_BY_PARTITION = ("stablehlo.all_to_all", "stablehlo.collective_permute", "stablehlo.collective_broadcast")


def _check(call: Call, rows: Sequence[Sequence[int]], count: int) -> None:
    for row in rows:
        for number in row:
            if not 0 <= number < count:
                raise LaminaError(
                    f"there is no process {number}, only {count}", where=call.op, hint="lamina run --replicas N"
                )


def _rows(call: Call) -> list[list[int]]:
    """The groups of the op; all processes where none are named."""
    rows = [row for row in group_rows(cast(Any, call.op.properties["replica_groups"])) if row]
    if rows:
        return rows
    grid = call.process.grid
    flat = call.op.properties.get("use_global_device_ids") is not None
    return [list(range(len(grid.ids()) if flat else grid.replicas))]


def _meet(call: Call, values: Sequence[Array]) -> list[Sequence[Array]] | None:
    """What the processes of this one's group give, in its order; None where it is in no group."""
    group = next((g for g in _groups(call, _rows(call)) if call.process.id in g), None)
    return None if group is None else call.process.meet(call.op, group, values)


def _needed(call: Call, values: Sequence[Array]) -> list[Sequence[Array]]:
    met = _meet(call, values)
    if met is None:
        raise LaminaError(f"process {call.process.id} is in none of the groups", where=call.op)
    return met


@semantics("stablehlo.all_gather")
def all_gather(*values: Array, all_gather_dim: int, call: Call) -> list[Array]:
    met = _needed(call, values)
    return [np.concatenate([each[i] for each in met], all_gather_dim) for i in range(len(values))]


def _combined(parts: Sequence[Array], region: Region, dtype: Any) -> Array:
    total = parts[0].astype(dtype)
    for part in parts[1:]:
        total = region.lifted(total, part.astype(dtype))[0]
    return total


@semantics("stablehlo.all_reduce")
def all_reduce(*values: Array, regions: list[Region], results: list[Spec], call: Call) -> list[Array]:
    met = _needed(call, values)
    return [_combined([each[i] for each in met], regions[0], spec.dtype) for i, spec in enumerate(results)]


@semantics("stablehlo.collective_reduce")
def collective_reduce(
    *values: Array,
    has_dynamic_root: bool = False,
    regions: list[Region],
    results: list[Spec],
    call: Call,
) -> list[Array]:
    data = values[:-1] if has_dynamic_root else values
    roots = values[-1].tolist() if has_dynamic_root else [0] * len(data)
    nothing = [np.zeros(spec.shape or (), spec.dtype) for spec in results]
    met = _meet(call, data)
    if met is None:
        return nothing
    group = next(g for g in _groups(call, _rows(call)) if call.process.id in g)
    if any(not 0 <= root < len(group) for root in roots):
        raise LaminaError(f"there is no root {roots} in a group of {len(group)} processes", where=call.op)
    mine = group.index(call.process.id)
    return [
        _combined([each[i] for each in met], regions[0], zeros.dtype) if roots[i] == mine else zeros
        for i, zeros in enumerate(nothing)
    ]


@semantics("stablehlo.cross-replica-sum")
def cross_replica_sum(value: Array, *, call: Call) -> Array:
    return np.asarray(sum(each[0] for each in _needed(call, [value]))).astype(value.dtype)


@semantics("stablehlo.reduce_scatter")
def reduce_scatter(value: Array, *, scatter_dimension: int, regions: list[Region], result: Spec, call: Call) -> Array:
    met = _needed(call, [value])
    total = _combined([each[0] for each in met], regions[0], result.dtype)
    group = next(g for g in _groups(call, _rows(call)) if call.process.id in g)
    return np.split(total, len(met), scatter_dimension)[group.index(call.process.id)]


@semantics("stablehlo.all_to_all")
def all_to_all(
    *values: Array, split_dimension: int, concat_dimension: int, split_count: int, call: Call
) -> list[Array]:
    met = _needed(call, values)
    group = next(g for g in _groups(call, _rows(call)) if call.process.id in g)
    if len(met) != split_count:
        raise LaminaError(f"the group has {len(met)} processes, split_count is {split_count}", where=call.op)
    mine = group.index(call.process.id)
    return [
        np.concatenate([np.split(each[i], split_count, split_dimension)[mine] for each in met], concat_dimension)
        for i in range(len(values))
    ]


@semantics("stablehlo.collective_broadcast")
def collective_broadcast(*values: Array, call: Call) -> list[Array]:
    met = _meet(call, values)
    return [np.zeros_like(value) for value in values] if met is None else list(met[0])


@semantics("stablehlo.collective_permute")
def collective_permute(value: Array, *, source_target_pairs: Array, call: Call) -> Array:
    """Pairs are met one by one: a process may be the source of one and the target of another."""
    received = np.zeros_like(value)
    for pair in source_target_pairs.reshape(-1, 2).tolist():
        for group in _groups(call, [pair]):
            if call.process.id in group:
                met = call.process.meet((call.op, tuple(pair)), group if group[0] != group[1] else group[:1], value)
                received = met[0] if call.process.id == group[1] else received
    return received


@semantics("stablehlo.replica_id")
def replica_id(*, call: Call) -> Array:
    return np.array(call.process.id[0], np.uint32)


@semantics("stablehlo.partition_id")
def partition_id(*, call: Call) -> Array:
    return np.array(call.process.id[1], np.uint32)
