"""What a reduction combines numbers with, where its body combines one number with each result and does no more."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...dialects.linalg import GenericOp, YieldOp
from ..gpu.combining import COMBINERS


def combiners(op: GenericOp) -> list[tuple[str, Operation, SSAValue]] | None:
    """For each output of a reduction: the kind, the op that combines, and what is combined; None for other bodies."""
    block = op.body.block
    last = block.last_op
    assert isinstance(last, YieldOp)
    accumulators = block.args[len(op.inputs) :]
    found: list[tuple[str, Operation, SSAValue]] = []
    for value, accumulator in zip(last.operands, accumulators, strict=True):
        owner = value.owner
        uses = [use.operation for use in accumulator.uses]
        if not isinstance(owner, Operation) or owner.name not in COMBINERS or uses != [owner]:
            return None
        if len(list(value.uses)) != 1:
            return None
        [other] = [v for v in owner.operands if v is not accumulator] or [None]
        if other is None:
            return None
        found.append((COMBINERS[owner.name], owner, other))
    return found
