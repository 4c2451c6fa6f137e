"""Branches and loops: the regions become subgraphs, which see the values around them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i1, i32, i64
from xdsl.ir import Block, Region

from ....dialects import stablehlo as hlo
from .builder import NodeBuilder, Value
from .table import writes


def _inlined(b: NodeBuilder, block: Block, arguments: Sequence[Value]) -> list[Value]:
    """What the ops of a region stand for, appended; its results."""
    b.values |= dict(zip(block.args, arguments, strict=True))
    source = b.source
    b.lower(block)
    b.source = source
    end = block.last_op
    assert end is not None
    return [b.values[operand] for operand in end.operands]


def _branch(b: NodeBuilder, block: Block) -> Region:
    inner = b.inner([])
    return inner.region(_owned(inner, _inlined(inner, block, [])))


def _owned(b: NodeBuilder, results: Sequence[Value]) -> list[Value]:
    """`results` as values of this subgraph, each of its own: a graph cannot give what it did not make."""
    return [b.all("Identity", [x], [x.type])[0] for x in results]


@writes(hlo.IfOp)
def if_(b: NodeBuilder, op: hlo.IfOp, choice: Value) -> list[Value]:
    branches = {"then_branch": _branch(b, op.regions[0].block), "else_branch": _branch(b, op.regions[1].block)}
    return b.all("If", [choice], [r.type for r in op.results], branches)


@writes(hlo.CaseOp)
def case(b: NodeBuilder, op: hlo.CaseOp, index: Value) -> list[Value]:
    """One If inside the other; the last branch is also that of an index out of range."""
    return _cases(b, op, index, 0)


def _cases(b: NodeBuilder, op: hlo.CaseOp, index: Value, first: int) -> list[Value]:
    types = [r.type for r in op.results]
    if first == len(op.regions) - 1:
        return _inlined(b, op.regions[first].block, [])
    hit = b.test("Equal", index, b.number(first, i32), shape=[])
    rest = b.inner([])
    region = rest.region(_owned(rest, _cases(rest, op, index, first + 1)))
    branches = {"then_branch": _branch(b, op.regions[first].block), "else_branch": region}
    return b.all("If", [hit], types, branches)


@writes(hlo.WhileOp)
def while_(b: NodeBuilder, op: hlo.WhileOp, *state: Value) -> list[Value]:
    """A Loop without a trip count: the condition is computed before it, and at the end of each step."""
    condition, body = op.regions[0].block, op.regions[1].block
    [goes_on] = _inlined(b, condition, state)
    inner = b.inner([TensorType(i64, []), TensorType(i1, []), *(x.type for x in state)])
    after = _inlined(inner, body, inner.block.args[2:])
    [again] = _inlined(inner, condition, after)
    region = inner.region(_owned(inner, [again, *after]))
    most = b.number(2**63 - 1, i64)
    return b.all("Loop", [most, goes_on, *state], [r.type for r in op.results], {"body": region})
