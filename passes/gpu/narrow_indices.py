"""`gpu-narrow-indices`: indices of kernels are computed in 32 bits where all that they may be has room there.

Before:
    %t = gpu.thread_id x
    %q = arith.divui %t, %c25 : index
    %x = memref.load %m[%q] : memref<11xf32>
After:
    %t = gpu.thread_id x
    %n = arith.index_cast %t : index to i32
    %p = arith.divui %n, %c25_i32 : i32
    %q = arith.index_castui %p : i32 to index
    %x = memref.load %m[%q] : memref<11xf32>

Registers of a GPU have 32 bits: a sum of 64 is two instructions, a division by a constant four times as many. What
threads and blocks are numbered by, loops count and constants say is known; a value that is none of these, or that need
not have room in 32 bits, stays as it is, and so does what is computed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, IntegerType, ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.arith import IndexCastUIOp
from ...dialects.gpu import BLOCK_SIZE, GRID_SIZE, KERNEL, BlockIdOp, ThreadIdOp

Range = tuple[int, int]  # lowest and highest value, both included
_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1
_DIMENSIONS = "xyz"


@dataclass(frozen=True)
class NarrowIndices(ModulePass):
    """Indices of kernels are computed in 32 bits where all that they may be has room there."""

    name = "gpu-narrow-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and KERNEL in function.attributes and function.body.blocks:
                _Narrowing(function).run()


def _sum(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _difference(a: Range, b: Range) -> Range:
    return a[0] - b[1], a[1] - b[0]


def _product(a: Range, b: Range) -> Range:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _quotient(a: Range, b: Range) -> Range | None:
    return (a[0] // b[1], a[1] // b[0]) if a[0] >= 0 and b[0] > 0 else None


def _signed_quotient(a: Range, b: Range) -> Range | None:
    return (-(-a[0] // b[0]) if a[0] < 0 else 0, max(a[1] // b[0], 0)) if b[0] > 0 else None


def _remainder(a: Range, b: Range) -> Range | None:
    return (0, min(a[1], b[1] - 1)) if a[0] >= 0 and b[0] > 0 else None


def _signed_remainder(a: Range, b: Range) -> Range | None:
    return (max(a[0], 1 - b[1]) if a[0] < 0 else 0, max(min(a[1], b[1] - 1), 0)) if b[0] > 0 else None


def _and(a: Range, b: Range) -> Range | None:
    return (0, min(a[1], b[1])) if a[0] >= 0 and b[0] >= 0 else None


def _or(a: Range, b: Range) -> Range | None:
    return (0, (1 << max(a[1], b[1]).bit_length()) - 1) if a[0] >= 0 and b[0] >= 0 else None


def _shifted_left(a: Range, b: Range) -> Range | None:
    return _product(a, (1 << b[0], 1 << b[1])) if b[0] >= 0 and b[1] < 32 else None


def _shifted_right(a: Range, b: Range) -> Range | None:
    return (a[0] >> b[1], a[1] >> b[0]) if a[0] >= 0 and b[0] >= 0 and b[1] < 32 else None


def _least(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def _most(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


def _either(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


RANGES: dict[type[Operation], Callable[[Range, Range], Range | None]] = {
    arith.AddiOp: _sum,
    arith.SubiOp: _difference,
    arith.MuliOp: _product,
    arith.DivUIOp: _quotient,
    arith.DivSIOp: _signed_quotient,
    arith.RemUIOp: _remainder,
    arith.RemSIOp: _signed_remainder,
    arith.AndIOp: _and,
    arith.OrIOp: _or,
    arith.XOrIOp: _or,
    arith.ShLIOp: _shifted_left,
    arith.ShRUIOp: _shifted_right,
    arith.MinSIOp: _least,
    arith.MaxSIOp: _most,
    arith.SelectOp: _either,
}
_WRAPPING = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp)
_SIGNED = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NSW])
_NEITHER = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NSW, arith.IntegerOverflowFlag.NUW])


def _fits(span: Range | None) -> bool:
    return span is not None and span[0] >= _LOWEST and span[1] <= _HIGHEST


def _is_index(value: SSAValue) -> bool:
    return isinstance(value.type, IndexType)


class _Narrowing:
    """One kernel, whose ops are looked at once, in order: what defines a value comes before what takes it."""

    def __init__(self, function: FuncOp):
        self.function = function
        self.ranges: dict[SSAValue, Range] = {}
        self.narrow: dict[SSAValue, SSAValue] = {}  # an index in 32 bits
        self.wide: dict[SSAValue, SSAValue] = {}  # an index that is computed in 32 bits as one again
        self.dead: list[Operation] = []

    def run(self) -> None:
        self._block(self.function.body.block)
        constants = [value.owner for value in self.narrow if not value.uses]
        for op in (*(op for op in constants if isinstance(op, arith.ConstantOp)), *reversed(self.dead)):
            op.detach()
            op.erase()

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            self._op(op)

    def _op(self, op: Operation) -> None:
        indices = [value for value in (*op.operands, *op.results) if _is_index(value)]
        if indices and self._known(op) and all(_fits(self.ranges.get(value)) for value in indices):
            self._narrowed_op(op)
            return
        if isinstance(op, arith.IndexCastOp) and _fits(self.ranges.get(op.input)) and self._cast(op):
            return
        if isinstance(op, scf.ForOp):
            self._loop(op)
            return
        if any(value in self.narrow for value in op.operands):
            op.operands = [self._widened(value) for value in op.operands]
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
        if isinstance(op, scf.IfOp):
            self._ends(op)

    def _known(self, op: Operation) -> bool:
        """Finds the range of an op's result; whether it is one that can be computed in 32 bits."""
        if isinstance(op, arith.CmpiOp):
            return True
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            self.ranges[op.result] = (op.value.value.data, op.value.value.data)
        elif isinstance(op, ThreadIdOp | BlockIdOp):
            size = self._size(op)
            self.ranges[op.result] = (0, op.MOST if size is None else size - 1)
        elif isinstance(op, arith.IndexCastOp | IndexCastUIOp) and isinstance(op.operands[0].type, IntegerType):
            bits = op.operands[0].type.width.data - isinstance(op, arith.IndexCastOp)
            self.ranges[op.results[0]] = (-(1 << bits) if isinstance(op, arith.IndexCastOp) else 0, (1 << bits) - 1)
        elif (rule := RANGES.get(type(op))) is not None and _is_index(op.results[0]):
            spans = [self.ranges.get(value) for value in op.operands[-2:]]
            if spans[0] is not None and spans[1] is not None and (found := rule(spans[0], spans[1])) is not None:
                self.ranges[op.results[0]] = found
                return True
        return False

    def _size(self, op: ThreadIdOp | BlockIdOp) -> int | None:
        told = self.function.attributes.get(BLOCK_SIZE if isinstance(op, ThreadIdOp) else GRID_SIZE)
        if not isinstance(told, DenseArrayBase):
            return None
        return int(cast("Sequence[int]", told.get_values())[_DIMENSIONS.index(op.dimension.data)])

    def _narrowed_op(self, op: Operation) -> None:
        operands = [self._narrowed(value) for value in op.operands]
        types = [i32 if _is_index(result) else result.type for result in op.results]
        properties = dict(op.properties)
        if isinstance(op, _WRAPPING):
            signs = [self.ranges[value][0] for value in (*op.operands, *op.results)]
            properties["overflowFlags"] = _NEITHER if min(signs) >= 0 else _SIGNED
        made = type(op).create(operands=operands, result_types=types, properties=properties)
        made.location = op.location
        Rewriter.insert_op(made, InsertPoint.before(op))
        for old, new in zip(op.results, made.results, strict=True):
            new.name_hint = old.name_hint
            if _is_index(old):
                self.narrow[old] = new
            else:
                old.replace_all_uses_with(new)
        op.operands = ()
        self.dead.append(op)

    def _cast(self, op: arith.IndexCastOp) -> bool:
        """An index as an integer: it is one."""
        type_ = op.result.type
        if not isinstance(type_, IntegerType) or type_.width.data < i32.width.data:
            return False
        number = self._narrowed(op.input)
        if type_ != i32:
            number = self._put(arith.ExtSIOp(number, type_), InsertPoint.before(op), op)
        op.result.replace_all_uses_with(number)
        op.operands = ()
        self.dead.append(op)
        return True

    def _loop(self, op: scf.ForOp) -> None:
        start, stop, step = (self.ranges.get(value) for value in (op.lb, op.ub, op.step))
        counter = op.body.block.args[0]
        fits = False
        if _is_index(counter) and start is not None and stop is not None:
            self.ranges[counter] = (start[0], max(start[0], stop[1] - 1))
            fits = step is not None and _fits(start) and _fits(_sum(stop, step))
        bounds = [self._narrowed(v) if fits else self._widened(v) for v in (op.lb, op.ub, op.step)]
        op.operands = [*bounds, *(self._widened(value) for value in op.iter_args)]
        if fits:
            self.narrow[counter] = op.body.block.insert_arg(i32, 0)
            self.narrow[counter].name_hint = counter.name_hint
        self._block(op.body.block)
        if fits:
            op.body.block.erase_arg(counter)

    def _ends(self, op: scf.IfOp) -> None:
        """What an `if` gives is one of what its sides give."""
        lasts = [region.block.last_op for region in (op.true_region, op.false_region) if region.blocks]
        for i, result in enumerate(op.results):
            spans = [self.ranges.get(last.operands[i]) for last in lasts if last is not None]
            if _is_index(result) and len(spans) == 2 and spans[0] is not None and spans[1] is not None:
                self.ranges[result] = _either(spans[0], spans[1])

    def _narrowed(self, value: SSAValue) -> SSAValue:
        """An index, which has room, in 32 bits; any other value as it is."""
        if not _is_index(value):
            return value
        if value not in self.narrow:
            owner = value.owner
            made: Operation
            if isinstance(owner, arith.ConstantOp):
                made = arith.ConstantOp(IntegerAttr(cast("IntegerAttr[Any]", owner.value).value.data, i32))
            else:
                made = arith.IndexCastOp(value, i32)
            self.narrow[value] = self._put(made, _behind(value), owner)
            self.wide[value] = value
        return self.narrow[value]

    def _widened(self, value: SSAValue) -> SSAValue:
        """A value for an op that takes indices."""
        if value not in self.narrow:
            return value
        if value not in self.wide:
            number = self.narrow[value]
            cast_ = IndexCastUIOp if self.ranges[value][0] >= 0 else arith.IndexCastOp
            self.wide[value] = self._put(cast_(number, IndexType()), _behind(number), number.owner)
            self.ranges[self.wide[value]] = self.ranges[value]
        return self.wide[value]

    def _put(self, op: Operation, point: InsertPoint, like: Operation | Block) -> SSAValue:
        op.location = like.location if isinstance(like, Operation) else self.function.location
        Rewriter.insert_op(op, point)
        return op.results[0]


def _behind(value: SSAValue) -> InsertPoint:
    """Right behind what defines a value."""
    owner = value.owner
    return InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
