"""What updates of some elements give, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Evaluate = Callable[..., list[Any]]
Array = np.ndarray[Any, Any]

X = np.arange(1, 8, dtype=np.float32)
A = np.arange(12, dtype=np.float32).reshape(3, 4)
IDS = np.array([2, 0, 1, 2, 2, -1, 9], np.int64)


def histogram(ids: Array, values: Array, size: int) -> Array:
    found = np.zeros((size, *values.shape[1:]), values.dtype)
    inside = (ids >= 0) & (ids < size)
    np.add.at(found, ids[inside], values[inside])
    return found


def body(statement: str, start: str = "x", head: str = "x: f32[7]", result: str = "f32[7]") -> str:
    return f"fn main({head}) -> {result} {{\n  var y = {start}\n  {statement}\n  return y\n}}"


def after(old: Array, change: Callable[[Array], Any]) -> Array:
    new = old.copy()
    change(new)
    return new


def put(place: Any, value: Any) -> Callable[[Array], Any]:
    return lambda y: y.__setitem__(place, value)


MATRIX: dict[str, str] = {"head": "x: f32[3, 4]", "result": "f32[3, 4]"}
CASES: dict[str, tuple[str, tuple[Array, ...], Array]] = {
    "one": (body("y[2] = 9"), (X,), after(X, put(2, 9))),
    "from the end": (body("y[-1] += 9"), (X,), after(X, put(-1, 16))),
    "slice": (body("y[1:3] = [8.0, 9.0]"), (X,), after(X, put(slice(1, 3), [8, 9]))),
    "steps": (body("y[1::2] *= 2"), (X,), after(X, put(slice(1, None, 2), X[1::2] * 2))),
    "backwards": (body("y[::-2] = x[0:4]"), (X,), after(X, put(slice(None, None, -2), X[0:4]))),
    "row": (body("y[1] = 5", **MATRIX), (A,), after(A, put(1, 5))),
    "column": (body("y[:, 1] max= [9.0, 0.0, 0.0]", **MATRIX), (A,), after(A, put((slice(None), 1), [9, 5, 9]))),
    "block with steps": (
        body("y[1:, ::3] = [[1.0, 2.0], [3.0, 4.0]]", **MATRIX),
        (A,),
        after(A, put((slice(1, None), slice(None, None, 3)), [[1, 2], [3, 4]])),
    ),
    "all": (body("y[i] = 2 * y[i]"), (X,), 2 * X),
    "all added": (body("y[i, j] += f32(i)", **MATRIX), (A,), A + np.arange(3, dtype=np.float32)[:, None]),
    "transposed": (body("y[j, i] = x[j, i] + 1", **MATRIX), (A,), A + 1),
    "part": (body("y[i: 2..5] = 0"), (X,), after(X, put(slice(2, 5), 0))),
    "column by index": (body("y[i, 2] = x[i, 0]", **MATRIX), (A,), after(A, put((slice(None), 2), A[:, 0]))),
    "guard": (body("y[i] += 10 where x[i] > 3"), (X,), np.where(X > 3, X + 10, X)),
    "affine": (
        "fn main(x: f32[3]) -> f32[7] {\n  var y = zeros(f32[7])\n  y[2*i + 1] = x[i]\n  return y\n}",
        (X[:3],),
        np.array([0, 1, 0, 2, 0, 3, 0], np.float32),
    ),
    "scatter": (
        "fn main(ids: i64[7], x: f32[7]) -> f32[3] {\n  var y = zeros(f32[3])\n  y[ids[n]] += x[n]\n  return y\n}",
        (IDS, X),
        histogram(IDS, X, 3),
    ),
    "scatter of rows": (
        "fn main(ids: i64[7], x: f32[7, 2]) -> f32[3, 2] {\n  var y = zeros(f32[3, 2])\n"
        "  y[ids[n], d] += x[n, d]\n  return y\n}",
        (IDS, np.stack([X, -X], 1)),
        histogram(IDS, np.stack([X, -X], 1), 3),
    ),
    "scatter of columns": (
        "fn main(ids: i64[7], x: f32[2, 7]) -> f32[2, 3] {\n  var y = zeros(f32[2, 3])\n"
        "  y[d, ids[n]] += x[d, n]\n  return y\n}",
        (IDS, np.stack([X, -X])),
        histogram(IDS, np.stack([X, -X], 1), 3).T,
    ),
    "scatter guarded": (
        "fn main(ids: i64[7], x: f32[7]) -> f32[3] {\n  var y = zeros(f32[3])\n"
        "  y[ids[n]] += x[n] where x[n] > 2\n  return y\n}",
        (IDS, X),
        histogram(IDS[X > 2], X[X > 2], 3),
    ),
    "scatter max": (
        "fn main(ids: i64[7], x: f32[7]) -> f32[3] {\n  var y = zeros(f32[3])\n  y[ids[n]] max= x[n]\n  return y\n}",
        (IDS, X),
        np.array([2, 3, 5], np.float32),
    ),
    "scatter put": (
        "fn main(ids: i64[2], x: f32[2]) -> f32[5] {\n  var y = ones(f32[5])\n  y[ids[n]] = x[n]\n  return y\n}",
        (np.array([4, 1]), X[:2]),
        np.array([1, 2, 1, 1, 1], np.float32),
    ),
    "scatter with packs": (
        "fn main[..B](ids: i64[7], x: f32[7, ..B]) -> f32[3, ..B] {\n  var y = zeros(f32[3, ..B])\n"
        "  y[ids[n], ..b] += x[n, ..b]\n  return y\n}",
        (IDS, np.stack([X, -X], 1)),
        histogram(IDS, np.stack([X, -X], 1), 3),
    ),
    "two tables": (
        "fn main(a: i32[4], b: i32[4]) -> i64[3, 3] {\n  var y = zeros(i64[3, 3])\n  y[a[n], b[n]] += 1\n  return y\n}",
        (np.array([0, 1, 2, 1], np.int32), np.array([2, 1, 0, 1], np.int32)),
        np.array([[0, 0, 1], [0, 2, 0], [1, 0, 0]]),
    ),
    "in a loop": (
        "fn main(x: f32[7]) -> f32[7] {\n  var y = x\n  for i in 1..7 { y[i] = y[i] + y[i - 1] }\n  return y\n}",
        (X,),
        np.cumsum(X),
    ),
    "rows in a loop": (
        "fn main(x: f32[3, 4]) -> f32[3, 4] {\n  var y = zeros(f32[3, 4])\n"
        "  for t in 0..3 { y[t] = x[2 - t] }\n  return y\n}",
        (A,),
        A[::-1],
    ),
    "outside": (
        "fn main(x: f32[7], at: i64) -> f32[7] {\n  var y = x\n  y[at] = 0\n  return y\n}",
        (X, np.array(7)),
        X,
    ),
    "place of data": (
        "fn main(x: f32[7], at: i64) -> f32[7] {\n  var y = x\n  y[at] = 0\n  return y\n}",
        (X, np.array(3)),
        after(X, put(3, 0)),
    ),
    "columns in a loop": (
        "fn main(x: f32[3, 4]) -> f32[3, 4] {\n  var y = x\n  for j in 1..4 { y[i, j] += y[i, j - 1] }\n  return y\n}",
        (A,),
        np.cumsum(A, 1),
    ),
    "a part of a row at a place of data": (
        "fn main(x: f32[3, 4], at: i64) -> f32[3, 4] {\n  var y = x\n  y[at, j: 1..3] = f32(j)\n  return y\n}",
        (A, np.array(1)),
        after(A, put((1, slice(1, 3)), [1, 2])),
    ),
    "a row outside": (
        "fn main(x: f32[3, 4], at: i64) -> f32[3, 4] {\n  var y = x\n  y[at, j] *= 2 where at < 9\n  return y\n}",
        (A, np.array(-1)),
        A,
    ),
    "one guarded": (
        "fn main(x: f32[3, 4], at: i64) -> f32[3, 4] {\n  var y = x\n  y[at, j] *= 2 where at < 1\n  return y\n}",
        (A, np.array(2)),
        A,
    ),
    "read before the first": (
        "fn main(x: f32[3, 4]) -> f32[3, 4] {\n  var y = zeros(f32[3, 4])\n"
        "  for t in 0..3 { y[t] = x[t] - x[t - 1 ? 1] }\n  return y\n}",
        (A,),
        A - np.concatenate([np.ones((1, 4), np.float32), A[:-1]]),
    ),
    "read one of data": (
        "fn main(x: f32[7], at: i64) -> f32 = x[at ? 5] + x[at - 1 ? 0.5]",
        (X, np.array(7)),
        np.array(12, np.float32),
    ),
    "no updates": (
        "fn main(ids: i64[0], x: f32[7]) -> f32[7] {\n  var y = x\n  y[ids[n]] += 1.0\n  return y\n}",
        (IDS[:0], X),
        X,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_updates(evaluate: Evaluate, name: str) -> None:
    text, inputs, expected = CASES[name]
    [found] = evaluate(text, *inputs)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
