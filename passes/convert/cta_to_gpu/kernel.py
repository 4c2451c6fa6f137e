"""The program of one thread, while it is written: ops appended, places in global and in shared memory."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    MemRefType,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ....compiler.affine_sums import collected
from ....compiler.layouts import Layout, Swizzle
from ....compiler.weights import Array
from ....dialects import scf
from ....dialects.affine import ApplyOp
from ....dialects.cta import SharedAttr, ViewType
from ....dialects.cta.ops import tile_type
from ....dialects.gpu import DynamicSharedMemoryOp, ThreadIdOp
from ....dialects.gpu.ops import SHARED_SPACE
from ....dialects.memref.views import collapse
from ....dialects.vector import ShuffleOp

OpT = TypeVar("OpT", bound=Operation)
Index: TypeAlias = "SSAValue[IndexType]"
Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"
D0, D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
STAGE_ALIGNMENT = 1024  # bytes: what the widest swizzle repeats after


@dataclass(frozen=True)
class Coordinate:
    """A row or a column within a tile: an expression of the thread's number, and a constant."""

    thread: AffineExpr
    more: int = 0

    def __add__(self, more: int) -> Coordinate:
        return Coordinate(self.thread, self.more + more)

    @property
    def expression(self) -> AffineExpr:
        """Both as one."""
        return self.thread + self.more if self.more else self.thread


class Kernel:
    """Appends ops to a block; `arguments` say what stands for the function's buffers.

    What depends on the thread alone is computed once, in front of all else.
    """

    def __init__(self, body: Block, arguments: dict[SSAValue, SSAValue], threads: int):
        self.body, self.arguments, self.threads = body, arguments, threads
        self.b = Builder(InsertPoint.at_end(body))
        self.head: list[Operation] = []
        self.thread = self.early(ThreadIdOp("x")).result
        self.shared_bytes = 0
        self._flat: dict[SSAValue, Buffer] = {}
        self._constants: dict[tuple[int, Attribute], SSAValue] = {}
        self._of_thread: dict[AffineExpr, SSAValue] = {}

    def put(self, op: OpT) -> OpT:
        """Appends an op."""
        return self.b.insert(op)

    def early(self, op: OpT) -> OpT:
        """Adds an op in front of all that is put."""
        self.head.append(op)
        return op

    def done(self) -> None:
        """Puts what comes in front there."""
        first = self.body.first_op
        assert first is not None
        self.body.insert_ops_before(self.head, first)

    @contextmanager
    def inside(self, block: Block) -> Generator[Block]:
        """What is put goes into `block`."""
        outer, self.b = self.b, Builder(InsertPoint.at_end(block))
        yield block
        self.b = outer

    def number(self, value: int, type_: Attribute | None = None) -> SSAValue:
        """An integer constant."""
        key = (value, type_ or IndexType())
        if key not in self._constants:
            op = arith.ConstantOp(IntegerAttr(value, cast("IndexType", key[1])))
            self._constants[key] = self.early(op).result
        return self._constants[key]

    def apply(self, expr: AffineExpr, *operands: SSAValue) -> SSAValue:
        """A number computed from others."""
        expr = collected(expr)
        if isinstance(expr, AffineConstantExpr):
            return self.number(expr.value)
        return self.put(_apply(expr, operands)).results[0]

    def plus(self, value: SSAValue, more: int) -> SSAValue:
        """A number and a constant."""
        return self.apply(D0 + more, value) if more else value

    def both(self, first: SSAValue, second: SSAValue) -> SSAValue:
        """The sum of two numbers."""
        return self.apply(D0 + D1, first, second)

    def of_thread(self, expr: AffineExpr) -> SSAValue:
        """A number that depends on the thread alone."""
        expr = collected(expr)
        if isinstance(expr, AffineConstantExpr):
            return self.number(expr.value)
        if expr == D0:
            return self.thread
        if expr not in self._of_thread:
            self._of_thread[expr] = self.early(_apply(expr, [self.thread])).results[0]
        return self._of_thread[expr]

    def part(self, value: SSAValue, places: Sequence[int]) -> SSAValue:
        """Some elements of a vector."""
        assert isinstance(value.type, VectorType)
        type_ = VectorType(value.type.element_type, [len(places)])
        mask = DenseArrayBase.from_list(i64, list(places))
        return self.put(ShuffleOp(value, value, mask, result_type=type_)).results[0]

    def below(self, value: SSAValue, limit: int) -> SSAValue:
        """Whether a number is below a constant."""
        return self.put(arith.CmpiOp(value, self.number(limit), "ult")).result

    def all_of(self, conditions: Sequence[SSAValue]) -> SSAValue | None:
        """Whether all conditions hold; None where there are none."""
        found: SSAValue | None = None
        for condition in conditions:
            found = condition if found is None else self.put(arith.AndIOp(found, condition)).result
        return found

    def when(self, condition: SSAValue | None) -> _When:
        """A context whose ops run where a condition holds; always, where that is None."""
        return _When(self, condition)

    def either(self, condition: SSAValue, types: Sequence[Attribute], yes: Block, no: Block) -> Sequence[SSAValue]:
        """The values that one of two blocks, ending in a yield, gives."""
        return self.put(scf.IfOp(condition, list(types), Region(yes), Region(no))).results

    def buffer(self, source: SSAValue) -> Buffer:
        """A buffer of the function in one dimension."""
        if source not in self._flat:
            given = self.arguments[source]
            assert isinstance(given.type, MemRefType)
            rank = len(given.type.get_shape())
            flat = given if rank == 1 else self.early(collapse(given, [list(range(rank))] if rank else [])).results[0]
            self._flat[source] = cast("Buffer", flat)
        return self._flat[source]

    def shared(self, nbytes: int) -> SSAValue:
        """The block's shared memory, all of it."""
        return self.early(DynamicSharedMemoryOp(nbytes)).result

    def shared_view(self, shared: SSAValue, start: int, count: int, element: Attribute) -> Buffer:
        """A part of shared memory as elements."""
        type_ = MemRefType(element, [count], memory_space=IntegerAttr(SHARED_SPACE, i32))
        view = memref.ViewOp.create(operands=[shared, self.number(start)], result_types=[type_])
        return cast("Buffer", self.early(view).results[0])


