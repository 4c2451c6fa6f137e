"""`gpu-widen-points`: the points of an elementwise nest are taken 16 bytes at a time.

Before:
    affine.parallel (%i) = (0) to (6) {
      affine.parallel (%j) = (0) to (64) {
        %a = affine.load %x[%i, %j] : memref<6x64xf32>
        %b = affine.load %bias[%i] : memref<6xf32>
        %s = arith.addf %a, %b : f32
        affine.store %s, %y[%i, %j] : memref<6x64xf32>
After:
    affine.parallel (%i, %j) = (0, 0) to (6, 16) {
      %a = affine.vector_load %flat_x[%i * 64 + %j * 4] {alignment = 16} : memref<384xf32>, vector<4xf32>
      %b = affine.load %bias[%i] : memref<6xf32>
      %all = vector.broadcast %b : f32 to vector<4xf32>
      %s = arith.addf %a, %all : vector<4xf32>
      affine.vector_store %s, %flat_y[%i * 64 + %j * 4] {alignment = 16} : memref<384xf32>, vector<4xf32>

Neighbouring dimensions become one where every access walks them as one. A nest is widened when each of its accesses
runs along the innermost dimension or stands still; others stay as they are, and those that go through shared memory
(`gpu.turned_boxes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, MemRefType, ModuleOp, NoneAttr, VectorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.dtypes import dtype_of
from ...compiler.locations import locate, locate_back
from ...dialects.affine import LoadOp, ParallelOp, StoreOp, VectorLoadOp, VectorStoreOp, YieldOp
from ...dialects.memref.views import collapse
from ...dialects.vector.widen import Widener
from ..affine.loops import functions, stride_along
from .bands import band_of, sizes_of
from .turned_boxes import boxes_of

ACCESS_BYTES = 16  # the widest access of a thread
_Index: TypeAlias = "SSAValue[IndexType]"
_Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"


@dataclass(frozen=True)
class WidenPoints(ModulePass):
    """The points of elementwise nests are taken 16 bytes at a time."""

    name = "gpu-widen-points"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for nest in [inner for inner in function.body.block.ops if isinstance(inner, ParallelOp)]:
                plan = plan_of(nest)
                if plan is not None and boxes_of(nest, plan.width) is None:
                    widen(nest, plan)


@dataclass(frozen=True)
class Linear:
    """Where an access is in its buffer: elements between neighbours along each dimension, and at the origin."""

    op: LoadOp | StoreOp
    steps: tuple[int, ...]
    start: int


@dataclass(frozen=True)
class Plan:
    """A nest with its dimensions coalesced: their sizes, its accesses, and how many points are taken at a time."""

    sizes: tuple[int, ...]
    accesses: tuple[Linear, ...]
    width: int


@dataclass(frozen=True)
class Walk:
    """An elementwise nest: the sizes of its dimensions, coalesced, and how its accesses walk them."""

    sizes: tuple[int, ...]
    accesses: tuple[Linear, ...]


def plan_of(nest: ParallelOp) -> Plan | None:
    """How to widen a nest, None where it stays."""
    walk = walk_of(nest)
    width = _width(walk.sizes, walk.accesses) if walk is not None else 1
    return Plan(walk.sizes, walk.accesses, width) if walk is not None and width > 1 else None


def walk_of(nest: ParallelOp) -> Walk | None:
    """How a nest walks its buffers; None where it does more than load, compute and store points on its own."""
    band = band_of(nest)
    sizes = sizes_of(band)
    if sizes is None:
        return None
    variables = [v for loop in band for v in loop.body.block.args]
    accesses: list[Linear] = []
    for op in band[-1].body.block.ops:
        if op.regions or op.name.startswith("memref."):
            return None
        if isinstance(op, LoadOp | StoreOp):
            linear = _linear(op, variables)
            if linear is None:
                return None
            accesses.append(linear)
        elif any(value in variables for value in op.operands):
            return None
    if not accesses or not sizes:
        return None
    merged, steps = coalesced(sizes, [access.steps for access in accesses])
    return Walk(merged, tuple(Linear(a.op, s, a.start) for a, s in zip(accesses, steps, strict=True)))


def _linear(op: LoadOp | StoreOp, variables: Sequence[SSAValue]) -> Linear | None:
    """An access as a linear function of the loops; None where it is none, or other values are in it."""
    type_ = op.memref.type
    if not isinstance(type_, MemRefType) or not isinstance(type_.layout, NoneAttr) or op.map.data.num_symbols:
        return None
    if any(index not in variables for index in op.indices):
        return None
    steps = [stride_along(op, variable) for variable in variables]
    if any(step is None for step in steps):
        return None
    shape = type_.get_shape()
    origin = op.map.data.eval([0] * op.map.data.num_dims, [])
    start = sum(at * prod(shape[i + 1 :]) for i, at in enumerate(origin))
    return Linear(op, tuple(step or 0 for step in steps), start)


def coalesced(sizes: Sequence[int], steps: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The dimensions with neighbours made one that every access walks as one."""
    merged: list[int] = []
    kept: list[list[int]] = [[] for _ in steps]
    for d in range(len(sizes) - 1, -1, -1):
        if merged and all(s[d] == k[0] * merged[0] for s, k in zip(steps, kept, strict=True)):
            merged[0] *= sizes[d]
            continue
        merged.insert(0, sizes[d])
        for s, k in zip(steps, kept, strict=True):
            k.insert(0, s[d])
    return tuple(merged), [tuple(k) for k in kept]


