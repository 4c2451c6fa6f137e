"""`affine-loop-interchange`: perfectly nested loops change places so that the innermost runs along memory.

Before:                                        After:
    affine.for %i = 0 to 8 {                       affine.for %j = 0 to 9 {
      affine.for %j = 0 to 9 {                       affine.for %i = 0 to 8 {
        %v = affine.load %x[%j, %i]                    %v = affine.load %x[%j, %i]
        affine.store %v, %y[%j, %i]                    affine.store %v, %y[%j, %i]

The loop along which most accesses are contiguous (or do not move) goes innermost, if no dependence is turned round.
`order` gives the new order of every nest of that many loops by hand, outermost first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...dialects.affine import ForOp, LoadOp, ParallelOp, StoreOp
from .dependence import permutation_is_legal
from .loops import all_loops, band, functions, renest, stride_along


@dataclass(frozen=True)
class LoopInterchange(ModulePass):
    """The loop that runs along memory goes innermost, where dependences allow."""

    name = "affine-loop-interchange"

    order: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for loop in all_loops(function):
                if loop.parent is not None and _is_outermost(loop):
                    self._nest(loop)

    def _nest(self, loop: ForOp) -> None:
        loops = band(loop)
        if loops[-1].inits:
            loops.pop()
        if len(loops) < 2 or any(each.constant_bounds() is None for each in loops):
            return
        order = list(self.order) if len(self.order) == len(loops) else best_order(loops)
        if order != sorted(order) and permutation_is_legal(loops, order):
            renest(loops, order)


def _is_outermost(loop: ForOp) -> bool:
    """Whether the loop begins a band: it is not all of what its parent does."""
    parent = loop.parent_op()
    return not isinstance(parent, ForOp | ParallelOp) or loop not in band_of(parent)


def band_of(parent: ForOp | ParallelOp) -> list[ForOp]:
    """The loops perfectly nested in `parent`."""
    return band(parent)[1:] if isinstance(parent, ForOp) else []


def best_order(loops: Sequence[ForOp]) -> list[int]:
    """The order with the most contiguous loop innermost; the others keep theirs.

    But where something is read across the innermost loop, the loop that it is contiguous along goes next to it:
    what is turned round then lies in squares.
    """
    scores = [_score(loops[-1], loop.variable) for loop in loops]
    order = list(range(len(loops)))
    best = max(order, key=lambda i: (scores[i], i))
    order.remove(best)
    turned = [i for i in order if _turns(loops[-1], loops[best].variable, loops[i].variable)]
    if turned:
        order.remove(turned[-1])
        order.append(turned[-1])
    return [*order, best]


def _turns(innermost: ForOp, inner: SSAValue, outer: SSAValue) -> bool:
    """Whether a load is contiguous along `outer` and neither so nor still along `inner`."""
    loads = [op for op in innermost.body.walk() if isinstance(op, LoadOp)]
    return any(stride_along(op, outer) == 1 and stride_along(op, inner) not in (0, 1) for op in loads)


def _score(innermost: ForOp, variable: SSAValue) -> int:
    score = 0
    for op in innermost.body.walk():
        if isinstance(op, LoadOp | StoreOp):
            stride = stride_along(op, variable)
            weight = 3 if isinstance(op, StoreOp) else 2
            score += weight if stride == 1 else 1 if stride == 0 else -weight
    return score