def _apply(expr: AffineExpr, operands: Sequence[SSAValue]) -> ApplyOp:
    map_ = AffineMapAttr(AffineMap(len(operands), 0, (expr,)))
    return ApplyOp.create(operands=operands, result_types=[IndexType()], properties={"map": map_})


class _When:
    """A condition's ops; see `Kernel.when`."""

    def __init__(self, kernel: Kernel, condition: SSAValue | None):
        self.kernel, self.condition = kernel, condition

    def __enter__(self) -> None:
        if self.condition is not None:
            self.block = Block()
            self.outer, self.kernel.b = self.kernel.b, Builder(InsertPoint.at_end(self.block))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.condition is not None:
            self.kernel.put(scf.YieldOp())
            self.kernel.b = self.outer
            self.kernel.put(scf.IfOp(self.condition, [], Region(self.block)))


def along(mode: Layout, coordinate: AffineExpr) -> AffineExpr:
    """The place of a coordinate that counts a mode."""
    total: AffineExpr = AffineExpr.constant(0)
    covered = 1
    pairs = mode.pairs
    for i, (extent, stride) in enumerate(pairs):
        digit = coordinate if covered == 1 else coordinate // covered
        if i < len(pairs) - 1:
            digit = digit % extent
        if stride and extent != 1:
            total = total + digit * stride
        covered *= extent
    return total


@dataclass
class Global:
    """A view while the kernel is written: where a tile's element is in its buffer."""

    kernel: Kernel
    source: SSAValue
    view: ViewType

    def index(self, at: Sequence[SSAValue], more: Sequence[int] = (0, 0, 0)) -> tuple[list[Index], AffineMapAttr]:
        """The subscript in the flat buffer of a matrix' element: which matrix, row and column, `more` added to each."""
        terms: list[SSAValue] = []
        expr: AffineExpr = AffineExpr.constant(self.view.first.data)
        for mode, value, extra in zip(self.view.layout.data.modes, at, more, strict=True):
            place = collected(along(mode, D0 + extra))
            if isinstance(place, AffineConstantExpr):
                expr = expr + place
                continue
            here = AffineExpr.dimension(len(terms))
            if len(mode.pairs) > 1:
                terms.append(self.kernel.apply(place, value))
                expr = expr + here
            else:
                terms.append(value)
                expr = expr + (here + extra) * mode.pairs[0][1]
        return cast("list[Index]", terms), AffineMapAttr(AffineMap(len(terms), 0, (expr,)))

    @property
    def buffer(self) -> Buffer:
        """The flat buffer."""
        return self.kernel.buffer(self.source)


