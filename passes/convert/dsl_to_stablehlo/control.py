"""Control flow in a body: both arms and a choice; a loop that goes on as long as any element does.

Before, in a body over %i:
    %r = stablehlo.while(%z = %start) : tensor<f32> cond { ... } do { ... }
After:
    %active, %r = stablehlo.while(%on = %first, %z = %start) : tensor<8xi1>, tensor<8xf32>
        cond { any of %on } do { the new %z where %on, else the old; %on and the condition of the new }
A condition that does not depend on an index leaves an `if` an `if`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import numpy as np
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects import stablehlo as hlo
from .forms import Index
from .lifting import Lifted, Lifter, lifts, union


@lifts(hlo.IfOp)
def branch(lifter: Lifter, op: hlo.IfOp) -> list[Lifted]:
    """One arm where all elements take the same; else both, and each element chooses."""
    condition = lifter.lift(op.pred)
    if not condition.axes:
        return _common_branch(lifter, op, condition)
    negated = Lifted(lifter.b(hlo.NotOp(condition.value)), condition.axes)
    arms: list[list[Lifted]] = []
    for region, mask in ((op.true_branch, condition), (op.false_branch, negated)):
        with _where(lifter, mask):
            arms.append(_run(lifter, region))
    return [lifter.select(condition, a, b) for a, b in zip(*arms, strict=True)]


@lifts(hlo.CaseOp)
def case(lifter: Lifter, op: hlo.CaseOp) -> list[Lifted]:
    """Every branch, and each element chooses; the last one where the index is out of range."""
    index = lifter.lift(op.index)
    chosen: list[Lifted] = []
    for number in reversed(range(len(op.branches))):
        label = Lifted(lifter.b.constant(np.array(number, np.int32)))
        taken = lifter.compare(index, label, "EQ")
        with _where(lifter, taken):
            arm = _run(lifter, op.branches[number])
        chosen = [lifter.select(taken, a, b) for a, b in zip(arm, chosen, strict=True)] if chosen else arm
    return chosen


@lifts(hlo.WhileOp)
def loop(lifter: Lifter, op: hlo.WhileOp) -> list[Lifted]:
    """All elements at once, each until its own condition fails."""
    b = lifter.b
    starts = [lifter.lift(operand) for operand in op.operands]
    _lift_captured(lifter, op)
    around = [lifter.read_by(op), *(start.axes for start in starts), lifter.mask.axes if lifter.mask else ()]
    axes = union([sorted({i for each in around for i in each}, key=lambda i: i.order)])
    values = [lifter.expand(start, axes) for start in starts]
    active = _active(lifter, op, values, axes, lifter.mask)
    state = [active, *values]
    cond, body = (Block(arg_types=[value.type for value in state]) for _ in range(2))
    with lifter.scope(), b.inside(InsertPoint.at_end(cond)):
        going = Lifted(cond.args[0], axes)
        any_of = b.reduce("or", going.value, b.constant(np.array(False)), range(len(axes)))
        b.insert(hlo.ReturnOp([any_of]))
    with lifter.scope(), b.inside(InsertPoint.at_end(body)):
        going, old = Lifted(body.args[0], axes), [Lifted(value, axes) for value in body.args[1:]]
        lifter.lifted.update(zip(op.body.block.args, old, strict=True))
        new = _run(lifter, op.body)
        kept = [lifter.select(going, n, o) for n, o in zip(new, old, strict=True)]
        after = [lifter.expand(value, axes) for value in kept]
        still = _active(lifter, op, after, axes, going)
        b.insert(hlo.ReturnOp([still, *after]))
    made = hlo.WhileOp(state, Region(cond), Region(body))
    b.insert(made)
    return [Lifted(result, axes) for result in made.results[1:]]


def _active(
    lifter: Lifter, op: hlo.WhileOp, values: Sequence[SSAValue], axes: tuple[Index, ...], mask: Lifted | None
) -> SSAValue:
    """Where the loop goes on: the condition holds, and `mask`."""
    with lifter.scope():
        arguments = [Lifted(value, axes) for value in values]
        lifter.lifted.update(zip(op.cond.block.args, arguments, strict=True))
        [condition] = _run(lifter, op.cond)
    if mask is not None:
        condition = lifter.binary(hlo.AndOp, condition, mask)
    return lifter.expand(condition, axes)


def _common_branch(lifter: Lifter, op: hlo.IfOp, condition: Lifted) -> list[Lifted]:
    b = lifter.b
    _lift_captured(lifter, op)
    blocks, arms = (Block(), Block()), list[list[Lifted]]()
    for block, region in zip(blocks, (op.true_branch, op.false_branch), strict=True):
        with lifter.scope(), b.inside(InsertPoint.at_end(block)):
            arms.append(_run(lifter, region))
    axes = [union([pair[0].axes, pair[1].axes]) for pair in zip(*arms, strict=True)]
    for block, arm in zip(blocks, arms, strict=True):
        with b.inside(InsertPoint.at_end(block)):
            values = [lifter.expand(value, wide) for value, wide in zip(arm, axes, strict=True)]
            b.insert(hlo.ReturnOp(values))
    made = hlo.IfOp(condition.value, *map(Region, blocks))
    b.insert(made)
    return [Lifted(result, wide) for result, wide in zip(made.results, axes, strict=True)]


def _run(lifter: Lifter, region: Region) -> list[Lifted]:
    """What a region returns."""
    end = region.block.last_op
    assert end is not None
    return [lifter.lift(operand) for operand in end.operands]


def _lift_captured(lifter: Lifter, op: Operation) -> None:
    """Lifts what the regions of `op` read from around it, so that it is not made anew inside."""
    for inner in op.walk():
        for operand in inner.operands:
            block = operand.owner if isinstance(operand.owner, Block) else operand.owner.parent
            if lifter.is_inside(operand) and block is not None and not op.is_ancestor(block):
                lifter.lift(operand)


@contextmanager
def _where(lifter: Lifter, mask: Lifted) -> Generator[None]:
    """Inside, only the elements in `mask` matter: loops do not go on for others."""
    before = lifter.mask
    lifter.mask = mask if before is None else lifter.binary(hlo.AndOp, before, mask)
    yield
    lifter.mask = before
