"""affine-skip-terms: what a condition leaves out of a sum, a row at a time, is not computed either.

before:
    %some = affine.load %exists[%r, %i] : memref<50x8xi1>
    affine.for %t = 0 to 2 {
      ... where the row lies, what it weighs
      affine.for %c = 0 to 64 {
        %sum = affine.load %y[%r, %c] : memref<50x64xf32>
        ...
        %term = arith.select %some, %product, %zero : f32
        %more = arith.addf %sum, %term : f32
        affine.store %more, %y[%r, %c] : memref<50x64xf32>
      }
    }
after:
    %some = affine.load %exists[%r, %i] : memref<50x8xi1>
    scf.if %some {
      affine.for %t = 0 to 2 {
        ...
          %more = arith.addf %sum, %product : f32
      }
    }

So with the regions of an image whose cells take as many samples as they are large: all have the loops of the largest.
50 regions with up to 7 x 8 samples take 2.1 ms instead of 6.7; measured on Zen 3.

A sum of floats that 0 is added to is the same but for -0, which becomes 0: terms of 0 are skipped if the sum began with
0, and nothing else is stored there. What else leaves its operand as it is (-inf with maximumf, 1 with mulf) always is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, inf

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.effects import is_pure
from ...dialects.affine import ForOp, LoadOp, StoreOp
from ...dialects.memref import LoadOp as MemRefLoadOp
from ...dialects.memref.views import root
from .accesses import accesses, defined_inside
from .loops import all_loops, functions, is_innermost

LEAST_ROUNDS = 16  # of a row, that are worth a branch
NEUTRAL: dict[type[Operation], float] = {
    arith.AddfOp: -0.0,
    arith.MulfOp: 1.0,
    arith.MaximumfOp: -inf,
    arith.MinimumfOp: inf,
    arith.AddiOp: 0,
    arith.OrIOp: 0,
}


@dataclass(frozen=True)
class SkipTerms(ModulePass):
    """Puts rows of terms that a condition leaves out of what is summed up behind a branch on it."""

    name = "affine-skip-terms"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for loop in all_loops(function):
                term = _term_of(loop) if is_innermost(loop) else None
                if term is not None and _leaves_as_it_is(term, function):
                    _skip(term, loop)


@dataclass(frozen=True)
class _Term:
    """What a round adds to what `store` writes: `select`'s value, by `sum`."""

    select: arith.SelectOp
    sum: Operation
    store: StoreOp


def _term_of(loop: ForOp) -> _Term | None:
    """The term that each round of a long loop adds to an element of its own, if a condition chooses for all of them."""
    bounds = loop.constant_bounds()
    stores = [op for op in loop.body.block.ops if isinstance(op, StoreOp)]
    if loop.inits or bounds is None or bounds[1] - bounds[0] < LEAST_ROUNDS or len(stores) != 1:
        return None
    (store,) = stores
    sum_ = store.value.owner
    if not isinstance(sum_, Operation) or type(sum_) not in NEUTRAL or sum_.parent_op() is not loop:
        return None
    before, select = (operand.owner for operand in sum_.operands)
    if isinstance(select, LoadOp):
        before, select = select, before
    if not isinstance(before, LoadOp) or not isinstance(select, arith.SelectOp):
        return None
    inside = before.parent_op() is select.parent_op() is loop and _only_reads(loop, store)
    same = inside and before.memref is store.memref and before.map == store.map and before.indices == store.indices
    alone = len(list(select.result.uses)) == len(list(sum_.results[0].uses)) == 1
    return _Term(select, sum_, store) if same and alone and not defined_inside(select.cond, loop) else None


def _leaves_as_it_is(term: _Term, function: Operation) -> bool:
    """Whether what the sum is without the term is what was there before."""
    otherwise, neutral = _constant(term.select.rhs), NEUTRAL[type(term.sum)]
    if otherwise is None:
        return False
    if otherwise == neutral and copysign(1, otherwise) == copysign(1, neutral):
        return True
    if not isinstance(term.sum, arith.AddfOp) or otherwise != 0:
        return False
    memory = root(term.store.memref)
    others = [found.op for found in accesses([function]) if found.writes and found.root is memory]
    zeros = [op for op in others if isinstance(op, StoreOp) and _is_zero(op.value)]
    return len(zeros) == len(others) - 1 and any(_is_before(zero, term.store) for zero in zeros)


def _is_before(zero: StoreOp, store: StoreOp) -> bool:
    """Whether loops have stored a zero wherever those store to that come behind them."""
    if zero.memref is not store.memref or zero.map != store.map:
        return False
    zeroing, storing = _loops_around(zero), _loops_around(store)
    while zeroing and storing and zeroing[0] is storing[0]:
        del zeroing[0], storing[0]
    if not zeroing or not storing or not _follows(zeroing[0], storing[0]):
        return False
    pairs = {(a, b) for a, b in zip(zero.indices, store.indices, strict=True) if a is not b}
    each_once = len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    alike = {(loop.variable, other.variable) for loop in zeroing for other in storing if _alike(loop, other)}
    return each_once and pairs <= alike


def _loops_around(op: Operation) -> list[ForOp]:
    """The loops around an op, outermost first, without those that lie around anything else than a loop."""
    found: list[ForOp] = []
    while isinstance(op := op.parent_op() or op, ForOp):
        found.insert(0, op)
    return found


def _follows(first: Operation, second: Operation) -> bool:
    """Whether the second op comes behind the first in one block."""
    op: Operation | None = first
    while op is not None and op is not second:
        op = op.next_op
    return op is second


def _alike(loop: ForOp, other: ForOp) -> bool:
    """Whether the variables of two loops take the same values."""
    return loop.constant_bounds() == other.constant_bounds() is not None and loop.step == other.step


def _constant(value: SSAValue) -> float | None:
    owner = value.owner
    attribute: Attribute | None = owner.value if isinstance(owner, arith.ConstantOp) else None
    return attribute.value.data if isinstance(attribute, FloatAttr | IntegerAttr) else None


def _is_zero(value: SSAValue) -> bool:
    number = _constant(value)
    return number == 0 and copysign(1, number) > 0


def _skip(term: _Term, loop: ForOp) -> None:
    """Puts the outermost loop that does nothing but add such terms behind a branch."""
    outermost = loop
    while isinstance(around := outermost.parent_op(), ForOp) and _only_adds(around, outermost, term):
        outermost = around
    Rewriter.replace_op(term.select, [], [term.select.lhs])
    body = Block()
    branch = scf.IfOp(term.select.cond, [], Region(body))
    Rewriter.insert_op(branch, InsertPoint.before(outermost))
    outermost.detach()
    body.add_ops([outermost, scf.YieldOp()])


def _only_adds(around: ForOp, inner: ForOp, term: _Term) -> bool:
    """Whether a loop only works out where and what `inner` adds, under a condition that is known before."""
    return not around.inits and _only_reads(around, inner) and not defined_inside(term.select.cond, around)


def _only_reads(loop: ForOp, but: Operation) -> bool:
    """Whether all that a loop does itself, but one op, is to compute values."""
    others = [op for op in loop.body.block.ops if op is not but and op is not loop.body.block.last_op]
    return all(not op.regions and (is_pure(op) or isinstance(op, LoadOp | MemRefLoadOp)) for op in others)
