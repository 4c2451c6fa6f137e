"""The hub's ops by name: every one of the dialect, with attributes, bodies, and the verifier's errors at the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lamina.dialects.dsl.check.builtins.hub_ops import operations, unreachable

Evaluate = Callable[..., list[Any]]
ProblemOf = Callable[..., Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
S = np.array([[4, 2], [2, 3]], np.float32)

# name -> (parameters and result, inputs, expected)
BODIES = """
fn add(a: f32, b: f32) -> f32 = a + b
fn larger(a: f32, b: f32) -> bool = a > b
fn at_least(a: f32, b: f32) -> bool = a >= b
fn twice(a: f32) -> f32 = 2 * a
fn three() -> i64 = 3
fn four() -> i64 = 4
fn below(i: i64, s: f32) -> bool = i < 5
fn step(i: i64, s: f32) -> (i64, f32) { return i + 1, s * 2 }
fn softmax2(x: f32[2]) -> f32[2] = exp(x) / sum(exp(x))
"""
x, y, i, b, c = "x: f32[2, 3]", "y: f32[2, 3]", "i: i32[2]", "b: bool[2]", "z: c64[4]"
N = np.array([1, -2], np.int32)
P = np.array([True, False])
Z = np.array([1, 2j, -1, 3], np.complex64)
V = np.array([2, 3, 1], np.float32)
TRIGAMMA = np.array([0.64493407, 0.39493407, 1.64493407])  # of V
INFINITE = np.array([np.inf, -np.inf, 0], np.float32)
Case = tuple[str, str, tuple[Any, ...], Any]

UNARY = {
    "abs": np.abs,
    "ceil": np.ceil,
    "cosine": np.cos,
    "exponential": np.exp,
    "exponential_minus_one": np.expm1,
    "floor": np.floor,
    "is_finite": np.isfinite,
    "logistic": lambda v: 1 / (1 + np.exp(-v)),
    "negate": np.negative,
    "round_nearest_even": np.round,
    "round_nearest_afz": np.round,
    "sign": np.sign,
    "sine": np.sin,
    "tan": np.tan,
    "tanh": np.tanh,
    "cbrt": np.cbrt,
    "real": np.real,
    "imag": lambda v: np.imag(v) * v,
}
POSITIVE = {"log": np.log, "log_plus_one": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda v: 1 / np.sqrt(v)}
CASES: dict[str, Case] = {
    **{f"stablehlo.{n}": (x, f"stablehlo.{n}(x)", (X,), f(X)) for n, f in UNARY.items()},
    **{f"stablehlo.{n}": ("v: f32[3]", f"stablehlo.{n}(v)", (V,), f(V)) for n, f in POSITIVE.items()},
    "chlo.tan": (x, "chlo.tan(x)", (X,), np.tan(X)),
    "chlo.square": (x, "chlo.square(x)", (X,), X * X),
    "chlo.conj": (c, "chlo.conj(z)", (Z,), Z.conj()),
    "chlo.is_inf": ("v: f32[3]", "chlo.is_inf(v)", (INFINITE,), np.array([True, True, False])),
    "chlo.is_pos_inf": ("v: f32[3]", "chlo.is_pos_inf(v)", (INFINITE,), np.array([True, False, False])),
    "chlo.is_neg_inf": ("v: f32[3]", "chlo.is_neg_inf(v)", (INFINITE,), np.array([False, True, False])),
    "chlo.next_after": ("v: f32[3]", "chlo.next_after(v, 2 * v)", (V,), np.nextafter(V, 2 * V)),
    "chlo.mulhi": (i, "chlo.mulhi(i, i)", (np.array([1 << 20, -3 << 20], np.int32),), np.array([256, 2304], np.int32)),
    "chlo.bessel_i1e": ("v: f32[3]", "chlo.bessel_i1e(v)", (V,), np.array([0.21526929, 0.19682671, 0.20791042])),
    "chlo.top_k": ("v: f32[3]", "chlo.top_k(v, 2).1", (V,), np.array([1, 0], np.int32)),
    "chlo.polygamma": ("v: f32[3]", "chlo.polygamma(v / v, v)", (V,), TRIGAMMA),
    "chlo.zeta": ("v: f32[3]", "chlo.zeta(2 * v / v, v)", (V,), TRIGAMMA),
    "stablehlo.count_leading_zeros": (i, "stablehlo.count_leading_zeros(i)", (N,), np.array([31, 0], np.int32)),
    "stablehlo.popcnt": (i, "stablehlo.popcnt(i)", (N,), np.array([1, 31], np.int32)),
    "stablehlo.not": (b, "stablehlo.not(b)", (P,), ~P),
    "stablehlo.add": (x, "stablehlo.add(x, x)", (X,), X + X),
    "stablehlo.subtract": (x, "stablehlo.subtract(x, x)", (X,), X - X),
    "stablehlo.multiply": (x, "stablehlo.multiply(x, x)", (X,), X * X),
    "stablehlo.divide": ("v: f32[3]", "stablehlo.divide(v, v)", (V,), V / V),
    "stablehlo.maximum": (x, "stablehlo.maximum(x, x)", (X,), X),
    "stablehlo.minimum": (x, "stablehlo.minimum(x, x)", (X,), X),
    "stablehlo.power": ("v: f32[3]", "stablehlo.power(v, v)", (V,), V**V),
    "stablehlo.remainder": ("v: f32[3]", "stablehlo.remainder(v, v)", (V,), V * 0),
    "stablehlo.atan2": (x, "stablehlo.atan2(x, x)", (X,), np.arctan2(X, X)),
    "stablehlo.and": (b, "stablehlo.and(b, b)", (P,), P),
    "stablehlo.or": (b, "stablehlo.or(b, b)", (P,), P),
    "stablehlo.xor": (b, "stablehlo.xor(b, b)", (P,), P ^ P),
    "stablehlo.shift_left": (i, "stablehlo.shift_left(i, abs(i))", (N,), N << np.abs(N)),
    "stablehlo.shift_right_arithmetic": (i, "stablehlo.shift_right_arithmetic(i, abs(i))", (N,), N >> np.abs(N)),
    "stablehlo.shift_right_logical": (
        i,
        "stablehlo.shift_right_logical(i, abs(i))",
        (N,),
        np.array([0, 0x3FFFFFFF], np.int32),
    ),
    "stablehlo.complex": ("v: f32[3]", "stablehlo.complex(v, v)", (V,), V + 1j * V),
    "stablehlo.compare": (x, 'stablehlo.compare(x, -x, comparison_direction="LT")', (X,), X < -X),
    "stablehlo.select": ("b: bool[2], i: i32[2]", "stablehlo.select(b, i, -i)", (P, N), np.array([1, 2], np.int32)),
    "stablehlo.clamp": (x, "stablehlo.clamp(-1.0, x, 1.0)", (X,), np.clip(X, -1, 1)),
    "stablehlo.convert": (x, "stablehlo.convert(x, element_type=i32)", (X,), X.astype(np.int32)),
    "stablehlo.reduce_precision": (
        "v: f32[3]",
        "stablehlo.reduce_precision(v, exponent_bits=5, mantissa_bits=10)",
        (V,),
        V,
    ),
    "stablehlo.constant": ("", "stablehlo.constant([[1, 2], [3, 4]])", (), np.array([[1, 2], [3, 4]])),
    "stablehlo.iota": (
        "",
        "stablehlo.iota(i32[2, 3], iota_dimension=1)",
        (),
        np.tile(np.arange(3, dtype=np.int32), (2, 1)),
    ),
    "stablehlo.rng_bit_generator": (
        "s: u64[2]",
        'stablehlo.rng_bit_generator(s, rng_algorithm="THREE_FRY", result_type=u32[4]).0',
        (np.zeros(2, np.uint64),),
        None,
    ),
    "stablehlo.rng": ("", 'stablehlo.rng(0.0, 1.0, [4], rng_distribution="UNIFORM", result_type=f32[4])', (), None),
    "stablehlo.reshape": (x, "stablehlo.reshape(x, shape=[3, 2])", (X,), X.reshape(3, 2)),
    "stablehlo.transpose": (x, "stablehlo.transpose(x, permutation=[1, 0])", (X,), X.T),
    "stablehlo.broadcast_in_dim": (
        x,
        "stablehlo.broadcast_in_dim(x, broadcast_dimensions=[0, 2], shape=[2, 2, 3])",
        (X,),
        np.broadcast_to(X[:, None], (2, 2, 3)),
    ),
    "stablehlo.concatenate": (x, "stablehlo.concatenate(x, x, dimension=1)", (X,), np.concatenate([X, X], 1)),
    "stablehlo.slice": (
        x,
        "stablehlo.slice(x, start_indices=[0, 0], limit_indices=[1, 3], strides=[1, 2])",
        (X,),
        X[:1, ::2],
    ),
    "stablehlo.pad": (
        x,
        "stablehlo.pad(x, 9.0, edge_padding_low=[1, 0], edge_padding_high=[0, 0], interior_padding=[0, 0])",
        (X,),
        np.pad(X, [[1, 0], [0, 0]], constant_values=9),
    ),
    "stablehlo.reverse": (x, "stablehlo.reverse(x, dimensions=[1])", (X,), X[:, ::-1]),
    "stablehlo.bitcast_convert": (x, "stablehlo.bitcast_convert(x, element_type=i32)", (X,), X.view(np.int32)),
    "stablehlo.get_dimension_size": (x, "stablehlo.get_dimension_size(x, dimension=1)", (X,), np.int32(3)),
    "stablehlo.gather": (
        "x: f32[2, 3], i: i32[2]",
        "stablehlo.gather(x, abs(i) - 1, slice_sizes=[1, 3], offset_dims=[1], collapsed_slice_dims=[0], "
        "start_index_map=[0], index_vector_dim=1)",
        (X, N),
        X,
    ),
    "stablehlo.scatter": (
        "x: f32[2, 3], i: i32[2]",
        "stablehlo.scatter(x, abs(i) - 1, x, update_computation=add, update_window_dims=[1], "
        "inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1)",
        (X, N),
        X * 2,
    ),
    "stablehlo.dynamic_slice": (
        x,
        "stablehlo.dynamic_slice(x, [i64(1), i64(0)], slice_sizes=[1, 2])",
        (X,),
        X[1:2, :2],
    ),
    "stablehlo.dynamic_update_slice": (
        x,
        "stablehlo.dynamic_update_slice(x, zeros(f32[1, 2]), [i64(0), i64(1)])",
        (X,),
        np.array([[-2, 0, 0], [1, 2, 3]], np.float32),
    ),
    "stablehlo.dot_general": (
        x,
        "stablehlo.dot_general(x, x, lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[1], "
        'precision_config=["HIGHEST", "DEFAULT"])',
        (X,),
        X @ X.T,
    ),
    "stablehlo.convolution": (
        "a: f32[1, 1, 3], k: f32[1, 1, 2]",
        'stablehlo.convolution(a, k, dimension_numbers="[b, f, 0]x[o, i, 0]->[b, f, 0]", padding=[[1, 0]])',
        (V.reshape(1, 1, 3), np.array([[[1, 10]]], np.float32)),
        np.array([[[20, 32, 13]]], np.float32),
    ),
    "stablehlo.fft": (c, 'stablehlo.fft(z, fft_type="FFT", fft_length=[4])', (Z,), np.fft.fft(Z).astype(np.complex64)),
    "stablehlo.cholesky": ("s: f32[2, 2]", "stablehlo.cholesky(s, lower=true)", (S,), np.linalg.cholesky(S)),
    "stablehlo.triangular_solve": (
        "s: f32[2, 2]",
        "stablehlo.triangular_solve(s, s, left_side=true, lower=true, unit_diagonal=false)",
        (S,),
        np.linalg.solve(np.tril(S), S),
    ),
    "stablehlo.reduce": (x, "stablehlo.reduce(x, 0.0, dimensions=[1], body=add)", (X,), X.sum(1)),
    "stablehlo.reduce_window": (
        "v: f32[3]",
        'stablehlo.reduce_window(v, 0.0, window_dimensions=[2], body="maximum")',
        (V,),
        np.array([3, 3], np.float32),
    ),
    "stablehlo.select_and_scatter": (
        "v: f32[3], w: f32[2]",
        "stablehlo.select_and_scatter(v, w, 0.0, select=at_least, scatter=add, window_dimensions=[2])",
        (V, np.array([10, 20], np.float32)),
        np.array([0, 30, 0], np.float32),
    ),
    "stablehlo.batch_norm_inference": (
        "x: f32[2, 3], v: f32[3]",
        "stablehlo.batch_norm_inference(x, v, v, v, v, epsilon=0.0, feature_index=1)",
        (X, V),
        (X - V) / np.sqrt(V) * V + V,
    ),
    "stablehlo.batch_norm_training": (
        "x: f32[2, 3], v: f32[3]",
        "stablehlo.batch_norm_training(x, v, v, epsilon=0.0, feature_index=1).1",
        (X, V),
        X.mean(0),
    ),
    "stablehlo.batch_norm_grad": (
        "x: f32[2, 3], v: f32[3]",
        "stablehlo.batch_norm_grad(x, v, v, v, x, epsilon=0.0, feature_index=1).2",
        (X, V),
        X.sum(0),
    ),
    "stablehlo.map": (x, "stablehlo.map(x, twice)", (X,), 2 * X),
    "stablehlo.sort": ("v: f32[3]", "stablehlo.sort(v, larger)", (V,), np.array([3, 2, 1], np.float32)),
    "stablehlo.if": ("p: bool", "stablehlo.if(p, three, four)", (np.array(False),), np.int64(4)),
    "stablehlo.case": ("n: i32", "stablehlo.case(n, [three, four])", (np.array(0, np.int32),), np.int64(3)),
    "stablehlo.while": ("s: f32", "stablehlo.while([i64(0), s], below, step).1", (np.float32(1),), np.float32(32)),
    "stablehlo.optimization_barrier": (x, "stablehlo.optimization_barrier(x)", (X,), X),
    "stablehlo.composite": (
        "v: f32[2]",
        'stablehlo.composite(v, f32[2], name="my.softmax", decomposition=softmax2)',
        (np.zeros(2, np.float32),),
        np.array([0.5, 0.5], np.float32),
    ),
    "stablehlo.custom_call": ("v: f32[3]", 'stablehlo.custom_call(v, f32[3], call_target_name="foo")', (V,), None),
    "chlo.erf": (x, "chlo.erf(x) * 0", (X,), X * 0),
    **{
        f"chlo.{n}": ("v: f32[3]", f"chlo.{n}(v / 4 + {shift}) * 0", (V,), V * 0)
        for n, shift in (
            *((n, 0) for n in ("erfc", "erf_inv", "lgamma", "digamma", "acos", "asin", "asinh", "atan", "atanh")),
            *((n, 2) for n in ("acosh",)),
            *((n, 0) for n in ("cosh", "sinh")),
        )
    },
}


def test_every_op_is_reachable_or_has_a_reason() -> None:
    assert set(operations()) == set(CASES) | set(unreachable())
    assert not set(CASES) & set(unreachable())


@pytest.mark.parametrize("name", CASES)
def test_value(evaluate: Evaluate, name: str) -> None:
    parameters, expression, inputs, expected = CASES[name]
    program = f"{BODIES}\nfn main({parameters}) = {expression}"
    if expected is None:  # random, or another's to implement: the type is all there is to say
        evaluate(program, *inputs, run=False)
        return
    (found,) = evaluate(program, *inputs)
    assert found.shape == np.shape(expected)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_built_in_functions_as_bodies(evaluate: Evaluate) -> None:
    text = "fn main(x: f32[2, 3]) = stablehlo.reduce(x, -inf, dimensions=[1], body=maximum), stablehlo.map(x, abs)"
    largest, sizes = evaluate(text, X)
    np.testing.assert_array_equal(largest, X.max(1))
    np.testing.assert_array_equal(sizes, np.abs(X))


def test_a_type_is_known_once_dimensions_are_bound(evaluate: Evaluate) -> None:
    (found,) = evaluate("fn main[N](x: f32[N, 3]) -> f32[3, N] = stablehlo.transpose(x, permutation=[1, 0]) + 1", X)
    np.testing.assert_array_equal(found, X.T + 1)


@pytest.mark.parametrize(
    ("expression", "code", "text"),
    [
        ("stablehlo.transpose(x, permutation=[0, 0])", "E355", "permutation"),
        ("stablehlo.add(x, transpose(x))", "E355", "same type"),
        ("stablehlo.transpoze(x)", "E555", "stablehlo.transpose"),
        ("stablehlo.tuple(x)", "E555", "tuples of its own"),
        ("stablehlo.transpose(x, perm=[1, 0])", "E551", "no parameter 'perm'"),
        ("stablehlo.transpose(x)", "E550", "permutation"),
        ("stablehlo.reduce(x, 0.0, dimensions=[1], body=1)", "E553", "function"),
        ("stablehlo.reduce(x, 0.0, dimensions=[1], body=abs)", "E553", "no function of 2"),
        ("stablehlo.reduce(x, 0.0, dimensions=[1], body=concat)", "E553", "no function of 2"),
        ("stablehlo.map(x, nosuch)", "E101", ""),
        ('stablehlo.reduce(x, 0.0, dimensions=[1], body="plus")', "E355", "plus"),
        ('stablehlo.compare(x, x, comparison_direction="LESS")', "E355", "LESS"),
    ],
)
def test_errors(problem_of: ProblemOf, expression: str, code: str, text: str) -> None:
    problem = problem_of(f"fn main(x: f32[2, 3]) = {expression}", X)
    assert problem.code == code, problem
    assert text in f"{problem.message} {problem.hint}", problem
