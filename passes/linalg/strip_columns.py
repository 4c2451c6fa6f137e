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

A strip of all planes stays in a cache until the last op has read it, so memory is read once and written once. Images
are taken one after the other, in loops around that one. The first cache does if it has room for pieces of planes that
are long enough; else the second, whole images if it holds them: memory brings short pieces of planes slowly. Which
kernels go over planes: `column_groups`.

A normalisation of 96 channels of 56 x 56 points takes 0.117 ms by strips of 64 columns, 0.130 by 112 and by 448; of 192
channels of 28 x 28 points 0.071 an image by whole images, 0.077 by strips of 112; measured on Emerald Rapids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from math import ceil, gcd, prod

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
PAGE, ELEMENT = 4096, 4  # bytes: what a way of the first cache has; of a number
TASKS, EACH = 16, 2  # strips that are left at least, for threads: so many in all, or for each core
SHARE = 4  # one part in so many of the second cache is for a strip
WHOLE = 3  # the same for whole images, of what is gone over again


@dataclass(frozen=True)
class Place:
    """Dimensions of an array: what loops around planes index, by their numbers; where a plane begins, if one does."""

    around: tuple[tuple[int, int], ...]
    start: int | None


Places = dict[SSAValue, Place]


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
    places = _places(ops, columns)
    if places is None:
        return
    length = strip_length(columns, _planes(ops, columns, places), machine)
    if length is not None:
        _Strips(columns, places, length).make(block, ops)


def _places(ops: Sequence[GenericOp | FillOp], columns: Columns) -> Places | None:
    """Where planes begin in each array, whose last dimensions they are; None if an op goes other ways."""
    places: Places = {}
    for op in ops:
        if isinstance(op, FillOp):
            continue
        live = live_loops(op)
        around, inside = live[: len(columns.around)], live[-len(columns.inside) :]
        if not shares_columns(columns, op, ()) or _asks_for(op, {*around, *range(inside[0], len(op.iterators))}):
            return None
        for array, map_ in zip(op.operands, op.maps, strict=True):
            if not isinstance(array.type, MemRefType):
                continue
            loops = [(i, e.position) for i, e in enumerate(map_.results) if isinstance(e, AffineDimExpr)]
            at = [i for i, loop in loops if loop in inside]
            if at and (len(at) != len(inside) or prod(array.type.get_shape()[at[0] :]) != prod(columns.inside)):
                return None
            outer = tuple((i, around.index(loop)) for i, loop in loops if loop in around)
            place = Place(outer, at[0] if at else None)
            if places.setdefault(array, place) != place:
                return None
    return places if all(op.output in places for op in ops if isinstance(op, FillOp)) else None


def _asks_for(op: GenericOp, loops: Set[int]) -> bool:
    """Whether a body asks which round of `loops` it is, or takes other elements than it is given."""
    return any(
        isinstance(inner, MemRefLoadOp) or (isinstance(inner, IndexOp) and inner.dim.value.data in loops)
        for inner in op.body.walk()
    )


@dataclass(frozen=True)
class Planes:
    """Bytes of a column, through all planes of an image: of all arrays, and of those that several ops go over."""

    all: int
    again: int


