"""What index notation computes, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Evaluate = Callable[..., list[Any]]
Array = np.ndarray[Any, Any]


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


X35, X57, X7 = draw(3, 5), draw(5, 7, seed=1), draw(7, seed=2)
IDS = np.array([2, 0, 1, 2, 2], np.int64)

CASES: dict[str, tuple[str, tuple[Array, ...], Any]] = {
    "matmul": (
        "fn main[M, K, N](x: f32[M, K], w: f32[K, N], b: f32[N]) -> f32[M, N] =\n"
        "  [i, j] => sum[k] x[i, k] * w[k, j] + b[j]",
        (X35, X57, X7),
        X35 @ X57 + X7,
    ),
    "transpose": ("fn main[M, N](x: f32[M, N]) = [j, i] => x[i, j]", (X35,), X35.T),
    "strided": ("fn main[N](x: f32[N]) = [i: (N + 1) // 2] => x[2*i]", (X7,), X7[::2]),
    "reversed": ("fn main[N](x: f32[N]) -> f32[N] = [i] => x[N - 1 - i]", (X7,), X7[::-1]),
    "shifted": ("fn main[N](x: f32[N]) = [i: 1..N] => x[i] - x[i - 1]", (X7,), np.diff(X7)),
    "outside": (
        "fn main[N](x: f32[N]) -> f32[N] = [i] => x[i - 2 ? 9.5]",
        (X7,),
        np.concatenate([[9.5, 9.5], X7[:-2]]).astype(np.float32),
    ),
    "modular": ("fn main[N](x: f32[N]) -> f32[N] = [i] => x[(i + 3) % N]", (X7,), np.roll(X7, -3)),
    "from the end": ("fn main[M, N](x: f32[M, N]) = [i] => x[i, -1] + x[-2, 0]", (X35,), X35[:, -1] + X35[-2, 0]),
    "guard": ("fn main[N](x: f32[N]) -> f32[N] = [i] => sum[j where j <= i] x[j]", (X7,), np.cumsum(X7)),
    "condition": (
        "fn main[N](x: f32[N]) -> f32[N] = [i] => if i > 0 { x[i - 1] } else { 0 }",
        (X7,),
        np.concatenate([[0], X7[:-1]]).astype(np.float32),
    ),
    "guarded access": (
        "fn main[N](x: f32[N]) -> f32[N] = [i] => sum[j where j <= i] x[i - j] * x[j]",
        (X7,),
        np.convolve(X7, X7)[:7],
    ),
    "gather": (
        "fn main[N, D, K](x: f32[N, D], ids: i64[K]) = [k, d] => x[ids[k], d]",
        (X35, IDS),
        X35[IDS],
    ),
    "gather by i32": (
        "fn main[N, D, K](x: f32[N, D], ids: i32[K]) = [k, d] => x[ids[k], d]",
        (X35, IDS.astype(np.int32)),
        X35[IDS],
    ),
    "index as value": ("fn main(x: f32[4]) = [i: 1..5, j: 3] => x[i - 1] * f32(10*i + j)", (X7[:4],), X7[:4, None] * (
        10 * np.arange(1, 5)[:, None] + np.arange(3)).astype(np.float32)),
    "argmax": ("fn main[M, N](x: f32[M, N]) = [i] => argmax[j] x[i, j]", (X35,), X35.argmax(1)),
    "argmin from": ("fn main[N](x: f32[N]) = argmin[j: 2..N] x[j]", (X7,), np.asarray(2 + X7[2:].argmin())),
    "argmax as subscript": (
        "fn main[M, N](x: f32[M, N]) = [i] => x[i, argmax[j] x[i, j]]",
        (X35,),
        X35.max(1),
    ),
    "max min": (
        "fn main[M, N](x: f32[M, N]) = [i] => (max[j] x[i, j]) - (min[j] x[i, j])",
        (X35,),
        X35.max(1) - X35.min(1),
    ),
    "any all": (
        "fn main[M, N](x: f32[M, N]) = [i] => (any[j] (x[i, j] > 1)) or (all[j] (x[i, j] < 0.5))",
        (X35,),
        (X35 > 1).any(1) | (X35 < 0.5).all(1),
    ),
    "count": ("fn main[N](x: f32[N]) -> i64 = sum[i where x[i] > 0] 1", (X7,), np.asarray((X7 > 0).sum())),
    "two reductions": (
        "fn main[M, N](x: f32[M, N]) = sum[i] prod[j] x[i, j]",
        (X35,),
        np.asarray(X35.prod(1).sum()),
    ),
    "packs": (
        "fn main[..B, N](x: f32[..B, N]) -> f32[..B, N] {\n  let m[..b] = max[j] x[..b, j]\n"
        "  return [..b, j] => x[..b, j] - m[..b]\n}",
        (draw(2, 3, 4),),
        draw(2, 3, 4) - draw(2, 3, 4).max(-1, keepdims=True),
    ),
    "pack of none": (
        "fn main[..B, N](x: f32[..B, N]) -> f32[..B] = [..b] => sum[j] x[..b, j]",
        (X7,),
        np.asarray(X7.sum()),
    ),
    "pack summed": (
        "fn main[C, ..S](x: f32[C, ..S]) -> f32[C] = [c] => sum[..s] x[c, ..s]",
        (draw(2, 3, 4),),
        draw(2, 3, 4).sum((1, 2)),
    ),
    "pack of none summed": ("fn main[C, ..S](x: f32[C, ..S]) -> f32[C] = [c] => sum[..s] x[c, ..s]", (X7,), X7),
    "pack of ids": (
        "fn main[V, D, ..I](t: f32[V, D], ids: i64[..I]) -> f32[..I, D] = [..i, d] => t[ids[..i], d]",
        (X35, np.array([[0, 1], [2, 2]])),
        X35[np.array([[0, 1], [2, 2]])],
    ),
    "function of scalars": (
        "fn g(a: f32, b: f32) -> f32 = a * b + 1\nfn main[N](x: f32[N]) -> f32[N] = [i] => g(x[i], x[N - 1 - i])",
        (X7,),
        X7 * X7[::-1] + 1,
    ),
    "whole tensors inside": (
        "fn main[M, N](x: f32[M, N]) -> f32[M] = [i] => sum(x, axis=1)[i] + x[1:, ::2][0, 1]",
        (X35,),
        X35.sum(1) + X35[1:, ::2][0, 1],
    ),
    "a shape declared": ("fn main(x: f32[4]) -> f32[4, 3] = [i, j] => x[i] + j_(j)\nfn j_(j: i64) -> f32 = f32(j)",
        (X7[:4],), X7[:4, None] + np.arange(3, dtype=np.float32)),
    "bools": ("fn main[N](x: bool[N]) -> bool[N] = [i] => not x[i] and x[(i + 1) % N]", (X7 > 0,), ~(X7 > 0) & np.roll(
        X7 > 0, -1)),
    "prefix sum": (
        "fn main[N](x: f32[N]) -> f32[N] {\n  let y[n] = x[n] + y[n - 1 ? 0]\n  return y\n}",
        (X7,),
        np.cumsum(X7),
    ),
    "fibonacci": (
        "fn main(x: i64[1]) -> i64[10] {\n  let f[n: 10] = if n < 2 { n } else { f[n - 1] + f[n - 2] }\n"
        "  return [n] => f[n] + x[0]\n}",
        (np.array([0]),),
        np.array([0, 1, 1, 2, 3, 5, 8, 13, 21, 34]),
    ),
    "rnn": (
        "fn main[T, H](x: f32[T, H], w: f32[H, H], h0: f32[H]) -> f32[T, H] {\n"
        "  let h[t, j] = tanh(x[t, j] + sum[k] h[t - 1, k ? h0[k]] * w[k, j])\n  return h\n}",
        (X35, draw(5, 5, seed=3), draw(5, seed=4)),
        np.zeros(0),
    ),
    "pascal": (
        "fn main(x: i64[1]) -> i64[5, 5] {\n  let p[n: 5, k: 5] = if k == 0 or k == n { x[0] } else {"
        " p[n - 1, k ? 0] + p[n - 1, k - 1 ? 0] }\n"
        "  return [n, k] => if k <= n { p[n, k] } else { 0 }\n}",
        (np.array([1]),),
        np.array([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 2, 1, 0, 0], [1, 3, 3, 1, 0], [1, 4, 6, 4, 1]]),
    ),
    "paths": (
        "fn main(x: i64[1]) -> i64[4, 5] {\n"
        "  let d[i: 4, j: 5] = if i == 0 or j == 0 { x[0] } else { d[i - 1, j] + d[i, j - 1] }\n  return d\n}",
        (np.array([1]),),
        np.array([[1, 1, 1, 1, 1], [1, 2, 3, 4, 5], [1, 3, 6, 10, 15], [1, 4, 10, 20, 35]]),
    ),
    "empty": ("fn main[M, K](x: f32[M, K]) -> f32[M] = [i] => sum[k] x[i, k]", (draw(3, 0),), np.zeros(3, np.float32)),
    "no rows": ("fn main[M, K](x: f32[M, K]) -> f32[M] = [i] => max[k: K] x[i, k + 1 ? 0]", (draw(0, 4),), draw(0)),
    "empty range": ("fn main[N](x: f32[N]) = [i: 2..N] => x[i - 2]", (X7[:1],), draw(0)),
    "empty recurrence": (
        "fn main[N](x: f32[N]) -> f32[N] {\n  let y[n] = x[n] + y[n - 1 ? 0]\n  return y\n}",
        (draw(0),),
        draw(0),
    ),
}  # fmt: skip


def rnn(x: Array, w: Array, h: Array) -> Array:
    rows: list[Array] = []
    for row in x:
        h = np.tanh(row + h @ w)
        rows.append(h)
    return np.stack(rows)


@pytest.mark.parametrize("name", CASES)
def test_values(evaluate: Evaluate, name: str) -> None:
    text, inputs, expected = CASES[name]
    [found] = evaluate(text, *inputs)
    if name == "rnn":
        expected = rnn(*inputs)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
