"""`gpu-distribute-tiles`: the program of one row is done by a team of threads, 16 bytes of each at a time.

Before:
    affine.parallel (%i) = (0) to (37) {
      %row = affine.vector_load %x[%i, 0] : memref<37x256xf32>, vector<256xf32>
      %s = vector.reduction <add>, %row : vector<256xf32> into f32
      ...
After, in a kernel of 10 blocks of four warps, each of a row if there is one left:
    %lane = affine.apply (t mod 32)
    %row = affine.apply (b * 4 + t floordiv 32)
    %x0 = affine.vector_load %flat[%row * 256 + %lane * 4] {alignment = 16} : memref<9472xf32>, vector<4xf32>
    %x1 = affine.vector_load %flat[%row * 256 + %lane * 4 + 128] ...
    %x = arith.addf %x0, %x1 : vector<4xf32>
    %mine = vector.reduction <add>, %x : vector<4xf32> into f32
    %s = gpu.subgroup_reduce add %mine cluster(size = 32) : f32

A row's vector becomes a few short ones in each thread's registers: the first vectors of all threads lie next to each
other in memory, then the second. Rows longer than a warp holds are a block's. Of teams smaller than a warp, those
behind the last row do it again and write nothing, for all threads of a warp must come to a shuffle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias, TypeVar, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    VectorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dtype_of
from ...compiler.locations import locate
from ...compiler.walking import all_ops
from ...dialects.affine import (
    ApplyOp,
    IfOp,
    MinOp,
    ParallelOp,
    StoreOp,
    VectorLoadOp,
    VectorStoreOp,
    YieldOp,
)
from ...dialects.gpu import AllReduceOp, BlockIdOp, SubgroupReduceOp, ThreadIdOp
from ...dialects.gpu.ops import WARP
from ...dialects.linalg.views import linear_form
from ...dialects.memref.views import collapse
from ...dialects.vector import GatherOp, LoadOp, ReductionOp, ScatterOp
from .combining import combine, neutral, number
from .kernels import launched, leave, outlined, times_of
from .row_boxes import RowAccess, Staging, staging_of
from .shared_vectors import sharing_of
from .staged_rows import Stager

OpT = TypeVar("OpT", bound=Operation)
_Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"
_Index: TypeAlias = "SSAValue[IndexType]"
KERNEL, ROWS = "lamina.kernel", "rows"
THREADS = 128  # of a block at most, where a warp or less does a row
ACCESS_BYTES = 16  # the widest access of a thread
CHUNKS = 8  # vectors of a thread, up to which a warp does a row; more are more threads'
MOST_THREADS = 1024


@dataclass(frozen=True)
class Distribution:
    """How a row of `length` elements is given to a team: `width` elements at a time to each of `team` threads."""

    length: int
    width: int
    team: int
    rows: int  # of a block

    @property
    def vectors(self) -> int:
        """Short vectors of a row."""
        return self.length // self.width

    @property
    def chunks(self) -> int:
        """Short vectors of a thread, the last of which not all threads have."""
        return -(-self.vectors // self.team)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows * self.team

    @staticmethod
    def of(length: int, element_bytes: int, starts: Sequence[int] = ()) -> Distribution:
        """What is done with rows of so many elements, the largest of which have so many bytes.

        What a row takes of a buffer begins at a multiple of each of `starts`, in elements. A team of several warps is a
        block: all its threads meet.

        >>> Distribution.of(768, 4), Distribution.of(2048, 4)
        (Distribution(length=768, width=4, team=32, rows=4), Distribution(length=2048, width=4, team=64, rows=1))
        """
        width = ACCESS_BYTES // element_bytes
        while any(n % width for n in (length, *starts)):
            width //= 2
        vectors = length // width
        team = 1
        while team < min(vectors, WARP) or (team * CHUNKS < vectors and team < MOST_THREADS):
            team *= 2
        rows = THREADS // team if team <= WARP else 1
        return Distribution(length, width, team, rows)


@dataclass(frozen=True)
class DistributeTiles(ModulePass):
    """The programs of rows are done by teams of threads, 16 bytes of each at a time."""

    name = "gpu-distribute-tiles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.ops):
            if isinstance(function, FuncOp) and function.attributes.get(KERNEL) == StringAttr(ROWS):
                distribute(function)


def distribute(function: FuncOp) -> None:
    """Makes a kernel of the function's one loop over rows, and lets it launch that."""
    block = function.body.block
    loops = [op for op in block.ops if isinstance(op, ParallelOp)]
    bounds = loops[0].constant_bounds() if len(loops) == 1 else None
    if bounds is None:
        raise LaminaError("expected one loop over rows", where=function)
    step = [op for op in block.ops if op is not block.last_op]
    kernel, arguments = outlined(f"{function.sym_name.data}_0", step, block)
    [loop] = [op for op in kernel.body.block.ops if isinstance(op, ParallelOp)]
    vectors = [t for op in all_ops(loop) for v in op.results if isinstance(t := v.type, VectorType)]
    length = vectors[0].get_shape()[0]
    starts = [n for op in all_ops(loop) if isinstance(op, RowAccess | LoadOp) for n in _starts(op)]
    size = max(dtype_of(type_).itemsize for type_ in vectors)
    how = Distribution.of(length, size, starts)
    row = how.length, how.team, how.width
    staging = staging_of(loop, bounds[1], *row) or sharing_of(loop, bounds[1], *row, times_of(function))
    if staging is not None:
        how = replace(how, team=staging.box.team, rows=staging.box.rows)
    _Team(loop, bounds[1], how, staging).run()
    blocks = prod(staging.box.counts) if staging is not None else -(-prod(bounds[1]) // how.rows)
    launch = launched(kernel, arguments, blocks, how.threads, after=function)
    leave(block, [launch])


def _starts(op: RowAccess | LoadOp) -> list[int]:
    """Numbers that an access begins at multiples of: elements between neighbouring rows, and before the first."""
    if isinstance(op, GatherOp | ScatterOp):
        return [1]  # numbers lie apart
    if isinstance(op, LoadOp):
        return list(op.base.type.get_shape()[1:][-1:])  # pyright: ignore
    assert isinstance(op.memref.type, MemRefType)
    shape = op.memref.type.get_shape()
    found: list[int] = []
    for i, expr in enumerate(op.map.data.results):
        factors, constant = linear_form(expr) or ({0: 1}, 0)  # what is not linear begins anywhere
        found += [n * prod(shape[i + 1 :]) for n in (*factors.values(), constant)]
    return found


def _spelled(loop: ParallelOp) -> set[Operation]:
    """What only says where the numbers of rows lie that are apart."""
    waiting = [v for op in loop.body.block.ops if isinstance(op, GatherOp | ScatterOp) for v in _places(op)]
    found: set[Operation] = set()
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, Operation) and owner not in found and owner.parent is loop.body.block:
            found.add(owner)
            waiting += owner.operands
    return found


