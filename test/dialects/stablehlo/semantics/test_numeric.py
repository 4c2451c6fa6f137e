"""Products, windows, factorisations and random bits against independent NumPy formulas or published values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from lamina.compiler.interpreter import Interpreter
from lamina.compiler.weights import Array, WeightStore
from lamina.dialects import stablehlo as hlo
from lamina.dialects.stablehlo.constants import make_constant
from lamina.dialects.stablehlo.semantics.random import philox4x32, threefry2x32

RNG = np.random.default_rng(0)
WEIGHTS = WeightStore()


def apply(op: Any, *args: Array, **attributes: Any) -> list[Array]:
    made = op(*(make_constant(a, WEIGHTS) for a in args), **attributes)
    return Interpreter(WEIGHTS).evaluate(made, args)


CONVOLUTIONS = list(
    itertools.product(
        [(1, 1), (2, 3)],
        [((0, 0), (0, 0)), ((1, 2), (0, 3))],
        [(1, 1), (2, 2)],
        [(1, 1), (2, 1)],
        ["", "g2", "g4", "b2"],
    )
)


@pytest.mark.parametrize(("strides", "padding", "base", "dilation", "groups"), CONVOLUTIONS)
def test_convolution(strides: Any, padding: Any, base: Any, dilation: Any, groups: str) -> None:
    x = RNG.standard_normal((4, 4, 5, 6))
    feature_groups = int(groups[1]) if groups.startswith("g") else 1
    batch_groups = int(groups[1]) if groups.startswith("b") else 1
    w = RNG.standard_normal((8, 4 // feature_groups, 3, 2))
    [actual] = apply(
        hlo.ConvolutionOp,
        x,
        w,
        dimension_numbers="[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
        window_strides=strides,
        padding=padding,
        lhs_dilation=base,
        rhs_dilation=dilation,
        feature_group_count=feature_groups,
        batch_group_count=batch_groups,
    )
    spread = np.zeros((4, 4, 4 * base[0] + 1, 5 * base[1] + 1))
    spread[:, :, :: base[0], :: base[1]] = x
    spread = np.pad(spread, ((0, 0), (0, 0), *padding))
    n, inputs = 4 // batch_groups, w.shape[1]
    for index in np.ndindex(*actual.shape):
        image, output, i, j = index
        first = output // (8 // feature_groups) * inputs
        image += output // (8 // batch_groups) * n
        i, j = i * strides[0], j * strides[1]
        rows = slice(i, i + 2 * dilation[0] + 1, dilation[0])
        columns = slice(j, j + dilation[1] + 1, dilation[1])
        expected = (spread[image, first : first + inputs, rows, columns] * w[output]).sum()
        assert abs(actual[index] - expected) < 1e-10


def test_dot_general_orders_batch_free_free() -> None:
    x, y = RNG.standard_normal((3, 5, 2, 4)), RNG.standard_normal((4, 7, 2))
    [actual] = apply(
        hlo.DotGeneralOp,
        x,
        y,
        lhs_batching_dimensions=[2],
        rhs_batching_dimensions=[2],
        lhs_contracting_dimensions=[3],
        rhs_contracting_dimensions=[0],
    )
    np.testing.assert_allclose(actual, np.einsum("abcd,dec->cabe", x, y))


def test_pad_inside_outside_and_cropping() -> None:
    x, zero = np.array([[1, 2, 3], [4, 5, 6]], np.int32), np.array(0, np.int32)
    pads = {"edge_padding_low": [0, 1], "edge_padding_high": [2, -1], "interior_padding": [1, 2]}
    [actual] = apply(hlo.PadOp, x, zero, **pads)
    rows = [[0, 1, 0, 0, 2, 0, 0], [0] * 7, [0, 4, 0, 0, 5, 0, 0], [0] * 7, [0] * 7]
    np.testing.assert_array_equal(actual, np.array(rows, np.int32))


def test_fft_inverts() -> None:
    x = RNG.standard_normal((2, 6)).astype(np.float32)
    [spectrum] = apply(hlo.FftOp, x, fft_type="RFFT", fft_length=[6])
    assert spectrum.shape == (2, 4) and spectrum.dtype == np.complex64
    [back] = apply(hlo.FftOp, spectrum, fft_type="IRFFT", fft_length=[6])
    np.testing.assert_allclose(back, x, atol=1e-6)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(lower: bool) -> None:
    half = RNG.standard_normal((2, 4, 4)) + 1j * RNG.standard_normal((2, 4, 4))
    a = half @ np.conj(np.swapaxes(half, -1, -2)) + 4 * np.eye(4)
    [factor] = apply(hlo.CholeskyOp, np.tril(a) if lower else np.triu(a), lower=lower)
    turned = np.conj(np.swapaxes(factor, -1, -2))
    np.testing.assert_allclose(factor @ turned if lower else turned @ factor, a, atol=1e-10)


@pytest.mark.parametrize(
    ("left", "lower", "unit", "transpose"),
    list(itertools.product([True, False], [True, False], [True, False], ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])),
)
def test_triangular_solve(left: bool, lower: bool, unit: bool, transpose: str) -> None:
    a = RNG.standard_normal((2, 4, 4)) + 1j * RNG.standard_normal((2, 4, 4)) + 3 * np.eye(4)
    b = RNG.standard_normal((2, 4, 4)) + 0j
    flags = {"left_side": left, "lower": lower, "unit_diagonal": unit, "transpose_a": transpose}
    [x] = apply(hlo.TriangularSolveOp, a, b, **flags)
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    full = half + (np.eye(4) if unit else a * np.eye(4))
    full = {"NO_TRANSPOSE": full, "TRANSPOSE": np.swapaxes(full, 1, 2), "ADJOINT": np.conj(np.swapaxes(full, 1, 2))}
    applied = full[transpose] @ x if left else x @ full[transpose]
    np.testing.assert_allclose(applied, b, atol=1e-8)


def test_batch_norm_training_then_inference() -> None:
    x = RNG.standard_normal((4, 3, 5)).astype(np.float32)
    scale, offset = np.array([1, 2, 3], np.float32), np.array([0, 1, 2], np.float32)
    y, mean, variance = apply(hlo.BatchNormTrainingOp, x, scale, offset, epsilon=1e-3, feature_index=1)
    np.testing.assert_allclose(mean, x.mean((0, 2)), atol=1e-6)
    np.testing.assert_allclose(variance, x.var((0, 2)), rtol=1e-5)
    parameters = (scale, offset, mean, variance)
    [again] = apply(hlo.BatchNormInferenceOp, x, *parameters, epsilon=1e-3, feature_index=1)
    np.testing.assert_array_equal(again, y)


def test_batch_norm_grad_is_the_derivative() -> None:
    x, g = RNG.standard_normal((6, 2)), RNG.standard_normal((6, 2))
    scale, offset = np.array([1.5, -2.0]), np.zeros(2)

    def loss(x: Array) -> float:
        [y, _, _] = apply(hlo.BatchNormTrainingOp, x, scale, offset, epsilon=1e-3, feature_index=1)
        return float((y * g).sum())

    parameters = (scale, x.mean(0), x.var(0), g)
    [grad, _, grad_offset] = apply(hlo.BatchNormGradOp, x, *parameters, epsilon=1e-3, feature_index=1)
    np.testing.assert_allclose(grad_offset, g.sum(0))
    for index in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-5
        assert abs((loss(x + step) - loss(x - step)) / 2e-5 - grad[index]) < 1e-6


def test_random_bits_are_the_published_ones() -> None:
    """The known answers of Random123 for key and counter all ones."""
    ones = np.array([0xFFFFFFFF], np.uint32)
    low, high = threefry2x32((0xFFFFFFFF, 0xFFFFFFFF), ones, ones)
    assert (int(low[0]), int(high[0])) == (0x1CB996FC, 0xBB002BE7)
    bits = philox4x32((0xFFFFFFFF, 0xFFFFFFFF), np.full((1, 4), 0xFFFFFFFF, np.uint32))
    assert [int(b) for b in bits[0]] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def test_rng_bit_generator_goes_on_where_it_stopped() -> None:
    from xdsl.dialects.builtin import TensorType, i32

    state = np.array([42, 0], np.uint64)
    whole = hlo.RngBitGeneratorOp(
        make_constant(state, WEIGHTS), rng_algorithm="THREE_FRY", result_type=TensorType(i32, [8])
    )
    half = hlo.RngBitGeneratorOp(
        make_constant(state, WEIGHTS), rng_algorithm="THREE_FRY", result_type=TensorType(i32, [4])
    )
    interpreter = Interpreter(WEIGHTS)
    _, bits = interpreter.evaluate(whole, [state])
    moved, first = interpreter.evaluate(half, [state])
    _, second = interpreter.evaluate(half, [moved])
    np.testing.assert_array_equal(bits, np.concatenate([first, second]))
