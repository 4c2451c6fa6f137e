"""Built-in functions on dimensions that are symbols: the type they find is the one that is declared."""

from __future__ import annotations

import pytest

from lamina.dialects.dsl.load import check, load_file

FITTING = [
    # head, expression, its type
    ("[..S, T: float](x: T[..S])", "exp(x)", "T[..S]"),
    ("[..S, T: number](x: T[..S])", "maximum(x, 0)", "T[..S]"),
    ("[..S, T: number](x: T[..S])", "clip(x, 0, 1)", "T[..S]"),
    ("[..S, T: number](x: T[..S])", "sum(x)", "T"),
    ("[..S, T: float](x: T[..S])", "mean(x)", "T"),
    ("[..B, N, T: float](x: T[..B, N])", "max(x, axis=-1)", "T[..B]"),
    ("[..B, N, T: float](x: T[..B, N])", "variance(x, axis=-1, keepdims=true)", "T[..B, 1]"),
    ("[..B, N](x: f32[..B, N])", "argmax(x, axis=-1)", "i64[..B]"),
    ("[..B, N](x: f32[..B, N])", "x / sqrt(N)", "f32[..B, N]"),
    ("[..B, N](x: f16[..B, N])", "x / sqrt(N)", "f16[..B, N]"),
    ("[N](x: f32[N])", "isfinite(x)", "bool[N]"),
    ("[M, N](c: bool[N], x: f32[M, N])", "select(c, x, 0)", "f32[M, N]"),
    ("[M, N]()", "zeros(f32[M, 2*N])", "f32[M, 2*N]"),
    ("[M, N]()", "iota(i32[M, N], axis=1)", "i32[M, N]"),
    ("[M, N](x: f32[M, N])", "reshape(x, [N, M])", "f32[N, M]"),
    ("[M, N](x: f32[M, 2*N])", "reshape(x, [M, 2, N])", "f32[M, 2, N]"),
    ("[M, N](x: f32[M, 2*N])", "reshape(x, [2, -1])", "f32[2, M*N]"),
    ("[..B, N, T: any](x: T[..B, 4*N])", "reshape(x, T[..B, N, 4])", "T[..B, N, 4]"),
    ("[..B, N](x: f32[..B, N])", "sum(reshape(x, [-1, N]), axis=0)", "f32[N]"),
    ("[..B, N](x: f32[..B, N])", "reshape(reshape(x, [-1]), f32[..B, N])", "f32[..B, N]"),
    ("[M, N](x: f32[M, N])", "transpose(x)", "f32[N, M]"),
    ("[..B, M, N](x: f32[..B, M, N])", "swapaxes(x, -1, -2)", "f32[..B, N, M]"),
    ("[M, N](x: f32[N])", "broadcast(x, [M, N])", "f32[M, N]"),
    ("[M, N, K](x: f32[M, K], y: f32[N, K])", "concat([x, y])", "f32[M + N, K]"),
    ("[M, N](x: f32[M, N])", "stack([x, x, x], axis=1)", "f32[M, 3, N]"),
    ("[M, N](x: f32[M, 2*N])", "split(x, 2, axis=1).1", "f32[M, N]"),
    ("[M, N](x: f32[M, 1, N])", "squeeze(x, axis=1)", "f32[M, N]"),
    ("[M, N](x: f32[M, N])", "expand_dims(x, [0, 2])", "f32[1, M, 1, N]"),
    ("[M, N](x: f32[M, N])", "tile(x, [2, N])", "f32[2*M, N*N]"),
    ("[M, N](x: f32[M, N], p: const int)", "pad(x, [[p, p], [0, 1]])", "f32[M + 2*p, N + 1]"),
    ("[M, N](x: f32[M, N])", "roll(x, 1, axis=0)", "f32[M, N]"),
    ("[M, N](x: f32[M, N])", "slice(x, [0, 1], [M, N])", "f32[M, N - 1]"),
    ("[M, N](x: f32[M, N])", "zeros(f32[size(x)])", "f32[M*N]"),
    ("[M, N](x: f32[M, N])", "sort(x, axis=0)", "f32[M, N]"),
    ("[M, N](x: f32[M, N], k: const int)", "topk(x, k).1", "i64[M, k]"),
    ("[M, N](x: f32[M, N])", "cumsum(x)", "f32[M*N]"),
    ("[V, D, ..B](x: f32[V, D], i: i32[..B])", "take(x, i)", "f32[..B, D]"),
    ("[N, K](i: i64[N])", "one_hot(i, K, dtype=bool)", "bool[N, K]"),
    ("[M, K, N](x: f32[M, K], y: f32[K, N])", "dot(x, y)", "f32[M, N]"),
    ("[B, M, N, K](x: i8[B, M, K], y: i8[B, N, K])", "dot(x, y, [[2, 2]], [[0, 0]], dtype=i32)", "i32[B, M, N]"),
    (
        "[N, C, H, O, R](x: f32[N, C, H], w: f32[O, C, R], s: const int)",
        "conv(x, w, strides=2, padding=1)",
        "f32[N, O, (H + 2 - R) / 2 + 1]",
    ),
    ("[N](x: f32[N])", "rfft(x)", "c64[N / 2 + 1]"),
    ("[N](x: f32[N])", "bitcast(x, u8)", "u8[N, 4]"),
    ("[B, N, D](x: f32[B, N, 4*D])", 'rearrange(x, "b n (h d) -> (b h) n d", h=4)', "f32[4*B, N, D]"),
    ("[B, N, H, D](x: f32[B, N, H*D])", 'rearrange(x, "b n (h d) -> b h n d", h=H)', "f32[B, H, N, D]"),
    ("[..B, H, W](x: f32[..B, H, W])", 'rearrange(x, "... h w -> ... (w h)")', "f32[..B, H*W]"),
    ("[..B, H, W](x: f32[..B, H, W])", 'reduce(x, "... h w -> ...", "max")', "f32[..B]"),
    ("[H, W](x: f32[H, W])", 'repeat(x, "h w -> h (w c)", c=3)', "f32[H, 3*W]"),
    ("[M, N](x: f32[M, N])", "stablehlo.transpose(x, permutation=[1, 0])", "f32[N, M]"),
    ("[M, N](x: f32[M, N])", "onnx.Transpose(x)", "f32[N, M]"),
]


