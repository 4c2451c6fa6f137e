"""The kernel of a product: tiles into shared memory, outer products in registers, the epilogue, the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    VectorType,
    f32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet
from xdsl.rewriter import InsertPoint

from ....compiler.dtypes import dtype_of
from ....compiler.locations import locate
from ....dialects.affine import ApplyOp, ForOp, IfOp, LoadOp, StoreOp, VectorLoadOp, VectorStoreOp, YieldOp
from ....dialects.gpu import KERNEL, BarrierOp, BlockIdOp, DynamicSharedMemoryOp, ThreadIdOp
from ....dialects.gpu.ops import SHARED_SPACE
from ....dialects.linalg import YieldOp as LinalgYieldOp
from ....dialects.memref.views import collapse
from ....dialects.vector.widen import Widener
from ...gpu.kernels import launched, leave
from .problem import LANES, Operand, Problem
from .schedule import Schedule

OpT = TypeVar("OpT", bound=Operation)
_Index: TypeAlias = "SSAValue[IndexType]"
_Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"
PADDING = 4  # floats behind each row of shared memory: rows begin at other banks
SECTOR = 8  # floats that global memory moves at a time
UNROLL = 4  # steps of the sum written out
FLOAT = 4  # bytes


def emit(function: FuncOp, problem: Problem, schedule: Schedule) -> None:
    """Makes a kernel of the product, and lets the function launch that."""
    block = function.body.block
    body = Block(arg_types=[argument.type for argument in block.args])
    for argument, copy in zip(block.args, body.args, strict=True):
        copy.name_hint = argument.name_hint
    values = dict(zip(block.args, body.args, strict=True))
    _Tile(problem, schedule, body, cast("dict[SSAValue, SSAValue]", values)).run()
    body.add_op(ReturnOp())
    for op in body.ops:
        locate(op, problem.contraction.location)
    types = [argument.type for argument in body.args]
    name = f"{function.sym_name.data}_0"
    kernel = FuncOp(name, FunctionType.from_lists(types, []), Region(body), "private")
    kernel.attributes[KERNEL] = UnitAttr()
    kernel.location = problem.contraction.location
    tiles = -(-problem.m // schedule.rows) * -(-problem.n // schedule.columns) * prod(problem.batch)
    leave(block, [launched(kernel, list(block.args), tiles, schedule.threads, after=function)])


@dataclass(frozen=True)
class Piece:
    """A vector that a thread brings: its place in the tile, and where that is in memory."""

    outer: SSAValue
    depth: SSAValue
    width: int
    along_depth: bool


class _Tile:
    """The program of one thread; `arguments` say what stands for the function's buffers."""

    def __init__(self, problem: Problem, schedule: Schedule, body: Block, arguments: dict[SSAValue, SSAValue]):
        self.p, self.s, self.arguments = problem, schedule, arguments
        self.body = body
        self.b = Builder(InsertPoint.at_end(body))
        self.flat: dict[SSAValue, _Buffer] = {}

    def run(self) -> None:
        """Writes the whole kernel."""
        p, s = self.p, self.s
        thread, tile = self.put(ThreadIdOp("x")).result, self.put(BlockIdOp("x")).result
        self.thread = thread
        d0 = AffineExpr.dimension(0)
        across, down = -(-p.n // s.columns), -(-p.m // s.rows)
        self.column0 = self.apply(d0 % across * s.columns, tile)
        self.row0 = self.apply(d0 // across % down * s.rows, tile)
        batch = self.apply(d0 // (across * down), tile)
        self.batch = [self.apply(d0 // prod(p.batch[i + 1 :]) % size, batch) for i, size in enumerate(p.batch)]
        self.thread_column = self.apply(d0 % s.across * LANES, thread)
        self.thread_row = self.apply(d0 // s.across * LANES, thread)
        self.zero = self.put(arith.ConstantOp(_splat(0.0))).result
        left_bytes = s.depth * (s.rows + PADDING) * FLOAT
        right_bytes = s.depth * (s.columns + PADDING) * FLOAT
        shared = self.put(DynamicSharedMemoryOp(left_bytes + right_bytes)).result
        self.left = self.room(shared, 0, s.rows)
        self.right = self.room(shared, left_bytes, s.columns)
        sums = self.sum_up()
        self.finish(sums)

    def put(self, op: OpT) -> OpT:
        """Appends an op."""
        return self.b.insert(op)

    def apply(self, expr: AffineExpr, *operands: SSAValue) -> SSAValue:
        """A number computed from others."""
        return self.put(ApplyOp(operands, AffineMapAttr(AffineMap(len(operands), 0, (expr,))))).results[0]

    def room(self, shared: SSAValue, offset: int, size: int) -> _Buffer:
        """Shared memory for a tile: a row for each step of the sum."""
        start = self.put(arith.ConstantOp(IntegerAttr(offset, IndexType()))).result
        space = IntegerAttr(SHARED_SPACE, 32)
        type_ = MemRefType(f32, [self.s.depth * (size + PADDING)], memory_space=space)
        view = self.put(memref.ViewOp.create(operands=[shared, start], result_types=[type_]))
        return cast("_Buffer", view.results[0])

    def pieces(self, operand: Operand, size: int, total: int) -> list[Piece]:
        """The vectors of a tile of `operand` that a thread brings, each with its place in the tile."""
        depth, threads = self.s.depth, self.s.threads
        width = operand.width(total, self.p.k)
        d0 = AffineExpr.dimension(0)
        found: list[Piece] = []
        for number in range(depth * size // (width * threads)):
            place = d0 + number * threads
            if operand.inner == 1:  # neighbours in memory are steps of the sum: as many lanes as fill a sector
                lanes = SECTOR // width
                step = (place % lanes + place // (lanes * size) * lanes) * width
                outer = place // lanes % size
            else:
                outer = place % (size // width) * width
                step = place // (size // width)
            found.append(
                Piece(self.apply(outer, self.thread), self.apply(step, self.thread), width, operand.inner == 1)
            )
        return found

    def buffer(self, operand: Operand) -> _Buffer:
        """The operand's buffer in one dimension."""
        if operand.buffer not in self.flat:
            buffer = self.arguments[operand.buffer]
            assert isinstance(buffer.type, MemRefType)
            rank = len(buffer.type.get_shape())
            flat = buffer if rank == 1 else self.put(collapse(buffer, [list(range(rank))] if rank else [])).results[0]
            self.flat[operand.buffer] = cast("_Buffer", flat)
        return self.flat[operand.buffer]

    def where(
        self, operand: Operand, outer: Sequence[SSAValue], inner: Sequence[SSAValue]
    ) -> tuple[list[_Index], AffineMapAttr]:
        """The subscript of an element: sums of numbers along both dimensions, and the block's batch."""
        terms = [(value, operand.outer) for value in outer] + [(value, operand.inner) for value in inner]
        terms += list(zip(self.batch, operand.batch, strict=True))
        used = [(value, step) for value, step in terms if step]
        expr: AffineExpr = AffineExpr.constant(0)
        for position, (_, step) in enumerate(used):
            expr = expr + AffineExpr.dimension(position) * step
        map = AffineMap(len(used), 0, (expr,))
        return cast("list[_Index]", [value for value, _ in used]), AffineMapAttr(map)

    def fetch(self, operand: Operand, piece: Piece, first: SSAValue, total: int, size: int, step: SSAValue) -> SSAValue:
        """A vector of global memory, zeros where the matrix ends."""
        indices, map = self.where(operand, [first, piece.outer], [step, piece.depth])
        flat = self.buffer(operand)
        type_ = VectorType(f32, [piece.width])
        load = VectorLoadOp(flat, indices, map, type_)
        load.attributes["alignment"] = IntegerAttr(piece.width * FLOAT, i64)
        limits: list[tuple[tuple[SSAValue, SSAValue], int]] = []
        if total % size:
            limits.append(((first, piece.outer), total))
        if self.p.k % self.s.depth:
            limits.append(((step, piece.depth), self.p.k))
        if not limits:
            return self.put(load).result
        nothing = arith.ConstantOp(_splat(0.0, piece.width))
        return self.put(
            _inside(limits, [load, YieldOp.get(load.result)], [nothing, YieldOp.get(nothing.result)], type_)
        ).results[0]

    def keep(self, room: _Buffer, value: SSAValue, piece: Piece, size: int) -> None:
        """A vector into shared memory: a row there is a step of the sum."""
        stride = size + PADDING
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        at = cast("list[_Index]", [piece.depth, piece.outer])
        if not piece.along_depth:
            store = VectorStoreOp(value, room, at, AffineMapAttr(AffineMap(2, 0, (d0 * stride + d1,))))
            store.attributes["alignment"] = IntegerAttr(piece.width * FLOAT, i64)
            self.put(store)
            return
        for lane in range(piece.width):
            element = self.put(vector.ExtractOp(value, [lane], f32)).result
            map = AffineMap(2, 0, (d0 * stride + d1 + lane * stride,))
            self.put(StoreOp(element, room, at, AffineMapAttr(map)))

    def sum_up(self) -> list[SSAValue]:
        """The loop over the sum; gives the thread's rows of four, group after group."""
        p, s = self.p, self.s
        left, right = self.pieces(p.left, s.rows, p.m), self.pieces(p.right, s.columns, p.n)
        for operand in (p.left, p.right):
            self.buffer(operand)
        zeros = [self.zero] * (s.thread_rows * s.thread_columns // LANES)
        block = Block(arg_types=[IndexType(), *(zero.type for zero in zeros)])
        outer, self.b = self.b, Builder(InsertPoint.at_end(block))
        step = block.args[0]
        values = [
            [self.fetch(operand, piece, first, total, size, step) for piece in pieces]
            for operand, pieces, first, total, size in (
                (p.left, left, self.row0, p.m, s.rows),
                (p.right, right, self.column0, p.n, s.columns),
            )
        ]
        self.put(BarrierOp())  # the tiles before are used up
        for room, pieces, vectors, size in zip(
            (self.left, self.right), (left, right), values, (s.rows, s.columns), strict=True
        ):
            for piece, value in zip(pieces, vectors, strict=True):
                self.keep(room, value, piece, size)
        self.put(BarrierOp())
        sums = self.products(list(block.args[1:]))
        self.put(YieldOp.get(*sums))
        self.b = outer
        loop = self.put(ForOp.of(0, p.k, block, step=s.depth, inits=zeros))
        return list(loop.results)

    def products(self, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """Outer products of what shared memory holds, added to the sums."""
        block = Block(arg_types=[IndexType(), *(value.type for value in sums)])
        outer, self.b = self.b, Builder(InsertPoint.at_end(block))
        totals: list[SSAValue] = list(block.args[1:])
        for extra in range(UNROLL):
            rows = self.shared(self.left, block.args[0], extra, self.thread_row, self.s.rows, self.s.thread_rows)
            columns = self.shared(
                self.right, block.args[0], extra, self.thread_column, self.s.columns, self.s.thread_columns
            )
            place = 0
            for part in rows:
                for lane in range(LANES):
                    element = self.put(vector.ExtractOp(part, [lane], f32)).result
                    wide = self.put(vector.BroadcastOp(element, VectorType(f32, [LANES]))).results[0]
                    for column in columns:
                        fma = vector.FMAOp.create(operands=[wide, column, totals[place]], result_types=[wide.type])
                        totals[place] = self.put(fma).results[0]
                        place += 1
        self.put(YieldOp.get(*totals))
        self.b = outer
        return list(self.put(ForOp.of(0, self.s.depth, block, step=UNROLL, inits=list(sums))).results)

    def shared(
        self, room: _Buffer, step: SSAValue, extra: int, place: SSAValue, size: int, count: int
    ) -> list[SSAValue]:
        """A thread's part of one row of a tile: vectors half a tile apart, so that no bank is asked twice."""
        stride, groups = size + PADDING, count // LANES
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        found: list[SSAValue] = []
        for group in range(groups):
            where = d0 * stride + d1 + (extra * stride + group * (size // groups))
            at = cast("list[_Index]", [step, place])
            load = VectorLoadOp(room, at, AffineMapAttr(AffineMap(2, 0, (where,))), VectorType(f32, [LANES]))
            load.attributes["alignment"] = IntegerAttr(LANES * FLOAT, i64)
            found.append(self.put(load).result)
        return found

    def finish(self, sums: Sequence[SSAValue]) -> None:
        """The epilogue and the stores of the thread's rows."""
        s = self.s
        groups = s.thread_columns // LANES
        for number, value in enumerate(sums):
            row, group = divmod(number, groups)
            part, lane = divmod(row, LANES)
            down = part * (s.rows // (s.thread_rows // LANES)) + lane
            right = group * (s.columns // groups)
            d0 = AffineExpr.dimension(0)
            at_row, at_column = self.apply(d0 + down, self.thread_row), self.apply(d0 + right, self.thread_column)
            self.guarded(value, at_row, at_column)

    def guarded(self, value: SSAValue, row: SSAValue, column: SSAValue) -> None:
        """One row of four, where the result has it."""
        limits: list[tuple[tuple[SSAValue, SSAValue], int]] = []
        if self.p.m % self.s.rows:
            limits.append(((self.row0, row), self.p.m))
        if self.p.n % self.s.columns:
            limits.append(((self.column0, column), self.p.n))
        for operand in (self.p.result, *self.p.beside.values()):
            self.buffer(operand)
        block = Block()
        outer, self.b = self.b, Builder(InsertPoint.at_end(block))
        value = self.after(value, row, column)
        indices, map = self.where(self.p.result, [self.row0, row], [self.column0, column])
        store = VectorStoreOp(value, self.buffer(self.p.result), indices, map)
        store.attributes["alignment"] = IntegerAttr(LANES * FLOAT, i64)
        self.put(store)
        self.b = outer
        made = [*block.ops]
        for op in made:
            op.detach()
        if limits:
            self.put(_inside(limits, [*made, YieldOp.get()], [], None))
        else:
            for op in made:
                self.put(op)

    def after(self, value: SSAValue, row: SSAValue, column: SSAValue) -> SSAValue:
        """What the epilogue makes of a row of four."""
        for op in self.p.epilogue:
            widener = Widener(self.b, LANES)
            for i, argument in enumerate(op.body.block.args):
                if argument.first_use is None:
                    continue
                operand = self.p.beside.get((op, i))
                if operand is not None:
                    widener.values[argument] = self.read(operand, row, column)
                else:
                    given = op.operands[i]
                    widener.values[argument] = value if isinstance(given.type, MemRefType) else self.constant(given)
            for inner in op.body.block.ops:
                if isinstance(inner, LinalgYieldOp):
                    value = widener.vector(widener.value(inner.operands[0]))
                else:
                    for outside in inner.operands:
                        if isinstance(outside.owner, arith.ConstantOp) and outside.owner.parent is not op.body.block:
                            widener.values[outside] = self.constant(outside)
                    widener.widen(inner)
        return value

    def constant(self, value: SSAValue) -> SSAValue:
        """A scalar constant of the function, here."""
        owner = value.owner
        assert isinstance(owner, arith.ConstantOp)
        return self.put(owner.clone()).results[0]

    def read(self, operand: Operand, row: SSAValue, column: SSAValue) -> SSAValue:
        """What the epilogue reads beside the result: four numbers, or one for all of them."""
        indices, map = self.where(operand, [self.row0, row], [self.column0, column])
        flat = self.buffer(operand)
        if operand.inner == 0:
            return self.put(LoadOp(flat, indices, map)).result
        load = VectorLoadOp(flat, indices, map, VectorType(flat.type.element_type, [LANES]))
        load.attributes["alignment"] = IntegerAttr(LANES * dtype_of(flat.type).itemsize, i64)
        return self.put(load).result


def _splat(value: float, lanes: int = LANES) -> DenseIntOrFPElementsAttr:
    return DenseIntOrFPElementsAttr.from_list(VectorType(f32, [lanes]), [value] * lanes)


def _inside(
    limits: Sequence[tuple[tuple[SSAValue, SSAValue], int]],
    yes: Sequence[Operation],
    no: Sequence[Operation],
    type_: Attribute | None,
) -> IfOp:
    """`yes` where the sum of each pair of numbers is below its limit, else `no`."""
    constraints: list[AffineConstraintExpr] = []
    operands: list[SSAValue] = []
    for (first, second), limit in limits:
        at = len(operands)
        left = AffineExpr.constant(limit - 1) - AffineExpr.dimension(at) - AffineExpr.dimension(at + 1)
        constraints.append(AffineConstraintExpr(AffineConstraintKind.ge, left, AffineExpr.constant(0)))
        operands += [first, second]
    return IfOp.create(
        operands=operands,
        result_types=[] if type_ is None else [type_],
        properties={"condition": AffineSetAttr(AffineSet(len(operands), 0, tuple(constraints)))},
        regions=[Region(Block(list(yes))), Region(Block(list(no))) if no else Region()],
    )