def _planes(ops: Sequence[GenericOp | FillOp], columns: Columns, places: Places) -> Planes:
    count = prod(columns.inside) * prod(columns.around)
    sizes = {a: byte_size(a.type) // count for a, place in places.items() if place.start is not None}
    again = [array for array in sizes if sum(array in op.operands for op in ops) > 1]
    return Planes(sum(sizes.values()), sum(sizes[array] for array in again))


def _finds_room(length: int, whole: int, planes: Planes, machine: Machine) -> bool:
    """Whether the first cache holds strips of what is gone over again.

    Planes that begin a multiple of a page apart share its sets.
    """
    apart = gcd(whole * ELEMENT, PAGE)
    rows = planes.again // ELEMENT
    in_a_set = ceil(rows * apart * ceil(length * ELEMENT / apart) / PAGE)
    return in_a_set * PAGE <= machine.l1_bytes * 5 // 6


def strip_length(columns: Columns, planes: Planes, machine: Machine) -> int | None:
    """How many columns are a strip; None where all of them are, or too few would be.

    As many as the first cache holds if lines of all planes find a place there. Else the planes of whole images, which
    memory brings the fastest, if the second cache holds those of one and there are enough of them for threads.
    """
    whole, around = prod(columns.inside), prod(columns.around)
    few = [n for n in range(LEAST_COLUMNS, whole // 2 + 1) if whole % n == 0]
    lengths = [n for n in few if n % machine.lanes(4) == 0] or few
    near = [n for n in lengths if _finds_room(n, whole, planes, machine)]
    if near:
        return near[-1]
    if whole * planes.again <= machine.l2_bytes // WHOLE and around >= min(TASKS, EACH * machine.cores):
        return whole
    fitting = [n for n in lengths if n * planes.all <= machine.l2_bytes // SHARE]
    fitting = fitting or [n for n in lengths if n * planes.again <= machine.l2_bytes // SHARE]
    return max([n for n in fitting if whole // n * around >= TASKS] or fitting[:1], default=None)


@dataclass(frozen=True)
class _Strips:
    columns: Columns
    places: Places
    length: int

    @property
    def count(self) -> int:
        """How many strips planes have."""
        return prod(self.columns.inside) // self.length

    def make(self, block: Block, ops: Sequence[GenericOp | FillOp]) -> None:
        """Puts all ops of a kernel into a loop over strips, and loops around that."""
        first, last = ops[0], block.last_op
        assert last is not None
        for op in list(block.ops):
            if isinstance(op, arith.ConstantOp | AllocaOp):
                op.detach()
                Rewriter.insert_op(op, InsertPoint.before(first))
        *outside, body = [Block(arg_types=[IndexType()]) for _ in (*self.columns.around, self.count)]
        rounds = [each.args[0] for each in (*outside, body)]
        parts = {array: self._part(array, place, rounds, body, first) for array, place in self.places.items()}
        for op in ops:
            new = FillOp(op.value, parts[op.output]) if isinstance(op, FillOp) else self._on_strip(op, parts)
            new.location = op.location
            body.add_op(new)
        loop = new_for(0, self.count, terminated(body, first), first)
        for size, each in zip(reversed(self.columns.around), reversed(outside), strict=True):
            each.add_op(loop)
            loop = new_for(0, size, terminated(each, first), first)
        Rewriter.insert_op(loop, InsertPoint.before(last))
        for op in reversed(ops):
            erase(op)

    def _part(self, array: SSAValue, place: Place, rounds: Sequence[SSAValue], body: Block, at: Operation) -> SSAValue:
        """What the ops of `body` have of an array in its `rounds`; before `at` its planes are seen as strips."""
        offsets: dict[int, SSAValue] = {dim: rounds[loop] for dim, loop in place.around}
        if place.start is not None:
            array = self._as_strips(array, place.start, at)
            offsets[place.start] = rounds[-1]
        if not offsets:
            return array
        assert isinstance(array.type, MemRefType)
        sizes = [1 if dim in offsets else size for dim, size in enumerate(array.type.get_shape())]
        dims, steps = range(len(sizes)), [1] * len(sizes)
        type_ = SubviewOp.infer_result_type(array.type, [offsets.get(dim, 0) for dim in dims], sizes, steps)
        told = [DYNAMIC_INDEX if dim in offsets else 0 for dim in dims]
        part = SubviewOp(array, [offsets[dim] for dim in sorted(offsets)], [], [], told, sizes, steps, type_)
        part.location = at.location
        body.add_op(part)
        return part.result

    def _as_strips(self, array: SSAValue, start: int, at: Operation) -> SSAValue:
        """An array whose planes, from dimension `start` on, are two: strips, and the columns of one."""
        assert isinstance(array.type, MemRefType)
        shape = list(array.type.get_shape())
        outer = [[d] for d in range(start)]
        flat = collapse(array, [*outer, [*range(start, len(shape))]])
        strips = expand(flat.results[0], [*outer, [start, start + 1]], [*shape[:start], self.count, self.length])
        for op in (flat, strips):
            op.location = at.location
            Rewriter.insert_op(op, InsertPoint.before(at))
        return strips.results[0]

    def _on_strip(self, op: GenericOp, parts: Mapping[SSAValue, SSAValue]) -> GenericOp:
        """An op on parts: one loop, its last, in place of those along a plane."""
        along = live_loops(op)[-len(self.columns.inside)]
        maps: list[AffineMap] = []
        zero = AffineExpr.constant(0)
        for array, map_ in zip(op.operands, op.maps, strict=True):
            place = self.places.get(array)
            start = place.start if place is not None else None
            inner = [] if start is None else [zero, AffineExpr.dimension(along)]
            outer = [zero if any(d >= along for d in e.used_dims()) else e for e in map_.results[:start]]
            maps.append(AffineMap(along + 1, 0, (*outer, *inner)))
        operands = [parts.get(operand, operand) for operand in op.operands]
        count = len(op.inputs)
        iterators = [*op.iterators[:along], "parallel"]
        return GenericOp.of(operands[:count], operands[count:], maps, iterators, op.detach_region(op.body))
