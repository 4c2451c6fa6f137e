"""Nests each of whose points combines what lies next to each other in memory: a team of threads does a point.

Before:
    affine.parallel (%j) = (0) to (32) {
      %s = affine.for %i = 0 to 8 iter_args(%a = %zero) -> (f32) {
        %t = affine.for %k = 0 to 64 iter_args(%c = %a) -> (f32) {
          %x = affine.load %source[%i, %j, %k]
          %d = arith.addf %c, %x : f32
          affine.yield %d : f32
        }
        affine.yield %t : f32
      }
      affine.store %s, %result[%j]
    }
After, with 64 threads for each point, of which the thread at `lane` is one:
    %mine = affine.for %n = 0 to 8 iter_args(%c = %nothing) -> (f32) {
      %i, %k = affine.apply ... floordiv 64, mod 64 (%n * 64 + %lane)
      %x = affine.load %source[%i, %j, %k]
      ...
    }
    %s = %zero combined with gpu.all_reduce add %mine
    affine.if (%lane == 0) { affine.store %s, %result[%j] }

One thread a point would read numbers far from those of its neighbours: of each sector one number, all others again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    AnyFloat,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.dtypes import dtype_of
from ...compiler.effects import is_pure
from ...compiler.walking import all_ops
from ...dialects.affine import ForOp, IfOp, LoadOp, MinOp, ParallelOp, StoreOp, YieldOp
from ...dialects.gpu import AllReduceOp, BlockIdOp, SubgroupReduceOp, ThreadIdOp
from ...dialects.gpu.ops import WARP
from ...dialects.memref import LoadOp as GatherOp
from ...dialects.memref.views import root
from ..affine.accesses import linear_value
from ..affine.loops import stride_along
from .bands import band_of, sizes_of
from .combining import COMBINERS, combine, neutral
from .kernels import placed, times_of
from .nest_writer import NestWriter

SECTOR = 32  # bytes: numbers that lie further apart share nothing of what memory gives
THREADS = 128  # of a block, where a warp or less does a point
MOST = 1024
EACH = 8  # numbers for each thread, above which a point gets more: up to a warp, and then while the GPU has some
BUSY = 1 << 17  # threads that keep every GPU busy


@dataclass(frozen=True)
class Chain:
    """Perfectly nested loops that combine numbers, those last whose neighbours are next to each other in memory."""

    outermost: ForOp
    loops: tuple[ForOp, ...]
    combined: tuple[tuple[str, Operation], ...]  # how, and the op that does it, for each result

    @property
    def sizes(self) -> tuple[int, ...]:
        """How often each loop runs."""
        return tuple(loop.trip_count or 0 for loop in self.loops)

    @property
    def innermost(self) -> Block:
        """What is done each time."""
        return next(loop for loop in self.loops if not isinstance(loop.body.block.first_op, ForOp)).body.block


@dataclass(frozen=True)
class Team:
    """A nest whose points are done by `threads` each."""

    band: tuple[ParallelOp, ...]
    sizes: tuple[int, ...]
    chains: tuple[Chain, ...]
    threads: int

    @property
    def rows(self) -> int:
        """Points of a block."""
        return min(THREADS // self.threads, prod(self.sizes)) if self.threads <= WARP else 1


def team_of(nest: ParallelOp) -> Team | None:
    """The teams that do a nest's points; None where a thread each does as well."""
    band = band_of(nest)
    sizes = sizes_of(band)
    if sizes is None:
        return None
    variables = [v for loop in band for v in loop.body.block.args]
    neighbours = next((v for v, n in reversed([*zip(variables, sizes, strict=True)]) if n > 1), None)
    chains: list[Chain] = []
    for op in band[-1].body.block.ops:
        if isinstance(op, ForOp):
            chain = _chain_of(op, neighbours)
            if chain is None:
                return None
            chains.append(chain)
        elif op.regions or (not isinstance(op, LoadOp | GatherOp | StoreOp | YieldOp) and not is_pure(op)):
            return None
    accesses = [op for op in all_ops(band[-1]) if isinstance(op, LoadOp | GatherOp | StoreOp)]
    written = {root(op.memref) for op in accesses if isinstance(op, StoreOp)}
    if not chains or any(not isinstance(op, StoreOp) and root(op.memref) in written for op in accesses):
        return None
    points, length = prod(sizes), max(prod(chain.sizes) for chain in chains)
    whole = SECTOR // min(dtype_of(op.memref.type).itemsize for op in accesses if not isinstance(op, StoreOp))
    threads = 1
    while (
        threads < min(length, whole, WARP)
        or threads * EACH < min(length, WARP * EACH)
        or (threads >= WARP and threads * EACH < length and threads < MOST and points * times_of(nest) * threads < BUSY)
    ):
        threads *= 2
    return Team(tuple(band), tuple(sizes), tuple(chains), threads)


