"""What the loops of all pools have in common: the dimensions outside of images, elements, what follows the pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType, MemRefType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects import affine
from ....dialects.linalg import GenericOp, YieldOp
from ....dialects.memref import AllocaOp
from ....dialects.memref.views import root, through_subviews
from ...bufferization.layout import scratch_of
from ..contraction_to_vector.loops import Loops, compress
from .analysis import Problem

Index = SSAValue | None  # None for 0


class Nest:
    """Writes the loops of one kernel."""

    def __init__(self, problem: Problem, code: Loops):
        self.problem, self.code, self.pool = problem, code, problem.pool
        self.outer: list[Index] = []  # where the code is in the dimensions outside of images

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

    def parallel(self, outer: Sequence[int], blocks: int, body: Callable[[Index], None]) -> None:
        """Rounds over the outer dimensions, and blocks in each, that may run at the same time."""
        sizes = [*outer, blocks]
        counts = [n for n in sizes if n > 1]
        block = Block(arg_types=[IndexType()] * len(counts))
        variables = iter(block.args)
        indices: list[Index] = [next(variables) if n > 1 else None for n in sizes]
        *self.outer, last = indices

        def once() -> Sequence[SSAValue]:
            body(last)
            return ()

        if not counts:
            body(last)
            return
        self.code.into(block, once)
        self.code(affine.ParallelOp.of([0] * len(counts), counts, Region(block)))

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
