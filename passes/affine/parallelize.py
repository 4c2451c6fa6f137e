"""`affine-parallelize`: the outermost loops whose iterations are independent, and worth it, run in parallel.

Before:                                        After:
    affine.for %i = 0 to 100000 {                  affine.parallel (%t) = (0) to (12) {
      %v = affine.load %x[%i]                        affine.for %i = 0 to 8192 {
      affine.store %v, %y[%i]                          %v = affine.load %x[%t * 8192 + %i]
    }                                                  affine.store %v, %y[%t * 8192 + %i]
                                                   } }
                                                   affine.for %i = 98304 to 100000 { ... }

A loop around other loops becomes `affine.parallel` as it is, together with the loop nested in it when its own
iterations are few. A loop without loops inside is cut into chunks, so that what remains inside runs along memory.
Where the outermost loop cannot (it accumulates), the innermost one of a perfect nest is cut into chunks and these
move outside, unless there is one core: whole rows are read faster. Nests of less than `grain` element operations stay
as they are: waking threads would cost more.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, IndexType, ModuleOp
from xdsl.ir import Block
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...dialects.affine import ForOp, ParallelOp
from .dependence import is_parallel, permutation_is_legal
from .loops import (
    band,
    erase,
    functions,
    is_innermost,
    move_body,
    new_for,
    new_parallel,
    sole_inner_loop,
    substitute,
    terminated,
    top_loops,
    work,
)

GRAIN = 32 * 1024  # element operations: about ten microseconds of one core
TASKS = 16  # a loop of fewer iterations takes the next one along
LINE = 64  # elements: chunks begin at cache lines
TRIED = 4096  # sizes of a chunk, from the smallest on
RUN = 2048  # columns of a chunk, unless cores would have none: rows are read in long pieces, as prefetchers want them


@dataclass(frozen=True)
class Parallelize(ModulePass):
    """Outermost independent loops with enough work become `affine.parallel`."""

    name = "affine-parallelize"

    grain: int = GRAIN
    cores: int = 0  # of the machine, if not given

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cores = self.cores or lamina_context(ctx).machine.cores
        for function in functions(op):
            if not any(isinstance(inner, ParallelOp) for inner in function.walk()):
                for loop in top_loops(function.body.block):
                    parallelize(loop, self.grain, cores)


def parallelize(loop: ForOp, grain: int, cores: int) -> bool:
    """Makes the nest parallel where it may and should be; tells whether it did."""
    if work([loop]) < grain or loop.constant_bounds() is None:
        return False
    if is_parallel(loop):
        if is_innermost(loop):
            return _chunk(loop, _chunk_size(loop, grain))
        _make_parallel(loop)
        return True
    return cores > 1 and _chunk_inner(loop, grain, cores)


def _make_parallel(loop: ForOp) -> None:
    """`affine.parallel` in place of the loop, with the next one if iterations are few."""
    loops = [loop]
    inner = sole_inner_loop(loop)
    if (
        (loop.trip_count or 0) < TASKS
        and inner is not None
        and inner.constant_bounds() is not None
        and is_parallel(inner)
        and not is_innermost(inner)
    ):
        loops.append(inner)
    block = Block(arg_types=[IndexType()] * len(loops))
    for each, argument in zip(loops, block.args, strict=True):
        bounds = each.constant_bounds()
        assert bounds is not None
        argument.name_hint = each.variable.name_hint
        expr = AffineExpr.dimension(0) * bounds[2] + bounds[0]
        substitute(each.variable, expr, [argument], block)
    move_body(loops[-1].body.block, block)
    counts = [each.trip_count or 0 for each in loops]
    new = new_parallel(counts, terminated(block, loop), loop)
    Rewriter.insert_op(new, InsertPoint.before(loop))
    erase(loop)


def _chunk_size(loop: ForOp, grain: int) -> int:
    """Iterations per task: at least `grain` of work, whole cache lines, and a divisor of the trips if one is near."""
    trips = loop.trip_count or 1
    per_iteration = max(1, work(loop.body.block.ops))
    least = -(-max(1, grain // per_iteration) // LINE) * LINE
    for size in range(least, min(2 * least, trips) + 1, LINE):
        if trips % size == 0:
            return size
    return least


def _chunk(loop: ForOp, size: int) -> bool:
    """Cuts a loop without inner loops into parallel chunks and, if they do not fit, a rest."""
    bounds = loop.constant_bounds()
    assert bounds is not None
    trips = loop.trip_count or 0
    chunks = trips // size
    if chunks < 2:
        return False
    lower, _, step = bounds
    rest = loop.clone() if trips % size else None
    inner, outer = Block(arg_types=[IndexType()]), Block(arg_types=[IndexType()])
    inner.args[0].name_hint = loop.variable.name_hint
    index = (AffineExpr.dimension(0) * size + AffineExpr.dimension(1)) * step + lower
    substitute(loop.variable, index, [outer.args[0], inner.args[0]], inner)
    move_body(loop.body.block, inner)
    outer.add_op(new_for(0, size, terminated(inner, loop), loop))
    parallel = new_parallel([chunks], terminated(outer, loop), loop)
    Rewriter.insert_op(parallel, InsertPoint.before(loop))
    if rest is not None:
        rest.properties["lowerBoundMap"] = AffineMapAttr(AffineMap.constant_map(lower + chunks * size * step))
        Rewriter.insert_op(rest, InsertPoint.before(loop))
    erase(loop)
    return True


def _chunk_inner(loop: ForOp, grain: int, tasks: int) -> bool:
    """Moves chunks of the innermost loop of a perfect nest outside, `tasks` or more, where that loop is independent."""
    loops = band(loop)
    last = loops[-1]
    bounds = last.constant_bounds()
    if len(loops) < 2 or bounds is None or not is_innermost(last) or not is_parallel(last):
        return False
    order = [len(loops) - 1, *range(len(loops) - 1)]
    if bounds[0] or bounds[2] != 1 or not permutation_is_legal(loops, order):
        return False
    trips = bounds[1]
    column = max(1, work([loop]) // max(1, trips))
    least = max(1, grain // column, min(RUN, trips // tasks))
    size = next(
        (
            s
            for unit in (LINE, 16, 8)
            for s in range(-(-least // unit) * unit, min(trips // 2 + 1, least + TRIED * unit), unit)
            if trips % s == 0
        ),
        0,
    )
    if not size:
        return False
    block = Block(arg_types=[IndexType()])
    inner = Block(arg_types=[IndexType()])
    index = AffineExpr.dimension(0) * size + AffineExpr.dimension(1)
    substitute(last.variable, index, [block.args[0], inner.args[0]], inner)
    move_body(last.body.block, inner)
    Rewriter.insert_op(new_for(0, size, terminated(inner, last), last), InsertPoint.before(last))
    erase(last)
    parallel = new_parallel([trips // size], block, loop)
    Rewriter.insert_op(parallel, InsertPoint.before(loop))
    loop.detach()
    block.add_op(loop)
    terminated(block, parallel)
    return True