@dataclass(frozen=True)
class Slot:
    """A stage of shared memory: which one, and the bytes of each."""

    number: SSAValue
    nbytes: int


class SharedTile:
    """A tile in a stage of shared memory, from byte `start` of the stage on, of which the first `threads` ask."""

    def __init__(self, kernel: Kernel, tile: SSAValue, start: int, threads: int | None = None):
        type_ = tile_type(tile)
        encoding = type_.encoding
        assert isinstance(encoding, SharedAttr) and isinstance(type_.element_type, FixedBitwidthType)
        self.kernel, self.start, self.threads = kernel, start, threads or kernel.threads
        self.rows, self.columns = type_.get_shape()
        self.element = type_.element_type
        self.size = type_.element_type.bitwidth // 8
        self.layout: Layout = encoding.layout.data
        self.swizzle: Swizzle = encoding.swizzle.data
        self.unit = 1 if self.swizzle.bits else self.size  # bytes that places are counted in
        places = np.add.outer(*(np.array(mode.places(), np.int64) for mode in self.layout.modes))
        places *= self.size // self.unit
        mask = (1 << self.swizzle.bits) - 1
        self.table = places ^ (places >> (self.swizzle.base + self.swizzle.shift) & mask) << self.swizzle.base
        self.bases: list[tuple[Array, SSAValue]] = []
        self._known: dict[AffineExpr, Array] = {}

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        return self.layout.cosize * self.size

    def byte(self, row: Coordinate, column: Coordinate, slot: Slot) -> SSAValue:
        """The byte of shared memory where an element lies."""
        base, more = self.place(row, column)
        expr = D0 * self.unit + D1 * slot.nbytes + (more * self.unit + self.start)
        return self.kernel.apply(expr, base, slot.number)

    def index(
        self, row: Coordinate, column: Coordinate, slot: Slot, along: tuple[SSAValue, int] | None = None
    ) -> tuple[list[Index], AffineMapAttr]:
        """The subscript of an element in all of shared memory, seen as elements of its type.

        `along` moves it by so many elements a step of a number.
        """
        base, more = self.place(row, column)
        size = self.size
        own = D0 if self.unit == size else D0 // size
        expr = own + D1 * (slot.nbytes // size) + (more * self.unit + self.start) // size
        operands = [base, slot.number]
        if along is not None:
            expr = expr + AffineExpr.dimension(2) * along[1]
            operands.append(along[0])
        return cast("list[Index]", operands), AffineMapAttr(AffineMap(len(operands), 0, (expr,)))

    def _of_threads(self, coordinate: Coordinate) -> Array:
        """A coordinate for each thread of the block."""
        if coordinate.thread not in self._known:
            values = [coordinate.thread.eval([t], []) for t in range(self.threads)]
            self._known[coordinate.thread] = np.array(values)
        return self._known[coordinate.thread] + coordinate.more

    def place(self, row: Coordinate, column: Coordinate) -> tuple[SSAValue, int]:
        """Where an element lies in the tile: a number that differs from thread to thread, and a constant.

        Places that are equally far from one that is known for every thread share its number.
        """
        places = self.table[self._of_threads(row), self._of_threads(column)]
        for known, base in self.bases:
            apart = places - known
            if (apart == apart[0]).all():
                return base, int(apart[0])
        base = self._emit(row, column)
        self.bases.append((places, base))
        return base, 0

    def _emit(self, row: Coordinate, column: Coordinate) -> SSAValue:
        kernel, swizzle = self.kernel, self.swizzle
        rows, columns = self.layout.modes
        linear = (along(rows, row.expression) + along(columns, column.expression)) * (self.size // self.unit)
        place = kernel.of_thread(linear)
        if not swizzle.bits:
            return place
        shift, mask = swizzle.base + swizzle.shift, (1 << swizzle.bits) - 1
        turn = kernel.early(arith.ShRUIOp(place, kernel.number(shift))).result
        turn = kernel.early(arith.AndIOp(turn, kernel.number(mask))).result
        turn = kernel.early(arith.ShLIOp(turn, kernel.number(swizzle.base))).result
        return kernel.early(arith.XOrIOp(place, turn)).result
