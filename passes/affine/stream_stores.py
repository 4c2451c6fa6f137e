"""affine-stream-stores: large results that nothing reads again soon go to memory past the caches.

before:
    affine.for %i = 0 to 8192 step 32 {
      ...
      affine.vector_store %v, %y[%t * 8192 + %i] : memref<8388608xf32>, vector<32xf32>
    }
after, on a machine whose registers have 32 bytes:
    %p = memref.extract_aligned_pointer_as_index %y : memref<8388608xf32> -> index
    %first = affine.apply (%t * 32768 + %p)
    %apart = arith.andi %first, %c31
    %whole = arith.cmpi eq, %apart, %c0
    scf.if %whole {
      affine.for %i = 0 to 8192 step 32 {
        ...
        affine.vector_store %v, %y[%t * 8192 + %i] {nontemporal = 32 : i64} : memref<8388608xf32>, vector<32xf32>
      }
    } else {
      the loop as it was
    }

A store that is not in the cache first reads its line from memory, and drives out what may still be of use: that is a
third of the traffic of a copy. Past the caches go vectors that fill a buffer one after another, a page or so at a time,
and vectors that fill a line each, in any order, as those of a transpose do; if the buffer holds `bytes` or more and the
function does not read it. If not given, half of the last cache, as the rest is what was read (on Zen 4 and 5 other
parts: `Machine.large_bytes`); but twice L2 for lines that are far apart, where those would all lie in the same few sets
of a cache, and else four times (8192 x 64 numbers, 2 MB, are transposed in 0.08 ms past the caches and in 0.16 through
them, 12544 x 64 in 0.13 and 0.08; measured on Zen 5). Not where memory is not what the loop waits for: with `math`
functions (it was 15 % slower; on Zen 3 and 4 a loop that takes exp of numbers is up to a quarter faster, on Zen 5 one
with tanh or erf is, too), or where more than a few arrays are read. Such stores need whole registers to be aligned,
which a caller's buffer need not be, nor each row of a length that is no multiple of a line; loops that
`affine-pipeline-rows` made, which write all the time, ask for the lines ahead there. `convert-to-llvm` sees to it that
other threads find such stores where they look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AffineMapAttr, FixedBitwidthType, Float32Type, IndexType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.machine import Machine
from ...dialects.affine import NONTEMPORAL, ApplyOp, ForOp, IfOp, ParallelOp, VectorStoreOp
from ...dialects.affine.linear_forms import memref_shape, row_major_strides
from ...dialects.memref import AllocaOp, ExtractAlignedPointerAsIndexOp, PrefetchOp
from ...dialects.memref.views import VIEW_OPS, root
from ...dialects.vector import BroadcastOp
from .accesses import Linear, linear_expr
from .loops import all_loops, functions, insert_before
from .prefetch_rows import AHEAD_TOGETHER

SETS = 2048  # bytes apart, or a multiple of it, which leaves one or two of the sets of lines of L1
RUN = 1024  # bytes behind one another at least: shorter runs leave lines half written
READS = 4  # arrays that are read beside
STREAMS = 2  # places that are written side by side: each takes some of the few buffers that collect a line
_STORES = ("affine.store", "affine.vector_store", "memref.store", "vector.store", "vector.maskedstore")


@dataclass(frozen=True)
class StreamStores(ModulePass):
    """Large results go to memory past the caches."""

    name = "affine-stream-stores"

    bytes: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        least = self.bytes or machine.large_bytes
        if not machine.streams_stores or not least:
            return
        for function in functions(op):
            for loop in all_loops(function):
                if _is_choice(loop.parent_op()) or not _waits_for_memory(loop, machine):
                    continue
                found = [store for store in loop.body.block.ops if isinstance(store, VectorStoreOp)]
                found = [store for store in found if not isinstance(root(store.memref).owner, AllocaOp)]
                if found and _are_lines(found, loop, machine, least):
                    _stream(loop, [(store, Linear()) for store in found], machine.cache_line, machine.cache_line)
                    continue
                firsts = [_first_byte(store, loop, least) for store in found]
                whole = all(_vector_bytes(store) % machine.vector_bytes == 0 for store in found)
                if found and whole and len(found) <= STREAMS and None not in firsts:
                    starts = [(s, f) for s, f in zip(found, firsts, strict=True) if f]
                    _stream(loop, starts, machine.vector_bytes, machine.cache_line)


def _waits_for_memory(loop: ForOp, machine: Machine) -> bool:
    """Whether the loop has no loop inside, computes no functions that take long and reads few arrays."""
    ops = list(loop.body.block.ops)
    read = {root(op.operands[0]) for op in ops if op.name.endswith("load")}
    return len(read) <= READS and not any(op.regions for op in ops) and _is_fast(ops, machine)


def _is_fast(ops: Sequence[Operation], machine: Machine) -> bool:
    """Whether there is no function, or nothing else that takes long beside one that does not."""
    functions = [op for op in ops if op.name.startswith("math.")]
    if not functions:
        return True
    single = isinstance(getattr(functions[0].results[0].type, "element_type", None), Float32Type)
    fast = single and functions[0].name in machine.as_fast_as_memory
    return fast and len(functions) == 1 and not any(_divides(op) for op in ops)


def _divides(op: Operation) -> bool:
    """Whether it is a quotient of what is not known before: by a constant it is a product and what that is off by."""
    return isinstance(op, arith.DivfOp) and not isinstance(_unspread(op.rhs).owner, arith.ConstantOp)


def _unspread(value: SSAValue) -> SSAValue:
    return value.owner.operands[0] if isinstance(value.owner, BroadcastOp) else value


def _is_choice(op: Operation | None) -> bool:
    return isinstance(op, scf.IfOp | IfOp)


def _element_bytes(store: VectorStoreOp) -> int:
    element = store.memref.type.element_type  # pyright: ignore
    return element.bitwidth // 8 if isinstance(element, FixedBitwidthType) else 0


def _vector_bytes(store: VectorStoreOp) -> int:
    (lanes,) = store.value.type.get_shape()  # pyright: ignore
    return lanes * _element_bytes(store)


def _first_byte(store: VectorStoreOp, loop: ForOp, least: int) -> Linear | None:
    """Where the loop's first store is, in bytes from the buffer's start; None if it is not to be streamed."""
    size, bounds, place = _element_bytes(store), loop.constant_bounds(), _place(store)
    if bounds is None or place is None or not _is_large(store, least):
        return None
    lower, upper, step = bounds
    if (upper - lower) * size < RUN or step * size != _vector_bytes(store):
        return None
    terms = dict(place.terms)
    if terms.pop(loop.variable, 0) != size or not all(variable in terms for variable in _around(loop)):
        return None
    return Linear(terms, place.constant + lower * size)


def _are_lines(stores: Sequence[VectorStoreOp], loop: ForOp, machine: Machine, least: int) -> bool:
    """Whether stores fill lines whole, aligned where buffers are: one at a time of large buffers, or far apart."""
    line, places = machine.cache_line, [_place(store) for store in stores]
    found = [place for place in places if place is not None]
    if len(found) < len(stores):
        return False
    variables = (loop.variable, *_around(loop))
    whole = all(step % line == 0 for place in found for step in (*place.terms.values(), place.constant))
    moves = all(variable in place.terms for place in found for variable in variables)
    if not whole or not moves or any(_vector_bytes(store) % line for store in stores):
        return False
    if all(_vector_bytes(store) == line and _is_large(store, least) for store in stores):
        return True
    firsts = sorted(place.constant for place in found)
    steps = [b - a for a, b in pairwise(firsts)] or [found[0].terms[loop.variable]]
    least = machine.l2_bytes * (2 if all(step % SETS == 0 for step in steps) else 4)
    return min(steps) >= RUN and all(_is_large(store, least) for store in stores)


def _is_large(store: VectorStoreOp, least: int) -> bool:
    """Whether the buffer has so many bytes, and nothing reads it."""
    shape, size = memref_shape(store.memref), _element_bytes(store)
    return shape is not None and size > 0 and size * prod(shape) >= least and not _is_read(store.memref)


def _place(store: VectorStoreOp) -> Linear | None:
    """Where it stores, in bytes from the buffer's start; None where that is not known."""
    shape, total = memref_shape(store.memref), Linear()
    if shape is None:
        return None
    for expr, stride in zip(store.map.data.results, row_major_strides(shape), strict=True):
        part = linear_expr(expr, store.indices, store.map.data.num_dims)
        if part is None:
            return None
        total = total.plus(part, stride * _element_bytes(store))
    return total


