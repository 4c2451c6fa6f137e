"""Whole-tensor programs: what they give on the interpreter and compiled, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compiler.program import Program
from lamina.dialects.dsl.check.types import dtype_name
from lamina.dialects.dsl.load import bind, check, instantiate, instantiate_test, load_file
from lamina.tools.sources import new_context

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
V = np.array([1.0, -2.0, 3.0, 0.5], np.float32)
N = np.array([7, -7, 8, -8], np.int32)
U = np.array([7, 250, 8, 255], np.uint8)
B = np.array([True, False, True, False])
Z = np.array([1 + 2j, -3j], np.complex64)

CASES: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "arithmetic": (
        "fn main(x: f32[3, 4], v: f32[4]) = (x + v) * 2 - x / (1 + v ** 2)",
        (X, V),
        (X + V) * 2 - X / (1 + V**2),
    ),
    "floor division": ("fn main(n: i32[4]) = n // 3, n % 3, n // -3, n % -3", (N,), (N // 3, N % 3, N // -3, N % -3)),
    "by tensors": ("fn main(n: i32[4]) = 100 // n, 100 % n", (N,), (100 // N, 100 % N)),
    "floats rounded down": ("fn main(v: f32[4]) = v // 2, v % 2, v % -2", (V,), (V // 2, V % 2, V % -2)),
    "unsigned": ("fn main(u: u8[4]) = u // 3, u % 3, u >> 1", (U,), (U // 3, U % 3, U >> 1)),
    "bits": (
        "fn main(n: i32[4]) = n & 6, n | 1, n ^ 3, ~n, n << 2, n >> 1",
        (N,),
        (N & 6, N | 1, N ^ 3, ~N, N << 2, N >> 1),
    ),
    "logic": ("fn main(b: bool[4]) = b and not b[::-1], b or true, b ^ b[0]", (B,), (B & ~B[::-1], B | True, B ^ B[0])),
    "comparisons": (
        "fn main(v: f32[4], n: i32[4]) = v < 1, v <= 1.0, n == 8, n != 8, 0 > n, 0 >= v",
        (V, N),
        (V < 1, V <= 1, N == 8, N != 8, N < 0, V <= 0),
    ),
    "signs": ("fn main(v: f32[4], n: i32[4]) = -v, -n, --n", (V, N), (-V, -N, N)),
    "complex": ("fn main(z: c64[2]) = z * z + 1, z / 2.5, z == z", (Z,), (Z * Z + 1, Z / 2.5, Z == Z)),
    "casts": (
        "fn main(v: f32[4], n: i32[4]) = i32(v), f64(n), bool(n), f32(n > 0), u8(3), c64(v)",
        (V, N),
        (
            V.astype(np.int32),
            N.astype(np.float64),
            N != 0,
            (N > 0).astype(np.float32),
            np.uint8(3),
            V.astype(np.complex64),
        ),
    ),
    "matrices": (
        "fn main(x: f32[3, 4], v: f32[4]) = x @ v, v @ v, x @ transpose(x, [1, 0])",
        (X, V),
        (X @ V, V @ V, X @ X.T),
    ),
    "batches": (
        "fn main(x: f32[2, 1, 3, 4], y: f32[5, 4, 2], v: f32[4]) = x @ y, v @ y, x @ y[0]",
        (np.ones((2, 1, 3, 4), np.float32), np.arange(40, dtype=np.float32).reshape(5, 4, 2), V),
        None,
    ),
    "slices": (
        "fn main(x: f32[3, 4]) = x[1:], x[:, ::2], x[-1], x[1, 2], x[:, ::-1], x[2:0:-1, 3:0:-2], x[0:0], x[:, -2:]",
        (X,),
        (X[1:], X[:, ::2], X[-1], X[1, 2], X[:, ::-1], X[2:0:-1, 3:0:-2], X[0:0], X[:, -2:]),
    ),
    "run time subscripts": (
        "fn main(x: f32[3, 4], i: i32, j: i64) = x[i], x[:, j], x[i, j], x[i, 1:], x[99 * i]",
        (X, np.int32(1), np.int64(2)),
        (X[1], X[:, 2], X[1, 2], X[1, 1:], X[2]),
    ),
    "literals": (
        "fn main(v: f32[4], i: i64) = [[1, 2], [3.5, 4]] * 2, [v, 2 * v], [i, 2], v + [1, 2, 3, 4], [true, i > 0]",
        (V, np.int64(5)),
        (
            np.array([[2, 4], [7, 8]], np.float32),
            np.stack([V, 2 * V]),
            np.array([5, 2]),
            V + np.array([1, 2, 3, 4], np.float32),
            np.array([True, True]),
        ),
    ),
    "numbers": (
        "const N = 2 * 4\nconst E: f32 = 1e-3\n"
        "fn main(x: f32) = N / 3, 7 / 2.0, 2 ** 10, 2.0 ** -1, x + E, f32(N) / 3, -N // 3",
        (np.float32(1),),
        (2, np.float32(3.5), 1024, np.float32(0.5), np.float32(1.001), np.float32(8 / 3), -3),
    ),
    "shadowing": ("fn main(x: f32[4]) {\n  x = x + 1\n  let x = x * 2\n  return x\n}", (V,), (V + 1) * 2),
    "tuples": (
        "fn pair(x: f32[4]) -> (f32[4], (f32, i64)) = (2 * x, (x[0], 3))\n"
        "fn take(p: (f32, i64), x: f32[4]) = x * p.0\n"
        "fn main(x: f32[4]) {\n  let a, b = pair(x)\n  let t = (a, b)\n  return a, b.0, t.1.1, take(b, a)\n}",
        (V,),
        (2 * V, V[0], 3, 2 * V * V[0]),
    ),
    "if": (
        "fn main(x: f32[4]) {\n  var y = x\n  var n = 0\n  if x[0] > 0 { y = 2 * y; n = n + 1 } else { y = -y }\n"
        "  if x[0] < 0 { n = n + 10 }\n  return y, n\n}",
        (V,),
        (2 * V, 1),
    ),
    "early return": (
        "fn sign(x: f32) -> f32 {\n  if x > 0 { return 1 }\n  if x < 0 { return -1 }\n  return 0\n}\n"
        "fn main(x: f32[4]) = sign(x[0]), sign(x[1]), sign(x[0] * 0), if x[0] > 0 { x } else { -x }",
        (V,),
        (np.float32(1), np.float32(-1), np.float32(0), V),
    ),
    "returns in blocks": (
        "fn f(x: f32) -> f32 {\n  var y = x\n  if x > 0 {\n    y = 10 * y\n"
        "    if x > 2 { y = y + 1; return y }\n    y = -y\n  }\n"
        "  if y < -9 {\n    return 2 * y\n  } else if y < 0 {\n    if y < -3 { return 3 * y }\n  }\n  return y\n}\n"
        "fn g(x: f32, n: const int) -> f32 {\n  if n > 1 {\n    if x > 0 { return 1 }\n  }\n  return 2\n}\n"
        "fn main(v: f32[4]) = f(v[0]), f(v[1]), f(v[2]), f(v[3]), g(v[0], 2), g(v[0], 1), g(v[1], 2)",
        (V,),
        tuple(map(np.float32, (-20, -2, 31, -15, 1, 2, 2))),
    ),
    "for": (
        "fn main(x: f32[4], n: i64) {\n  var s = 0.0\n  var k = 0\n  for i in 0..4 { s = s + x[i] * 2 }\n"
        "  for i in n..0 step -2 { k = k + i }\n  for i in 0..n { for j in 0..i { k = k + 100 } }\n  return s, k\n}",
        (V, np.int64(5)),
        (np.float32(V.sum() * 2), 9 + 1000),
    ),
    "while": (
        "fn main(n: i64) {\n  var a, b = (0, 1)\n  while b < n { a, b = (b, a + b) }\n  return a\n}",
        (np.int64(100),),
        89,
    ),
    "overloads": (
        "fn f(x: f32) = 1\nfn f(x: f32[4]) = 2\nfn f[M, N](x: f32[M, N]) = 3\nfn f(x: i64) = 4\n"
        "fn main(x: f32[3, 4]) = f(x), f(x[0]), f(x[0, 0]), f(9)",
        (X,),
        (3, 2, 1, 4),
    ),
    "generic": (
        "fn twice[T: number, ..S](x: T[..S]) -> T[..S] = x + x\n"
        "fn main(x: f32[4], n: i32) = twice(x), twice(n), twice(1.5), twice([1, 2])",
        (V, np.int32(4)),
        (2 * V, np.int32(8), np.float32(3), np.array([2, 4])),
    ),
    "defaults": (
        "fn f(x: f32[4], by: f32 = 2, n: const int = 3, e: const float = 0.5, up: const bool = true) "
        "= if up { x * by + n * e } else { x }\n"
        "fn main(x: f32[4]) = f(x), f(x, e=1, by=3), f(x, up=false), f(n=0, x=x)",
        (V,),
        (2 * V + 1.5, 3 * V + 3, V, 2 * V),
    ),
    "given dimensions": (
        "fn ones_of[N](x: f32) -> f32[N] = zeros(f32[N]) + x\nfn main(x: f32) = ones_of[N=3](x), ones_of[N=1 + 1](x)",
        (np.float32(2),),
        (np.full(3, 2, np.float32), np.full(2, 2, np.float32)),
    ),
    "solved dimensions": (
        "fn half[K](x: f32[2*K + 1]) = x[:K], K\nfn main(x: f32[5]) = half(x)",
        (np.arange(5, dtype=np.float32),),
        (np.arange(2, dtype=np.float32), 2),
    ),
    "recursion": (
        "fn total[N](x: f32[N]) -> f32 {\n  if N == 1 { return x[0] }\n"
        "  return total(x[:N // 2]) + total(x[N // 2:])\n}\n"
        "fn fact(n: const int) -> i64 = if n <= 1 { 1 } else { n * fact(n - 1) }\n"
        "fn main(x: f32[4]) = total(x), fact(10)",
        (V,),
        (np.float32(2.5), 3628800),
    ),
    "dimensions as values": (
        "fn f[M, N](x: f32[M, N]) -> f32[M, N] where N % 2 == 0, M > 1 = x * N + M // 2\nfn main(x: f32[3, 4]) = f(x)",
        (X,),
        X * 4 + 1,
    ),
}


def run(text: str, inputs: tuple[Any, ...], execute: Callable[[Program, list[Any]], list[Any]]) -> list[Any]:
    files = load_file(text)
    assert not check(files).errors
    context = new_context()
    arrays = [np.asarray(x) for x in inputs]
    kinds = [(dtype_name(x.dtype), x.shape) for x in arrays]
    return execute(Program(instantiate(files, bind(files, "main", kinds), context), context), arrays)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_values(name: str, target: str) -> None:
    text, inputs, expected = CASES[name]
    if name == "batches":
        x, y, v = inputs
        expected = (x @ y, v @ y, x @ y[0])

    def execute(program: Program, arrays: list[Any]) -> list[Any]:
        return lamina.interpret(program, arrays) if target == "interpret" else lamina.compile(program)(*arrays)

    found = run(text, inputs, execute)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    assert len(found) == len(wanted)
    for got, want in zip(found, wanted, strict=True):
        want = np.asarray(want)
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_of_a_file() -> None:
    files = load_file(
        'fn f(x: f32) = 2 * x\ntest "f" {\n  expect f(1) == 2\n  expect f(1) ~= 2.1 within 0.1\n  expect f(1) > 0\n}'
    )
    context = new_context()
    made = instantiate_test(files, files.main.tests[0], context)
    assert [(x.left, x.right, x.within, x.node.span.line) for x in made.expectations] == [
        (0, 1, 1e-6, 3),
        (2, 3, 0.1, 4),
        (4, None, 1e-6, 5),
    ]
    assert [float(x) for x in lamina.interpret(Program(made.module, context), [])] == pytest.approx([2, 2, 2, 2.1, 1])
