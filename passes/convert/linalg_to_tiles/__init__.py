"""`convert-linalg-to-tiles`: kernels of rows become programs of one row, on vectors as long as it.

Before:
    %s = linalg.generic {... (i, j) -> (i, j), (i, j) -> (i), [parallel, reduction]} ins(%x) outs(%sum) { arith.addf }
    %y = linalg.generic {... [parallel, parallel]} ins(%x, %sum) outs(%y) { arith.divf }
After:
    affine.parallel (%i) = (0) to (37) {
      %row = affine.vector_load %x[%i, 0] : memref<37x768xf32>, vector<768xf32>
      %s = vector.reduction <add>, %row : vector<768xf32> into f32
      %all = vector.broadcast %s : f32 to vector<768xf32>
      %q = arith.divf %row, %all : vector<768xf32>
      affine.vector_store %q, %y[%i, 0] : memref<37x768xf32>, vector<768xf32>
    }

Each part of a buffer is read at most once by a row and written at most once; what is only kept between the kernel's
loops is not written. A kernel is one of rows when all its loops share the leading parallel dimensions, one reduces over
all the others, and every access is of one number or of numbers that lie next to each other: where they begin is linear
in the row's numbers, so that rows may share them (a mask of all heads), or a number that
they read says it (a table of words). What is written is each row's own. Others stay
as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, MemRefType, ModuleOp, StringAttr, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import CollapseShapeOp
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ....compiler.locations import locate, locate_back
from ....dialects.affine import ApplyOp, LoadOp, ParallelOp, StoreOp, VectorLoadOp, VectorStoreOp, YieldOp
from ....dialects.linalg import FillOp, GenericOp, IndexOp
from ....dialects.linalg import YieldOp as LinalgYieldOp
from ....dialects.memref import LoadOp as MemRefLoadOp
from ....dialects.memref.views import collapse
from ....dialects.vector import ConstantMaskOp, GatherOp, ReductionOp, ScatterOp, StepOp
from ....dialects.vector import LoadOp as VectorLoad
from ....dialects.vector.widen import Widener
from ...gpu.combining import number
from ...linalg.combiners import combiners
from .rows import Place, Rows, is_column, number_of, place_of, rows_of

_Index: TypeAlias = "SSAValue[IndexType]"
_Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"
KERNEL, ROWS = "lamina.kernel", "rows"
SCRATCH = "lamina.scratch"


@dataclass(frozen=True)
class ConvertLinalgToTiles(ModulePass):
    """Kernels of rows become programs of one row, on vectors as long as it."""

    name = "convert-linalg-to-tiles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks and KERNEL in function.attributes:
                rows = rows_of(function)
                if rows is not None:
                    _RowProgram(function, rows).run()


@dataclass
class _RowProgram:
    """The program of one row being built; `known` holds what each buffer's part of the row is, `filled` whole ones."""

    function: FuncOp
    rows: Rows
    known: dict[tuple[SSAValue, Place], SSAValue] = field(default_factory=dict[tuple[SSAValue, Place], SSAValue])
    filled: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    written: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    flat: dict[SSAValue, CollapseShapeOp] = field(default_factory=dict[SSAValue, CollapseShapeOp])

    def run(self) -> None:
        block = self.function.body.block
        last = block.last_op
        assert last is not None
        first = next(op for op in block.ops if isinstance(op, GenericOp))
        body = Block(arg_types=[IndexType()] * max(1, len(self.rows.sizes)))
        self.indices = cast("list[_Index]", list(body.args[: len(self.rows.sizes)]))
        self.builder = Builder(InsertPoint.at_end(body))
        for op in [op for op in block.ops if op is not last]:
            if isinstance(op, GenericOp):
                self.generic(op)
            elif isinstance(op, FillOp):
                self.filled[op.output] = op.value
        self.stores(first)
        self.builder.insert(YieldOp.get())
        loop = ParallelOp.of([0] * len(body.args), self.rows.sizes or (1,), Region(body))
        locate(loop, first.location)
        for op in self.flat.values():
            locate(op, first.location)
        Rewriter.insert_op([*self.flat.values(), loop], InsertPoint.before(last))
        for op in reversed([op for op in block.ops if isinstance(op, GenericOp | FillOp)]):
            op.detach()
            op.erase()
        self.function.attributes[KERNEL] = StringAttr(ROWS)

    def generic(self, op: GenericOp) -> None:
        """The body of one generic on what its operands are."""
        widener = Widener(self.builder, self.rows.length)
        for i, argument in enumerate(op.body.block.args):
            if argument.first_use is not None and not (i >= len(op.inputs) and "reduction" in op.iterators):
                widener.values[argument] = self.value(op, i)
        combined = combiners(op) if "reduction" in op.iterators else None
        skipped = {owner for _, owner, _ in combined or ()}
        for inner in op.body.block.ops:
            if isinstance(inner, IndexOp):
                widener.values[inner.result] = self.index(inner, op)
            elif isinstance(inner, MemRefLoadOp) and inner.indices and self.goes_along(inner.indices[-1], op):
                widener.values[inner.res] = self.gathered(inner, widener)
            elif inner not in skipped and not isinstance(inner, LinalgYieldOp):
                widener.widen(inner)
        last = op.body.block.last_op
        assert last is not None
        made: list[SSAValue] = []
        for i in range(len(op.outputs)):
            index = len(op.inputs) + i
            if combined is not None:
                made.append(self.reduced(op, index, combined[i], widener))
            else:
                result = widener.value(last.operands[i])
                made.append(widener.vector(result) if self.place(op, index).step else result)
        for i, (buffer, value) in enumerate(zip(op.outputs, made, strict=True)):
            self.written[buffer] = place = self.place(op, len(op.inputs) + i)
            self.known[buffer, place] = value
            self.filled.pop(buffer, None)
        locate_back(self.builder.insertion_point.block.last_op, op.location)

    def goes_along(self, value: SSAValue, op: GenericOp) -> bool:
        """Whether an index says which number of the row it is."""
        return isinstance(value.owner, IndexOp) and is_column(value.owner, op, self.rows)

    def index(self, index: IndexOp, op: GenericOp) -> SSAValue:
        """One of the row's numbers; 0 where there is one step, and where the row begins."""
        number = number_of(index, op, self.rows)
        if number is not None:
            return self.indices[number]
        return self.builder.insert(arith.ConstantOp(IntegerAttr(0, IndexType()))).result

    def gathered(self, op: MemRefLoadOp, widener: Widener) -> SSAValue:
        """A row that begins at a computed place."""
        type_ = op.memref.type
        assert isinstance(type_, MemRefType)
        vector = VectorType(type_.element_type, [self.rows.length])
        places = [widener.value(index) for index in op.indices]
        return self.builder.insert(VectorLoad.create(operands=[op.memref, *places], result_types=[vector])).results[0]

    def reduced(self, op: GenericOp, index: int, how: tuple[str, Operation, SSAValue], widener: Widener) -> SSAValue:
        """One output of a reduction: the row combined, and then with what the output held."""
        kind, combiner, value = how
        flags = combiner.properties.get("fastmath")
        row = widener.vector(widener.value(value))
        total = self.builder.insert(ReductionOp(row, CombiningKindFlag(kind), fastmath=flags)).results[0]  # pyright: ignore
        before = self.value(op, index)
        return self.builder.insert(
            type(combiner).create(
                operands=[before, total], result_types=[total.type], properties=combiner.properties.copy()
            )
        ).results[0]

    def place(self, op: GenericOp, index: int) -> Place:
        """Where a row's part of an operand is."""
        place = place_of(op, index, self.rows)
        assert place is not None
        return place

    def value(self, op: GenericOp, index: int) -> SSAValue:
        """An operand's part of the row: known, or loaded now."""
        buffer = op.operands[index]
        if not isinstance(buffer.type, MemRefType):
            return buffer
        if buffer in self.filled:
            return self.filled[buffer]
        place = self.place(op, index)
        if (buffer, place) not in self.known:
            self.known[buffer, place] = self.load(cast("_Buffer", buffer), buffer.type, place)
        return self.known[buffer, place]

    def load(self, buffer: _Buffer, type_: MemRefType[Attribute], place: Place) -> SSAValue:
        map = AffineMapAttr(place.start)
        if not place.step:
            return self.builder.insert(LoadOp(buffer, self.indices, map)).result
        vector = VectorType(type_.element_type, [self.rows.length])
        if place.step == 1:
            return self.builder.insert(VectorLoadOp(buffer, self.indices, map, vector)).result
        nothing = number(self.builder, 0, vector)
        return self.builder.insert(GatherOp(*self.apart(buffer, place), nothing)).result

    def apart(self, buffer: _Buffer, place: Place) -> tuple[SSAValue, list[SSAValue], SSAValue, SSAValue]:
        """Where numbers lie that are no neighbours: the buffer in one dimension, the first, the others, all of them."""
        assert isinstance(buffer.type, MemRefType)
        shape = buffer.type.get_shape()
        if buffer not in self.flat:
            self.flat[buffer] = collapse(buffer, [list(range(len(shape)))])
        terms = [expr * prod(shape[i + 1 :]) for i, expr in enumerate(place.start.results)]
        rank = len(self.indices)
        start = AffineMap(rank, 0, (sum(terms, AffineExpr.constant(0)).simplify(rank, 0),))
        first = self.builder.insert(ApplyOp(self.indices, AffineMapAttr(start))).results[0]
        length = self.rows.length
        lanes = self.builder.insert(StepOp(length)).result
        step = number(self.builder, place.step, lanes.type)
        others = self.builder.insert(arith.MuliOp(lanes, step)).result
        mask = self.builder.insert(ConstantMaskOp(length, length)).result
        return self.flat[buffer].results[0], [first], others, mask

    def stores(self, like: GenericOp) -> None:
        """Writes what the kernel's caller wants to see."""
        scratch = self.function.attributes.get(SCRATCH)
        arguments: Sequence[BlockArgument] = self.function.body.block.args
        kept = arguments[: len(arguments) - (scratch.value.data if isinstance(scratch, IntegerAttr) else 0)]
        for buffer in kept:
            if buffer in self.written:
                place = self.written[buffer]
                value = self.known[buffer, place]
                target, map = cast("_Buffer", buffer), AffineMapAttr(place.start)
                if place.step > 1:
                    made: Operation = ScatterOp(*self.apart(target, place), value)
                else:
                    made = (VectorStoreOp if place.step else StoreOp)(value, target, self.indices, map)
                self.builder.insert(made)
                locate_back(made, like.location)
