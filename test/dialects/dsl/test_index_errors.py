"""What is said about mistakes in index notation, and at which characters: those between « and »."""

import pytest

from lamina.dialects.dsl.load import check, load_file

CASES: dict[str, tuple[str, str, str]] = {
    "unbound": (
        "fn f[M, N](x: f32[M, N]) -> f32[M] = [i] => x[i, «j»]",
        "E401",
        "there is no index 'j' here",
    ),
    "unused in a sum": ("fn f[N](x: f32[N]) -> f32 = sum[i, «j»: 3] x[i]", "E402", "index 'j' is never used"),
    "unused": ("fn f[N](x: f32[N]) = [i, «j»] => x[i]", "E402", "index 'j' is never used"),
    "two sizes": (
        "fn f[M, N](x: f32[M], y: f32[N]) -> f32[M] = [i] => x[i] + y[«i»]",
        "E403",
        "index 'i' is used on axes of different sizes: M and N",
    ),
    "two sizes in a sum": (
        "fn f[M, K, N](x: f32[M, K], w: f32[N, M]) = [i, j] => sum[k] x[i, k] * w[«k», j]",
        "E403",
        "index 'k' is used on axes of different sizes: K and N",
    ),
    "only a multiple": (
        "fn f[N](x: f32[N]) {\n  let y[«i»] = x[2*i]\n  return y\n}",
        "E404",
        "the range of index 'i' cannot be inferred: it subscripts nothing by itself, only as a part of 2*i",
    ),
    "only a value": (
        "fn f[N](x: f32[N]) = [«i»] => x[0] * f32(i)",
        "E404",
        "the range of index 'i' cannot be inferred: it subscripts nothing whose size is known",
    ),
    "after the last": (
        "fn f[N](x: f32[N]) -> f32[N] = [i] => x[i] - x[«i + 1»]",
        "E405",
        "i + 1 can leave the bounds: it goes from 1 to N, axis 0 of x has N elements, counted from 0",
    ),
    "before the first": (
        "fn f[N](x: f32[3, N]) -> f32[N] = [i: N] => x[0, «i - 1»]",
        "E405",
        "i - 1 can leave the bounds: it goes from -1 to N - 2, axis 1 of x has N elements, counted from 0",
    ),
    "a number": (
        "fn f[N](x: f32[3, N]) -> f32[N] = [i] => x[«3», i]",
        "E405",
        "3 is outside: axis 0 of x has 3 elements, counted from 0",
    ),
    "a counter": (
        "fn f[N](x: f32[N]) -> f32 {\n  var s = x[0]\n  for t in 0..N { s = s + x[«t + 1»] }\n  return s\n}",
        "E405",
        "t + 1 can leave the bounds: it goes from 1 to N, axis 0 of x has N elements, counted from 0",
    ),
    "too few": (
        "fn f[M, N](x: f32[M, N]) -> f32[M] = [i] => «x[i]» + 1",
        "E406",
        "1 subscript for the 2 axes of x, f32[M, N]",
    ),
    "too many": (
        "fn f[N](x: f32[N]) -> f32[N] = [i] => x[i, «0»]",
        "E406",
        "2 subscripts for the 1 axis of x, f32[N]",
    ),
    "an index for a pack": (
        "fn f[..B, N](x: f32[..B, N]) = [i, j] => «x[i, j]»",
        "E406",
        "x is f32[..B, N]: only a pack of indices can stand for ..B",
    ),
    "whole tensor": (
        "fn f[N](x: f32[N], y: f32[N]) -> f32[N] = [i] => «x[i] * y»",
        "E407",
        "the body of index notation must be a single value, it is f32[N]",
    ),
    "bound twice": (
        "fn f[N](x: f32[N, N]) -> f32[N] = [i] => sum[«i»] x[i, i]",
        "E408",
        "index 'i' is bound already",
    ),
    "future": (
        "fn f[N](x: f32[N]) -> f32[N] {\n  let y[n: N] = x[n] + «y[n + 1 ? 0]»\n  return y\n}",
        "E409",
        "y[n + 1 ? 0] is not known yet when y[n] is computed",
    ),
    "itself": (
        "fn f[N](x: f32[N]) -> f32[N] {\n  let x[n] = 2 * «x[n]»\n  return x\n}",
        "E409",
        "x[n] is not known yet when x[n] is computed",
    ),
    "no beginning": (
        "fn f[N]() -> i64[N] {\n  let y[n: N] = 2 * y[«n - 1»]\n  return y\n}",
        "E410",
        "n - 1 is -1 at first: nothing of 'y' is known there",
    ),
    "a fraction": (
        "fn f[N, M](x: f32[N], at: f32[M]) -> f32[M] = [m] => x[«at[m]»]",
        "E412",
        "a subscript is a whole number, got f32",
    ),
    "a tensor": (
        "fn f[N, M](x: f32[N], at: i64[M]) -> f32[N] = [n] => x[n] + x[«at» ? 0]",
        "E412",
        "a subscript is a single whole number, got i64[M]",
    ),
    "a slice": (
        "fn f(x: f32[3, 8]) = [i] => x[i, «4:»][0]",
        "E413",
        "index notation is about single elements: no slices",
    ),
    "an update of a parameter": (
        "fn f[N](x: f32[N], at: i64[3]) -> f32[N] {\n  «x»[at[n]] += 1.0\n  return x\n}",
        "E415",
        "'x' is not a var: it does not change",
    ),
    "a guard": (
        "fn f[N](x: f32[N]) -> f32 = sum[i where «x[i]»] x[i]",
        "E416",
        "a guard is a single bool, got f32",
    ),
    "a range by another": (
        "fn f[N](x: f32[N]) -> f32[N] = [i] => sum[j: «i + 1»] x[j]",
        "E417",
        "the range of an index cannot depend on another index",
    ),
    "bools summed": (
        "fn f[N](x: f32[N]) -> i64 = sum[i] («x[i] > 0»)",
        "E418",
        "sum combines numbers, got bool",
    ),
    "all of itself": (
        "fn f() -> i64[8] {\n  let y[n: 8] = n + sum(«y»)\n  return y\n}",
        "E422",
        "'y' is only being defined here: its elements can be used, not all of it",
    ),
    "does not fit": (
        "fn f(x: f32[8]) -> f32[8] {\n  var y = x\n  y[2:4] = «[1.0, 2.0, 3.0]»\n  return y\n}",
        "E423",
        "f32[3] does not fit into f32[2]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_mistakes(name: str) -> None:
    marked, code, message = CASES[name]
    start, end = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")
    [problem] = check(load_file(text)).errors
    assert (problem.code, problem.message) == (code, message)
    assert text[problem.span.start : problem.span.end] == text[start:end]
    assert problem.span.start == start
    assert problem.span.line == text[:start].count("\n") + 1
    assert problem.span.column == start - (text.rfind("\n", 0, start) + 1) + 1


def test_both_places_are_labelled() -> None:
    text = "fn f[M, N](x: f32[M], w: f32[N]) -> f32[M] = [i] => x[i] * w[i]"
    [problem] = check(load_file(text)).errors
    labels = [(text[label.span.start : label.span.end], label.span.column, label.text) for label in problem.labels]
    assert labels == [("i", 62, "i ranges over N from w here"), ("i", 55, "i ranges over M from x here")]


def test_the_range_to_write_is_shown() -> None:
    [problem] = check(load_file("fn f[N](x: f32[N]) {\n  let y[i] = x[2*i]\n  return y\n}")).errors
    assert problem.hint == "write it: i: N // 2"


def test_the_value_outside_is_shown() -> None:
    [problem] = check(load_file("fn f[N](x: f32[N, N]) -> f32[N, N] = [i, j] => x[i + 1, j]")).errors
    assert problem.hint == "say what is read outside, x[i + 1, j ? 0], or give the index a shorter range"


def test_every_mistake_of_a_body_is_found_once() -> None:
    text = "fn f[N](x: f32[N], y: f32[N]) -> f32[N] = [i] => y[i + 1] + sum[k] x[i] * z[k] + y[j]"
    assert [problem.code for problem in check(load_file(text)).errors] == ["E405", "E101", "E401"]


@pytest.mark.parametrize(
    "body",
    [
        "[i] => if i > 0 { x[i - 1] } else { 0 }",
        "[i] => if i < 1 or N == 1 { 0 } else { x[i - 1] }",
        "[i] => sum[j: N where j < i] x[i - j]",
        "[i] => if not (i + 1 >= N) { x[i + 1] } else { 0 }",
        "[i] => x[min(i + 1, N - 1)]",
    ],
)
def test_conditions_keep_inside(body: str) -> None:
    assert check(load_file(f"fn f[N](x: f32[N]) -> f32[N] = {body}")).errors == []
    assert check(load_file(f"fn f(x: f32[6]) -> f32[6] = {body.replace('N', '6')}")).errors == []
