"""Points that read the same along a dimension are done by one thread, several of them, which reads that once.

Before:
    affine.parallel (%i, %j) = (0, 0) to (64, 8) {
      %a = affine.vector_load %x[%i * 32 + %j * 4] : memref<2048xf32>, vector<4xf32>
      %b = affine.vector_load %bias[%j * 4] : memref<32xf32>, vector<4xf32>
      %s = arith.addf %a, %b : vector<4xf32>
      affine.vector_store %s, %y[%i * 32 + %j * 4] : memref<2048xf32>, vector<4xf32>
After, for two of them:
    affine.parallel (%i, %j) = (0, 0) to (32, 8) {
      %a = affine.vector_load %x[%i * 32 + %j * 4] ...
      %b = affine.vector_load %bias[%j * 4] ...
      %s = arith.addf %a, %b : vector<4xf32>
      %k = affine.apply (%i + 32)
      %c = affine.vector_load %x[%k * 32 + %j * 4] ...
      %t = arith.addf %c, %b : vector<4xf32>
      affine.vector_store %s, %y[%i * 32 + %j * 4] ...
      affine.vector_store %t, %y[%k * 32 + %j * 4] ...

They lie far apart, so that what neighbouring threads take at once stays next to each other. All are read before any is
written. Of which dimension, and how many, is found by counting sectors as warps ask for them, and what few blocks cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, NoneAttr, VectorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.dtypes import dtype_of
from ...compiler.effects import is_pure
from ...compiler.locations import locate
from ...compiler.walking import all_ops
from ...dialects.affine import ApplyOp, IfOp, LoadOp, ParallelOp, StoreOp, VectorLoadOp, VectorStoreOp, YieldOp
from ...dialects.memref import LoadOp as MemRefLoadOp
from ...dialects.memref.views import root
from ..affine.accesses import linear_value, map_subscripts
from .bands import band_of, sizes_of
from .banks import Numbers, numbers_of, row_major
from .kernels import times_of
from .tiles_read import SECTOR, slowed
from .turned_boxes import sectors_of

MOST = 32  # points of a thread
HELD = 256  # bytes that it reads of those, before it writes any
COUNTED = 1024  # threads whose sectors are counted
GAIN = 1.04  # how many times less a kernel is to cost
_LOADS, _STORES = (LoadOp, VectorLoadOp), (StoreOp, VectorStoreOp)


@dataclass(frozen=True)
class _Access:
    """Bytes between neighbours along each loop, the first byte, and bytes of an element or a vector."""

    steps: tuple[int, ...]
    start: int
    nbytes: int
    written: bool


@dataclass(frozen=True)
class _Nest:
    """Its loops, what its points access, and how many times as many points it has in truth."""

    sizes: tuple[int, ...]
    accesses: tuple[_Access, ...]
    times: int

    def sectors(self, dimension: int, count: int) -> float:
        """That are moved where a thread does so many points along a dimension."""
        sizes = [n // count if d == dimension else n for d, n in enumerate(self.sizes)]
        numbers: Numbers = numbers_of(sizes, COUNTED)
        each = 0.0
        for access in self.accesses:
            places = numbers @ np.array(access.steps, dtype=np.int64) + access.start
            apart = sizes[dimension] * access.steps[dimension]  # bytes between points of a thread
            begins = Counter(n * apart % SECTOR for n in range(count if apart else 1))
            each += sum(often * sectors_of(places + begin) for begin, often in begins.items())
        return each * prod(sizes)

    def cost(self, dimension: int, count: int, threads: int) -> float:
        """Bytes of these, and what few blocks cost."""
        moved = self.sectors(dimension, count) * SECTOR * self.times
        return moved * slowed(moved, 0, -(-prod(self.sizes) // count // threads) * self.times)

    def held(self, dimension: int, count: int) -> int:
        """Bytes that a thread reads of so many points."""
        read = [access for access in self.accesses if not access.written]
        return sum(access.nbytes * (count if access.steps[dimension] else 1) for access in read)


def held(nest: ParallelOp, threads: int) -> ParallelOp:
    """The nest whose points are several of those of `nest`, in its place, or `nest`: of blocks of so many `threads`."""
    while (found := _nest_of(nest)) is not None and (best := _best(found, threads)) is not None:
        nest = _several(nest, *best)
    return nest


def sectors_held(nest: ParallelOp, threads: int) -> float | None:
    """That are moved by threads that do several points along the best dimension; None where nobody can tell."""
    found = _nest_of(nest)
    if found is None:
        return None
    return found.sectors(*(_best(found, threads) or (0, 1)))


def _best(nest: _Nest, threads: int) -> tuple[int, int] | None:
    """Of which dimension a thread is to do how many points; None where it is to do one."""
    costs = {(d, n): nest.cost(d, n, threads) for d, n in _choices(nest, threads)}
    best = min(costs, key=costs.__getitem__, default=None)
    return best if best is not None and costs[best] * GAIN <= nest.cost(0, 1, threads) else None


def _nest_of(nest: ParallelOp) -> _Nest | None:
    """What the points of a nest access; None where they do more than read, compute and write on their own."""
    band = band_of(nest)
    sizes = sizes_of(band)
    if sizes is None or not sizes or prod(sizes) == 0:
        return None
    variables = [v for loop in band for v in loop.body.block.args]
    found: list[_Access] = []
    written: set[SSAValue] = set()
    body = list(band[-1].body.block.ops)
    for op in all_ops(band[-1])[1:]:
        if isinstance(op, MemRefLoadOp):  # from a place that values say, which is anywhere
            if op.parent is not band[-1].body.block or root(op.memref) in written:
                return None
            found.append(_gathered(op, body, variables))
        elif isinstance(op, _LOADS + _STORES):
            access = _access_of(op, variables)
            if access is None or (isinstance(op, _LOADS) and root(op.memref) in written):
                return None
            if isinstance(op, _STORES):
                written.add(root(op.memref))
                if op.parent is not band[-1].body.block:
                    return None
            found.append(access)
        elif not isinstance(op, IfOp | YieldOp) and not is_pure(op):
            return None
    return _Nest(tuple(sizes), tuple(found), times_of(nest)) if written else None


def _gathered(op: MemRefLoadOp, body: Sequence[Operation], variables: Sequence[SSAValue]) -> _Access:
    """What is read at a place that values say, as if each said the next one: neighbours along other loops stay such."""
    assert isinstance(op.memref.type, MemRefType)
    itemsize, steps = dtype_of(op.res.type).itemsize, dict.fromkeys(variables, 0)
    for index, stride in zip(op.indices, row_major(op.memref.type.get_shape()), strict=True):
        linear = linear_value(index)
        for v in variables:
            if linear is not None and linear.terms.keys() <= steps.keys():
                steps[v] += linear.terms.get(v, 0) * stride * itemsize
            elif index.owner in _depending(body, v):
                steps[v] += max(stride * itemsize, SECTOR)
    return _Access(tuple(steps.values()), 0, itemsize, False)


def _access_of(op: Operation, variables: Sequence[SSAValue]) -> _Access | None:
    assert isinstance(op, LoadOp | VectorLoadOp | StoreOp | VectorStoreOp)
    type_ = op.memref.type
    if not isinstance(type_, MemRefType) or not isinstance(type_.layout, NoneAttr) or op.map.data.num_symbols:
        return None
    itemsize = dtype_of(type_).itemsize
    steps, start = dict.fromkeys(variables, 0), 0
    for linear, stride in zip(map_subscripts(op.map.data, op.indices), row_major(type_.get_shape()), strict=True):
        if linear is None or any(v not in steps for v in linear.terms):
            return None
        for v, n in linear.terms.items():
            steps[v] += n * stride * itemsize
        start += linear.constant * stride * itemsize
    value = (op.value if isinstance(op, StoreOp | VectorStoreOp) else op.result).type
    lanes = prod(value.get_shape()) if isinstance(value, VectorType) else 1
    return _Access(tuple(steps.values()), start, lanes * itemsize, isinstance(op, _STORES))


def _choices(nest: _Nest, threads: int) -> Iterator[tuple[int, int]]:
    """Dimensions along which something stands still that is read, and points that divide them; a block is whole."""
    most = min(MOST, prod(nest.sizes) * nest.times // threads)
    for d, size in enumerate(nest.sizes):
        if any(not access.written and not access.steps[d] for access in nest.accesses):
            for count in range(2, min(size, most) + 1):
                if size % count == 0 and nest.held(d, count) <= HELD:
                    yield d, count


def _several(nest: ParallelOp, dimension: int, count: int) -> ParallelOp:
    """A nest of so many times fewer points along a dimension, in the place of one."""
    band = band_of(nest)
    sizes = sizes_of(band)
    assert sizes is not None
    variables = [v for loop in band for v in loop.body.block.args]
    sizes[dimension] //= count
    body = Block(arg_types=[v.type for v in variables])
    b = Builder(InsertPoint.at_end(body))
    same: dict[SSAValue, SSAValue] = dict(zip(variables, body.args, strict=True))
    for old, new in same.items():
        new.name_hint = old.name_hint
    ops = [op for op in band[-1].body.block.ops if not isinstance(op, YieldOp)]
    other = _depending(ops, variables[dimension])
    points: list[dict[SSAValue, SSAValue]] = []
    for number in range(count):
        values = dict(same)
        if number:
            where = AffineMap(1, 0, (AffineExpr.dimension(0) + number * sizes[dimension],))
            place = ApplyOp([same[variables[dimension]]], AffineMapAttr(where))
            locate(place, nest.location)
            values[variables[dimension]] = b.insert(place).result
        for op in ops:
            if isinstance(op, _STORES) or (number and op not in other):
                continue
            values.update(zip(op.results, b.insert(op.clone(values)).results, strict=True))
            if op not in other:
                same.update((result, values[result]) for result in op.results)
        points.append(values)
    for values in points:
        for op in ops:
            if isinstance(op, _STORES):
                b.insert(op.clone(values))
    body.add_op(YieldOp.get())
    loop = ParallelOp.of([0] * len(sizes), sizes, Region(body))
    loop.attributes.update(nest.attributes)
    locate(loop, nest.location)
    Rewriter.insert_op(loop, InsertPoint.before(nest))
    nest.detach()
    nest.erase()
    return loop


def _depending(ops: Sequence[Operation], variable: SSAValue) -> set[Operation]:
    """Those that are not the same for all numbers of a loop."""
    values, found = {variable}, set[Operation]()
    for op in ops:
        if any(operand in values for inner in all_ops(op) for operand in inner.operands):
            found.add(op)
            values.update(op.results)
    return found
