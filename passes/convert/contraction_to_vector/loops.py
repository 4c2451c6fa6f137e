"""Writing loops and affine index arithmetic without ceremony."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
)
from xdsl.rewriter import InsertPoint

from ....dialects import affine, memref, vector
from ....dialects.affine.linear_forms import memref_shape
from ....dialects.llvm.text import UNROLL

OpT = TypeVar("OpT", bound=Operation)
D = AffineExpr.dimension
Branch = Callable[[], Sequence[SSAValue]]


def compress(
    exprs: AffineExpr | Sequence[AffineExpr], operands: Sequence[SSAValue | None]
) -> tuple[AffineMap, list[SSAValue]]:
    """Expressions as a map over just those operands that they use, each once. None stands for an operand that is 0."""
    results = [exprs] if isinstance(exprs, AffineExpr) else list(exprs)
    values: list[SSAValue] = []
    names: list[AffineExpr] = []
    used = {e.position for expr in results for e in expr.dfs() if isinstance(e, AffineDimExpr)}
    for position, operand in enumerate(operands):
        if operand is None:
            names.append(AffineExpr.constant(0))
        elif position not in used:
            names.append(D(position))
        else:
            if operand not in values:
                values.append(operand)
            names.append(D(values.index(operand)))
    return AffineMap(len(values), 0, tuple(expr.replace_dims_and_symbols(names, ()) for expr in results)), values


class Loops:
    """Appends ops at one place; the bodies of loops are functions that append to the loop's block meanwhile."""

    def __init__(self, point: InsertPoint):
        self.builder = Builder(point)

    def __call__(self, op: OpT) -> OpT:
        """Inserts `op` and returns it."""
        return self.builder.insert(op)

    def index(self, expr: AffineExpr, *operands: SSAValue | None) -> SSAValue:
        """The value of an affine expression of `operands` (its dimensions)."""
        map, values = compress(expr, operands)
        result = map.results[0]
        if isinstance(result, AffineDimExpr):
            return values[result.position]
        if isinstance(result, AffineConstantExpr):
            return self(arith.ConstantOp(IntegerAttr(result.value, IndexType()))).result
        return self._at(affine.ApplyOp, [], map, values, [IndexType()]).results[0]

    def _at(
        self,
        op: type[Operation],
        operands: Sequence[SSAValue],
        map: AffineMap,
        indices: Sequence[SSAValue],
        results: Sequence[Attribute] = (),
    ) -> Operation:
        """Of these a kernel has hundreds, and nothing is left for irdl to find out."""
        properties: dict[str, Attribute] = {"map": AffineMapAttr(map)}
        return self(op.create(operands=[*operands, *indices], result_types=results, properties=properties))

    def serial(
        self,
        lower: AffineExpr | Sequence[AffineExpr],
        upper: AffineExpr | Sequence[AffineExpr],
        operands: Sequence[SSAValue | None],
        inits: Sequence[SSAValue],
        body: Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
        step: int = 1,
        at_once: int = 1,
    ) -> Sequence[SSAValue]:
        """`for i in range(lower, upper, step)` that carries values; code for so many rounds `at_once`.

        Bounds are over `operands`: the largest lower one, the least upper one.
        """
        block = Block(arg_types=[IndexType(), *(value.type for value in inits)])
        self.into(block, lambda: body(block.args[0], block.args[1:]))
        lower_map, lower_operands = compress(lower, operands)
        upper_map, upper_operands = compress(upper, operands)
        loop = affine.ForOp.from_region(
            lower_operands,
            upper_operands,
            inits,
            [value.type for value in inits],
            AffineMapAttr(lower_map),
            AffineMapAttr(upper_map),
            Region(block),
            step,
        )
        if at_once > 1:
            loop.attributes[UNROLL] = IntegerAttr(at_once, 64)
        return self(loop).results

    def count(self, size: int, body: Callable[[SSAValue | None], None]) -> None:
        """`for i in range(size)`; a single round needs no loop and has the index None, for 0."""
        if size == 1:
            body(None)
            return

        def once(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(i)
            return ()

        self.serial(AffineExpr.constant(0), AffineExpr.constant(size), (), (), once)

    def choose(
        self, equal: tuple[SSAValue, int], types: Sequence[Attribute], then: Branch, otherwise: Branch
    ) -> Sequence[SSAValue]:
        """The values of `then` where an index has a value, else those of `otherwise`."""
        regions: list[Region] = []
        for branch in (then, otherwise):
            block = Block()
            self.into(block, branch)
            regions.append(Region(block))
        index, value = equal
        condition = AffineSetAttr(
            AffineSet(1, 0, (AffineConstraintExpr(AffineConstraintKind.eq, D(0), AffineExpr.constant(value)),))
        )
        return self(affine.IfOp(condition, [index], types, *regions)).results

    def parallel(self, size: int, body: Callable[[SSAValue], None]) -> None:
        """Rounds that may run at the same time."""
        block = Block(arg_types=[IndexType()])

        def once() -> Sequence[SSAValue]:
            body(block.args[0])
            return ()

        self.into(block, once)
        self(affine.ParallelOp.of([0], [size], Region(block)))

    def into(self, block: Block, body: Callable[[], Sequence[SSAValue]]) -> None:
        outside, self.builder = self.builder, Builder(InsertPoint.at_end(block))
        self(affine.YieldOp.get(*body()))
        self.builder = outside

    def prefetch(self, base: SSAValue, expr: AffineExpr, *operands: SSAValue | None, locality: int = 3) -> None:
        """A hint that the element will be read soon; it comes into L1, or into L2 with `locality` 2."""
        self(memref.PrefetchOp(base, [self.index(expr, *operands)], locality=locality))

    def least(self, exprs: Sequence[AffineExpr], *operands: SSAValue | None) -> SSAValue:
        """The least of some affine expressions."""
        map, values = compress(exprs, operands)
        return self(affine.MinOp(values, AffineMapAttr(map))).result

    def most(self, exprs: Sequence[AffineExpr], *operands: SSAValue | None) -> SSAValue:
        """The largest of some affine expressions."""
        map, values = compress(exprs, operands)
        return self(affine.MaxOp(values, AffineMapAttr(map))).result

    def flat(self, value: SSAValue) -> SSAValue:
        """The buffer as one dimension; of a part that of the whole, as `access` counts."""
        while isinstance(value.owner, memref.SubviewOp):
            value = value.owner.source
        shape = memref_shape(value)
        assert shape is not None
        if len(shape) <= 1:
            return value
        assert isinstance(value.type, MemRefType)
        type_ = MemRefType(value.type.element_type, [prod(shape)], memory_space=value.type.memory_space)
        together = ArrayAttr([ArrayAttr([IntegerAttr(i, i64) for i in range(len(shape))])])
        op = memref.CollapseShapeOp.create(
            operands=[value], result_types=[type_], properties={"reassociation": together}
        )
        return self(op).result

    def load(self, base: SSAValue, expr: AffineExpr, *operands: SSAValue | None) -> SSAValue:
        """One element."""
        map, values = compress(expr, operands)
        if memref_shape(base) == ():
            map, values = AffineMap(0, 0, ()), []
        assert isinstance(base.type, MemRefType)
        return self._at(affine.LoadOp, [base], map, values, [base.type.element_type]).results[0]

    def store(self, value: SSAValue, base: SSAValue, expr: AffineExpr, *operands: SSAValue | None) -> None:
        """One element."""
        map, values = compress(expr, operands)
        self._at(affine.StoreOp, [value, base], map, values)

    def load_vector(
        self,
        type_: VectorType,
        base: SSAValue,
        expr: AffineExpr,
        *operands: SSAValue | None,
        mask: SSAValue | None = None,
        otherwise: SSAValue | None = None,
    ) -> SSAValue:
        """Consecutive elements; under a mask, `otherwise` in the lanes masked off."""
        map, values = compress(expr, operands)
        if mask is None or otherwise is None:
            return self._at(affine.VectorLoadOp, [base], map, values, [type_]).results[0]
        place = self.index(expr, *operands)
        return self(vector.MaskedLoadOp(base, [place], mask, otherwise)).result

    def store_vector(
        self,
        value: SSAValue,
        base: SSAValue,
        expr: AffineExpr,
        *operands: SSAValue | None,
        mask: SSAValue | None = None,
    ) -> None:
        """Consecutive elements, those that the mask sets."""
        if mask is None:
            map, values = compress(expr, operands)
            self._at(affine.VectorStoreOp, [value, base], map, values)
            return
        self(vector.MaskedStoreOp(base, [self.index(expr, *operands)], mask, value))
