"""Loops that read along one dimension and write along another: squares of elements turned in registers.

before:
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 56 {
        %a = affine.load %x[%j, %i] : memref<56x64xf32>
        affine.store %a, %y[%i, %j] : memref<64x56xf32>

after, for 8 × 8 elements at a time:
    affine.for %tj = 0 to 7 {
      affine.for %ti = 0 to 8 {
        %c0 = affine.vector_load %x[%tj * 8, %ti * 8] : memref<56x64xf32>, vector<8xf32>
        ... 7 more, 24 shuffles
        affine.vector_store %r0, %y[%ti * 8, %tj * 8] : memref<64x56xf32>, vector<8xf32>
        ... 7 more

Squares follow one another along what is read, unless the outer loop is parallel, or squares are lines of a result that
the second cache does not hold, with rows of whole lines and at least a page: memory takes lines that are next to each
other sooner (1024 × 1024 numbers took 0.375 ms and take 0.318, 8192 × 512 1.43 and 1.32; measured on a Xeon with AMX,
where rows that end within a line, or results that the cache holds, were up to 1.3 times as slow so, and 12544 × 64
numbers 1.2 times in one of two runs). Registers of 64 bytes take 16 × 16 elements, so that lines are read and written
whole. Bytes are turned 16 × 16 at a time, elements of two bytes 8 × 8.
What does not divide is covered by squares that overlap; so are tiles of affine-loop-tile that stick out.
Where a register is half of a line, two squares are written side by side if the result is large: so its lines go past
the caches whole (`affine-stream-stores`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, VectorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ....compiler.machine import Machine
from ....dialects import affine
from ....dialects.affine.linear_forms import is_linear, memref_shape
from ..accesses import variable_range
from ..loops import stores_large_rows
from .analysis import NotVectorizable, Plan, analyse, buffer_of, step_of
from .emit import Round, shuffle

PAGE = 4096  # bytes: shorter rows are next to each other as it is
REGISTER = 16  # bytes among which elements are interleaved at once; a wider register does that in each such part of it


@dataclass(frozen=True)
class Network:
    """How a square of `side` vectors of so many elements is turned, `part` of which are interleaved by themselves.

    In stage s, vectors whose positions differ in bit s are interleaved by runs of 2^s elements.
    """

    side: int
    part: int

    @property
    def stages(self) -> int:
        """Until every element is in its place."""
        return self.side.bit_length() - 1

    def masks(self, stage: int) -> tuple[list[int], list[int]]:
        """What the first and the second vector of a pair become.

        >>> Network(4, 4).masks(0), Network(4, 4).masks(1)
        (([0, 4, 1, 5], [2, 6, 3, 7]), ([0, 1, 4, 5], [2, 3, 6, 7]))
        """
        run = 1 << stage
        part = max(self.part, 2 * run)
        halves: list[list[int]] = [[], []]
        for first in range(0, self.side, part // 2):
            for at in range(first, first + part // 2, run):
                for vector in (0, self.side):
                    halves[first // (part // 2) % 2] += range(vector + at, vector + at + run)
        return halves[0], halves[1]

    def position(self, element: int) -> int:
        """Where the vector of these elements lies in the end: every stage parts them by a bit of their number."""
        within = self.part.bit_length() - 1
        bits = (within - 1 - stage if stage < within else stage for stage in range(self.stages))
        return sum((element >> bit & 1) << stage for stage, bit in enumerate(bits))


def networks(element_bytes: int, machine: Machine) -> tuple[Network, ...]:
    """Those for elements of so many bytes, the largest first."""
    words = {64: (16, 8), 32: (8,)}.get(machine.vector_bytes, (4,))
    sides = {1: (16, 8), 2: (8,), 4: words}.get(element_bytes, ())
    return tuple(Network(side, min(side, REGISTER // element_bytes)) for side in sides)


def transpose_nest(loop: affine.ForOp, machine: Machine) -> bool:
    """Rewrites `loop` and the loop around it if together they are a transposition; says whether."""
    outer = loop.parent_op()
    if not isinstance(outer, affine.ForOp | affine.ParallelOp):
        return False
    bounds, range_ = extent(outer), extent(loop)
    around = [op for op in outer.body.block.ops if op is not loop and not isinstance(op, affine.YieldOp)]
    if bounds is None or range_ is None or outer.results or any(not isinstance(op, affine.LoadOp) for op in around):
        return False
    stored = {buffer_of(op.memref) for op in loop.body.block.ops if isinstance(op, affine.StoreOp)}
    if any(isinstance(op, affine.LoadOp) and buffer_of(op.memref) in stored for op in around):
        return False
    try:
        plan = analyse(loop, gathers=True, least=range_.least)
        turned = [op for op, step in plan.steps.items() if step not in (0, 1)]
        if not turned or not fits(plan, turned, outer.body.block.args[0]):
            return False
    except NotVectorizable:
        return False
    least = min(range_.least, bounds.least)
    network = next((each for each in networks(plan.element_bytes, machine) if each.side <= least), None)
    if network is None:
        return False
    beside = 2 if _fills_lines(plan, range_, network, machine) else 1
    along = isinstance(outer, affine.ParallelOp) or _fills_large_rows(plan, network, machine)
    _Transposition(plan, outer, (bounds, range_), turned, network, beside, along).write()
    return True


def _fills_large_rows(plan: Plan, network: Network, machine: Machine) -> bool:
    """Whether squares are lines, of results with rows of a page or more, whole lines, that L2 does not hold."""
    shapes = [memref_shape(op.memref) for op in plan.body.ops if isinstance(op, affine.StoreOp)]
    size = plan.element_bytes
    return network.side * size == machine.cache_line and all(
        shape
        and shape[-1] * size >= PAGE
        and shape[-1] * size % machine.cache_line == 0
        and prod(shape) * size > machine.l2_bytes > 0
        for shape in shapes
    )


def _fills_lines(plan: Plan, columns: Extent, network: Network, machine: Machine) -> bool:
    """Whether two squares side by side fill lines of large results, and nothing else."""
    if not machine.vectors_are_half_lines or network.side * plan.element_bytes != machine.vector_bytes:
        return False
    stores = [op for op in plan.body.ops if isinstance(op, affine.StoreOp)]
    whole = columns.constant is not None and columns.constant % (2 * network.side) == 0
    return whole and all(stores_large_rows(op, plan.index, machine) for op in stores)


@dataclass(frozen=True)
class Extent:
    """A loop over one dimension, step 1: its first value, and how many rounds, the least of `counts` of `operands`.

    There are always `least` of them.
    """

    first: int
    counts: AffineMap
    operands: tuple[SSAValue, ...]
    least: int

    @property
    def constant(self) -> int | None:
        """The number of rounds, if it is known."""
        return None if self.counts.num_dims else self.least


def extent(loop: affine.ForOp | affine.ParallelOp) -> Extent | None:
    """The rounds of a loop, constant or as affine-loop-tile leaves them in the last tile; None for other loops."""
    if isinstance(loop, affine.ParallelOp):
        found = loop.constant_bounds()
        if found is None or len(loop.steps) != 1 or loop.steps.data[0].value.data != 1:
            return None
        return _known(found[0][0], found[1][0] - found[0][0])
    bounds = loop.constant_bounds()
    if bounds is not None:
        return _known(bounds[0], bounds[1] - bounds[0]) if bounds[2] == 1 else None
    lower, upper = loop.lowerBoundMap.data, loop.upperBoundMap.data
    if lower != AffineMap(0, 0, (AffineExpr.constant(0),)) or loop.step.value.data != 1:
        return None
    if upper.num_dims != 1 or upper.num_symbols or not all(is_linear(expr) for expr in upper.results):
        return None
    (operand,) = operands = tuple(loop.upperBoundOperands)
    tiles = variable_range(operand)
    if tiles is None or not tiles.count:
        return None
    ends = ((tiles.lower,), (tiles.lower + (tiles.count - 1) * tiles.step,))
    return Extent(0, upper, operands, min(expr.eval(end, ()) for expr in upper.results for end in ends))


def _known(first: int, count: int) -> Extent:
    return Extent(first, AffineMap(0, 0, (AffineExpr.constant(count),)), (), count)


def fits(plan: Plan, turned: Sequence[Operation], outer: SSAValue) -> bool:
    """Whether the uneven loads are contiguous along the outer loop, and all may run twice."""
    if plan.carries or not plan.idempotent:
        return False
    return all(
        isinstance(op, affine.LoadOp) and step_of(op.memref, op.map.data, tuple(op.indices), outer) == 1
        for op in turned
    )


class _Transposition:
    def __init__(
        self,
        plan: Plan,
        outer: affine.ForOp | affine.ParallelOp,
        extents: tuple[Extent, Extent],
        turned: Sequence[Operation],
        network: Network,
        beside: int,
        along_stores: bool,
    ):
        self.plan = plan
        self.outer = outer
        self.extents = extents  # of the outer loop and the inner one
        self.turned = turned
        self.network = network
        self.side = network.side
        self.width = beside * network.side  # elements that are written one after another
        self.along_stores = along_stores  # whether the next square is the next one that is written

    def write(self) -> None:
        """Replaces the nest."""
        outside, inside = Block(arg_types=[IndexType()]), Block(arg_types=[IndexType()])
        body = Builder(InsertPoint.at_end(inside))
        rows, columns = self.extents
        first, second = (outside, inside) if self.along_stores else (inside, outside)  # rows go along what is read
        row = self.start(body, first.args[0], rows, self.side)
        column = self.start(body, second.args[0], columns, self.width)
        self.square(body, row, column)
        body.insert(affine.YieldOp.get())
        within = self.loop(columns, self.width, inside) if self.along_stores else self.loop(rows, self.side, inside)
        outside.add_op(within)
        outside.add_op(affine.YieldOp.get())
        new: Operation
        if isinstance(self.outer, affine.ParallelOp):
            new = affine.ParallelOp.of([0], [-(-rows.least // self.side)], Region(outside))
        elif self.along_stores:
            new = self.loop(rows, self.side, outside)
        else:
            new = self.loop(columns, self.width, outside)
        for op in new.walk():
            op.location = self.plan.loop.location
        Builder(InsertPoint.before(self.outer)).insert(new)
        self.outer.detach()
        self.outer.erase()

    def loop(self, extent: Extent, size: int, body: Block) -> affine.ForOp:
        """A loop over the parts of so many elements that cover an extent."""
        counts = tuple(expr.ceil_div(size) for expr in extent.counts.results)
        upper = AffineMapAttr(AffineMap(extent.counts.num_dims, 0, counts))
        return affine.ForOp.from_region([], extent.operands, [], [], 0, upper, Region(body))

    def start(self, builder: Builder, part: SSAValue, extent: Extent, size: int) -> SSAValue:
        """Where a part of `size` elements begins; the last one ends with the last element."""
        expr, count = AffineExpr.dimension(0), extent.constant
        if count is None:
            (operand,) = extent.operands
            ends = [each.replace_dims_and_symbols([AffineExpr.dimension(1)], ()) for each in extent.counts.results]
            least = (expr * size, *(end - size for end in ends))
            return builder.insert(affine.MinOp([part, operand], AffineMapAttr(AffineMap(2, 0, least)))).result
        if count % size == 0:
            expr = expr * size + extent.first
        else:
            expr = (expr * (count - size)) // (-(-count // size) - 1 or 1) + extent.first
        return builder.insert(affine.ApplyOp([part], AffineMapAttr(AffineMap(1, 0, (expr,))))).result

    def square(self, builder: Builder, row: SSAValue, column: SSAValue) -> None:
        """The turned loads of one square, or of several, then the loop's body once per row."""
        columns = [self.offset(builder, column, number) for number in range(self.width)]
        rows = [self.offset(builder, row, number) for number in range(self.side)]
        loaded = {op: self.turned_rows(builder, op, row, columns) for op in self.turned}
        variable = self.outer.body.block.args[0]
        for number, index in enumerate(rows):
            once = Round(self.plan, builder, column, self.width, None)
            once.widener.values[variable] = index
            for op in self.outer.body.block.ops:
                if isinstance(op, affine.LoadOp):
                    once.widener.widen(op)
            once.given = {op: vectors[number] for op, vectors in loaded.items()}
            once.run(())

    def turned_rows(self, builder: Builder, op: Operation, row: SSAValue, columns: list[SSAValue]) -> list[SSAValue]:
        """What `op` loads, a vector per row: of one square, or of squares side by side."""
        parts: list[list[SSAValue]] = []
        for first in range(0, self.width, self.side):
            loaded = [self.load(builder, op, row, column) for column in columns[first : first + self.side]]
            parts.append(self.turn(builder, loaded))
        if len(parts) == 1:
            return parts[0]
        left, right = parts
        return [shuffle(builder, a, b, range(self.width)) for a, b in zip(left, right, strict=True)]

    def offset(self, builder: Builder, index: SSAValue, by: int) -> SSAValue:
        if not by:
            return index
        amount = builder.insert(arith.ConstantOp(IntegerAttr(by, IndexType()))).result
        expr = AffineExpr.dimension(0) + AffineExpr.dimension(1)
        return builder.insert(affine.ApplyOp([index, amount], AffineMapAttr(AffineMap(2, 0, (expr,))))).result

    def load(self, builder: Builder, op: Operation, row: SSAValue, column: SSAValue) -> SSAValue:
        """A vector along the outer loop."""
        assert isinstance(op, affine.LoadOp)
        changed = {self.outer.body.block.args[0]: row, self.plan.index: column}
        operands = [changed.get(operand, operand) for operand in op.indices]
        type_ = VectorType(op.result.type, [self.side])
        return builder.insert(affine.VectorLoadOp(op.memref, operands, op.map, type_)).result  # pyright: ignore[reportArgumentType]

    def turn(self, builder: Builder, vectors: list[SSAValue]) -> list[SSAValue]:
        """Element j of result i is element i of vector j: interleaved by ones, twos, and so on."""
        for stage in range(self.network.stages):
            apart = 1 << stage
            turned = list(vectors)
            for first in range(self.side):
                if first & apart:
                    continue
                a, b = vectors[first], vectors[first | apart]
                masks = self.network.masks(stage)
                turned[first], turned[first | apart] = (shuffle(builder, a, b, mask) for mask in masks)
            vectors = turned
        return [vectors[self.network.position(element)] for element in range(self.side)]
