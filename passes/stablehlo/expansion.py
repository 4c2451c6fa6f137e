"""Ops written out in terms of simpler ones of the hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...compiler.dtypes import dense_attribute
from ...dialects.stablehlo import ConstantOp, ReturnOp, WhileOp
from .elements import Elements, Insert

Expansion = Callable[[Any], Sequence[SSAValue] | None]
"""Inserts ops before the one it is given and returns the values of its results; None where the op stays."""


def expand(module: ModuleOp, table: Mapping[type[Operation], Expansion]) -> None:
    """Replaces each op in the module that the table has an expansion for; what that inserts stays as it is."""
    for op in [op for op in module.walk() if type(op) in table]:
        values = table[type(op)](op)
        if values is None:
            continue
        for old, new in zip(op.results, values, strict=True):
            new.name_hint = new.name_hint or old.name_hint
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()


Step = Callable[[Elements, Sequence[Elements]], Sequence[Elements]]


def counted_loop(
    insert: Insert, count: int | Elements, state: Sequence[Elements], step: Step, *, while_last: bool = False
) -> list[Elements]:
    """The state after `count` steps, each given its number (an i32 without dimensions) and the state before it.

    `count` is a number, or an i32 without dimensions.

    What a step takes from outside it brings `within` the loop, so that ops on it are put there. `while_last`: the
    loop ends, too, when the last of the state, an i1 without dimensions, is false.
    """
    start = insert(ConstantOp(dense_attribute(np.array(0, np.int32)))).results[0]
    operands = [start, *(value.value for value in state)]
    condition, body = (Block(arg_types=[value.type for value in operands]) for _ in range(2))
    at = Elements(_appending(condition), condition.args[0])
    more = at < (count if isinstance(count, int) else count.within(at.insert))
    if while_last:
        more = more & Elements(at.insert, condition.args[-1])
    condition.add_op(ReturnOp([more.value]))
    at, *values = (Elements(_appending(body), argument) for argument in body.args)
    body_results = [(at + 1).value, *(value.value for value in step(at, values))]
    body.add_op(ReturnOp(body_results))
    loop = insert(WhileOp(operands, Region(condition), Region(body)))
    return [Elements(insert, result) for result in loop.results[1:]]


def _appending(block: Block) -> Insert:
    def insert(op: Operation) -> Operation:
        block.add_op(op)
        return op

    return insert
