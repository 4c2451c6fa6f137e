"""What does not depend on an index goes in front of index notation, where it is computed once."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ....dialects.dsl import YieldOp


def hoist(root: Operation) -> list[Operation]:
    """Moves the ops inside `root` that do not depend on its indices, nor on those nested, before it; these ops."""
    outside = root.parent
    assert outside is not None
    moved: list[Operation] = []
    dependent: set[SSAValue] = set()

    def visit(block: Block) -> None:
        dependent.update(block.args)
        for op in list(block.ops):
            if not isinstance(op, YieldOp) and op.results and not _reads(op, dependent):
                op.detach()
                outside.insert_op_before(op, root)
                moved.append(op)
                continue
            dependent.update(op.results)
            for region in op.regions:
                for inner in region.blocks:
                    visit(inner)

    for region in root.regions:
        for block in region.blocks:
            visit(block)
    return moved


def _reads(op: Operation, values: set[SSAValue]) -> bool:
    return any(operand in values for inner in op.walk() for operand in inner.operands)
