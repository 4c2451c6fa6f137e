"""Loop nests of `linalg.generic` and `linalg.fill`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ....compiler.diagnostics import LaminaError
from ....compiler.effects import is_pure
from ....dialects.affine import ApplyOp, ForOp, LoadOp, ParallelOp, StoreOp, YieldOp
from ....dialects.linalg import FillOp, GenericOp, IndexOp
from ....dialects.linalg import YieldOp as LinalgYieldOp
from ....dialects.memref import LoadOp as MemRefLoadOp
from ....dialects.memref import SubviewOp
from ....dialects.memref.views import Access, root, through_subviews
from .schedule import Reduction, Schedule, choose, is_scan, loop_extents
from .subscripts import Subscripts, erase_unused

OpT = TypeVar("OpT", bound=Operation)


class Nest:
    """A loop nest being built from the outside in. `blocks[k]` is the body inside of k loops.

    Ops go to the shallowest block where their operands are known; `depth` remembers it per value.
    """

    def __init__(self, at: Operation, loops: Sequence[int], extents: Sequence[int], parallel: frozenset[int]):
        self.at = at
        self.parallel = parallel  # dimensions whose loops are `affine.parallel`
        self.outside = sum(1 for dim in loops if dim in parallel)  # and nothing stands between those
        self.loops = loops
        self.extents = extents
        self.blocks = [Block()] + [Block(arg_types=[IndexType()]) for _ in loops]
        self.depth: dict[SSAValue, int] = {block.args[0]: level for level, block in enumerate(self.blocks) if level}
        self.index: dict[int, SSAValue] = {
            dim: block.args[0] for dim, block in zip(loops, self.blocks[1:], strict=True)
        }

    def add(self, op: OpT, depth: int) -> OpT:
        """Appends `op` inside of `depth` loops."""
        for inner in op.walk():
            inner.location = self.at.location
        self.blocks[depth].add_op(op)
        for result in op.results:
            self.depth[result] = depth
        return op

    def hoisted(self, op: OpT, least: int = 0) -> OpT:
        """Appends `op` where its operands are known, inside of `least` loops or more."""
        return self.add(op, max([least, self.outside, *(self.depth.get(operand, 0) for operand in op.operands)]))

    def access(self, memref: SSAValue, map: AffineMap, fixed: dict[int, int]) -> tuple[Access, list[SSAValue]]:
        """`memref[map]` as an access of the underlying buffer with its operands; unrolled dimensions are `fixed`."""
        access = through_subviews(memref, map)
        used = sorted(access.map.used_dims() & self.index.keys(), key=self.loops.index)
        replaced: list[AffineExpr] = [AffineExpr.constant(fixed.get(d, 0)) for d in range(map.num_dims)]
        for position, dim in enumerate(used):
            replaced[dim] = AffineExpr.dimension(position)
        symbols = [AffineExpr.symbol(i) for i in range(len(access.symbols))]
        results = tuple(
            _tidy(expr.replace_dims_and_symbols(replaced, symbols), len(used), len(symbols))
            for expr in access.map.results
        )
        final = AffineMap(len(used), len(symbols), results)
        return Access(access.memref, final, access.symbols), [*(self.index[d] for d in used), *access.symbols]

    def load(self, memref: SSAValue, map: AffineMap, fixed: dict[int, int], least: int) -> SSAValue:
        """Loads as far out as possible, inside of `least` loops or more."""
        access, operands = self.access(memref, map, fixed)
        return self.hoisted(LoadOp(access.memref, operands, AffineMapAttr(access.map)), least).result

    def store(self, value: SSAValue, memref: SSAValue, map: AffineMap, depth: int) -> None:
        """Stores inside of `depth` loops."""
        access, operands = self.access(memref, map, {})
        self.add(StoreOp(value, access.memref, operands, AffineMapAttr(access.map)), depth)

    def close(self, first: int, last: int, inits: Sequence[SSAValue], results: Sequence[SSAValue]) -> list[SSAValue]:
        """Wraps loops `last` down to `first` (1-based depths), carrying values; returns what the outermost gives."""
        for depth in range(last, first - 1, -1):
            block = self.blocks[depth]
            self.add(YieldOp.get(*results), depth)
            extent = self.extents[self.loops[depth - 1]]
            outer = list(inits) if depth == first else list(self.blocks[depth - 1].args[1:])
            if self.loops[depth - 1] in self.parallel:
                loop: ForOp | ParallelOp = ParallelOp.of([0], [extent], Region(block))
            else:
                loop = ForOp.of(0, extent, block, inits=outer)
            loop.location = self.at.location
            self.blocks[depth - 1].add_op(loop)
            results = loop.results
        return list(results)

    def insert(self) -> None:
        """Puts the finished nest before the op it stands for, and erases that op."""
        ops = [op for op in self.blocks[0].ops]
        for op in ops:
            op.detach()
        Rewriter.insert_op(ops, InsertPoint.before(self.at))
        self.at.detach()
        self.at.erase()


def lower_fill(op: FillOp, parallel: bool = False) -> None:
    """A nest that stores the scalar everywhere, all places at once if `parallel`."""
    target = op.output
    assert isinstance(target.type, MemRefType)
    shape = target.type.get_shape()
    loops = [d for d, extent in enumerate(shape) if extent != 1]
    nest = Nest(op, loops, shape, frozenset(loops if parallel else ()))
    nest.store(op.value, target, AffineMap.identity(len(shape)), len(loops))
    nest.close(1, len(loops), [], [])
    nest.insert()


def lower_generic(op: GenericOp, unroll: int, parallel: bool = False) -> None:
    """The nest of a generic, as its schedule says, or with its parallel dimensions outside and at once."""
    if any(isinstance(map_op, GenericOp) for map_op in op.body.walk()):
        raise LaminaError("a generic inside a generic cannot be lowered", where=op)
    _Lowering(op, choose(op, unroll, carried=parallel), parallel).run()


class _Lowering:
    def __init__(self, op: GenericOp, schedule: Schedule, parallel: bool):
        self.op = op
        self.schedule = schedule
        at_once = frozenset(d for d, kind in enumerate(op.iterators) if parallel and kind == "parallel")
        self.nest = Nest(op, schedule.loops, schedule.extents, at_once)
        self.inputs = list(zip(op.inputs, op.maps, op.body.block.args, strict=False))
        count = len(op.inputs)
        self.outputs = list(zip(op.outputs, op.maps[count:], op.body.block.args[count:], strict=True))
        written = {root(memref) for memref, _, _ in self.outputs}
        self.stuck = {root(memref) for memref, _, _ in self.inputs} & written

    def run(self) -> None:
        if 0 in self.schedule.extents:
            self.op.detach()
            self.op.erase()
            return
        match self.schedule.reduction:
            case Reduction.NONE | Reduction.MEMORY:
                self._straight()
            case Reduction.UNROLLED:
                self._unrolled()
            case Reduction.CARRIED:
                self._carried()
        self.nest.insert()

    def _straight(self) -> None:
        innermost = len(self.nest.loops)
        olds = [
            self.nest.load(memref, map, {}, innermost) if argument.first_use else None
            for memref, map, argument in self.outputs
        ]
        results = self._body(olds, {}, 0)
        for (memref, map, _), value in zip(self.outputs, results, strict=True):
            self.nest.store(value, memref, map, innermost)
        self.nest.close(1, innermost, [], [])

    def _unrolled(self) -> None:
        innermost = len(self.nest.loops)
        values: list[SSAValue | None] = [*self._initial(innermost)]
        dims = self.schedule.unrolled
        for point in product(*(range(self.schedule.extents[d]) for d in dims)):
            values = [*self._body(values, dict(zip(dims, point, strict=True)), 0)]
        for (memref, map, _), value in zip(self.outputs, values, strict=True):
            assert value is not None
            self.nest.store(value, memref, map, innermost)
        self.nest.close(1, innermost, [], [])

    def _carried(self) -> None:
        innermost = len(self.nest.loops)
        outer = sum(1 for d in self.nest.loops if self.op.iterators[d] == "parallel")
        every = self.outputs  # a scan's outputs with a place for every step are written there, not carried
        reductions = {d for d in self.nest.loops if self.op.iterators[d] != "parallel"}
        steps = (
            [bool(map.used_dims() & reductions) for _, map, _ in every] if is_scan(self.op) else [False] * len(every)
        )
        self.outputs = [output for output, stepwise in zip(every, steps, strict=True) if not stepwise]
        inits = self._initial(outer)
        for depth in range(outer + 1, innermost + 1):
            block = self.nest.blocks[depth]
            for init in inits:
                self.nest.depth[block.insert_arg(init.type, len(block.args))] = depth
        carried = iter(self.nest.blocks[innermost].args[1:])
        self.outputs = every
        olds = [
            next(carried) if not stepwise else self.nest.load(memref, map, {}, innermost) if arg.first_use else None
            for (memref, map, arg), stepwise in zip(every, steps, strict=True)
        ]
        values = self._body(olds, {}, 0)
        for (memref, map, _), value, stepwise in zip(every, values, steps, strict=True):
            if stepwise:
                self.nest.store(value, memref, map, innermost)
        results = [value for value, stepwise in zip(values, steps, strict=True) if not stepwise]
        self.outputs = [output for output, stepwise in zip(every, steps, strict=True) if not stepwise]
        finals = self.nest.close(outer + 1, innermost, inits, results)
        for (memref, map, _), value in zip(self.outputs, finals, strict=True):
            self.nest.store(value, memref, map, outer)
        self.nest.close(1, outer, [], [])

    def _initial(self, depth: int) -> list[SSAValue]:
        """The outputs' values before the reduction: what a fill just before wrote, or what is in memory."""
        inits: list[SSAValue] = []
        for memref, map, _ in self.outputs:
            fill = _fill_before(self.op, memref)
            if fill is not None and _covers(map, memref, self.schedule):
                inits.append(fill.value)
                fill.detach()
                fill.erase()
            else:
                inits.append(self.nest.load(memref, map, {}, depth))
        return inits

    def _body(self, olds: Sequence[SSAValue | None], fixed: dict[int, int], least: int) -> list[SSAValue]:
        """The generic's body at one point of the iteration space; `olds` are the outputs' values so far."""
        values: dict[SSAValue, SSAValue] = {}
        innermost = len(self.nest.loops)
        for memref, map, argument in self.inputs:
            if not argument.first_use:
                continue
            if not isinstance(memref.type, MemRefType):
                values[argument] = memref
                continue
            depth = innermost if root(memref) in self.stuck else least
            values[argument] = self.nest.load(memref, map, fixed, depth)
        for (_, _, argument), old in zip(self.outputs, olds, strict=True):
            if old is not None:
                values[argument] = old
        for op in self.op.body.block.ops:
            if isinstance(op, LinalgYieldOp):
                results = [values.get(v, v) for v in op.operands]
                erase_unused([new for new in values.values() if new not in results])
                return results
            if isinstance(op, IndexOp):
                values[op.result] = self._index(op.dim.value.data, fixed)
                continue
            if isinstance(op, MemRefLoadOp):
                values[op.res] = self._gather(op, values)
                continue
            new = op.clone(values)
            free = is_pure(new) and not new.regions
            self.nest.hoisted(new, 0 if free else innermost)
            values |= dict(zip(op.results, new.results, strict=True))
        raise AssertionError("a generic's body ends with linalg.yield")

    def _index(self, dim: int, fixed: dict[int, int]) -> SSAValue:
        if dim in self.nest.index:
            return self.nest.index[dim]
        return self.nest.hoisted(arith.ConstantOp(IntegerAttr(fixed.get(dim, 0), IndexType()))).result

    def _gather(self, op: MemRefLoadOp, values: dict[SSAValue, SSAValue]) -> SSAValue:
        """A load at computed indices, of the buffer that subviews were taken of."""
        indices = [values.get(i, i) for i in op.indices]
        memref = op.memref
        if isinstance(memref.owner, SubviewOp):
            access = through_subviews(memref, AffineMap.identity(len(indices)))
            indices = [
                self.nest.hoisted(
                    ApplyOp(
                        [*indices, *access.symbols],
                        AffineMapAttr(AffineMap(access.map.num_dims, access.map.num_symbols, (expr,))),
                    )
                ).result
                for expr in access.map.results
            ]
            memref = access.memref
        least = len(self.nest.loops) if root(memref) in {root(m) for m, _, _ in self.outputs} else 0
        found = Subscripts(list(self.nest.index.values()), lambda value: self.nest.depth.get(value) == 0)
        if not least and (map := found.map_of(indices)) is not None:
            return self.nest.hoisted(LoadOp(memref, found.operands, AffineMapAttr(map))).result
        return self.nest.hoisted(MemRefLoadOp.get(memref, indices), least).res


