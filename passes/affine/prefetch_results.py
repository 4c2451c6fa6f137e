"""affine-prefetch-results: loops over a large array ask memory for the lines that they will write in a moment.

before:
    affine.for %i = 0 to 4194304 step 16 {
      ...
      affine.vector_store %e, %y[%i] : memref<4194304xf32>, vector<16xf32>
    }
after:
    affine.for %i = 0 to 4194304 step 16 {
      ...
      %later = affine.apply affine_map<(d0) -> (d0 + 1024)>(%i)
      memref.prefetch %y[%later], write, locality<3>, data : memref<4194304xf32>
      affine.vector_store %e, %y[%i] : memref<4194304xf32>, vector<16xf32>
    }

A store waits for its line, and those behind it wait for it, in order: when a few dozen wait, everything does. Of what
is stored a processor fetches less ahead than of what is loaded, and next to nothing where rows are short pieces of an
array: there a loop asks for the row that is some rounds of the loop around it away. Parts of tiles, as of a transpose,
are asked for while the tile before is written, if tiles lie one behind another. What such a loop, and no other of the
function, reads is asked for as well. Lines that the same loop reads are not, nor those that go past the caches
(`affine-stream-stores`).

Measured on Emerald Rapids: an image padded to 64 x 112 x 112 numbers takes 0.25 instead of 0.30 ms, one whose channels
become last ones 0.26 instead of 0.30, a normalisation of 96 channels of 56 x 56 points 0.10 instead of 0.12, a sum of
that and a bias 0.24 instead of 0.27, softmax of 4096 rows of 1024 numbers 1.47 instead of 1.59. Results that the second
cache holds take longer to ask for than to wait for (a slice of 0.8 MB 0.066 ms instead of 0.053).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...dialects.affine import NONTEMPORAL, ForOp, ParallelOp, VectorLoadOp, VectorStoreOp
from ...dialects.affine.linear_forms import memref_shape
from ...dialects.memref import AllocaOp
from ...dialects.memref.views import root
from .accesses import map_subscripts
from .loops import all_loops, element_bytes, functions, is_innermost, stride_along
from .prefetch_ahead import AHEAD, ask_for_lines, used_buffers

Access = VectorLoadOp | VectorStoreOp
ROWS_AHEAD = 2048  # bytes of short rows


@dataclass(frozen=True)
class PrefetchResults(ModulePass):
    """Asks for the lines that a loop stores some iterations later; `bytes` overrides how large an array must be."""

    name = "affine-prefetch-results"

    bytes: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        least = machine.asks_for_results_bytes if self.bytes is None else self.bytes
        if not least:
            return
        for function in functions(op):
            loops = [loop for loop in all_loops(function) if is_innermost(loop)]
            users = Counter(buffer for loop in loops for buffer in used_buffers(loop))
            for loop in loops:
                for access in _to_ask_for([each for each in _accesses(loop) if _is_large(each, least)], users):
                    _ask(access, loop, machine.cache_line)


def _accesses(loop: ForOp) -> list[Access]:
    """Loads that go through an array, one element behind another, and stores; of others' memory, by the caches."""
    if loop.constant_bounds() is None:
        return []
    found = [op for op in loop.body.block.ops if isinstance(op, VectorLoadOp | VectorStoreOp)]
    return [
        op
        for op in found
        if (stride_along(op, loop.variable) == 1 or isinstance(op, VectorStoreOp))
        and NONTEMPORAL not in op.attributes
        and not isinstance(root(op.memref).owner, AllocaOp)
    ]


def _is_large(access: Access, least: int) -> bool:
    array = root(access.memref)
    shape = memref_shape(array)
    return shape is not None and prod(shape) * element_bytes(array) >= least and element_bytes(access.memref) > 0


def _to_ask_for(accesses: Sequence[Access], users: Counter[SSAValue]) -> list[Access]:
    """Stores to what the loop does not read; if there are some, loads of what only this loop uses."""
    loads = [access for access in accesses if isinstance(access, VectorLoadOp)]
    read = {root(load.memref) for load in loads}
    stores = [access for access in accesses if access not in loads and root(access.memref) not in read]
    return [*stores, *(load for load in loads if users[root(load.memref)] == 1)] if stores else []


def _ask(access: Access, loop: ForOp, line: int) -> None:
    """Asks, before an access, for the lines that it will need later: further along, or so many rows on."""
    later = _later(access, loop)
    if later is None:
        return
    moved: list[AffineExpr] = []
    for subscript, terms in zip(access.map.data.results, map_subscripts(access.map.data, access.indices), strict=True):
        if terms is None:
            return
        moved.append(subscript + sum(terms.terms.get(variable, 0) * by for variable, by in later.items()))
    ask_for_lines(access, moved, line)


def _later(access: Access, loop: ForOp) -> dict[SSAValue, int] | None:
    """How much further which loop's variable is to be; None where what comes is in no order that is known."""
    size, bounds = element_bytes(access.memref), loop.constant_bounds()
    assert bounds is not None
    length = bounds[1] - bounds[0]
    around = loop.parent_op()
    if stride_along(access, loop.variable) != 1:
        while isinstance(around, ForOp):
            around = around.parent_op()
        tiles = _innermost_variable(around)
        apart = None if tiles is None else stride_along(access, tiles)
        return {tiles: 1} if tiles and apart and ROWS_AHEAD <= apart * size <= 4 * AHEAD else None
    variable = _innermost_variable(around)
    apart = None if variable is None else stride_along(access, variable)
    if length * size >= 2 * AHEAD or apart == length:
        return {loop.variable: AHEAD // size}
    if isinstance(around, ForOp) and apart:
        return {around.variable: ceil(ROWS_AHEAD / (length * size)) * around.step.value.data}
    return None


def _innermost_variable(loop: Operation | None) -> SSAValue | None:
    if isinstance(loop, ParallelOp):
        return loop.body.block.args[-1]
    return loop.variable if isinstance(loop, ForOp) else None
