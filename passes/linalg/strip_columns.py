"""linalg-strip-columns: a kernel that goes over planes several times goes over a few columns of all of them at a time.

before, in a kernel (a softmax over the first of two dimensions):
    linalg.generic ... ins(%x : memref<21x65536xf32>) outs(%most : memref<65536xf32>) { arith.maximumf }
    linalg.generic ... ins(%x, %most) outs(%y : memref<21x65536xf32>) { math.exp of the difference }
    ...
after:
    %xs = memref.expand_shape %x [[0], [1, 2]] ... : memref<21x65536xf32> into memref<21x32x2048xf32>
    ...
    affine.for %s = 0 to 32 {
      %xp = memref.subview %xs[0, %s, 0] [21, 1, 2048] [1, 1, 1] ...
      linalg.generic ... ins(%xp) outs(%mostp) { arith.maximumf }
      linalg.generic ... ins(%xp, %mostp) outs(%yp) { math.exp of the difference }
      ...

A strip of all planes stays in the second cache until the last op has read it, so memory is read once and written once.
Strips are as long as that allows, as long pieces of planes are fetched ahead of best, and shorter where threads could
not share them otherwise. Which kernels go over planes: `column_groups`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.machine import Machine
from ...dialects.linalg import FillOp, GenericOp, IndexOp
from ...dialects.memref import AllocaOp, SubviewOp
from ...dialects.memref import LoadOp as MemRefLoadOp
from ...dialects.memref.views import collapse, expand
from ..affine.loops import erase, new_for, terminated
from ..bufferization.layout import byte_size
from .column_groups import LEAST_COLUMNS, Columns, live_loops, reduced_columns, shares_columns
from .outline_kernels import KERNEL

LOOPS = StringAttr("loops")  # of kernels that are no contraction, pool or the like, which cut themselves
TASKS = 16  # strips that are left at least, for threads
SHARE = 4  # one part in so many of the second cache is for a strip

Starts = dict[SSAValue, int | None]  # with which dimension planes begin in an array; None where it has none


@dataclass(frozen=True)
class StripColumns(ModulePass):
    """Kernels over planes take strips of all of them at a time."""

    name = "linalg-strip-columns"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for function in op.ops:
            if isinstance(function, FuncOp) and function.attributes.get(KERNEL) == LOOPS:
                _function(function.body.block, machine)


def _function(block: Block, machine: Machine) -> None:
    ops = [op for op in block.ops if isinstance(op, GenericOp | FillOp)]
    columns = next((found for op in ops if (found := reduced_columns(op)) is not None), None)
    if columns is None or sum(isinstance(op, GenericOp) for op in ops) < 2:
        return
    if not all(isinstance(op, GenericOp | FillOp | arith.ConstantOp | AllocaOp | ReturnOp) for op in block.ops):
        return
    starts = _starts(ops, columns)
    if starts is None:
        return
    length = strip_length(columns, [array for array, start in starts.items() if start is not None], machine)
    if length is not None:
        _Strips(columns, starts, length).make(block, ops)


def _starts(ops: Sequence[GenericOp | FillOp], columns: Columns) -> Starts | None:
    """Where planes begin in each array, whose last dimensions they are; None if an op goes other ways."""
    starts: Starts = {}
    for op in ops:
        if isinstance(op, FillOp):
            continue
        inside = live_loops(op)[-len(columns.inside) :]
        if not shares_columns(columns, op, ()) or not _only_its_element(op, inside[0]):
            return None
        for array, map_ in zip(op.operands, op.maps, strict=True):
            if not isinstance(array.type, MemRefType):
                continue
            at = [i for i, e in enumerate(map_.results) if isinstance(e, AffineDimExpr) and e.position in inside]
            start = at[0] if at else None
            if at and (len(at) != len(inside) or prod(array.type.get_shape()[at[0] :]) != prod(columns.inside)):
                return None
            if starts.setdefault(array, start) != start:
                return None
    return starts if all(op.output in starts for op in ops if isinstance(op, FillOp)) else None


def _only_its_element(op: GenericOp, first: int) -> bool:
    """Whether a body takes what it is given, and does not ask where in a plane, from loop `first` on, it is."""
    return not any(
        isinstance(inner, MemRefLoadOp) or (isinstance(inner, IndexOp) and inner.dim.value.data >= first)
        for inner in op.body.walk()
    )


def strip_length(columns: Columns, arrays: Sequence[SSAValue], machine: Machine) -> int | None:
    """How many columns are a strip; None where all of them are, or too few would be."""
    whole, around = prod(columns.inside), prod(columns.around)
    size = sum(byte_size(array.type) for array in arrays) // (whole * around)
    most = min(whole // 2, machine.l2_bytes // SHARE // size)
    fitting = [n for n in range(LEAST_COLUMNS, most + 1) if whole % n == 0]
    lengths = [n for n in fitting if n % machine.lanes(4) == 0] or fitting
    return max([n for n in lengths if whole // n * around >= TASKS] or lengths[:1], default=None)


@dataclass(frozen=True)
class _Strips:
    columns: Columns
    starts: Starts
    length: int

    def make(self, block: Block, ops: Sequence[GenericOp | FillOp]) -> None:
        """Puts all ops of a kernel into a loop over strips."""
        first, last = ops[0], block.last_op
        assert last is not None
        for op in list(block.ops):
            if isinstance(op, arith.ConstantOp | AllocaOp):
                op.detach()
                Rewriter.insert_op(op, InsertPoint.before(first))
        body = Block(arg_types=[IndexType()])
        parts = {
            array: array if start is None else self._part(array, start, body, first)
            for array, start in self.starts.items()
        }
        for op in ops:
            new = FillOp(op.value, parts[op.output]) if isinstance(op, FillOp) else self._on_strip(op, parts)
            new.location = op.location
            body.add_op(new)
        count = prod(self.columns.inside) // self.length
        Rewriter.insert_op(new_for(0, count, terminated(body, first), first), InsertPoint.before(last))
        for op in reversed(ops):
            erase(op)

    def _part(self, array: SSAValue, start: int, body: Block, at: Operation) -> SSAValue:
        """A strip of an array, taken in `body`; before `at` its planes are seen as strips."""
        assert isinstance(array.type, MemRefType)
        shape = list(array.type.get_shape())
        outer = [[d] for d in range(start)]
        views: list[Operation] = [collapse(array, [*outer, [*range(start, len(shape))]])]
        sizes = [*shape[:start], prod(self.columns.inside) // self.length, self.length]
        views.append(expand(views[0].results[0], [*outer, [start, start + 1]], sizes))
        whole = views[-1].results[0]
        assert isinstance(whole.type, MemRefType)
        [strip] = body.args
        sizes[start] = 1
        offsets, steps = [0] * start, [1] * len(sizes)
        type_ = SubviewOp.infer_result_type(whole.type, [*offsets, strip, 0], sizes, steps)
        part = SubviewOp(whole, [strip], [], [], [*offsets, DYNAMIC_INDEX, 0], sizes, steps, type_)
        for op in (*views, part):
            op.location = at.location
        Rewriter.insert_op(views, InsertPoint.before(at))
        body.add_op(part)
        return part.result

    def _on_strip(self, op: GenericOp, parts: Mapping[SSAValue, SSAValue]) -> GenericOp:
        """An op on parts: one loop, its last, in place of those along a plane."""
        along = live_loops(op)[-len(self.columns.inside)]
        maps: list[AffineMap] = []
        zero = AffineExpr.constant(0)
        for array, map_ in zip(op.operands, op.maps, strict=True):
            start = self.starts.get(array)
            inner = [] if start is None else [zero, AffineExpr.dimension(along)]
            outer = [zero if any(d >= along for d in e.used_dims()) else e for e in map_.results[:start]]
            maps.append(AffineMap(along + 1, 0, (*outer, *inner)))
        operands = [parts.get(operand, operand) for operand in op.operands]
        count = len(op.inputs)
        iterators = [*op.iterators[:along], "parallel"]
        return GenericOp.of(operands[:count], operands[count:], maps, iterators, op.detach_region(op.body))
