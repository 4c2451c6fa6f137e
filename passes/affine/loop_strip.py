"""affine-loop-strip: several short rows at a time, where all of them are read again and again from afar.

before:                                                after:
    affine.for %i = 0 to 256 {                             affine.for %s = 0 to 16 {
      affine.for %j = 0 to 512 {                             affine.for %r = 0 to 16 {
        affine.store %low, %y[%i, %j]                          affine.for %j = 0 to 512 {
      }                                                          affine.store %low, %y[%s * 16 + %r, %j]
      affine.for %k = 0 to 64 {                              affine.for %k = 0 to 64 {
        affine.for %j = 0 to 512 {                             affine.for %r = 0 to 16 {
          ... %x[%k, %i, %j] ...                                 affine.for %j = 0 to 512 {
          affine.store %m, %y[%i, %j]                              ... %x[%k, %s * 16 + %r, %j] ...

That is a maximum over the first of three dimensions. Before, memory is read in pieces of a row, each on a page of its
own, which no prefetcher finds; after, in pieces of RUN elements, while what is accumulated still stays in the first
cache. The iterations of the outer loop are independent, so that those of several may take turns.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.affine import ForOp, LoadOp, StoreOp
from .dependence import is_parallel
from .loops import band, erase, functions, move_body, new_for, stride_along, substitute, terminated, top_loops

RUN = 8192  # elements that are read behind one another: f32 fill the first cache
TASKS = 16  # strips that are left at least, for threads
AGAIN = 4  # rounds over distant places from which on it pays


@dataclass(frozen=True)
class LoopStrip(ModulePass):
    """Short rows of distant arrays are read several at a time."""

    name = "affine-loop-strip"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for loop in top_loops(function.body.block):
                rows = rows_at_a_time(loop)
                if rows > 1 and is_parallel(loop):
                    strip(loop, rows)


def rows_at_a_time(loop: ForOp) -> int:
    """How many iterations should take turns; 1 where there is nothing to gain."""
    if loop.inits or loop.constant_bounds() != (0, loop.trip_count, 1):
        return 1
    children = _children(loop)
    widths = {_width(loop, child) for child in children or ()} - {0}
    if not children or len(widths) != 1:
        return 1
    trips = loop.trip_count or 1
    most = min(RUN // widths.pop(), trips // TASKS)
    return next((rows for rows in range(most, 1, -1) if trips % rows == 0), 1)


def _children(loop: ForOp) -> list[ForOp] | None:
    """The loops that are all of the body, if they hand nothing on."""
    found: list[ForOp] = []
    for op in loop.body.block.ops:
        if isinstance(op, ForOp) and not op.inits:
            found.append(op)
        elif op.next_op is not None:
            return None
    return found


def _width(loop: ForOp, child: ForOp) -> int:
    """The elements of a row of `loop` that `child` reads from places far apart; 0 if it does not."""
    nest = band(child)
    if len(nest) != 2 or nest[1].inits or (child.trip_count or 0) < AGAIN:
        return 0
    width = nest[1].trip_count or 0
    distant = False
    for op in nest[1].body.block.ops:
        if op.regions:
            return 0
        if isinstance(op, LoadOp | StoreOp):
            along, down, away = (stride_along(op, each.variable) for each in (nest[1], loop, child))
            if along not in (0, 1):  # a transpose reads every line it touches to the end sooner as it is
                return 0
            distant |= isinstance(op, LoadOp) and along == 1 and down == width and away is not None and away > RUN
    return width if distant else 0


def strip(loop: ForOp, rows: int) -> None:
    """Puts a loop over `rows` iterations into each of the loops that are the body of `loop`."""
    outer = Block(arg_types=[IndexType()])
    outer.args[0].name_hint = loop.variable.name_hint
    index = AffineExpr.dimension(0) * rows + AffineExpr.dimension(1)
    for child in _children(loop) or ():
        inner, stand_in = Block(arg_types=[IndexType()]), Block(arg_types=[IndexType()]).args[0]
        for use in list(loop.variable.uses):
            if child.is_ancestor(use.operation):
                use.operation.operands[use.index] = stand_in
        child.detach()
        if len(band(child)) == 2:
            move_body(child.body.block, inner)
            turns = new_for(0, rows, terminated(inner, child), child)
            last = child.body.block.last_op
            assert last is not None
            Rewriter.insert_op(turns, InsertPoint.before(last))
            outer.add_op(child)
        else:
            inner.add_op(child)
            outer.add_op(new_for(0, rows, terminated(inner, child), child))
        substitute(stand_in, index, [outer.args[0], inner.args[0]], inner)
    trips = (loop.trip_count or 0) // rows
    Rewriter.insert_op(new_for(0, trips, terminated(outer, loop), loop), InsertPoint.before(loop))
    erase(loop)