def _chain_of(outermost: ForOp, neighbours: SSAValue | None) -> Chain | None:
    loops = [outermost]
    while isinstance(inner := loops[-1].body.block.first_op, ForOp):
        last = inner.next_op
        handed = list(inner.inits) == list(loops[-1].carried)
        if not isinstance(last, YieldOp) or not handed or list(last.operands) != list(inner.results):
            return None
        loops.append(inner)
    bounds = [loop.constant_bounds() for loop in loops]
    if any(each is None or each[0] != 0 or each[2] != 1 or each[1] < 1 for each in bounds):
        return None
    block = loops[-1].body.block
    last = block.last_op
    body = [op for op in block.ops if op is not last]
    if last is None or any(op.regions or not (isinstance(op, LoadOp | GatherOp) or is_pure(op)) for op in body):
        return None
    combined: list[tuple[str, Operation]] = []
    for carried, value in zip(loops[-1].carried, last.operands, strict=True):
        op = value.owner
        if not isinstance(op, Operation) or op.name not in COMBINERS or not _combinable(value.type):
            return None
        if not carried.has_one_use() or not value.has_one_use() or carried not in op.operands:
            return None
        combined.append((COMBINERS[op.name], op))
    ordered = _order(loops, [op for op in body if isinstance(op, LoadOp | GatherOp)], neighbours)
    return Chain(outermost, ordered, tuple(combined)) if ordered and combined else None


def _combinable(type_: Attribute) -> bool:
    return isinstance(type_, AnyFloat) or (isinstance(type_, IntegerType) and type_.width.data > 1)


def _order(
    loops: Sequence[ForOp], loads: Sequence[LoadOp | GatherOp], neighbours: SSAValue | None
) -> tuple[ForOp, ...]:
    """The loops, those last along which a load runs that neighbouring points read far apart; none where none does."""
    for loop in reversed(loops):
        order = (*(other for other in loops if other is not loop), loop)
        runs = [(load, _run(load, order)) for load in loads]
        between = [_stride(load, neighbours) if neighbours is not None else run * SECTOR for load, run in runs]
        far = [step is not None and abs(step) >= run for step, (_, run) in zip(between, runs, strict=True)]
        whole = [run * dtype_of(load.memref.type).itemsize >= SECTOR for load, run in runs]
        lost = any(step == 1 and run <= 1 for step, (_, run) in zip(between, runs, strict=True))
        if not lost and any(a and b for a, b in zip(whole, far, strict=True)):
            return order
    return ()


def _stride(load: LoadOp | GatherOp, variable: SSAValue) -> int | None:
    """How far apart in memory neighbouring iterations read; None where it is not constant."""
    if isinstance(load, LoadOp):
        return stride_along(load, variable)
    type_ = load.memref.type
    steps = type_.get_strides() if isinstance(type_, MemRefType) else None
    total = 0
    for step, index in zip(steps or (None,) * len(load.indices), load.indices, strict=True):
        place = linear_value(index)
        if place is None or step is None or any(v is not variable and _depends(v, variable) for v in place.terms):
            return None
        total += step * place.terms.get(variable, 0)
    return total


def _depends(value: SSAValue, variable: SSAValue) -> bool:
    """Whether a value is computed from another one."""
    waiting, seen = [value], {value}
    while waiting:
        one = waiting.pop()
        if one is variable:
            return True
        operands = one.owner.operands if isinstance(one.owner, Operation) else ()
        waiting += [each for each in operands if each not in seen]
        seen.update(operands)
    return False


def _run(load: LoadOp | GatherOp, order: Sequence[ForOp]) -> int:
    """How many numbers lie next to each other that the last loops read one after the other."""
    run = 1
    for loop in reversed(order):
        if _stride(load, loop.variable) != run:
            break
        run *= loop.trip_count or 1
    return run


def emit_alone(block: Block) -> tuple[int, int]:
    """What a kernel does that is no nest: by a team as the only point of one, or by one thread."""
    last = block.last_op
    assert last is not None
    ops = [op for op in block.ops if op is not last]
    body = Block(arg_types=[IndexType()])
    for op in ops:
        op.detach()
        body.add_op(op)
    body.add_op(YieldOp.get())
    nest = ParallelOp.of([0], [1], Region(body))
    Rewriter.insert_op(placed(nest, last), InsertPoint.at_start(block))
    team = team_of(nest)
    if team is not None:
        return emit_team(nest, team)
    for op in ops:
        op.detach()
    nest.detach()
    nest.erase()
    Rewriter.insert_op(ops, InsertPoint.at_start(block))
    return 1, 1


