"""ONNX's control flow, as far as it is known at compile time: branches are chosen, loops are unrolled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .builder import GraphBuilder, Value, rank_of, shape_of
from .table import lowers

_MOST_ITERATIONS = 1024


@lowers("If")
def conditional(b: GraphBuilder, condition: Value, *, then_branch: int, else_branch: int) -> list[Value]:
    """A condition known at compile time drops the other branch; else both are computed and one is chosen."""
    known = b.constant_value(condition)
    if known is not None:
        return b.region(then_branch if known.reshape(-1)[0] else else_branch, [])
    yes, no = b.region(then_branch, []), b.region(else_branch, [])
    if len(yes) != len(no):
        raise b.fail(f"one branch gives {len(yes)} values, the other {len(no)}")
    if any(x.type != y.type for x, y in zip(yes, no, strict=True)):
        b.require_constant(condition, "the condition of branches that give results of different types")
    chosen = b.reshape(condition, [])
    return [b.select(chosen, x, y) for x, y in zip(yes, no, strict=True)]


@lowers("Loop")
def loop(b: GraphBuilder, trips: Value | None, condition: Value | None, *carried: Value, body: int) -> list[Value]:
    """Unrolled: the trip count, or the condition that ends the loop, must be known at compile time."""
    limit = _MOST_ITERATIONS + 1 if trips is None else int(b.number(trips, "trip count of Loop"))
    goes_on = condition is None or bool(b.number(condition, "condition of Loop"))
    state, stacked = list(carried), list[list[Value]]()
    done = 0
    while goes_on and done < limit:
        if done == _MOST_ITERATIONS:
            raise b.fail(f"loops of more than {_MOST_ITERATIONS} iterations are not supported")
        count, truth = b.constant(np.array(done, np.int64)), b.constant(np.array(True))
        following, *results = b.region(body, [count, truth, *state])
        goes_on = bool(b.number(following, "the condition that ends Loop"))
        state = results[: len(carried)]
        stacked.append(results[len(carried) :])
        done += 1
    if not done and any(b.wanted[len(carried) :]):
        raise b.fail("a loop without iterations gives tensors of unknown shape")
    columns = [[row[i] for row in stacked] for i in range(len(stacked[0]))] if stacked else []
    return [*state, *(_stack(b, column, 0, False) for column in columns)]


@lowers("Scan", since=9)
def scan(
    b: GraphBuilder,
    *values: Value,
    body: int,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
) -> list[Value]:
    """Unrolled over the scanned axis."""
    count = len(values) - num_scan_inputs
    state, scanned = list(values[:count]), values[count:]
    axes = [b.axis(a, rank_of(x)) for a, x in zip(scan_input_axes or [0] * len(scanned), scanned, strict=True)]
    backwards = list(scan_input_directions or [0] * len(scanned))
    lengths = {shape_of(x)[axis] for x, axis in zip(scanned, axes, strict=True)}
    if len(lengths) != 1:
        raise b.fail(f"the scanned axes have different lengths {sorted(lengths)}")
    (length,) = lengths
    if not 0 < length <= _MOST_ITERATIONS:
        raise b.fail(f"scans over {length} elements are not supported, only 1 to {_MOST_ITERATIONS}")
    rows: list[list[Value]] = []
    for i in range(length):
        slices = [
            _row(b, x, axis, length - 1 - i if reverse else i)
            for x, axis, reverse in zip(scanned, axes, backwards, strict=True)
        ]
        results = b.region(body, [*state, *slices])
        state = results[:count]
        rows.append(results[count:])
    outputs = [[row[i] for row in rows] for i in range(len(rows[0]))]
    out_axes = list(scan_output_axes or [0] * len(outputs))
    reversed_ = list(scan_output_directions or [0] * len(outputs))
    return [
        *state,
        *(
            _stack(b, column, axis, bool(reverse))
            for column, axis, reverse in zip(outputs, out_axes, reversed_, strict=True)
        ),
    ]


@lowers("Scan", since=8)
def scan_8(
    b: GraphBuilder,
    lengths: Value | None,
    *values: Value,
    body: int,
    num_scan_inputs: int,
    directions: Sequence[int] | None = None,
) -> list[Value]:
    """Every input has a batch in front, and each of the batch is scanned on its own."""
    if lengths is not None:
        raise b.fail("scans over sequences of different lengths are not supported")
    outputs: list[list[Value]] = []
    for i in range(shape_of(values[0])[0]):
        one = [_row(b, value, 0, i) for value in values]
        outputs.append(scan(b, *one, body=body, num_scan_inputs=num_scan_inputs, scan_input_directions=directions))
    return [_stack(b, list(column), 0, False) for column in zip(*outputs, strict=True)]


def _row(b: GraphBuilder, x: Value, axis: int, index: int) -> Value:
    shape = shape_of(x)
    return b.reshape(b.slice_axis(x, axis, index, index + 1), [*shape[:axis], *shape[axis + 1 :]])


def _stack(b: GraphBuilder, rows: Sequence[Value], axis: int, reverse: bool) -> Value:
    """The values as slices along a new axis."""
    along = b.axis(axis, rank_of(rows[0]) + 1)
    ordered = rows[::-1] if reverse else rows
    return b.concatenate([b.expand_dims(row, [along]) for row in ordered], along)