def _around(loop: ForOp) -> list[SSAValue]:
    """The variables of the loops around `loop`, but for those that say where others begin."""
    found: list[SSAValue] = []
    bounds: set[SSAValue] = set()
    parent = loop.parent_op()
    while isinstance(parent, ForOp | ParallelOp):
        variables = parent.body.block.args[: 1 if isinstance(parent, ForOp) else None]
        found += [variable for variable in variables if variable not in bounds]
        bounds.update(parent.operands)
        parent = parent.parent_op()
    return found


def _is_read(buffer: SSAValue) -> bool:
    """Whether anything but stores uses the buffer or a view of it."""
    pending = [root(buffer)]
    while pending:
        for use in pending.pop().uses:
            if isinstance(use.operation, VIEW_OPS):
                pending += use.operation.results
            elif use.operation.name not in _STORES and not isinstance(use.operation, ExtractAlignedPointerAsIndexOp):
                return True
    return False


def _stream(loop: ForOp, stores: list[tuple[VectorStoreOp, Linear]], alignment: int, line: int) -> None:
    """The loop twice: for when the stores are aligned, and as it is."""
    point = InsertPoint.before(loop)

    def insert(op: Operation) -> SSAValue:
        op.location = loop.location
        Rewriter.insert_op(op, point)
        return op.results[0]

    apart: SSAValue | None = None
    for buffer, first in dict.fromkeys((store.memref, first) for store, first in stores):
        pointer = insert(ExtractAlignedPointerAsIndexOp.create(operands=[buffer], result_types=[IndexType()]))
        operands = [*first.terms, pointer]
        expr: AffineExpr = AffineConstantExpr(first.constant) + AffineExpr.dimension(len(first.terms))
        for place, factor in enumerate(first.terms.values()):
            expr = AffineExpr.dimension(place) * factor + expr
        start = insert(ApplyOp(operands, AffineMapAttr(AffineMap(len(operands), 0, (expr,)))))
        apart = start if apart is None else insert(arith.OrIOp(apart, start))
    assert apart is not None
    mask = insert(arith.ConstantOp(IntegerAttr(alignment - 1, IndexType())))
    zero = insert(arith.ConstantOp(IntegerAttr(0, IndexType())))
    whole = insert(arith.CmpiOp(insert(arith.AndIOp(apart, mask)), zero, "eq"))
    streaming, plain = loop.clone(), loop.clone()
    chosen = {place for place, op in enumerate(loop.body.block.ops) if any(op is store for store, _ in stores)}
    for place, op in enumerate(streaming.body.block.ops):
        if place in chosen:
            op.attributes[NONTEMPORAL] = IntegerAttr(alignment, i64)
    if loop.results:  # rows of a pipeline, of which perhaps every other one is aligned
        for place, op in enumerate(list(plain.body.block.ops)):
            if place in chosen and isinstance(op, VectorStoreOp):
                _ask_for_lines(op, line)
    regions = [Region(Block([each, scf.YieldOp(*each.results)])) for each in (streaming, plain)]
    choice = scf.IfOp(whole, loop.result_types, regions[0], regions[1])
    choice.location = loop.location
    Rewriter.replace_op(loop, choice)


def _ask_for_lines(store: VectorStoreOp, line: int) -> None:
    """Asks, before a store, for the lines that the one so many bytes behind it will write."""
    map_, indices = store.map.data, list(store.indices)
    for byte in range(0, _vector_bytes(store), line):
        later = (*map_.results[:-1], map_.results[-1] + (AHEAD_TOGETHER + byte) // _element_bytes(store))
        maps = [AffineMapAttr(AffineMap(map_.num_dims, map_.num_symbols, (result,))) for result in later]
        places = [insert_before(ApplyOp(indices, each), store).result for each in maps]
        insert_before(PrefetchOp(store.memref, places, write=True), store)
