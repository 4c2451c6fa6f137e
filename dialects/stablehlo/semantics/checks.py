"""The `check` dialect and the `check.expect_*` custom calls: a program that says what it expects."""

from __future__ import annotations

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.semantics import Call, semantics
from ....compiler.weights import Array
from ..check import DEFAULT_TOLERANCE
from .elementwise import is_float, total_order, widened


class CheckFailed(LaminaError):
    """A value differs from what the program expects; the message names the op and the first element."""


def _fail(call: Call, message: str, actual: Array, expected: Array, wrong: Array) -> None:
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    raise CheckFailed(
        f"{message}: {int(wrong.sum())} of {wrong.size} elements differ, "
        f"first at {list(first)}: got {actual[first]}, expected {expected[first]}",
        where=call.op,
    )


def _equal(x: Array, y: Array) -> Array:
    both_nan = (x != x) & (y != y) if is_float(x.dtype) or x.dtype.kind == "c" else np.zeros(x.shape, bool)
    return np.asarray((x == y) | both_nan)


def expect_eq(actual: Array, expected: Array, *, call: Call) -> list[Array]:
    """Equal elements; NaN equals NaN."""
    wrong = ~_equal(actual, np.broadcast_to(expected, actual.shape))
    if wrong.any():
        _fail(call, "values are not equal", actual, np.broadcast_to(expected, actual.shape), wrong)
    return []


def expect_almost_eq(
    actual: Array, expected: Array, *, call: Call, tolerance: float = DEFAULT_TOLERANCE
) -> list[Array]:
    """Within `tolerance` relative, or absolute below 1."""
    expected = np.broadcast_to(expected, actual.shape)
    x, y = widened(actual), widened(expected)
    wrong = ~(_equal(x, y) | (np.abs(x - y) <= tolerance * np.maximum(np.abs(y), 1)))
    if wrong.any():
        _fail(call, f"values differ by more than {tolerance}", actual, expected, wrong)
    return []


def expect_close(
    actual: Array,
    expected: Array,
    *,
    max_ulp_difference: int = 3,
    min_ulp_difference: int = 0,
    call: Call,
) -> list[Array]:
    """Within so many units in the last place; NaN is close to NaN."""
    steps = total_order(np.ascontiguousarray(actual)).astype(object) - total_order(
        np.ascontiguousarray(np.broadcast_to(expected, actual.shape))
    )
    distance = np.abs(steps)
    wrong = ~(_equal(actual, expected) | ((distance <= max_ulp_difference) & (distance >= min_ulp_difference)))
    if wrong.any():
        _fail(call, f"values differ by more than {max_ulp_difference} ulp", actual, expected, wrong)
    return []


semantics("check.expect_eq")(expect_eq)
semantics("check.expect_almost_eq")(expect_almost_eq)
semantics("check.expect_close")(expect_close)


@semantics("check.expect_eq_const")
def expect_eq_const(actual: Array, *, value: Array, call: Call) -> list[Array]:
    return expect_eq(actual, value, call=call)


@semantics("check.expect_almost_eq_const")
def expect_almost_eq_const(
    actual: Array, *, value: Array, tolerance: float = DEFAULT_TOLERANCE, call: Call
) -> list[Array]:
    return expect_almost_eq(actual, value, call=call, tolerance=tolerance)


CUSTOM_CHECKS = {
    "check.eq": expect_eq,
    "check.expect_eq": expect_eq,
    "check.expect_almost_eq": expect_almost_eq,
    "check.expect_close": expect_close,
}