def emit_team(nest: ParallelOp, team: Team) -> tuple[int, int]:
    """Puts what one thread does in the nest's place; the blocks and the threads of each."""
    _Thread(nest, team).run()
    return -(-prod(team.sizes) // team.rows), team.rows * team.threads


class _Thread(NestWriter):
    def __init__(self, nest: ParallelOp, team: Team):
        super().__init__(nest)
        self.team = team
        self.values: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        """The point and the thread's place in its team, then the nest's ops."""
        team, b = self.team, self.b
        block, thread = b.insert(BlockIdOp("x")).result, b.insert(ThreadIdOp("x")).result
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        self.lane = self.apply(d0 % team.threads, thread)
        self.asked = point = self.apply(d0 * team.rows + d1 // team.threads, block, thread)
        points = prod(team.sizes)
        if points % team.rows:  # all threads of a warp come to a shuffle: those behind the last point do it again
            point = self.at_most(point, points - 1)
        self.give(point, [v for loop in team.band for v in loop.body.block.args], team.sizes)
        chains = {chain.outermost: chain for chain in team.chains}
        for op in team.band[-1].body.block.ops:
            if isinstance(op, ForOp):
                self.combine(chains[op])
            elif isinstance(op, StoreOp):
                self.store(op)
            elif not isinstance(op, YieldOp):
                self.b.insert(op.clone(self.values))
        self.erase_nest()

    def give(self, number: SSAValue, variables: Sequence[SSAValue], sizes: Sequence[int]) -> None:
        """Gives variables what a number is in loops of these sizes."""
        self.values.update(zip(variables, self.digits(number, sizes), strict=True))

    def at_most(self, value: SSAValue, limit: int) -> SSAValue:
        """The smaller of a number and a limit."""
        both = AffineMap(1, 0, (AffineExpr.dimension(0), AffineExpr.constant(limit)))
        return self.b.insert(MinOp([value], AffineMapAttr(both))).results[0]

    def combine(self, chain: Chain) -> None:
        """Every `threads`-th of the numbers by this thread, then all threads' together."""
        length, threads = prod(chain.sizes), self.team.threads
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        types = [op.results[0].type for _, op in chain.combined]
        nothing = [neutral(self.b, kind, type_) for (kind, _), type_ in zip(chain.combined, types, strict=True)]
        body = Block(arg_types=[IndexType(), *types])
        outside, self.b = self.b, Builder(InsertPoint.at_end(body))
        place = self.apply(d0 * threads + d1, body.args[0], self.lane)
        inside: SSAValue | None = None
        if length % threads:
            end = self.b.insert(arith.ConstantOp(IntegerAttr(length, IndexType()))).result
            inside = self.b.insert(arith.CmpiOp(place, end, "slt")).result
            place = self.at_most(place, length - 1)
        self.give(place, [loop.variable for loop in chain.loops], chain.sizes)
        innermost = chain.innermost
        self.values.update(zip(innermost.args[1:], body.args[1:], strict=True))
        for op in innermost.ops:
            if not isinstance(op, YieldOp):
                self.b.insert(op.clone(self.values))
        found = [self.values[op.results[0]] for _, op in chain.combined]
        if inside is not None:
            pairs = zip(found, body.args[1:], strict=True)
            found = [self.b.insert(arith.SelectOp(inside, new, old)).result for new, old in pairs]
        self.b.insert(YieldOp.get(*found))
        self.b = outside
        mine = self.b.insert(ForOp.of(0, -(-length // threads), body, inits=nothing)).results
        for i, (kind, op) in enumerate(chain.combined):
            together = AllReduceOp(kind, mine[i]) if threads > WARP else SubgroupReduceOp(kind, mine[i], threads)
            total = self.b.insert(together).result if threads > 1 else mine[i]
            first = self.values.get(chain.outermost.inits[i], chain.outermost.inits[i])
            flags = op.properties.get("fastmath")
            self.values[chain.outermost.results[i]] = combine(self.b, kind, first, total, flags)

    def store(self, op: StoreOp) -> None:
        """The first thread of a team writes, where its point exists."""
        zero = AffineExpr.constant(0)
        conditions = [AffineConstraintExpr(AffineConstraintKind.eq, AffineExpr.dimension(1), zero)]
        points = prod(self.team.sizes)
        if points % self.team.rows:
            left = AffineExpr.constant(points - 1) - AffineExpr.dimension(0)
            conditions.append(AffineConstraintExpr(AffineConstraintKind.ge, left, zero))
        body = Block([op.clone(self.values), YieldOp.get()])
        self.b.insert(
            IfOp.create(
                operands=[self.asked, self.lane],
                properties={"condition": AffineSetAttr(AffineSet(2, 0, tuple(conditions)))},
                regions=[Region(body), Region()],
            )
        )
