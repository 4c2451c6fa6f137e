"""`affine-loop-unroll-jam`: some iterations of an outer loop are done together inside of its inner loop.

Before:                                        After (factor=2):
    affine.for %i = 0 to 8 {                       affine.for %i = 0 to 8 step 2 {
      %s = affine.for %k = 0 to 64 iter_args         %s, %t = affine.for %k = 0 to 64 iter_args
          (%acc = %zero) -> (f32) { ... %x[%i, %k] }     (...) -> (f32, f32) { ... %x[%i, %k], %x[%i + 1, %k] }
      affine.store %s, %y[%i]                        affine.store %s, %y[%i]
    }                                                affine.store %t, %y[%i + 1]
                                                   }

What the iterations load in common is loaded once, and independent sums run side by side. The copies of the inner
loop are fused as `affine-loop-fusion` does; where a dependence forbids it the loop stays as it is. Iterations that
do not fill the factor become a loop of their own.

Without a `factor`, sums of products of a matrix's rows with what is the same for all rows are jammed, four at a time:
one core fetches from several places at once nearly twice as fast as from one. So are rows that are added (or the like)
to one row, which then is read and written a fourth as often.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from ...dialects.affine import ForOp, LoadOp, StoreOp
from .loop_fusion import fuse_block
from .loops import (
    all_loops,
    band,
    erase,
    functions,
    is_innermost,
    new_for,
    stride_along,
    substitute,
    terminated,
    top_loops,
)

ROWS = 4  # at a time
LONG = 64  # elements of a row from which on waiting for it is what counts
APART = 768  # elements between rows that are read side by side: those of one page look like one to the prefetcher
MOST_OPS = 8  # of the body: multiply and add, perhaps widen


@dataclass(frozen=True)
class LoopUnrollJam(ModulePass):
    """Loops around one innermost loop do `factor` iterations at a time inside of it; 0: where rows are summed up."""

    name = "affine-loop-unroll-jam"

    factor: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for loop in all_loops(function):
                inner = top_loops(loop.body.block)
                if len(inner) == 1 and is_innermost(inner[0]):
                    rows = sums_rows(loop, inner[0]) or accumulates_rows(loop, inner[0])
                    unroll_jam(loop, self.factor or (ROWS if rows else 0))
                elif not self.factor and len(inner) == 1:
                    nest = band(inner[0])
                    if is_innermost(nest[-1]) and accumulates_rows(loop, nest[-1]):
                        unroll_jam(loop, ROWS)


def sums_rows(loop: ForOp, inner: ForOp) -> bool:
    """Whether `inner` is a sum along a row of a matrix and something that every round of `loop` reads again."""
    ops = list(inner.body.block.ops)
    if len(inner.inits) != 1 or (inner.trip_count or 0) < LONG or len(ops) > MOST_OPS:
        return False
    if any(isinstance(op, StoreOp) for op in ops):
        return False
    loads = [op for op in _loads(ops) if stride_along(op, inner.variable) == 1]
    return sorted(bool(stride_along(op, loop.variable)) for op in loads) == [False, True]


def accumulates_rows(loop: ForOp, inner: ForOp) -> bool:
    """Whether each round of `loop` takes another row into one that all rounds share, element by element."""
    ops = list(inner.body.block.ops)
    stores = [op for op in ops if isinstance(op, StoreOp)]
    if inner.inits or loop.inits or (inner.trip_count or 0) < LONG or len(ops) > MOST_OPS or len(stores) != 1:
        return False
    places = [(stride_along(op, inner.variable), stride_along(op, loop.variable)) for op in (*stores, *_loads(ops))]
    others = [down for along, down in places if along == 1]
    if len(others) != 3 or len(places) != 3 or others[0] != 0 or others.count(0) != 2:
        return False
    return all(down is not None and (not down or down >= APART) for down in others)


def _loads(ops: list[Operation]) -> list[LoadOp]:
    return [op for op in ops if isinstance(op, LoadOp)]


def unroll_jam(loop: ForOp, factor: int) -> ForOp | None:
    """The loop that does `factor` iterations at a time, or None when it may not or need not."""
    bounds, trips = loop.constant_bounds(), loop.trip_count
    if bounds is None or trips is None or loop.inits or factor < 2 or trips < factor:
        return None
    lower, upper, step = bounds
    whole = lower + trips // factor * factor * step
    block = Block(arg_types=[loop.variable.type])
    block.args[0].name_hint = loop.variable.name_hint
    jammed = new_for(lower, whole, block, loop, step=step * factor)
    for copy in range(factor):
        _append_copy(loop, block, copy * step)
    terminated(block, loop)
    Rewriter.insert_op(jammed, InsertPoint.before(loop))
    fuse_block(block)
    before, after = top_loops(loop.body.block), top_loops(block)
    if len(after) != 1 or len(band(after[0])) != len(band(before[0])):
        erase(jammed)
        return None
    if whole < upper:
        loop.properties["lowerBoundMap"] = new_for(
            whole, whole, Block(arg_types=[loop.variable.type]), loop
        ).lowerBoundMap
    else:
        erase(loop)
    return jammed


def _append_copy(loop: ForOp, block: Block, shift: int) -> None:
    """Appends the body at `variable + shift`."""
    stand_in = Block(arg_types=[loop.variable.type])
    values: dict[SSAValue, SSAValue] = {loop.variable: stand_in.args[0]}
    copies: list[Operation] = []
    for op in loop.body.block.ops:
        if not op.has_trait(IsTerminator):
            copies.append(op.clone(values))
    block.add_ops(copies)
    substitute(stand_in.args[0], AffineExpr.dimension(0) + shift, [block.args[0]], block)