@pytest.mark.parametrize(("head", "expression", "kind"), FITTING, ids=[f"{e} {k}" for _, e, k in FITTING])
def test_the_type_found_is_the_type_declared(head: str, expression: str, kind: str) -> None:
    problems = check(load_file(f"fn f{head} -> {kind} = {expression}"))
    assert not problems.errors, problems.errors


@pytest.mark.parametrize(
    ("head", "expression", "code"),
    [
        ("[..S, T: number](x: T[..S])", "exp(x)", "E250"),
        ("[M, N](x: f32[M, N])", "reshape(x, [M, M])", "E353"),
        ("[..B, N](x: f32[..B, N])", "reshape(x, f32[N, ..B, 2])", "E353"),
        ("[M, N](x: f32[M, N])", "concat([x, transpose(x)])", "E350"),
        ("[M, N](x: f32[M, N])", "dot(x, x)", "E350"),
        ("[M, N](x: f32[M, N])", "squeeze(x, axis=0)", "E350"),
        ("[M, N](x: f32[M, N])", "sum(x, axis=2)", "E351"),
        ("[M, N](x: f32[M, N])", 'rearrange(x, "a b c -> c b a")', "E352"),
        ("[M, N](x: f32[M, N])", 'rearrange(x, "(a b) c -> c b a")', "E352"),
        ("[M, N](x: f32[M, N], k: i64)", "sum(x, axis=k)", "E554"),
        ("[M, N](x: f32[M, N])", "stablehlo.transpose(x, permutations=[1, 0])", "E551"),
        ("[M, N](x: f32[M, N])", "onnx.Softmax(x, axes=1)", "E551"),
        ("[M, N](x: f32[M, N])", "onnx.If(x)", "E550"),
    ],
)
def test_what_cannot_be_for_any_dimensions(head: str, expression: str, code: str) -> None:
    problems = check(load_file(f"fn f{head} = {expression}"))
    assert [problem.code for problem in problems.errors] == [code]


def test_one_error_causes_no_others() -> None:
    text = "fn f(x: f32[2, 3]) -> i32[7] {\n  let y = exp(sum(x, axis=9))\n  return reshape(concat([y, x]), [4])\n}"
    assert [problem.code for problem in check(load_file(text)).errors] == ["E351"]


def test_a_wrong_call_hides_no_other_errors() -> None:
    text = "fn f(x: f32[2, 3]) {\n  let y = x + 1\n  return concat([y, exp(x, axs=1)], axes=nothing)\n}"
    assert {problem.code for problem in check(load_file(text)).found} == {"E551", "E101"}


@pytest.mark.parametrize(
    ("call", "place"),
    [
        ('rearrange(x, "a b -> b c")', "a"),
        ('rearrange(x, "a b -> b a c")', "c"),
        ('rearrange(x, "(a k) b -> b a k", k=4)', "a"),
        ("sum(x, axis=5)", "5"),
        ("sum(x, axs=1)", "axs"),
        ("concat([x, i32(x)])", "i32(x)"),
        ("stablehlo.transpoze(x)", "stablehlo.transpoze"),
        ("onnx.Gemm(x, x, transC=1)", "transC"),
    ],
)
def test_messages_point_at_the_very_characters(call: str, place: str) -> None:
    text = f"fn f(x: f32[2, 3]) = {call}"
    (problem,) = check(load_file(text)).errors
    assert text[problem.span.start : problem.span.end] == place
    assert problem.span.column == problem.span.start + 1
