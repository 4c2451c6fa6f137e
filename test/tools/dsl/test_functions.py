"""`lamina.dsl`: functions of a program called from Python."""

import inspect
import threading

import numpy as np
import pytest

import lamina
from lamina.compiler.diagnostics import LaminaError

PROGRAM = """
# A dense layer.
fn linear[M, K, N](x: f32[M, K], w: f32[K, N], b: f32[N]) -> f32[M, N] {
  y[i, j] = sum[k] x[i, k] * w[k, j] + b[j]
  return relu(y)
}
fn scaled[N](x: f32[N], by: f32 = 2.0, times: const int = 1) -> (f32[N], (f32, i64)) {
  return (times * by * x, (sum(x), N))
}
fn halves[N, ..B](x: f32[2*N, ..B]) -> f32[N, ..B] = x[0:N]
fn twice[T: number](x: T) -> T = 2 * x
fn swap(p: (f32, i64)) -> (i64, f32) = (p.1, p.0)
"""


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.fixture(scope="module", params=["interpret", "cpu"])
def program(request):
    return lamina.dsl.compile(PROGRAM, target=request.param)


def test_arrays_in_arrays_out(program):
    x, w, b = normal(4, 8), normal(8, 5), normal(5)
    np.testing.assert_allclose(program.linear(x, w, b=b), np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(program["linear"](x[:2], w, b), np.maximum(x[:2] @ w + b, 0), rtol=1e-5, atol=1e-5)


def test_defaults_constants_and_tuples(program):
    x = normal(6)
    y, (total, count) = program.scaled(x)
    np.testing.assert_allclose(y, 2 * x, rtol=1e-6)
    np.testing.assert_allclose(total, x.sum(), rtol=1e-5)
    assert count == 6
    np.testing.assert_allclose(program.scaled(x, 3, times=2)[0], 6 * x, rtol=1e-6)
    np.testing.assert_allclose(program.scaled(x, times=3)[0], 6 * x, rtol=1e-6)


def test_packs_type_parameters_and_tuples_as_arguments(program):
    assert program.halves(normal(6, 3, 2)).shape == (3, 3, 2)
    assert program.halves(normal(4)).shape == (2,)
    assert program.twice(np.int32(4)).dtype == np.int32 and program.twice(np.float64(4)).dtype == np.float64
    first, second = program.swap((np.float32(1.5), np.int64(7)))
    assert (first, second) == (7, 1.5)


def test_what_it_says_of_itself(program):
    assert list(program) == ["linear", "scaled", "halves", "twice", "swap"] and "linear" in dir(program)
    assert str(inspect.signature(program.scaled)) == "(x, by=2.0, times=1)"
    assert program.linear.__doc__.startswith("A dense layer.\nfn linear[M, K, N](x: f32[M, K]")
    assert program.linear.__name__ == "linear"


def test_every_level_can_be_seen(program):
    assert "dsl.comprehension" in program.linear.ir("dsl", M=4, K=8, N=5)
    assert "stablehlo.dot_general" in program.linear.ir("stablehlo", M=4, K=8, N=5)
    by_arrays = program.linear.ir("linalg", normal(4, 8), normal(8, 5), normal(5))
    assert by_arrays == program.linear.ir("linalg", M=4, K=8, N=5)
    lowered = program.linear.lowered("linalg", M=1, K=1, N=1)
    one = np.ones((1, 1), np.float32)
    assert lamina.interpret(lowered, [one, one, one[0]])[0] == 2
    assert "tensor<3x2xf32>" in program.halves.ir("dsl", normal(6, 2))


def test_a_level_of_what_was_last_called():
    program = lamina.dsl.compile(PROGRAM, target="interpret")
    with pytest.raises(LaminaError, match="needs sizes for 2"):
        program.halves.ir("linalg")
    program.halves(normal(8))
    program.halves(normal(6))
    assert program.halves.ir("linalg") == program.halves.ir("linalg", normal(6))


def test_each_specialisation_is_compiled_once(monkeypatch):
    program = lamina.dsl.compile(PROGRAM, target="interpret")
    made = []
    compile_ = program.halves._target.compile
    monkeypatch.setattr(program.halves._target, "compile", lambda *a: made.append(1) or compile_(*a))
    threads = [threading.Thread(target=lambda: program.halves(normal(6))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    program.halves(normal(8))
    program.halves(normal(6))
    assert len(made) == 2


def test_a_call_like_the_last_one_goes_to_the_code(monkeypatch):
    """What describes arguments is not asked again, until they are others; each call has results of its own."""
    linear = lamina.dsl.compile(PROGRAM).linear
    described = []
    specialised = linear._specialised
    monkeypatch.setattr(linear, "_specialised", lambda *a: described.append(1) or specialised(*a))
    w, b = normal(8, 5), normal(5)
    for rows in (4, 3, 4):
        results = [linear(k * normal(rows, 8), w, b) for k in (1, 2, 3)]
        for k, result in zip((1, 2, 3), results, strict=True):
            np.testing.assert_allclose(result, np.maximum(k * normal(rows, 8) @ w + b, 0), rtol=1e-5, atol=1e-5)
    assert len(described) == 3
    linear(normal(4, 8), w, b=b)
    linear(np.asfortranarray(normal(4, 8)), w, b)  # in another order: not as the code reads it
    assert len(described) == 5


def test_constants_are_not_taken_for_those_of_the_last_call():
    scaled = lamina.dsl.compile(PROGRAM).scaled
    for times in (1, 2, 2, 1):
        np.testing.assert_allclose(scaled(normal(6), np.float32(3), times)[0], 3 * times * normal(6), rtol=1e-6)
        np.testing.assert_allclose(scaled(normal(6))[0], 2 * normal(6), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda p: p.linear(normal(4, 8), normal(4, 5), normal(5)), ["E301", "K = 8 from x here", "K = 4 from w here"]),
        (lambda p: p.linear(normal(4, 8), normal(8, 5)), ["E504", "'b'"]),
        (
            lambda p: p.linear(normal(4, 8).astype(np.float64), normal(8, 5), normal(5)),
            ["E201", "'x' takes f32, got f64"],
        ),
        (lambda p: p.linear(normal(4, 8), normal(8, 5), normal(5), c=1), ["E50", "'c'"]),
        (lambda p: p.halves(normal(5)), ["E30"]),
        (lambda p: p.linear(np.zeros((4, 8), "M8[s]"), normal(8, 5), normal(5)), ["datetime64[s]"]),
        (lambda p: p.linear.ir("linalg", M=4), ["needs sizes for K, N"]),
    ],
)
def test_calls_that_do_not_fit(program, call, told):
    with pytest.raises(LaminaError) as caught:
        call(program)
    assert all(part in str(caught.value) for part in told), str(caught.value)


def test_names_that_are_not_there(program):
    with pytest.raises(AttributeError, match="no function 'liner': did you mean 'linear'"):
        _ = program.liner


def test_a_wrong_program_is_told_whole():
    with pytest.raises(LaminaError) as caught:
        lamina.dsl.compile("fn f(x: f32) -> f32 { return y }\nfn g(x: f32) -> f32 { return z }\n")
    assert len(caught.value.problems) == 2
    assert str(caught.value).count("E101") == 2
    assert next(p.code for p in lamina.dsl.check("fn f(x: f32) -> f32 { return y }\n")) == "E101"


def test_tests_of_a_program():
    program = 'fn f(x: f32) -> f32 = 2 * x\ntest "good" { expect f(1) == 2 }\ntest "bad" { expect f(1) == 3 }\n'
    good, bad = lamina.dsl.test(program)
    assert good.passed and not bad.passed and "is 2, expected 3" in bad.failures[0]


def test_what_a_later_level_refuses_is_said_at_the_line():
    program = lamina.dsl.compile("fn f[N](x: c64[N]) -> i64[N] {\n  let y = bitcast(x, i64)\n  return y\n}\n")
    with pytest.raises(LaminaError, match=r"program\.lam:2:11.*with complex numbers"):
        program.f(np.ones(2, np.complex64))
