"""The order of a generic's loops, and where its reductions keep their value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import prod

from xdsl.dialects.builtin import MemRefType, i1
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ....compiler.diagnostics import LaminaError
from ....dialects.linalg import GenericOp, IndexOp
from ....dialects.memref import LoadOp

UNROLL_LIMIT = 64  # iterations of a reduction that are written out
ROWS_LIMIT = 16  # of one whose iterations read from as many rows: more streams than that get in each other's way
BODY_LIMIT = 640  # ops that unrolling may make


class Reduction(Enum):
    """Where the running value of a reduction lives."""

    NONE = auto()  # no reduction
    CARRIED = auto()  # reductions innermost, value carried by the loops
    UNROLLED = auto()  # reductions written out inside the innermost parallel loop
    MEMORY = auto()  # a parallel loop innermost, values in the output's memory


@dataclass(frozen=True)
class Schedule:
    """`loops`: dimensions from the outermost loop in, without those of extent 1 and those that are unrolled."""

    extents: tuple[int, ...]
    loops: tuple[int, ...]
    reduction: Reduction
    unrolled: tuple[int, ...] = ()


def loop_extents(op: GenericOp) -> tuple[int, ...]:
    """The trip count of each dimension, from the operands that are indexed by it alone."""
    extents: list[int | None] = [None] * len(op.iterators)
    for operand, map in zip(op.operands, op.maps, strict=True):
        type_ = operand.type
        if not isinstance(type_, MemRefType):
            continue
        for size, expr in zip(type_.get_shape(), map.results, strict=True):
            if isinstance(expr, AffineDimExpr):
                extents[expr.position] = size
    known = tuple(extent for extent in extents if extent is not None)
    if len(known) != len(extents):
        raise LaminaError("no operand tells the extent of every loop", where=op)
    return known


def strides(memref: SSAValue, map: AffineMap, extents: Sequence[int]) -> list[int]:
    """How far apart in memory neighbouring iterations of each dimension are, in elements (0: not at all)."""
    type_ = memref.type
    if not isinstance(type_, MemRefType):
        return [0] * len(extents)
    steps = [step or 0 for step in type_.get_strides() or ()]
    here = map.eval([0] * map.num_dims, [])
    result: list[int] = []
    for dim in range(map.num_dims):
        there = map.eval([int(d == dim) for d in range(map.num_dims)], [])
        result.append(sum((b - a) * step for a, b, step in zip(here, there, steps, strict=True)))
    return result


def choose(op: GenericOp, unroll: int = UNROLL_LIMIT, *, carried: bool = False) -> Schedule:
    """The schedule of a generic; if `carried`, reductions are loops inside of all parallel ones."""
    extents = loop_extents(op)
    live = [d for d, extent in enumerate(extents) if extent != 1]
    order = _output_order(op)
    parallel = [d for d in order if d in live]
    reductions = [d for d in live if op.iterators[d] == "reduction"]
    if not reductions:
        return Schedule(extents, tuple(parallel), Reduction.NONE)
    innermost = Schedule(extents, (*parallel, *reductions), Reduction.CARRIED)
    if carried or not parallel or not _runs_along(op, extents, parallel[-1], reductions):
        return innermost
    if is_scan(op):
        return Schedule(extents, (*parallel[:-1], *reductions, parallel[-1]), Reduction.MEMORY)
    trips = prod(extents[d] for d in reductions)
    ops = sum(1 for _ in op.body.walk()) + len(op.inputs)
    # also a strip of planes (`linalg-strip-columns`), by its constant subscript: a cache has all of its rows
    windowed = any(not isinstance(e, AffineDimExpr) for m in op.maps for e in m.results)
    if trips <= (unroll if windowed else min(unroll, ROWS_LIMIT)) and trips * ops <= BODY_LIMIT:
        return Schedule(extents, tuple(parallel), Reduction.UNROLLED, tuple(reductions))
    if any(d in _dims_of(m) for d in reductions for m in op.maps[len(op.inputs) :]):
        return innermost
    return Schedule(extents, (*parallel[:-1], *reductions, parallel[-1]), Reduction.MEMORY)


def is_scan(op: GenericOp) -> bool:
    """Whether one output is an accumulator and another one has a place for what every step comes to."""
    reductions = {d for d, iterator in enumerate(op.iterators) if iterator == "reduction"}
    steps = [bool(reductions & _dims_of(m)) for m in op.maps[len(op.inputs) :]]
    return any(steps) and not all(steps)


def _output_order(op: GenericOp) -> list[int]:
    """The parallel dimensions in the order of the first output's subscripts; others come first."""
    order: list[int] = []
    for expr in op.maps[len(op.inputs)].results if op.outputs else ():
        for inner in expr.dfs():
            if isinstance(inner, AffineDimExpr) and inner.position not in order:
                order.append(inner.position)
    parallel = [d for d, iterator in enumerate(op.iterators) if iterator == "parallel"]
    return [d for d in parallel if d not in order] + [d for d in order if d in parallel]


def _dims_of(map: AffineMap) -> set[int]:
    return map.used_dims()


def _runs_along(op: GenericOp, extents: Sequence[int], inner: int, reductions: Sequence[int]) -> bool:
    """Whether the accesses run along memory with the parallel loop `inner` rather than with a reduction."""
    votes = 0
    beside = _reads_along(op, inner)  # then what does not change along it is read before it
    for index, (operand, map) in enumerate(zip(op.operands, op.maps, strict=True)):
        if index < len(op.inputs) and not op.body.block.args[index].first_use:
            continue
        steps = strides(operand, map, extents)
        before = beside or _is_condition(operand)
        if steps[inner] == 1:
            votes += 1
        elif 2 <= steps[inner] <= 4 and index < len(op.inputs):
            pass  # so many vectors, and shuffles
        elif steps[inner] != 0 or (not before and any(steps[d] == 1 for d in reductions)):
            votes -= 2
    return votes > 0


def _is_condition(operand: SSAValue) -> bool:
    """Whether it holds what may leave a whole row of terms out, as a mask of tokens does."""
    return isinstance(operand.type, MemRefType) and operand.type.element_type == i1


def _reads_along(op: GenericOp, inner: int) -> bool:
    """Whether what is loaded at computed places lies side by side along a loop."""
    lasts = [load.indices[-1].owner for load in op.body.block.ops if isinstance(load, LoadOp) and load.indices]
    return bool(lasts) and all(isinstance(last, IndexOp) and last.dim.value.data == inner for last in lasts)
