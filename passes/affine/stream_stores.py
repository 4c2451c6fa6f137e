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
function does not read it. If not given, half of the last cache, as the rest is what was read; a virtual machine may
show a cache that is mostly others', so that only as much counts as its cores can have. Not where memory is not what the
loop waits for: with `math` functions (it was 15 % slower), or where more than a few arrays are read. Such stores need
whole registers to be aligned, which a caller's buffer need not be.
`convert-to-llvm` sees to it that other threads find them where they look.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AffineMapAttr, FixedBitwidthType, IndexType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...dialects.affine import NONTEMPORAL, ApplyOp, ForOp, IfOp, ParallelOp, VectorStoreOp
from ...dialects.affine.linear_forms import memref_shape, row_major_strides
from ...dialects.memref import ExtractAlignedPointerAsIndexOp
from ...dialects.memref.views import VIEW_OPS, root
from .accesses import Linear, linear_expr
from .loops import all_loops, functions

RUN = 1024  # bytes behind one another at least: shorter runs leave lines half written
READS = 4  # arrays that are read beside
FAIR = 64 << 20  # bytes of the last cache for each core: no processor has as much
STREAMS = 2  # places that are written side by side: each takes some of the few buffers that collect a line
_STORES = ("affine.store", "affine.vector_store", "memref.store", "vector.store", "vector.maskedstore")


@dataclass(frozen=True)
class StreamStores(ModulePass):
    """Large results go to memory past the caches."""

    name = "affine-stream-stores"

    bytes: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        least = self.bytes or min(machine.l3_bytes, machine.cores * FAIR) // 2
        if not machine.streams_stores or not least:
            return
        for function in functions(op):
            for loop in all_loops(function):
                if loop.results or _is_choice(loop.parent_op()) or not _waits_for_memory(loop):
                    continue
                found = [store for store in loop.body.block.ops if isinstance(store, VectorStoreOp)]
                lines = [_buffer_of_lines(store, loop, machine.cache_line, least) for store in found]
                if found and None not in lines:
                    starts = [(s, f) for s, f in zip(found, lines, strict=True) if f is not None]
                    _stream(loop, starts, machine.cache_line)
                    continue
                firsts = [_first_byte(store, loop, least) for store in found]
                whole = all(_vector_bytes(store) % machine.vector_bytes == 0 for store in found)
                if found and whole and len(found) <= STREAMS and None not in firsts:
                    _stream(loop, [(s, f) for s, f in zip(found, firsts, strict=True) if f], machine.vector_bytes)


def _waits_for_memory(loop: ForOp) -> bool:
    """Whether the loop has no loop inside, computes no functions and reads few arrays."""
    ops = list(loop.body.block.ops)
    read = {root(op.operands[0]) for op in ops if op.name.endswith("load")}
    return len(read) <= READS and not any(op.regions or op.name.startswith("math.") for op in ops)


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
    shape, size, bounds = memref_shape(store.memref), _element_bytes(store), loop.constant_bounds()
    if shape is None or not size or bounds is None or size * _product(shape) < least or _is_read(store.memref):
        return None
    lower, upper, step = bounds
    if (upper - lower) * size < RUN or step * size != _vector_bytes(store):
        return None
    total = Linear()
    for expr, stride in zip(store.map.data.results, row_major_strides(shape), strict=True):
        part = linear_expr(expr, store.indices, store.map.data.num_dims)
        if part is None:
            return None
        total = total.plus(part, stride * size)
    terms = dict(total.terms)
    if terms.pop(loop.variable, 0) != size or not all(variable in terms for variable in _around(loop)):
        return None
    return Linear(terms, total.constant + lower * size)


def _buffer_of_lines(store: VectorStoreOp, loop: ForOp, line: int, least: int) -> Linear | None:
    """Where a buffer begins whose lines a store fills whole, one at a time, if it is to be streamed."""
    shape, size = memref_shape(store.memref), _element_bytes(store)
    if shape is None or not size or _vector_bytes(store) != line or size * _product(shape) < least:
        return None
    total = Linear()
    for expr, stride in zip(store.map.data.results, row_major_strides(shape), strict=True):
        part = linear_expr(expr, store.indices, store.map.data.num_dims)
        if part is None:
            return None
        total = total.plus(part, stride * size)
    steps = {
        variable: step for variable, step in total.terms.items() if not isinstance(variable.owner, arith.ConstantOp)
    }
    moves = all(variable in steps for variable in (loop.variable, *_around(loop)))
    whole = all(step % line == 0 for step in (*total.terms.values(), total.constant))
    return Linear() if moves and whole and not _is_read(store.memref) else None


def _product(shape: list[int] | tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _around(loop: ForOp) -> list[SSAValue]:
    """The variables of the loops around `loop`."""
    found: list[SSAValue] = []
    parent = loop.parent_op()
    while isinstance(parent, ForOp | ParallelOp):
        found += parent.body.block.args[: 1 if isinstance(parent, ForOp) else None]
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


def _stream(loop: ForOp, stores: list[tuple[VectorStoreOp, Linear]], alignment: int) -> None:
    """The loop twice: for when the stores are aligned, and as it is."""
    point = InsertPoint.before(loop)

    def insert(op: Operation) -> SSAValue:
        op.location = loop.location
        Rewriter.insert_op(op, point)
        return op.results[0]

    apart: SSAValue | None = None
    for store, first in stores:
        pointer = insert(ExtractAlignedPointerAsIndexOp.create(operands=[store.memref], result_types=[IndexType()]))
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
    regions = [Region(Block([each, scf.YieldOp()])) for each in (streaming, plain)]
    insert_op = scf.IfOp(whole, [], regions[0], regions[1])
    insert_op.location = loop.location
    Rewriter.insert_op(insert_op, point)
    Rewriter.erase_op(loop)