def _tidy(expr: AffineExpr, dims: int, symbols: int) -> AffineExpr:
    """Terms collected, where all are linear: flattening would spell out `mod` by `floordiv`."""
    kinds = {inner.kind for inner in expr.dfs() if isinstance(inner, AffineBinaryOpExpr)}
    return expr.simplify(dims, symbols) if kinds <= {AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul} else expr


def _fill_before(op: Operation, memref: SSAValue) -> FillOp | None:
    """The fill of `memref` before `op`, when nothing in between can see or change the memory."""
    source = root(memref)
    previous = op.prev_op
    while previous is not None:
        if isinstance(previous, FillOp) and previous.output is memref:
            return previous
        for inner in previous.walk():
            touched = any(root(v) is source for v in inner.operands if isinstance(v.type, MemRefType))
            if touched and not isinstance(inner, SubviewOp):
                return None
        previous = previous.prev_op
    return None


def _covers(map: AffineMap, memref: SSAValue, schedule: Schedule) -> bool:
    """Whether the output map reaches every element exactly once."""
    type_ = memref.type
    assert isinstance(type_, MemRefType)
    dims = [expr.position for expr in map.results if isinstance(expr, AffineDimExpr)]
    shape = type_.get_shape()
    return len(dims) == len(map.results) == len(set(dims)) and all(
        schedule.extents[d] == size for d, size in zip(dims, shape, strict=True)
    )


__all__ = ["Nest", "loop_extents", "lower_fill", "lower_generic"]
