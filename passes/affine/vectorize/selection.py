"""Reductions that keep the best of all rounds' tuples, such as a value and its place: arg max in any of its forms.

    %v, %p = affine.for %j = 0 to 100 iter_args(%m = %low, %n = %none) -> (f32, i32) {
      %a = affine.load %x[%j]
      %i = arith.index_cast %j
      %keep = ... comparisons of %m with %a and of %n with %i, combined ...
      %value = arith.select %keep, %m, %a
      %place = arith.select %keep, %n, %i
      affine.yield %value, %place

Every lane may keep a best of its own, and these be compared at the end, if the choice does not depend on the order.
That is tried out: on all triples of tuples of a few numbers, NaN among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from ....dialects import affine

_FLOATS = (-1.0, 0.0, 1.0, math.nan)
_INTEGERS = (-1, 0, 1)
_MOST = 2  # values per tuple: trying out grows with the sixth power
_EQUAL, _GREATER, _LESS, _UNORDERED = 1, 2, 4, 8
# what each predicate of arith.cmpf lets pass
_CMPF = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 8, 15)
_CMPI = (1, 6, 4, 5, 2, 3, 4, 5, 2, 3)
_FIRST_UNSIGNED = 6
_LOGIC = (arith.AndIOp, arith.OrIOp, arith.XOrIOp)


@dataclass(frozen=True)
class Selection:
    """`ops` choose between what is carried and the `elements` of a round; the last of them are the selections."""

    carried: tuple[BlockArgument, ...]
    elements: tuple[SSAValue, ...]
    ops: tuple[Operation, ...]
    chosen: tuple[SSAValue, ...]


def find_selection(loop: affine.ForOp) -> Selection | None:
    """The selection that a loop carries, if it carries one and in whatever order rounds are."""
    last = loop.body.block.last_op
    carried = tuple(loop.body.block.args[1:])
    if last is None or not 1 <= len(carried) <= _MOST:
        return None
    elements: list[SSAValue] = []
    selects: list[Operation] = []
    for value, old in zip(last.operands, carried, strict=True):
        select = value.owner
        if not isinstance(select, arith.SelectOp) or len(list(value.uses)) != 1:
            return None
        others = [v for v in (select.lhs, select.rhs) if v is not old]
        if len(others) != 1 or others[0] in carried:
            return None
        elements.append(others[0])
        selects.append(select)
    ops = _conditions(loop, selects, carried, elements)
    if ops is None:
        return None
    found = Selection(carried, tuple(elements), tuple(ops), tuple(last.operands))
    return found if _ignores_order(found) else None


def _conditions(
    loop: affine.ForOp, selects: Sequence[Operation], carried: Sequence[SSAValue], elements: Sequence[SSAValue]
) -> list[Operation] | None:
    """The ops between the tuples and the choice, in order: comparisons of like with like, and logic."""
    needed: set[Operation] = set(selects)
    pending: list[SSAValue] = [select.operands[0] for select in selects]
    while pending:
        op = pending.pop().owner
        if not isinstance(op, Operation):
            return None
        if op in needed or isinstance(op, arith.ConstantOp):
            continue
        if isinstance(op, arith.CmpfOp | arith.CmpiOp):
            if not any({*op.operands} <= {old, new} for old, new in zip(carried, elements, strict=True)):
                return None
        elif isinstance(op, _LOGIC):
            pending += op.operands
        else:
            return None
        needed.add(op)
    if any(use.operation not in needed for old in carried for use in old.uses):
        return None
    return [op for op in loop.body.block.ops if op in needed]


def _ignores_order(selection: Selection) -> bool:
    """Whether choosing is commutative and associative."""
    domains = [_FLOATS if isinstance(v.type, AnyFloat) else _INTEGERS for v in selection.elements]
    tuples = list(product(*domains))
    best = {(a, b): _choose(selection, tuples[a], tuples[b]) for a, b in product(range(len(tuples)), repeat=2)}
    place = {_key(t): i for i, t in enumerate(tuples)}
    table = {pair: place[_key(t)] for pair, t in best.items()} if all(_key(t) in place for t in best.values()) else {}
    return bool(table) and all(
        table[a, b] == table[b, a] and table[table[a, b], c] == table[a, table[b, c]]
        for a, b, c in product(range(len(tuples)), repeat=3)
    )


def _key(values: Sequence[float]) -> tuple[Any, ...]:
    return tuple("nan" if math.isnan(v) else v for v in values)


def _choose(selection: Selection, old: Sequence[float], new: Sequence[float]) -> tuple[float, ...]:
    values: dict[SSAValue, Any] = dict(zip((*selection.carried, *selection.elements), (*old, *new), strict=True))
    for op in selection.ops:
        operands = [_value(operand, values) for operand in op.operands]
        values[op.results[0]] = _evaluate(op, operands)
    return tuple(values[v] for v in selection.chosen)


def _value(operand: SSAValue, values: dict[SSAValue, Any]) -> Any:
    if operand in values:
        return values[operand]
    constant = operand.owner
    assert isinstance(constant, arith.ConstantOp)
    return bool(constant.value.value.data) if isinstance(constant.value, IntegerAttr) else math.nan


def _evaluate(op: Operation, operands: Sequence[Any]) -> Any:
    match op:
        case arith.CmpfOp():
            return bool(_CMPF[op.predicate.value.data] & _relation(*operands))
        case arith.CmpiOp():
            predicate = op.predicate.value.data
            unsigned = predicate >= _FIRST_UNSIGNED
            return bool(_CMPI[predicate] & _relation(*(v % 4 if unsigned else v for v in operands)))
        case arith.AndIOp():
            return operands[0] and operands[1]
        case arith.OrIOp():
            return operands[0] or operands[1]
        case arith.XOrIOp():
            return operands[0] != operands[1]
        case _:
            return operands[1] if operands[0] else operands[2]


def _relation(a: float, b: float) -> int:
    if math.isnan(a) or math.isnan(b):
        return _UNORDERED
    return _EQUAL if a == b else _GREATER if a > b else _LESS
