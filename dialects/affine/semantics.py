"""Meanings of `affine`: loops in order, accesses through maps."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import product
from typing import cast

import numpy as np
from xdsl.dialects import affine
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr
from xdsl.ir.affine import AffineConstraintKind, AffineMap

from ...compiler.semantics import Call, Region, semantics
from ...compiler.strided import memory_of, position_in
from ...compiler.weights import Array
from .ops import ParallelOp

_COMPARE = {
    AffineConstraintKind.ge: operator.ge,
    AffineConstraintKind.le: operator.le,
    AffineConstraintKind.eq: operator.eq,
}


def apply_map(map: AffineMap, operands: Sequence[Array]) -> tuple[int, ...]:
    """The results of a map on dimension operands followed by symbol operands."""
    values = [int(v) for v in operands]
    return tuple(map.eval(values[: map.num_dims], values[map.num_dims :]))


def _map(call: Call, name: str = "map") -> AffineMap:
    return cast(AffineMapAttr, call.op.properties[name]).data


@semantics("affine.apply")
def apply(*operands: Array, call: Call) -> Array:
    """One number from the map."""
    return np.int64(apply_map(_map(call), operands)[0])  # pyright: ignore


@semantics("affine.min")
def minimum(*operands: Array, call: Call) -> Array:
    """The smallest result of the map."""
    return np.int64(min(apply_map(_map(call), operands)))  # pyright: ignore


@semantics("affine.max")
def maximum(*operands: Array, call: Call) -> Array:
    """The largest result of the map."""
    return np.int64(max(apply_map(_map(call), operands)))  # pyright: ignore


@semantics("affine.load")
def load(memref: Array, *indices: Array, call: Call) -> Array:
    """One element."""
    return memref[apply_map(_map(call), indices)]


@semantics("affine.store")
def store(value: Array, memref: Array, *indices: Array, call: Call) -> tuple[()]:
    """One element changes."""
    memref[apply_map(_map(call), indices)] = value
    return ()


@semantics("affine.for")
def for_(*operands: Array, regions: Sequence[Region], call: Call) -> list[Array]:
    """Iterations in order; the values carried are what the last one yields."""
    op = cast(affine.ForOp, call.op)
    lows, highs = len(op.lowerBoundOperands), len(op.upperBoundOperands)
    low = max(apply_map(op.lowerBoundMap.data, operands[:lows]))
    high = min(apply_map(op.upperBoundMap.data, operands[lows : lows + highs]))
    carried = list(operands[lows + highs :])
    for i in range(low, high, op.step.value.data):
        carried = regions[0](np.asarray(i, np.int64), *carried)
    return carried


@semantics("affine.parallel")
def parallel(*operands: Array, regions: Sequence[Region], call: Call) -> tuple[()]:
    """Iterations in some order (here the lexicographic one); without reductions."""
    op = cast(ParallelOp, call.op)
    lower, upper = op.lowerBoundsMap.data, op.upperBoundsMap.data
    split = lower.num_dims + lower.num_symbols
    lows = _grouped(apply_map(lower, operands[:split]), op.lowerBoundsGroups.get_values(), max)
    highs = _grouped(apply_map(upper, operands[split:]), op.upperBoundsGroups.get_values(), min)
    steps = [step.value.data for step in op.steps]
    for point in product(*map(range, lows, highs, steps)):
        regions[0](*(np.asarray(i, np.int64) for i in point))
    return ()


def _grouped(values: Sequence[int], groups: Sequence[float], choose: object) -> list[int]:
    bounds: list[int] = []
    start = 0
    for size in map(int, groups):
        bounds.append(choose(values[start : start + size]))  # pyright: ignore
        start += size
    return bounds


@semantics("affine.if")
def if_(*operands: Array, regions: Sequence[Region], call: Call) -> list[Array]:
    """One of the two regions, by whether the operands lie in the set."""
    condition = cast(AffineSetAttr, call.op.properties["condition"]).data
    values = [int(v) for v in operands]
    dims, symbols = values[: condition.num_dims], values[condition.num_dims :]
    holds = all(_COMPARE[c.kind](c.lhs.eval(dims, symbols), c.rhs.eval(dims, symbols)) for c in condition.constraints)
    region = regions[0] if holds else regions[1]
    return region() if holds or call.op.regions[1].blocks else []


@semantics("affine.vector_load")
def vector_load(memref: Array, *indices: Array, call: Call) -> Array:
    """Consecutive elements."""
    lanes: int = call.op.results[0].type.get_shape()[0]  # pyright: ignore
    start = position_in(memref, apply_map(_map(call), indices))
    return memory_of(memref)[start : start + lanes].copy()


@semantics("affine.vector_store")
def vector_store(value: Array, memref: Array, *indices: Array, call: Call) -> tuple[()]:
    """Consecutive elements change."""
    start = position_in(memref, apply_map(_map(call), indices))
    memory_of(memref)[start : start + value.size] = value
    return ()
