"""Branches that are known at compile time."""

from __future__ import annotations

from xdsl.ir import Operation, Region
from xdsl.rewriter import InsertPoint

from .. import CaseOp, IfOp
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


def _inlined(op: Operation, region: Region, b: Builder) -> Replacement:
    """Moves the ops of a branch before `op`; what the branch returned."""
    block = region.block
    end = block.last_op
    assert end is not None
    values = list(end.operands)
    b.rewriter.erase(end)
    b.rewriter.inline_block(block, InsertPoint.before(op))
    return values