def _places(op: GatherOp | ScatterOp) -> list[SSAValue]:
    return [*op.offsets, op.indices, op.mask, *([op.pass_thru] if isinstance(op, GatherOp) else [])]


@dataclass
class _Team:
    """The program of one thread of a team being built before the loop over rows.

    `parts` are the short vectors of a row's, `same` what all threads of the team have, `flat` buffers in one dimension.
    """

    loop: ParallelOp
    sizes: tuple[int, ...]
    how: Distribution
    staging: Staging | None
    parts: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    same: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    flat: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def run(self) -> None:
        """Rebuilds the loop's body for one thread, in the loop's place."""
        at = self.here = self.loop
        self.b = Builder(InsertPoint.before(at))
        block, thread = self.put(BlockIdOp("x")).result, self.put(ThreadIdOp("x")).result
        d0 = AffineExpr.dimension(0)
        self.lane = self.apply(d0 % self.how.team, thread)
        self.stager = Stager(at, self.staging, block, thread) if self.staging is not None else None
        row, self.inside = self.rows(block, thread) if self.stager is None else (self.stager.row, self.stager.inside)
        if self.stager is not None and not self.stager.returns and self.how.team == WARP and self.inside:
            self.leave_idle(self.inside)
        for i, variable in enumerate(at.body.block.args):
            below = prod(self.sizes[i + 1 :])
            index = d0 // below if below > 1 else d0
            self.same[variable] = self.apply(index % self.sizes[i] if i else index, row)
        self.spelled = _spelled(self.loop)
        for op in at.body.block.ops:
            self.here = op
            self.op(op)
        if self.stager is not None:
            self.stager.end()
        for op in self.loop.parent_block().ops:  # pyright: ignore[reportOptionalMemberAccess]
            locate(op, at.location)
        at.detach()
        at.erase()

    def rows(self, block: SSAValue, thread: SSAValue) -> tuple[SSAValue, list[tuple[SSAValue, int]]]:
        """The team's row, and what says whether it exists: a number and its limit."""
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        row = self.apply(d0 * self.how.rows + d1 // self.how.team, block, thread)
        last = prod(self.sizes) - 1
        if prod(self.sizes) % self.how.rows == 0:
            return row, []
        if self.how.team == WARP:  # whole warps have nothing to do
            self.leave_idle([(row, last)])
            return row, []
        both = AffineMap(1, 0, (d0, AffineExpr.constant(last)))
        return self.put(MinOp([row], AffineMapAttr(both))).results[0], [(row, last)]

    def leave_idle(self, inside: Sequence[tuple[SSAValue, int]]) -> None:
        """What follows is done where numbers are not above their limits."""
        zero = AffineExpr.constant(0)
        left = [AffineExpr.constant(last) - AffineExpr.dimension(i) for i, (_, last) in enumerate(inside)]
        conditions = tuple(AffineConstraintExpr(AffineConstraintKind.ge, each, zero) for each in left)
        there = Block([YieldOp.get()])
        condition = AffineSetAttr(AffineSet(len(inside), 0, conditions))
        self.put(IfOp(condition, [value for value, _ in inside], [], Region(there)))
        self.b = Builder(InsertPoint.before(there.last_op))  # pyright: ignore[reportArgumentType]
        self.inside = []

    def put(self, op: OpT) -> OpT:
        """Inserts an op with the location of the one that is being rebuilt."""
        locate(op, self.here.location)
        return self.b.insert(op)

    def apply(self, expr: AffineExpr, *operands: SSAValue) -> SSAValue:
        """A number computed from others."""
        return self.put(ApplyOp(operands, AffineMapAttr(AffineMap(len(operands), 0, (expr,))))).results[0]

    def op(self, op: Operation) -> None:
        """One op of the row's program as what one thread does."""
        match op:
            case _ if op in self.spelled:
                pass
            case VectorLoadOp() | GatherOp() | LoadOp():
                self.parts[op.result] = [self.load(op, chunk) for chunk in range(self.how.chunks)]
            case VectorStoreOp() | ScatterOp():
                for chunk in range(self.how.chunks):
                    self.store(op, chunk)
            case StoreOp():
                self.store_once(op)
            case ReductionOp():
                self.same[op.dest] = self.reduced(op)
            case BroadcastOp():
                type_ = self.short(op.results[0].type)
                made = self.put(BroadcastOp(self.one(op.source), type_)).results[0]  # pyright: ignore
                self.parts[op.results[0]] = [made] * self.how.chunks
            case YieldOp():
                pass
            case _ if any(isinstance(value.type, VectorType) for value in (*op.operands, *op.results)):
                self.elementwise(op)
            case _:
                new = op.clone({value: self.one(value) for value in op.operands})
                self.put(new)
                self.same.update(zip(op.results, new.results, strict=True))

    def one(self, value: SSAValue) -> SSAValue:
        """What stands for a value that all threads of the team have."""
        return self.same.get(value, value)

    def short(self, type_: Attribute) -> VectorType:
        """The type of a thread's part of a row."""
        assert isinstance(type_, VectorType)
        return VectorType(type_.element_type, [self.how.width])

    def elementwise(self, op: Operation) -> None:
        """The op on each of the short vectors."""
        if isinstance(op, arith.ConstantOp):
            raise LaminaError("a constant row cannot be given to threads", where=op)
        made: list[Operation] = []
        for chunk in range(self.how.chunks):
            operands = [self.parts[v][chunk] if v in self.parts else self.one(v) for v in op.operands]
            new = type(op).create(
                operands=operands,
                result_types=[self.short(result.type) for result in op.results],
                properties=op.properties.copy(),
                attributes=op.attributes.copy(),
            )
            made.append(self.put(new))
        for i, result in enumerate(op.results):
            self.parts[result] = [new.results[i] for new in made]

    def place(self, op: RowAccess, chunk: int) -> tuple[_Buffer, list[_Index], AffineMapAttr]:
        """The flat buffer of an access, and where in it the thread's part begins."""
        within = chunk * self.how.team * self.how.width
        if self.stager is not None and self.stager.holds(op):
            return self.stager.place(op, self.lane, within)
        if isinstance(op, GatherOp | ScatterOp):
            raise LaminaError("rows whose numbers lie apart find no room in shared memory", where=op)
        type_ = op.memref.type
        assert isinstance(type_, MemRefType)
        shape = type_.get_shape()
        map = op.map.data
        linear: AffineExpr = AffineExpr.constant(within)
        for i, expr in enumerate(map.results):
            linear = linear + expr * prod(shape[i + 1 :])
        linear = linear + AffineExpr.dimension(map.num_dims) * self.how.width
        flat = self.flat.get(op.memref)
        if flat is None:
            flat = op.memref
            if len(shape) > 1:
                flat = self.put(collapse(op.memref, [list(range(len(shape)))])).results[0]
            self.flat[op.memref] = flat
        indices = [*(self.one(index) for index in op.indices), self.lane]
        count = map.num_dims + 1
        whole = AffineMapAttr(AffineMap(count, 0, (linear.simplify(count, 0),)))
        return cast("_Buffer", flat), cast("list[_Index]", indices), whole

    def aligned(self, buffer: SSAValue) -> IntegerAttr:
        """The bytes that a thread's parts of a buffer are aligned to: rows are whole numbers of them."""
        return IntegerAttr(self.how.width * dtype_of(buffer.type).itemsize, i64)

    def load(self, op: VectorLoadOp | GatherOp | LoadOp, chunk: int) -> SSAValue:
        type_ = self.short(op.results[0].type)
        if isinstance(op, LoadOp):  # the row begins at a computed place
            *before, first = [self.one(index) for index in op.indices]
            d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
            mine = self.apply(d0 + d1 * self.how.width + chunk * self.how.team * self.how.width, first, self.lane)
            flat = op.base
            load = LoadOp.create(operands=[flat, *before, mine], result_types=[type_])
        else:
            flat, indices, map = self.place(op, chunk)
            load = VectorLoadOp(flat, indices, map, type_)
        load.attributes["alignment"] = self.aligned(flat)
        if not self.partial(chunk):
            return self.put(load).results[0]
        there, elsewhere = Block([load]), Block()
        there.add_op(YieldOp.get(load.results[0]))
        zero = number(Builder(InsertPoint.at_end(elsewhere)), 0, type_)
        elsewhere.add_op(YieldOp.get(zero))
        condition = IfOp.create(
            operands=[self.lane],
            result_types=[type_],
            properties={"condition": AffineSetAttr(AffineSet(1, 0, (self.within(chunk, 0),)))},
            regions=[Region(there), Region(elsewhere)],
        )
        return self.put(condition).results[0]

    def store(self, op: VectorStoreOp | ScatterOp, chunk: int) -> None:
        flat, indices, map = self.place(op, chunk)
        value = op.value_to_store if isinstance(op, ScatterOp) else op.value
        store = VectorStoreOp(self.parts[value][chunk], flat, indices, map)
        store.attributes["alignment"] = self.aligned(flat)
        self.where(store, [self.within(chunk, len(self.inside))] if self.partial(chunk) else [])

    def store_once(self, op: StoreOp) -> None:
        """One number a row: the team's first thread writes it."""
        new = op.clone({value: self.one(value) for value in op.operands})
        zero = AffineExpr.constant(0)
        first = AffineConstraintExpr(AffineConstraintKind.eq, AffineExpr.dimension(len(self.inside)), zero)
        self.where(new, [first] if self.how.team > 1 else [])

    def partial(self, chunk: int) -> bool:
        """Whether not all threads have this vector."""
        return (chunk + 1) * self.how.team > self.how.vectors

    def within(self, chunk: int, dimension: int) -> AffineConstraintExpr:
        """That the thread, whose place in the team is a dimension, has this vector."""
        left = self.how.vectors - chunk * self.how.team - 1
        inside = AffineExpr.constant(left) - AffineExpr.dimension(dimension)
        return AffineConstraintExpr(AffineConstraintKind.ge, inside, AffineExpr.constant(0))

    def where(self, op: Operation, conditions: list[AffineConstraintExpr]) -> None:
        """Does `op` where the row exists, and conditions hold for the thread (its place is the last dimension)."""
        zero = AffineExpr.constant(0)
        left = [AffineExpr.constant(last) - AffineExpr.dimension(i) for i, (_, last) in enumerate(self.inside)]
        conditions = [*(AffineConstraintExpr(AffineConstraintKind.ge, each, zero) for each in left), *conditions]
        if not conditions:
            self.put(op)
            return
        asked = [*(value for value, _ in self.inside), self.lane]
        self.put(
            IfOp.create(
                operands=asked,
                properties={"condition": AffineSetAttr(AffineSet(len(asked), 0, tuple(conditions)))},
                regions=[Region(Block([op, YieldOp.get()])), Region()],
            )
        )

    def reduced(self, op: ReductionOp) -> SSAValue:
        """A row combined: a thread's vectors, then its lanes, then the team's threads."""
        kind, flags = op.kind.data.value, op.fastmath
        total: SSAValue | None = None
        for chunk, part in enumerate(self.parts[op.vector]):
            if self.partial(chunk):
                left = self.put(arith.ConstantOp(IntegerAttr(self.how.vectors - chunk * self.how.team, IndexType())))
                inside = self.put(arith.CmpiOp(self.lane, left.result, "slt")).result
                nothing = neutral(self.b, kind, part.type)
                part = self.put(arith.SelectOp(inside, part, nothing)).result
            total = part if total is None else combine(self.b, kind, total, part, flags)
        assert total is not None
        mine = self.put(ReductionOp(total, op.kind.data, fastmath=flags)).results[0]
        if self.how.team > WARP:
            mine = self.put(AllReduceOp(kind, mine)).result
        elif self.how.team > 1:
            mine = self.put(SubgroupReduceOp(kind, mine, self.how.team)).result
        if op.acc is not None:
            mine = combine(self.b, kind, self.one(op.acc), mine, flags)
        return mine
