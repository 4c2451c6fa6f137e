"""What those share that write a parallel nest anew, for threads: where it stood, with its place in the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet
from xdsl.rewriter import InsertPoint

from ...compiler.dtypes import dtype_of
from ...compiler.locations import locate
from ...dialects.affine import ApplyOp, ForOp, IfOp, ParallelOp, YieldOp
from ...dialects.gpu import DynamicSharedMemoryOp
from ...dialects.gpu.ops import shared_type

_Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"


class NestWriter:
    """Writes before `nest`, and takes it away at the end."""

    def __init__(self, nest: ParallelOp):
        self.nest = nest
        self.b = Builder(InsertPoint.before(nest))

    def apply(self, expr: AffineExpr, *operands: SSAValue) -> SSAValue:
        """A number computed from others."""
        return self.b.insert(ApplyOp(operands, AffineMapAttr(AffineMap(len(operands), 0, (expr,))))).results[0]

    def digits(self, number: SSAValue, sizes: Sequence[int], steps: Sequence[int] | None = None) -> list[SSAValue]:
        """What a number is in loops of these sizes, each times its step."""
        found: list[SSAValue] = []
        for i, (size, step) in enumerate(zip(sizes, steps or [1] * len(sizes), strict=True)):
            if size == 1:
                found.append(self.apply(AffineExpr.constant(0)))
                continue
            below = prod(sizes[i + 1 :])
            index = AffineExpr.dimension(0) // below if below > 1 else AffineExpr.dimension(0)
            index = index % size if prod(sizes[:i]) > 1 else index
            found.append(self.apply(index * step if step > 1 else index, number))
        return found

    def rooms(self, wanted: Sequence[tuple[Attribute, Sequence[int]]]) -> list[_Buffer]:
        """Shared memory for buffers of these elements and shapes."""
        nbytes = [prod(shape) * dtype_of(element).itemsize for element, shape in wanted]
        offsets = [sum(size + -size % 16 for size in nbytes[:i]) for i in range(len(nbytes))]
        memory = self.b.insert(DynamicSharedMemoryOp(offsets[-1] + nbytes[-1])).result
        found: list[_Buffer] = []
        for (element, shape), offset in zip(wanted, offsets, strict=True):
            start = self.b.insert(arith.ConstantOp(IntegerAttr(offset, IndexType()))).result
            type_ = shared_type(element, list(shape))  # pyright: ignore[reportArgumentType]
            view = self.b.insert(memref.ViewOp.create(operands=[memory, start], result_types=[type_]))
            found.append(cast("_Buffer", view.results[0]))
        return found

    def spread(
        self, sizes: Sequence[int], thread: SSAValue, threads: int, body: Callable[[SSAValue, list[SSAValue]], None]
    ) -> None:
        """Runs `body` for every number of loops of these sizes, and what it is in each, by all threads of a block."""
        count = prod(sizes)
        block = Block(arg_types=[IndexType()])
        outside, self.b = self.b, Builder(InsertPoint.at_end(block))
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        number = self.apply(d0 * threads + d1, block.args[0], thread)
        body(number, self.digits(number, sizes))
        self.b.insert(YieldOp.get())
        self.b = outside
        self.b.insert(ForOp.of(0, -(-count // threads), block))

    def where(self, inside: Sequence[tuple[SSAValue, int]], body: Callable[[], None]) -> None:
        """What `body` builds, only where numbers are not above their limits."""
        if not inside:
            body()
            return
        block = Block()
        outside, self.b = self.b, Builder(InsertPoint.at_end(block))
        body()
        block.add_op(YieldOp.get())
        self.b = outside
        zero = AffineExpr.constant(0)
        left = [AffineExpr.constant(most) - AffineExpr.dimension(i) for i, (_, most) in enumerate(inside)]
        conditions = tuple(AffineConstraintExpr(AffineConstraintKind.ge, each, zero) for each in left)
        condition = AffineSetAttr(AffineSet(len(inside), 0, conditions))
        self.b.insert(IfOp(condition, [value for value, _ in inside], [], Region(block)))

    def erase_nest(self) -> None:
        """Takes the nest away; what stands in its block without a place in the model gets that of the nest."""
        parent = self.nest.parent_block()
        for op in parent.ops if parent is not None else ():
            locate(op, self.nest.location)
        self.nest.detach()
        self.nest.erase()
