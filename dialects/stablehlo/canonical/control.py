"""Branches that are known at compile time, and what loops only hand on."""

from __future__ import annotations

from xdsl.ir import Operation, Region
from xdsl.rewriter import InsertPoint

from .. import CaseOp, IfOp, WhileOp
from .rules import Builder, Replacement, simplifies


@simplifies(IfOp)
def if_known(op: IfOp, b: Builder) -> Replacement:
    pred = b.splat_of(op.operands[0])
    return None if pred is None else _inlined(op, op.regions[0 if pred else 1], b)


@simplifies(CaseOp)
def case_known(op: CaseOp, b: Builder) -> Replacement:
    index = b.splat_of(op.operands[0])
    if index is None:
        return None
    inside = 0 <= int(index) < len(op.regions)
    return _inlined(op, op.regions[int(index) if inside else -1], b)


@simplifies(WhileOp)
def state_that_stays(op: WhileOp, b: Builder) -> Replacement:
    """What every iteration hands on as it got it is read from outside: nothing copies it, a constant is seen as one."""
    end = op.body.block.last_op
    assert end is not None
    given = list(op.operands)
    stays = [value in (op.body.block.args[i], given[i]) for i, value in enumerate(end.operands)]
    if not any(stays) or all(stays):
        return None
    regions = [op.detach_region(region) for region in list(op.regions)]
    for region in regions:
        for i in (i for i in reversed(range(len(stays))) if stays[i]):
            b.rewriter.replace_all_uses_with(region.block.args[i], given[i])
            region.block.erase_arg(region.block.args[i])
    end.operands = [value for value, stay in zip(end.operands, stays, strict=True) if not stay]
    left = iter(b(WhileOp([value for value, stay in zip(given, stays, strict=True) if not stay], *regions)).results)
    return [value if stay else next(left) for value, stay in zip(given, stays, strict=True)]


def _inlined(op: Operation, region: Region, b: Builder) -> Replacement:
    """Moves the ops of a branch before `op`; what the branch returned."""
    block = region.block
    end = block.last_op
    assert end is not None
    values = list(end.operands)
    b.rewriter.erase(end)
    b.rewriter.inline_block(block, InsertPoint.before(op))
    return values
