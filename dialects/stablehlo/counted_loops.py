"""Loops whose number of iterations is known: `stablehlo.while` over a counter with constant bounds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument

from ...compiler.dtypes import dtype_of
from .constants import integer_of
from .ops_binary import AddOp, SubtractOp
from .ops_comparison import CompareOp
from .ops_control import WhileOp

_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "NE": operator.ne,
}
_SEEN_FROM_RIGHT = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}


@dataclass(frozen=True)
class Counted:
    """The counter is what the loop carries at `index`: `start`, `start + step`, … in `trips` iterations."""

    index: int
    start: int
    step: int
    trips: int


def counted(op: WhileOp) -> Counted | None:
    """How often the loop runs, where a counter with constant start, step and end alone decides that."""
    test = cast(Any, op.cond.block.last_op).operands[0].owner
    if not isinstance(test, CompareOp):
        return None
    direction = test.comparison_direction.data.value
    counter, end = test.lhs, integer_of(test.rhs)
    if end is None:
        counter, end, direction = test.rhs, integer_of(test.lhs), _SEEN_FROM_RIGHT.get(direction, direction)
    if end is None or direction not in _HOLDS or not isinstance(counter, BlockArgument):
        return None
    if counter.block is not op.cond.block:
        return None
    start, step = integer_of(op.operands[counter.index]), _step(op, counter.index)
    if start is None or step is None:
        return None
    trips = _trips(start, step, end, direction)
    assert isinstance(counter.type, TensorType)
    limits = np.iinfo(dtype_of(counter.type))
    if trips is None or not limits.min <= start + trips * step <= limits.max:
        return None  # it would wrap around
    return Counted(counter.index, start, step, trips)


def _trips(start: int, step: int, end: int, direction: str) -> int | None:
    """The first `n` at which `start + n * step` is past the end, None where it never is."""
    if not _HOLDS[direction](start, end):
        return 0
    if direction == "NE":
        return (end - start) // step if (end - start) % step == 0 and (end - start) // step > 0 else None
    if (step > 0) != (direction in ("LT", "LE")):
        return None
    past = end if direction in ("LT", "GT") else end + (1 if step > 0 else -1)
    return -((start - past) // step)


def _step(op: WhileOp, index: int) -> int | None:
    """What an iteration adds to the carried number."""
    body = op.body.block
    argument, following = body.args[index], cast(Any, body.last_op).operands[index].owner
    if isinstance(following, AddOp) and argument in following.operands:
        step = integer_of(following.operands[1 if following.operands[0] is argument else 0])
    elif isinstance(following, SubtractOp) and following.operands[0] is argument:
        less = integer_of(following.operands[1])
        step = None if less is None else -less
    else:
        return None
    return step or None
