"""Putting ops in the place of one."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint


def replace_op(op: Operation, write: Callable[[InsertPoint], None]) -> None:
    """Lets `write` put ops before one, all at its location, which goes."""
    block, point = op.parent, op.prev_op
    assert block is not None
    write(InsertPoint.before(op))
    new = point.next_op if point is not None else block.first_op
    while new is not None and new is not op:
        for inner in new.walk():
            inner.location = op.location
        new = new.next_op
    op.detach()
    op.erase()
