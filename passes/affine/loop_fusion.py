"""`affine-loop-fusion`: neighbouring loops over one range become one loop.

Before:
    affine.for %i = 0 to 14 {                          affine.for %i = 0 to 14 {
      %m = affine.for %j ... iter_args ... max           %m = affine.for %j ... max
      affine.store %m, %max[%i]                          affine.store %m, %max[%i]
    }                                         After:     affine.for %j = 0 to 33 {
    affine.for %i = 0 to 14 {                              ... exp(%x[%i, %j] - %m) ...
      %m = affine.load %max[%i]                          }
      affine.for %j ... exp(%x[%i, %j] - %m) ...       }
    }

Two loops are fused when no dependence between them would be turned round, when a loop that could run in parallel
still can, and when they touch a common buffer: not where their variables keep them in different parts of it, as the
parts of a concatenation, and not if more would be stored than STREAMS places, so that the time this takes grows with
the number of loops alone. What stands between them moves out of the way if it may. Inner
loops follow, so that a row kernel becomes one loop over rows with few loops over columns; stored values are handed
on in registers, and buffers that are then never read disappear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.effects import is_pure
from ...dialects.affine import ForOp, YieldOp
from .accesses import MemoryAccess, accesses
from .dependence import fusion_orders, is_parallel, kept_apart
from .loops import erase, functions
from .scalar_replacement import forward_stores, remove_dead_stores

STREAMS = 24


@dataclass(frozen=True)
class LoopFusion(ModulePass):
    """Neighbouring loops over one range become one, where dependences allow and a buffer is shared."""

    name = "affine-loop-fusion"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            fuse_block(function.body.block)
            remove_dead_stores(function)


def fuse_block(block: Block) -> None:
    """Fuses the loops of a block with their neighbours, then inside of each."""
    forward_stores(block)
    loop = _next_loop(block.first_op)
    known: dict[ForOp, list[MemoryAccess]] = {}  # of the loop that the next one is compared with
    while loop is not None:
        other = _next_loop(loop.next_op)
        if other is None:
            break
        fused = try_fuse(loop, other, known)
        loop = other if fused is None else fused
    for op in list(block.ops):
        if isinstance(op, ForOp):
            fuse_block(op.body.block)


def _next_loop(op: Operation | None) -> ForOp | None:
    while op is not None and not isinstance(op, ForOp):
        op = op.next_op
    return op


def try_fuse(first: ForOp, second: ForOp, known: dict[ForOp, list[MemoryAccess]]) -> ForOp | None:
    """The fused loop in place of both, or None when they may not or need not be fused.

    What is `known` of the first is not looked for again; afterwards it is what was found of the loop that comes next.
    """
    bounds = first.constant_bounds()
    if bounds is None or bounds != second.constant_bounds():
        return None
    left = known.pop(first, None) or accesses(first.body.block.ops)
    right = known[second] = accesses(second.body.block.ops)
    if sum(a.writes for a in (*left, *right)) > STREAMS or not _share(first, second, left, right):
        return None
    turned, carried = fusion_orders(first, second, left, right)
    if turned or (carried and (is_parallel(first) or is_parallel(second))):
        return None
    moved = _plan_moves(first, second, left, right)
    if moved is None:
        return None
    before, after = moved
    for op in before:
        op.detach()
        _insert(op, first, before=True)
    for op in reversed(after):
        op.detach()
        _insert(op, second, before=False)
    fused, taken = _merge(first, second)
    known.clear()
    known[fused] = [*left, *accesses(taken)]
    return fused


def _share(first: ForOp, second: ForOp, left: Sequence[MemoryAccess], right: Sequence[MemoryAccess]) -> bool:
    """Whether the loops touch a common buffer, and not just parts that their variables keep apart."""
    known: dict[SSAValue, list[MemoryAccess]] = {}
    for access in left:
        known.setdefault(access.root, []).append(access)
    return any(
        not kept_apart(other, access, first.variable, second.variable)
        for access in right
        for other in known.get(access.root, ())
    )


def _insert(op: Operation, anchor: Operation, *, before: bool) -> None:
    block = anchor.parent
    assert block is not None
    if before:
        block.insert_op_before(op, anchor)
    else:
        block.insert_op_after(op, anchor)


def _plan_moves(
    first: ForOp, second: ForOp, left: Sequence[MemoryAccess], right: Sequence[MemoryAccess]
) -> tuple[list[Operation], list[Operation]] | None:
    """Which ops between the loops go before the first, which after the second; None when one can do neither.

    `left` and `right` are the accesses of their bodies.
    """
    between: list[Operation] = []
    op = first.next_op
    while op is not second:
        assert op is not None
        between.append(op)
        op = op.next_op
    if any(second.is_ancestor(use.operation) for result in first.results for use in result.uses):
        return None
    if not between:
        return [], []
    before: list[Operation] = []
    after: list[Operation] = []
    for op in between:
        if _may_precede(op, first, left, after):
            before.append(op)
        else:
            after.append(op)
    if not after:
        return before, after
    needed = {operand.owner for inner in second.walk() for operand in inner.operands}
    if any(op in needed for op in after):
        return None
    for op in after:
        if not is_pure(op) and not accesses([op]):
            return None
        for own in accesses([op]):
            if any(own.root is a.root and (own.writes or a.writes) for a in right):
                return None
    return before, after


def _may_precede(op: Operation, first: ForOp, left: Sequence[MemoryAccess], staying: list[Operation]) -> bool:
    """Whether `op`, which follows the loop with these accesses, may be done before it and before the ops that stay."""
    owners = {operand.owner for inner in op.walk() for operand in inner.operands}
    if first in owners or any(s in owners for s in staying):
        return False
    own = accesses([op])
    if not own:
        return is_pure(op)
    touched = [*left, *accesses(staying)]
    return not any(a.root is b.root and (a.writes or b.writes) for a in own for b in touched)


def _merge(first: ForOp, second: ForOp) -> tuple[ForOp, list[Operation]]:
    """One loop in place of both, and the ops that came into it from the second.

    The first's body, with its variable, is that of the new loop: what is known of its accesses stays true.
    """
    bounds = first.constant_bounds()
    assert bounds is not None
    lower, upper, step = bounds
    inits = [*first.inits, *second.inits]
    block = first.body.detach_block(0)
    second.variable.replace_all_uses_with(block.args[0])
    for old in second.carried:
        new = block.insert_arg(old.type, len(block.args))
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    ends = [block.last_op, second.body.block.last_op]
    taken = list(second.body.block.ops)[:-1]
    for op in taken:
        op.detach()
        block.add_op(op)
    end = YieldOp.get(*(value for last in ends if last for value in last.operands))
    for last in ends:
        assert isinstance(last, YieldOp)
        end.location = last.location
        erase(last)
    block.add_op(end)
    fused = ForOp.of(lower, upper, block, step=step, inits=inits)
    fused.location = first.location
    _insert(fused, second, before=True)
    results = iter(fused.results)
    for loop in (first, second):
        for old in loop.results:
            new = next(results)
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        erase(loop)
    return fused, taken
