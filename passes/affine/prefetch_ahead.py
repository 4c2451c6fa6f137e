"""affine-prefetch-ahead: loops over a large array ask memory for what they will read in a moment.

before:
    affine.for %i = 0 to 4194304 step 16 {
      %a = affine.vector_load %x[%i] : memref<4194304xf32>, vector<16xf32>
      %e = math.exp %a : vector<16xf32>
      ...
after:
    affine.for %i = 0 to 4194304 step 16 {
      %later = affine.apply affine_map<(d0) -> (d0 + 1024)>(%i)
      memref.prefetch %x[%later], read, locality<3>, data : memref<4194304xf32>
      %a = affine.vector_load %x[%i] : memref<4194304xf32>, vector<16xf32>
      %e = math.exp %a : vector<16xf32>
      ...

Processors fetch ahead on their own, but not far enough on Zen 3 where a loop computes meanwhile: exp of 4194304 numbers
took 1.66 ms and takes 1.35, sigmoid 2.0 and 1.9, tanh of an array that is in no cache 2.2 and 1.9; GELU, which computes
longer, as before. On Zen 5 exp took 0.78 and takes 0.73, tanh 0.65 and 0.57, GELU 0.75 and 0.70. Loops that write as
much and compute nothing, or read several arrays, got up to 15 % slower and are left alone, as are arrays that a
function goes through again or `affine-prefetch-rows` asks for. Near the end of an array what is asked for lies behind
it, and may be nothing.

Loops that only read, as sums and maxima do, ask on Zen 5, from arrays on that the second cache does not hold. It does
not fetch beyond a page on its own, and hardly anything where each vector touches two lines: from an array that begins
in the middle of one, as large ones of NumPy do, the sums of 4096 columns of 4096 numbers took 1.74 ms and take 1.31,
maxima over 33 MB 0.91 and 0.70, from one that begins at a line 1.28 as before, and 0.88 and 0.75; scores of one query
with 2048 keys of 128 numbers in 32 heads, 2.3 and 1.75. What is read again for each row, as a long vector that a matrix
is multiplied by, would have to share the first cache with the lines that come (4096 x 4096 by a vector took 1.1 times
as long): such loops are left alone, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.machine import Machine
from ...dialects.affine import ApplyOp, ForOp, VectorLoadOp, VectorStoreOp
from ...dialects.affine.linear_forms import memref_shape
from ...dialects.memref import LoadOp, PrefetchOp
from ...dialects.memref.views import root
from .loops import all_loops, element_bytes, functions, insert_before, is_innermost, stride_along, takes_steps

AHEAD = 4096  # bytes: 2048 and 8192 are as good


@dataclass(frozen=True)
class PrefetchAhead(ModulePass):
    """Asks for what a loop reads some iterations later; `bytes` overrides how large an array must be."""

    name = "affine-prefetch-ahead"

    bytes: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        computed, read = machine.computes_ahead_bytes, machine.reads_ahead_bytes
        if self.bytes is not None:
            computed = read = self.bytes
        if not computed and not read:
            return
        for function in functions(op):
            loops = [loop for loop in all_loops(function) if is_innermost(loop)]
            users = Counter(buffer for loop in loops for buffer in used_buffers(loop))
            for loop in loops:
                computes = _computes(loop)
                least = computed if computes else read
                loads = _large_loads(loop, least) if least else []
                read_from = {root(load.memref) for load in loads}
                if len(read_from) != 1 or users[large := read_from.pop()] != 1:
                    continue
                if len(loads) == 1 if computes else _rest_is_small(loop, large, least, machine):
                    for load in loads:
                        _ask(load, machine.cache_line)


def used_buffers(loop: ForOp) -> list[SSAValue]:
    """The buffers that a loop reads or asks for, and those that it writes."""
    ops = loop.body.block.ops
    read = {root(op.operands[0]) for op in ops if isinstance(op, VectorLoadOp | LoadOp | PrefetchOp)}
    return [*read, *{root(op.memref) for op in ops if isinstance(op, VectorStoreOp)}]


def _computes(loop: ForOp) -> bool:
    """Whether it stores what it computes."""
    ops = list(loop.body.block.ops)
    return any(takes_steps(op) for op in ops) and any(isinstance(op, VectorStoreOp) for op in ops)


def _rest_is_small(loop: ForOp, large: SSAValue, least: int, machine: Machine) -> bool:
    """Whether what it writes is not large, and what it reads beside `large` stays in the first cache meanwhile."""
    ops, (lower, upper, _) = list(loop.body.block.ops), loop.constant_bounds() or (0, 0, 1)
    written = {root(op.memref) for op in ops if isinstance(op, VectorStoreOp)}
    beside = {root(op.operands[0]) for op in ops if isinstance(op, VectorLoadOp | LoadOp)} - written - {large}
    near = (upper - lower) * sum(element_bytes(each) for each in beside) <= machine.l1_bytes // 4
    shapes = {each: memref_shape(each) for each in written}
    return near and all(s is not None and prod(s) * element_bytes(each) < least for each, s in shapes.items())


def _large_loads(loop: ForOp, least: int) -> list[VectorLoadOp]:
    """Loads of a loop that go through large arrays, one element behind another, far or row behind row."""
    bounds, found = loop.constant_bounds(), list[VectorLoadOp]()
    for load in loop.body.block.ops:
        if not isinstance(load, VectorLoadOp) or stride_along(load, loop.variable) != 1:
            continue
        shape, size = memref_shape(load.memref), element_bytes(load.memref)
        if bounds is None or shape is None or not size or prod(shape) * size < least:
            continue
        length = bounds[1] - bounds[0]
        if length * size >= 2 * AHEAD or length == shape[-1]:
            found.append(load)
    return found


def _ask(load: VectorLoadOp, line: int) -> None:
    """Asks, before a load, for the lines that it will read when the loop is that much further."""
    *outer, last = load.map.data.results
    ask_for_lines(load, [*outer, last + AHEAD // element_bytes(load.memref)], line)


def ask_for_lines(access: VectorLoadOp | VectorStoreOp, subscripts: Sequence[AffineExpr], line: int) -> None:
    """Asks, before an access, for the lines that its vector would have at other `subscripts`, of its own operands."""
    map_, places = access.map.data, list(access.indices)
    writes = isinstance(access, VectorStoreOp)
    (lanes,) = (access.value if writes else access.result).type.get_shape()  # pyright: ignore
    *outer, last = subscripts
    for lane in range(0, lanes, line // element_bytes(access.memref)):
        maps = [AffineMapAttr(AffineMap(map_.num_dims, map_.num_symbols, (each,))) for each in (*outer, last + lane)]
        indices = [insert_before(ApplyOp(places, each), access).result for each in maps]
        insert_before(PrefetchOp(access.memref, indices, write=writes), access)
