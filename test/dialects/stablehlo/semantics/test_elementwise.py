"""Elementwise meanings at their corners; each row carries its expected values."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.weights import WeightStore
from lamina.dialects.stablehlo import (
    Atan2Op,
    ClampOp,
    CompareOp,
    ConvertOp,
    DivideOp,
    MaximumOp,
    PowerOp,
    ReducePrecisionOp,
    RemainderOp,
    RoundNearestAfzOp,
    RoundNearestEvenOp,
    ShiftLeftOp,
    ShiftRightArithmeticOp,
    ShiftRightLogicalOp,
    SignOp,
)
from lamina.dialects.stablehlo.constants import element_type_of, make_constant
from lamina.dialects.stablehlo.semantics import evaluate
from lamina.dialects.stablehlo.semantics.special import erf

NAN, INF = math.nan, math.inf
I8, F32 = np.int8, np.float32


def apply(op: Any, *args: Any, **attributes: Any) -> Any:
    weights = WeightStore()
    made = op(*(make_constant(a, weights) for a in args), **attributes)
    return evaluate(made, args, weights)[0]


BINARY: list[tuple[Any, Any, list[Any], list[Any], list[Any]]] = [
    (DivideOp, I8, [7, -7, 7, -7, -128, 5], [2, 2, -2, -2, -1, 0], [3, -3, -3, 3, -128, -1]),
    (RemainderOp, I8, [7, -7, 7, -7, -128, 5], [2, 2, -2, -2, -1, 0], [1, -1, 1, -1, 0, 5]),
    (RemainderOp, F32, [5.5, -5.5, 1, INF], [2, 2, INF, 2], [1.5, -1.5, 1, NAN]),
    (PowerOp, np.int32, [2, -2, 1, -1, 0, 3], [5, 3, -3, -3, 0, -1], [32, -8, 1, -1, 1, 0]),
    (ShiftLeftOp, I8, [-8, -8, -8, 1], [1, 8, -1, 7], [-16, 0, 0, -128]),
    (ShiftRightLogicalOp, I8, [-8, -8, -8, 1], [1, 8, -1, 7], [124, 0, 0, 0]),
    (ShiftRightArithmeticOp, I8, [-8, -8, -8, 1], [1, 8, -1, 7], [-4, -1, -1, 0]),
    (MaximumOp, F32, [NAN, 1, -INF], [1, NAN, 0], [NAN, NAN, 0]),
]


@pytest.mark.parametrize(("op", "dtype", "x", "y", "expected"), BINARY)
def test_binary(op: Any, dtype: Any, x: list[Any], y: list[Any], expected: list[Any]) -> None:
    actual = apply(op, np.array(x, dtype), np.array(y, dtype))
    np.testing.assert_array_equal(actual, np.array(expected, dtype))


def test_rounding() -> None:
    x = np.array([0.5, 1.5, -2.5, 0.49999997, -0.5, NAN], F32)
    np.testing.assert_array_equal(apply(RoundNearestAfzOp, x), np.array([1, 2, -3, 0, -1, NAN], F32))
    np.testing.assert_array_equal(apply(RoundNearestEvenOp, x), np.array([0, 2, -2, 0, -0.0, NAN], F32))


def test_sign_keeps_zero_and_nan() -> None:
    actual = apply(SignOp, np.array([-0.0, 0.0, NAN, -3], F32))
    np.testing.assert_array_equal(actual, np.array([-0.0, 0.0, NAN, -1], F32))
    assert np.signbit(actual[0])


def test_clamp_gives_nan_for_nan() -> None:
    zero, one = np.array(0, F32), np.array(1, F32)
    actual = apply(ClampOp, zero, np.array([-1, 0.5, 2, NAN], F32), one)
    np.testing.assert_array_equal(actual, np.array([0, 0.5, 1, NAN], F32))


def test_compare_total_order() -> None:
    x, y = np.array([-0.0, NAN, 1], F32), np.array([0.0, INF, NAN], F32)
    plain = apply(CompareOp, x, y, comparison_direction="LT")
    total = apply(CompareOp, x, y, comparison_direction="LT", compare_type="TOTALORDER")
    assert plain.tolist() == [False, False, False]
    assert total.tolist() == [True, False, True]


CONVERSIONS: list[tuple[list[Any], Any, Any, list[Any]]] = [
    ([NAN, INF, -INF, 1e30, 2.9, -2.9], np.float64, np.int64, [0, 2**63 - 1, -(2**63), 2**63 - 1, 2, -2]),
    ([NAN, 127.5, 128, -129], F32, I8, [0, 127, 127, -128]),
    ([-1, 255.9, 300], F32, np.uint8, [0, 255, 255]),
    ([300, -1], np.int32, I8, [44, -1]),
    ([0.0, -0.5, NAN], F32, np.bool_, [False, True, True]),
    ([1.00390625, 3.4e38], F32, ml_dtypes.bfloat16, [1.0, INF]),
    ([9.0, -9.0, 3.7], F32, ml_dtypes.int4, [7, -8, 3]),
]


@pytest.mark.parametrize(("x", "source", "target", "expected"), CONVERSIONS)
def test_convert(x: list[Any], source: Any, target: Any, expected: list[Any]) -> None:
    actual = apply(ConvertOp, np.array(x, source), element_type=element_type_of(np.dtype(target)))
    np.testing.assert_array_equal(actual, np.array(expected).astype(target))


def test_reduce_precision_to_half() -> None:
    x = np.array([1.1, 65520, 1e-8, NAN, -3.3], F32)
    actual = apply(ReducePrecisionOp, x, exponent_bits=5, mantissa_bits=10)
    np.testing.assert_array_equal(actual, x.astype(np.float16).astype(F32))


def test_bfloat16_is_rounded_once() -> None:
    x = np.array([1.0], ml_dtypes.bfloat16)
    assert apply(DivideOp, x, np.array([3.0], ml_dtypes.bfloat16)) == ml_dtypes.bfloat16(1 / 3)


def test_erf() -> None:
    x = np.concatenate([np.linspace(-7, 7, 2001), [0.0, -0.0, INF, -INF, 1e-300]])
    expected = np.array([math.erf(v) for v in x])
    assert np.all(np.abs(erf(x) - expected) <= 2 * np.spacing(np.abs(expected)))
    assert np.isnan(erf(np.array([NAN]))[0])


def test_atan2_of_complex_numbers() -> None:
    """For real numbers on the right half it is the angle; for others what the formula gives."""
    y, x = np.array([1 + 0j, -2 + 0j, 1 + 1j], np.complex64), np.array([1 + 0j, 3 + 0j, 2 + 0j], np.complex64)
    expected = -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))
    assert np.allclose(expected[:2], np.arctan2(y.real, x.real)[:2])
    assert np.allclose(apply(Atan2Op, y, x), expected)


def test_remainder_of_complex_numbers() -> None:
    x = np.array([1 + 2j], np.complex64)
    with pytest.raises(LaminaError, match="does not say"):
        apply(RemainderOp, x, x)
