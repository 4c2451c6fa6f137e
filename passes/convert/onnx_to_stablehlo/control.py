"""ONNX's control flow: branches are chosen, loops stay loops where their steps are alike, and are unrolled else.

Steps are unlike where the body asks for numbers that each step knows (of the counter, of sizes), or where a value that
is carried changes its shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i64

from ....compiler.diagnostics import LaminaError, ValuesNeeded
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .loops import Row, conditional_loop, counted_loop, row_of
from .sizes import Size, shape_entries, value_of
from .table import lowers

_MOST_ITERATIONS = 1024
_FEW_ITERATIONS = 4  # which are unrolled: what is known of each step makes it simpler


@lowers("If")
def conditional(b: GraphBuilder, condition: Value, *, then_branch: int, else_branch: int) -> list[Value]:
    """A condition known at compile time drops the other branch; else both are computed and one is chosen."""
    known = b.constant_value(condition)
    if known is not None:
        return b.region(then_branch if known.reshape(-1)[0] else else_branch, [])
    yes, no = _both(b, condition, then_branch, else_branch)
    if len(yes) != len(no):
        raise b.fail(f"one branch gives {len(yes)} values, the other {len(no)}")
    chosen = b.reshape(condition, [])
    results: list[Value] = []
    for x, y in zip(yes, no, strict=True):
        if x in b.extents or y in b.extents:
            results.append(_of_either_size(b, chosen, x, y))
            continue
        if x.type != y.type:
            b.require_constant(condition, "the condition of branches that give results of different types")
        results.append(b.select(chosen, x, y))
    return results


def _both(b: GraphBuilder, condition: Value, then_branch: int, else_branch: int) -> tuple[list[Value], list[Value]]:
    """The results of both branches.

    Where one does not fit the shapes that the model is given, which one is taken has to be known: networks for two
    sample rates take windows of different lengths. Raises ValuesNeeded there, if the inputs' values decide it.
    """
    try:
        return b.region(then_branch, []), b.region(else_branch, [])
    except ValuesNeeded:
        raise
    except LaminaError as error:
        if b.depends_on_inputs(condition):
            b.require_constant(condition, f"which branch is taken, as one is refused ({error.message}),")
        raise


def _of_either_size(b: GraphBuilder, chosen: Value, x: Value, y: Value) -> Value:
    """One of two tensors, of which at least one has a size that data decide."""
    if rank_of(x) != rank_of(y) or element_of(x) != element_of(y):
        raise b.fail(f"one branch gives {x.type}, the other {y.type}")
    sizes = [shape_entries(b, x), shape_entries(b, y)]
    most = [max(n, m) for n, m in zip(shape_of(x), shape_of(y), strict=True)]
    zero = b.scalar(0, element_of(x))
    x, y = (b.pad(v, zero, [0] * len(most), [m - n for n, m in zip(shape_of(v), most, strict=True)]) for v in (x, y))
    result = b.select(chosen, x, y)
    for axis, (one, other) in enumerate(zip(*sizes, strict=True)):
        if one != other or isinstance(one, Size):
            b.bounded(result, axis, b.select(chosen, value_of(b, one), value_of(b, other)))
    return result


@lowers("Loop")
def loop(b: GraphBuilder, trips: Value | None, condition: Value | None, *carried: Value, body: int) -> list[Value]:
    """A loop where steps are alike; else unrolled, and the trip count, or the end, must be known at compile time."""
    try:
        rolled = _rolled(b, trips, condition, carried, body)
    except LaminaError:
        rolled = None
    return _unrolled(b, trips, condition, carried, body) if rolled is None else rolled


def _rolled(
    b: GraphBuilder, trips: Value | None, condition: Value | None, carried: Sequence[Value], body: int
) -> list[Value] | None:
    """The loop as one of the hub; None where it is better unrolled. Raises LaminaError where steps are not alike."""
    starts = True if condition is None else b.constant_value(condition)
    if starts is not None and not np.all(starts):
        return None

    def step(inner: GraphBuilder, i: Value, state: Sequence[Value]) -> tuple[Value, list[Value]]:
        following, *results = inner.region(body, [i, inner.constant(np.array(True)), *state])
        return following, results

    def counted_step(inner: GraphBuilder, i: Value, state: Sequence[Value]) -> tuple[list[Value], list[Row]]:
        _, results = step(inner, i, state)
        return results[: len(carried)], [Row(value) for value in results[len(carried) :]]

    with b.inner([TensorType(i64, []), *(value.type for value in carried)]) as trial:
        following, _ = step(trial, trial.block.args[0], trial.block.args[1:])
        goes_on = trial.constant_value(following)
        trial.block.drop_all_references()
    most = None if trips is None else b.constant_value(trips)
    if starts is not None and most is not None and goes_on is not None and np.all(goes_on):
        count = int(most.reshape(-1)[0])
        if count <= _FEW_ITERATIONS:
            return None
        state, stacked = counted_loop(b, count, carried, counted_step)
        return [*state, *stacked]
    if len(b.wanted) > len(carried):
        return None  # the number of steps, a size of what is stacked, has to be known
    if trips is None and goes_on is not None:
        return None  # it ends after a step, or never
    return conditional_loop(b, trips, condition, carried, step)


def _unrolled(
    b: GraphBuilder, trips: Value | None, condition: Value | None, carried: Sequence[Value], body: int
) -> list[Value]:
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
    """A loop over the scanned axis where steps are alike, else unrolled."""
    count = len(values) - num_scan_inputs
    state, scanned = list(values[:count]), values[count:]
    axes = [b.axis(a, rank_of(x)) for a, x in zip(scan_input_axes or [0] * len(scanned), scanned, strict=True)]
    backwards = list(scan_input_directions or [0] * len(scanned))
    lengths = {shape_of(x)[axis] for x, axis in zip(scanned, axes, strict=True)}
    if len(lengths) != 1:
        raise b.fail(f"the scanned axes have different lengths {sorted(lengths)}")
    (length,) = lengths
    out_axes, reversed_ = list(scan_output_axes or []), list(scan_output_directions or [])

    def step(inner: GraphBuilder, i: Value, state: Sequence[Value]) -> tuple[list[Value], list[Row]]:
        places = [inner.subtract(length - 1, i) if reverse else i for reverse in backwards]
        slices = [row_of(inner, x, *where) for x, where in zip(scanned, zip(axes, places, strict=True), strict=True)]
        results = inner.region(body, [*state, *slices])
        rows: list[Row] = []
        for k, value in enumerate(results[count:]):
            axis = b.axis(out_axes[k] if out_axes else 0, rank_of(value) + 1)
            rows.append(Row(value, axis, bool(reversed_[k]) if reversed_ else False))
        return results[:count], rows

    if length > _FEW_ITERATIONS:
        try:
            final, stacked = counted_loop(b, length, state, step)
        except LaminaError:
            pass  # steps are not alike
        else:
            return [*final, *stacked]
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
    out_axes, reversed_ = out_axes or [0] * len(outputs), reversed_ or [0] * len(outputs)
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
