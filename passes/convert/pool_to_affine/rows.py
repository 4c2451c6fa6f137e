"""The loops of a pool: for each row of the result the columns under its windows, then the windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from xdsl.dialects.builtin import AffineMapAttr, IndexType, MemRefType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects import affine
from ....dialects.affine.linear_forms import memref_shape
from ....dialects.linalg import GenericOp, YieldOp
from ....dialects.memref import AllocaOp
from ....dialects.memref.views import root, through_subviews
from ...bufferization.layout import ALIGNMENT, scratch_of
from ..contraction_to_vector.loops import D, Loops, compress
from .analysis import Band, Blocks, Problem

Index = SSAValue | None  # None for 0


class Rows:
    """Writes the loops of one kernel."""

    def __init__(self, problem: Problem, code: Loops):
        self.problem, self.code, self.pool = problem, code, problem.pool
        self.outer: list[Index] = []  # of the planes that are taken together
        self.plane: Index = None  # among those

    @property
    def rounds(self) -> list[int]:
        """How many times planes are taken together, by dimension."""
        *others, last = self.pool.outer or (1,)
        return [*others, last // self.problem.together]

    def write(self) -> None:
        """All planes, at the same time where there is enough work; of few planes some rows at the same time."""
        if not self.problem.is_parallel:
            rows = self.rows()
            self.nested(self.rounds, lambda: self.planes(rows))
        elif self.problem.by_planes:
            self.parallel(self.rounds, lambda _: self.planes(self.rows()))
        else:
            for blocks in self.problem.blocks:
                self.parallel([*self.rounds, blocks.count], partial(self.block_alone, blocks))

    def block_alone(self, blocks: Blocks, index: Index) -> None:
        """A block with memory of its own."""
        rows = self.rows()
        self.columns_around(rows)
        self.block(rows, blocks, index)

    def nested(self, sizes: Sequence[int], body: Callable[[], None]) -> None:
        """Loops over the outer dimensions that are left."""
        if not sizes:
            body()
            return

        def once(index: Index) -> None:
            self.outer.append(index)
            self.nested(sizes[1:], body)
            self.outer.pop()

        self.code.count(sizes[0], once)

    def parallel(self, sizes: Sequence[int], body: Callable[[Index], None]) -> None:
        """Rounds over the outer dimensions, and one more or not, that may run at the same time."""
        counts = [n for n in sizes if n > 1]
        block = Block(arg_types=[IndexType()] * len(counts))
        variables = iter(block.args)
        indices: list[Index] = [next(variables) if n > 1 else None for n in sizes]
        self.outer, last = indices[: len(self.rounds)], (*indices, None)[len(self.rounds)]

        def once() -> Sequence[SSAValue]:
            body(last)
            return ()

        if not counts:
            body(last)
            return
        self.code.into(block, once)
        self.code(affine.ParallelOp.of([0] * len(counts), counts, Region(block)))

    def rows(self) -> SSAValue:
        """Memory for what the columns under a block come to."""
        count = max(blocks.rows for blocks in self.problem.blocks)
        shape = [self.problem.together, count, self.problem.pitch]
        return self.code(AllocaOp.get(self.problem.element, ALIGNMENT, shape)).memref

    def columns_around(self, rows: SSAValue) -> None:
        """What is beside the image, which stays."""
        before, width = self.problem.before, self.problem.size[1]
        places = [*range(before), *range(before + width, self.pool.columns.reach)]
        shape = memref_shape(rows)
        assert shape is not None
        constants = [AffineExpr.constant(place + self.problem.shift) for place in places]

        def once(plane: Index, row: Index) -> None:
            for place in constants:
                self.store(self.problem.start, rows, [D(0), D(1), place], [plane, row])

        if places:
            self.code.count(shape[0], lambda plane: self.code.count(shape[1], partial(once, plane)))

    def planes(self, rows: SSAValue) -> None:
        """Planes that are taken together: their blocks one after another."""
        self.columns_around(rows)
        for blocks in self.problem.blocks:
            self.code.count(blocks.count, partial(self.block, rows, blocks))

    def block(self, rows: SSAValue, blocks: Blocks, index: Index) -> None:
        """One block: what the columns under its windows come to, then the windows."""
        first = D(0) * blocks.rows + blocks.first

        def columns(band: Band, row: Index) -> None:
            self.columns(rows, first, band, [index, row])

        def all_columns() -> None:
            for band in blocks.bands:
                self.code.count(band.count, partial(columns, band))

        def all_windows() -> None:
            self.code.count(blocks.rows, lambda row: self.windows(rows, first + D(1), [index, row]))

        for part in (all_columns, all_windows):
            self.each(part)

    def each(self, body: Callable[[], None]) -> None:
        """Planes that are taken together, one after another."""

        def once(plane: Index) -> None:
            self.plane = plane
            body()

        self.code.count(self.problem.together, once)

    def columns(self, rows: SSAValue, first: AffineExpr, band: Band, place: Sequence[Index]) -> None:
        """What the columns under one row of the result come to: of the block and row at `place`."""
        problem, side = self.problem, self.pool.rows
        number = first + (D(1) + band.first)
        under = [number * side.stride + (tap * side.dilation - problem.above) for tap in band.taps]
        width = min(problem.size[1], self.pool.columns.reach - problem.before)

        def once(column: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            operands = [*place, column, self.plane, *self.outer]
            found = [self.load(problem.image, [*self.plane_place, above, D(2)], operands) for above in under]
            total = reduce(lambda total, value: self.combine(value, total), found)
            self.store(total, rows, [D(3), D(1) + band.first, D(2) + (problem.before + problem.shift)], operands)
            return ()

        if width > 0:
            self.code.serial(AffineExpr.constant(0), AffineExpr.constant(width), (), (), once)

    def windows(self, rows: SSAValue, number: AffineExpr, place: Sequence[Index]) -> None:
        """One row of the result, which is `number` of the block and row at `place`."""
        problem, side = self.problem, self.pool.columns

        def once(column: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            operands = [*place, column, self.plane, *self.outer]
            total = problem.start
            for tap in range(side.taps):
                element = D(2) * side.stride + (tap * side.dilation + problem.shift)
                total = self.combine(self.load(rows, [D(3), D(1), element], operands), total)
            self.finish(total, [*self.plane_place, number, D(2)], operands)
            return ()

        self.code.serial(AffineExpr.constant(0), AffineExpr.constant(side.output), (), (), once)

    @property
    def plane_place(self) -> list[AffineExpr]:
        """The outer dimensions, over block, row, column, plane among those taken together, and what is outside."""
        if not self.pool.outer:
            return []
        outer = [D(4 + d) for d in range(len(self.outer))]
        return [*outer[:-1], outer[-1] * self.problem.together + D(3)]

    def combine(self, element: SSAValue, total: SSAValue) -> SSAValue:
        """What the pool does with one element more."""
        [element_argument, _, total_argument] = self.problem.op.body.block.args
        return self.code(self.pool.op.clone({element_argument: element, total_argument: total})).results[0]

    def finish(self, total: SSAValue, place: Sequence[AffineExpr], operands: Sequence[Index]) -> None:
        """What follows elementwise, and the stores of what is read later."""
        held = {self.problem.op.outputs[0]: total}
        for op in self.problem.epilogue:
            self.apply(op, held, place, operands)
        own = scratch_of(self.problem.function)
        for value, result in held.items():
            if root(value) not in own and not isinstance(root(value).owner, AllocaOp):
                self.store(result, value, place, operands)

    def apply(
        self,
        op: GenericOp,
        held: dict[SSAValue, SSAValue],
        place: Sequence[AffineExpr],
        operands: Sequence[Index],
    ) -> None:
        """Applies `op` to what is `held` of the arrays, and holds what it writes."""
        values: dict[SSAValue, SSAValue] = {}
        for argument, value, map_ in zip(op.body.block.args, op.operands, op.maps, strict=True):
            if value in held:
                values[argument] = held[value]
            elif argument.first_use:
                values[argument] = self.load(value, place, operands, map_)
        for inner in op.body.block.ops:
            if isinstance(inner, YieldOp):
                held.update(zip(op.outputs, (values.get(v, v) for v in inner.operands), strict=True))
            else:
                self.code(inner.clone(values))

    def store(self, value: SSAValue, target: SSAValue, place: Sequence[AffineExpr], operands: Sequence[Index]) -> None:
        """One element."""
        base, map_, values = self.access(target, AffineMap.identity(len(place)), place, operands)
        self.code(affine.StoreOp(value, base, values, AffineMapAttr(map_)))

    def load(
        self,
        value: SSAValue,
        place: Sequence[AffineExpr],
        operands: Sequence[Index],
        map_: AffineMap | None = None,
    ) -> SSAValue:
        """The element at a place of the loops, or of the array itself; a scalar as it is."""
        if not isinstance(value.type, MemRefType):
            return value
        base, map_, values = self.access(value, map_ or AffineMap.identity(len(place)), place, operands)
        return self.code(affine.LoadOp(base, values, AffineMapAttr(map_))).result

    @staticmethod
    def access(
        value: SSAValue, map_: AffineMap, place: Sequence[AffineExpr], operands: Sequence[Index]
    ) -> tuple[SSAValue, AffineMap, list[SSAValue]]:
        """The buffer behind an array, and where in it the element is."""
        found = through_subviews(value, map_)
        exprs = [expr.replace_dims_and_symbols(place, ()) for expr in found.map.results]
        compressed, values = compress(exprs, operands)
        results = tuple(expr.simplify(len(values), 0) for expr in compressed.results)
        return found.memref, AffineMap(len(values), 0, results), values
