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

Each buffer is read at most once and written at most once; what is only kept between the kernel's loops is not
written. A kernel is one of rows when all its loops share the leading parallel dimensions, one reduces over all the
others, and every access is of whole rows, of one number a row, or of one row for all. Others stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    VectorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.locations import locate, locate_back
from ...dialects.affine import LoadOp, ParallelOp, StoreOp, VectorLoadOp, VectorStoreOp, YieldOp
from ...dialects.linalg import FillOp, GenericOp
from ...dialects.linalg import YieldOp as LinalgYieldOp
from ...dialects.linalg.views import loop_ranges
from ...dialects.vector import ReductionOp
from ...dialects.vector.widen import Widener, is_vector
from ..gpu.combining import COMBINERS

_Index: TypeAlias = "SSAValue[IndexType]"
_Buffer: TypeAlias = "SSAValue[MemRefType[Attribute]]"
KERNEL, ROWS = "lamina.kernel", "rows"
SCRATCH = "lamina.scratch"
LONGEST = 1 << 15  # elements of a row: 1024 threads with 32 each


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


@dataclass(frozen=True)
class Rows:
    """The rows of a kernel: sizes of the dimensions that number them, and elements of each."""

    sizes: tuple[int, ...]
    length: int


@dataclass(frozen=True)
class Access:
    """How an operand is read or written: per row (`rows`), along the row (`columns`), both or neither."""

    rows: bool
    columns: bool


def rows_of(function: FuncOp) -> Rows | None:
    """The rows that all loops of a kernel share, None where it is not one of rows."""
    ops = list(function.body.block.ops)
    generics = [op for op in ops if isinstance(op, GenericOp)]
    reducing = next((op for op in generics if "reduction" in op.iterators), None)
    if reducing is None or not all(isinstance(op, GenericOp | FillOp | arith.ConstantOp | ReturnOp) for op in ops):
        return None
    filled = {op.output for op in ops if isinstance(op, FillOp)}
    last = {value: op for op in ops if isinstance(op, GenericOp | FillOp) for value in _written(op)}
    if any(isinstance(last[value], FillOp) for value in filled):  # a whole buffer, not a part of each row
        return None
    ranges = loop_ranges(reducing)
    count = reducing.iterators.index("reduction")
    sizes = tuple(n for n in ranges[:count] if n != 1)
    rows = Rows(sizes, prod(ranges[count:]))
    if not 1 < rows.length <= LONGEST or not all(_fits(op, rows) for op in generics):
        return None
    return rows if _keeps_order(generics, rows) else None


def _written(op: GenericOp | FillOp) -> Sequence[SSAValue]:
    return op.outputs if isinstance(op, GenericOp) else [op.output]


def _fits(op: GenericOp, rows: Rows) -> bool:
    """Whether a generic walks the rows, and reduces over all of a row if at all."""
    split = _split(op, rows)
    if split is None:
        return False
    kinds = set(op.iterators[d] for d in split[1])
    if any(op.iterators[d] != "parallel" for d in split[0]) or len(kinds) > 1:
        return False
    if any(inner.regions or inner.name.startswith(("linalg.index", "memref.")) for inner in op.body.block.ops):
        return False
    accesses = [access_of(op, i, rows) for i in range(len(op.operands))]
    outputs = accesses[len(op.inputs) :]
    if any(access is None for access in accesses) or not all(
        a is not None and a.rows == bool(rows.sizes) for a in outputs
    ):
        return False
    if "reduction" not in kinds:
        return all(a is not None and a.columns == bool(split[1]) for a in outputs)
    return all(a is not None and not a.columns for a in outputs) and combiners(op) is not None


def _split(op: GenericOp, rows: Rows) -> tuple[list[int], list[int]] | None:
    """The dimensions that number rows and those along them, without those of one step; None where they differ."""
    ranges = loop_ranges(op)
    live = [d for d, n in enumerate(ranges) if n != 1]
    leading, rest = live[: len(rows.sizes)], live[len(rows.sizes) :]
    if tuple(ranges[d] for d in leading) != rows.sizes:
        return None
    return (leading, rest) if not rest or prod(ranges[d] for d in rest) == rows.length else None


def access_of(op: GenericOp, index: int, rows: Rows) -> Access | None:
    """How the operand is accessed; None for anything but whole rows, a number a row, one row for all, one number."""
    type_ = op.operands[index].type
    if not isinstance(type_, MemRefType):
        return Access(False, False)
    split = _split(op, rows)
    if split is None or not isinstance(type_.layout, NoneAttr):
        return None
    ranges = loop_ranges(op)
    used: list[int] = []
    for expr in op.maps[index].results:
        if isinstance(expr, AffineDimExpr):
            used += [expr.position] if ranges[expr.position] != 1 else []
        elif not isinstance(expr, AffineConstantExpr):
            return None
    leading, rest = split
    if prod(type_.get_shape()) != prod(ranges[d] for d in used):
        return None
    if used in (leading, [*leading, *rest]) and leading:
        return Access(True, used != leading)
    return Access(False, bool(used)) if used in ([], rest) else None


