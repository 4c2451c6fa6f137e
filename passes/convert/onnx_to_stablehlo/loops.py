"""Loops of the hub: over a condition, and over a counter, with what their steps give stacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Region

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, shape_of

State = Sequence[Value]


@dataclass(frozen=True)
class Row:
    """What one step gives of a result that is stacked along a new axis; `backwards`: the first step gives the last."""

    value: Value
    axis: int = 0
    backwards: bool = False


def while_loop(
    b: GraphBuilder,
    state: State,
    goes_on: Callable[[GraphBuilder, State], Value],
    step: Callable[[GraphBuilder, State], State],
) -> list[Value]:
    """The state after as many steps as `goes_on` allows; both are given a builder of the loop's own."""

    def region(make: Callable[[GraphBuilder, State], State]) -> Region:
        with b.inner([value.type for value in state]) as inner:
            inner.block.add_op(hlo.ReturnOp(list(make(inner, inner.block.args))))
            return Region(inner.block)

    return b.all(hlo.WhileOp(list(state), region(lambda inner, s: [goes_on(inner, s)]), region(step)))


def row_of(b: GraphBuilder, x: Value, axis: int, index: Value) -> Value:
    """`x` at a computed `index` of an axis, which goes away."""
    shape = shape_of(x)
    sizes = [1 if i == axis else size for i, size in enumerate(shape)]
    found = b(hlo.DynamicSliceOp(x, _at(b, axis, index, len(shape)), slice_sizes=sizes))
    return b.reshape(found, [*shape[:axis], *shape[axis + 1 :]])


def counted_loop(
    b: GraphBuilder,
    count: int,
    state: State,
    step: Callable[[GraphBuilder, Value, State], tuple[State, Sequence[Row]]],
) -> tuple[list[Value], list[Value]]:
    """The state after `count` (at least one) times `step(inner, i, state)`, i from 0, and the stacked rows.

    Raises LaminaError where a step changes the type of what it carries.
    """
    counter = TensorType(i64, [])
    with b.inner([counter, *(value.type for value in state)]) as body:
        i, *carried = body.block.args
        following, rows = step(body, i, carried)
        _check_step(body, state, following, [row.value for row in rows])
        stacks: list[Value] = []
        changed: list[Value] = []
        for row in rows:
            shape = shape_of(row.value)
            whole = [*shape[: row.axis], count, *shape[row.axis :]]
            stacks.append(b.broadcast_to(b.scalar(0, element_of(row.value)), whole))
            stack = body.block.insert_arg(stacks[-1].type, len(body.block.args))
            at = body.subtract(count - 1, i) if row.backwards else i
            part = body.expand_dims(row.value, [row.axis])
            changed.append(body(hlo.DynamicUpdateSliceOp(stack, part, _at(body, row.axis, at, len(whole)))))
        body.block.add_op(hlo.ReturnOp([body.add(i, 1), *following, *changed]))
        started = [b.scalar(0, i64), *state, *stacks]
        with b.inner([value.type for value in started]) as goes_on:
            goes_on.block.add_op(hlo.ReturnOp([goes_on.compare(goes_on.block.args[0], count, "LT")]))
            _, *results = b.all(hlo.WhileOp(started, Region(goes_on.block), Region(body.block)))
    return results[: len(state)], results[len(state) :]


def conditional_loop(
    b: GraphBuilder,
    most: Value | None,
    condition: Value | None,
    state: State,
    step: Callable[[GraphBuilder, Value, State], tuple[Value, State]],
) -> list[Value]:
    """The state after steps as long as `condition`, at first, and what each step gives hold, and at most `most`.

    Raises LaminaError where a step changes the type of what it carries.
    """
    holds = b.scalar(True, i1) if condition is None else b.reshape(condition, [])

    def goes_on(inner: GraphBuilder, carried: Sequence[Value]) -> Value:
        if most is None:
            return carried[1]
        return inner.logical_and(carried[1], inner.compare(carried[0], inner.reshape(most, []), "LT"))

    def iteration(inner: GraphBuilder, carried: Sequence[Value]) -> Sequence[Value]:
        i, _, *values = carried
        again, following = step(inner, i, values)
        _check_step(inner, values, following, [])
        return [inner.add(i, 1), inner.reshape(again, []), *following]

    return while_loop(b, [b.scalar(0, i64), holds, *state], goes_on, iteration)[2:]


def _check_step(b: GraphBuilder, state: State, following: State, rows: Sequence[Value]) -> None:
    if [value.type for value in following] != [value.type for value in state]:
        raise b.fail("a loop's step changes the types of what it carries")
    if any(value in b.extents for value in (*following, *rows)):
        raise b.fail("a loop gives tensors whose size data decide")


def _at(b: GraphBuilder, axis: int, index: Value, rank: int) -> list[Value]:
    zero = b.scalar(0, element_of(index))
    return [index if i == axis else zero for i in range(rank)]
