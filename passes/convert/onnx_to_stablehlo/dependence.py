"""What a value is computed from."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue


def inputs_behind(x: SSAValue, block: Block) -> set[int]:
    """The places of the arguments of `block` that `x` is computed from."""
    found: set[int] = set()
    seen: set[SSAValue] = set()
    pending = [x]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value.owner, Operation):
            pending.extend(operand for op in value.owner.walk() for operand in op.operands)
        elif value.owner is block:
            found.add(block.args.index(value))
    return found