def combiners(op: GenericOp) -> list[tuple[str, Operation, SSAValue]] | None:
    """For each output of a reduction: the kind, the op that combines, and what is combined; None for other bodies."""
    block = op.body.block
    last = block.last_op
    assert isinstance(last, LinalgYieldOp)
    accumulators = block.args[len(op.inputs) :]
    found: list[tuple[str, Operation, SSAValue]] = []
    for value, accumulator in zip(last.operands, accumulators, strict=True):
        owner = value.owner
        uses = [use.operation for use in accumulator.uses]
        if not isinstance(owner, Operation) or owner.name not in COMBINERS or uses != [owner]:
            return None
        if len(list(value.uses)) != 1:
            return None
        [other] = [v for v in owner.operands if v is not accumulator] or [None]
        if other is None:
            return None
        found.append((COMBINERS[owner.name], owner, other))
    return found


def _keeps_order(generics: Sequence[GenericOp], rows: Rows) -> bool:
    """Whether what is read of a buffer that the kernel writes is what the same row wrote, in the same form."""
    written: dict[SSAValue, Access | None] = {}
    for op in generics:
        for i, value in enumerate(op.outputs):
            written.setdefault(value, access_of(op, len(op.inputs) + i, rows))
    return all(
        access_of(op, i, rows) == written[value]
        for op in generics
        for i, value in enumerate(op.operands)
        if value in written
    )


@dataclass
class _RowProgram:
    """The program of one row being built; `known` holds what each buffer's part of the row is."""

    function: FuncOp
    rows: Rows
    known: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def run(self) -> None:
        block = self.function.body.block
        last = block.last_op
        assert last is not None
        first = next(op for op in block.ops if isinstance(op, GenericOp))
        body = Block(arg_types=[IndexType()] * max(1, len(self.rows.sizes)))
        self.indices = list(body.args)
        self.builder = Builder(InsertPoint.at_end(body))
        for op in [op for op in block.ops if op is not last]:
            if isinstance(op, GenericOp):
                self.generic(op)
            elif isinstance(op, FillOp):
                self.known[op.output] = op.value
        self.stores(first)
        self.builder.insert(YieldOp.get())
        loop = ParallelOp.of([0] * len(self.indices), self.rows.sizes or (1,), Region(body))
        locate(loop, first.location)
        Rewriter.insert_op(loop, InsertPoint.before(last))
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
            if inner not in skipped and not isinstance(inner, LinalgYieldOp):
                widener.widen(inner)
        last = op.body.block.last_op
        assert last is not None
        for number, value in enumerate(op.outputs):
            if combined is None:
                result = widener.value(last.operands[number])
                access = access_of(op, len(op.inputs) + number, self.rows)
                assert access is not None
                self.known[value] = widener.vector(result) if access.columns else result
            else:
                self.known[value] = self.reduced(op, len(op.inputs) + number, combined[number], widener)
        locate_back(self.builder.insertion_point.block.last_op, op.location)

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

    def value(self, op: GenericOp, index: int) -> SSAValue:
        """An operand's part of the row: known, or loaded now."""
        operand = op.operands[index]
        if not isinstance(operand.type, MemRefType):
            return operand
        if operand not in self.known:
            access = access_of(op, index, self.rows)
            assert access is not None
            self.known[operand] = self.load(cast("_Buffer", operand), operand.type, access)
        return self.known[operand]

    def load(self, buffer: _Buffer, type_: MemRefType[Attribute], access: Access) -> SSAValue:
        indices, map = self.place(type_, access)
        if not access.columns:
            return self.builder.insert(LoadOp(buffer, indices, map)).result
        vector = VectorType(type_.element_type, [self.rows.length])
        return self.builder.insert(VectorLoadOp(buffer, indices, map, vector)).result

    def place(self, type_: MemRefType[Attribute], access: Access) -> tuple[list[_Index], AffineMapAttr]:
        """Where a row's part of a buffer begins: the row's numbers in its first dimensions longer than one."""
        indices = self.indices if access.rows else []
        left = list(range(len(indices)))
        results: list[AffineExpr] = []
        for size in type_.get_shape():
            results.append(AffineExpr.dimension(left.pop(0)) if left and size != 1 else AffineExpr.constant(0))
        return cast("list[_Index]", list(indices)), AffineMapAttr(AffineMap(len(indices), 0, tuple(results)))

    def stores(self, like: GenericOp) -> None:
        """Writes what the kernel's caller wants to see."""
        scratch = self.function.attributes.get(SCRATCH)
        arguments: Sequence[BlockArgument] = self.function.body.block.args
        kept = arguments[: len(arguments) - (scratch.value.data if isinstance(scratch, IntegerAttr) else 0)]
        written = {op.output for op in self.function.body.block.ops if isinstance(op, FillOp)}
        for op in self.function.body.block.ops:
            written |= set(op.outputs) if isinstance(op, GenericOp) else set[SSAValue]()
        for buffer in kept:
            value = self.known.get(buffer)
            if buffer not in written or value is None or not isinstance(buffer.type, MemRefType):
                continue
            access = Access(bool(self.rows.sizes), is_vector(value))
            indices, map = self.place(buffer.type, access)
            store = VectorStoreOp if is_vector(value) else StoreOp
            locate(self.builder.insert(store(value, cast("_Buffer", buffer), indices, map)), like.location)