def _width(sizes: Sequence[int], accesses: Sequence[Linear]) -> int:
    """Points at a time, 1 where an access is neither along the innermost dimension nor stands still."""
    widest = max(dtype_of(access.op.memref.type).itemsize for access in accesses)
    width = max(1, ACCESS_BYTES // widest)
    along = [access for access in accesses if access.steps[-1] == 1]
    if len(along) + sum(access.steps[-1] == 0 for access in accesses) < len(accesses):
        return 1
    if any(isinstance(access.op, StoreOp) and access.steps[-1] == 0 for access in accesses):
        return 1
    while width > 1 and (
        sizes[-1] % width or any(n % width for access in along for n in (*access.steps[:-1], access.start))
    ):
        width //= 2
    return width


def widen(nest: ParallelOp, plan: Plan) -> None:
    """Puts a nest of wide accesses in the place of one of single points."""
    body = Block(arg_types=[IndexType()] * len(plan.sizes))
    b = Builder(InsertPoint.at_end(body))
    widener = Widener(b, plan.width)
    linear = {access.op: access for access in plan.accesses}
    for op in band_of(nest)[-1].body.block.ops:
        if isinstance(op, LoadOp):
            widener.values[op.result] = _load(b, linear[op], body.args, plan.width)
        elif isinstance(op, StoreOp):
            value = widener.vector(widener.value(op.value))
            flat, indices, map = place_of(b, linear[op], body.args, plan.width)
            store = VectorStoreOp(value, flat, indices, map)
            b.insert(_aligned(store, flat, plan.width))
        elif not isinstance(op, YieldOp):
            widener.widen(op)
        locate_back(body.last_op, op.location)
    body.add_op(YieldOp.get())
    loop = ParallelOp.of([0] * len(plan.sizes), [*plan.sizes[:-1], plan.sizes[-1] // plan.width], Region(body))
    loop.attributes.update(nest.attributes)
    locate(loop, nest.location)
    Rewriter.insert_op(loop, InsertPoint.before(nest))
    nest.detach()
    nest.erase()


def _load(b: Builder, access: Linear, indices: Sequence[SSAValue], width: int) -> SSAValue:
    flat, operands, map = place_of(b, access, indices, width)
    type_ = flat.type.element_type
    if access.steps[-1] == 0:
        return b.insert(LoadOp(flat, operands, map)).result
    load = VectorLoadOp(flat, operands, map, VectorType(type_, [width]))
    b.insert(_aligned(load, flat, width))
    return load.result


def _aligned(op: VectorLoadOp | VectorStoreOp, flat: _Buffer, width: int) -> Operation:
    op.attributes["alignment"] = IntegerAttr(width * dtype_of(flat.type).itemsize, i64)
    return op


def place_of(
    b: Builder, access: Linear, indices: Sequence[SSAValue], width: int = 1
) -> tuple[_Buffer, list[_Index], AffineMapAttr]:
    """The buffer in one dimension, and where in it the access is."""
    buffer: SSAValue = access.op.memref
    assert isinstance(buffer.type, MemRefType)
    rank = len(buffer.type.get_shape())
    if rank > 1:
        buffer = b.insert(collapse(buffer, [list(range(rank))])).results[0]
    steps = (*access.steps[:-1], access.steps[-1] * width)
    used = [d for d, step in enumerate(steps) if step]
    where: AffineExpr = AffineExpr.constant(access.start)
    for position, d in enumerate(used):
        where = where + AffineExpr.dimension(position) * steps[d]
    results = (where.simplify(len(used), 0),) if rank else ()
    operands = [indices[d] for d in used] if rank else []
    map = AffineMap(len(operands), 0, results)
    return cast("_Buffer", buffer), cast("list[_Index]", operands), AffineMapAttr(map)
