"""What checking says of programs: which characters, both places of a conflict, no follow-up errors; and types."""

from pathlib import Path

import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.dialects.dsl.check.values import TupleValue, Value
from lamina.dialects.dsl.language import tree
from lamina.dialects.dsl.load import ProgramError, analyse, bind, check, instantiate, load_file
from lamina.tools.sources import new_context

MATMUL = "fn mm[M, K, N](x: f32[M, K], w: f32[K, N]) -> f32[M, N] = x @ w\n"

# a program, then for each problem: code, line, column, and the texts of its labels
WRONG: list[tuple[str, list[tuple[str, int, int, list[str]]]]] = [
    (
        MATMUL + "fn f(x: f32[2, 64], w: f32[128, 8]) = mm(x, w)",
        [("E301", 2, 45, ["K = 128 from w here", "K = 64 from x here"])],
    ),
    (
        MATMUL + "fn f[A, B](x: f32[A, B], w: f32[A, B]) = mm(x, w)",
        [("E301", 2, 48, ["K = A from w here", "K = B from x here"])],
    ),
    (
        "fn f[N](x: f32[N], y: f32[2*N + 1]) = x\nfn g(a: f32[3], b: f32[6]) = f(a, b)",
        [("E301", 2, 35, ["6 from y here, 2*N + 1 = 7 is needed", "N = 3 from x here"])],
    ),
    (
        "fn f[M, N](x: f32[M], y: f32[N]) = x + y",
        [("E302", 1, 36, ["", "is f32[M]", "is f32[N]"])],
    ),
    (
        "fn f(x: f32[2, 3]) -> f32[3, 2] = x",
        [("E307", 1, 35, ["is f32[2, 3]", "declared here"])],
    ),
    (
        "fn f(x: f32) = x + undefined + 1\nfn g(x: f32) = f(also) * f(x)\n"
        "fn h(x: f32) -> f32 {\n  let y = wrong(x)\n  return y\n}",
        [("E101", 1, 20, [""]), ("E101", 2, 18, [""]), ("E102", 4, 11, [""])],
    ),
    (
        "fn f(x: f32[2], n: i32[2]) {\n  let y = x * n\n  return y + 1, x + [1, 2, 3]\n}",
        [("E201", 2, 11, ["", "f32", "i32"]), ("E302", 3, 17, ["", "is f32[2]", "is f32[3]"])],
    ),
    (
        "fn f(x: f32[N]) = x",
        [("E101", 1, 13, [""])],
    ),
    (
        "fn f[N](x: f32[N]) -> f32[N] where N % 4 == 0 = x\nfn g(x: f32[6]) = f(x)\nfn h[M](x: f32[M]) = f(x)",
        [("E311", 2, 19, ["N = 6", "required here"])],
    ),
    (
        "fn f(x: f32) -> f32 {\n  var y = x\n  y = [x, x]\n  return y\n}",
        [("E603", 3, 3, ["is f32[2] here", "is f32"])],
    ),
    (
        "fn f(x: f32, t: (f32, i64)) = t.0 + x\nfn g(x: f32) = f(x, (x, x)), f(x, x), f((x, 1), x)",
        [("E201", 2, 21, [""]), ("E506", 2, 35, [""]), ("E506", 2, 41, [""])],
    ),
    ("fn f(n: u8) = n + 256\nfn g(n: i64) = n + 1.5", [("E203", 1, 19, [""]), ("E201", 2, 20, [""])]),
    ("fn f[T: number](x: T) = x / 2", [("E202", 1, 25, [""])]),
]

RIGHT = [
    "fn f[N](x: f32[N]) -> f32[2*(N // 2)] where N % 2 == 0 = x",  # what is assumed of dimensions
    "fn f[N](x: f32[N]) -> f32[4] {\n  if N == 4 { return x }\n  return zeros(f32[4])\n}",
    "fn f[M, N](x: f32[M + N]) -> f32[N + M] = x[:M + N]",
    "fn f[..B, N](x: f32[..B, N], y: f32[N]) -> f32[..B, N] = x * y + 1",
    "fn f[A, B](x: f32[A], y: f32[B]) -> f32[A] where A == B = x + y",
    "fn f[N](x: f32[N]) -> f32[N] = concat([x[:N // 2], x[N // 2:]])",
    "fn f[N](x: f32[N], k: const int = 2) -> f32[N*k] = concat([x, x])[:N*k]",
    "fn f(x: f32) -> f32 = if x > 0 { 1 } else { -1 }",
    "fn f[N](x: f32[N], mean: const bool = false) -> f32 = sum(if mean { x[0] } else { x })",
    "fn even(n: const int) -> bool = if n == 0 { true } else { odd(n - 1) }\n"
    "fn odd(n: const int) -> bool = if n == 0 { false } else { even(n - 1) }",
    "fn f[T: float](x: T[3]) -> T[3] = x * 0.5 + T(2) * [1, 2, 3]",
]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_wrong(text: str, expected: list[tuple[str, int, int, list[str]]]) -> None:
    found = [
        (p.code, p.span.line, p.span.column, [label.text for label in p.labels]) for p in check(load_file(text)).found
    ]
    assert found == expected


@pytest.mark.parametrize("text", RIGHT)
def test_right(text: str) -> None:
    assert not check(load_file(text)).found


def types(text: str) -> dict[str, str]:
    """The types of all names of a program, as they are shown on hover."""
    analysis = analyse(load_file(text))
    assert not analysis.problems.errors
    shown: dict[str, str] = {}
    for node, kind in analysis.types.items():
        if isinstance(node, tree.Identifier | tree.Name):
            shown[node.text] = str(kind.type) if isinstance(kind, Value | TupleValue) else str(kind)
    return shown


def test_types_of_names() -> None:
    found = types(
        MATMUL + "fn f[A, B](x: f32[A, B], w: f32[B, 8], heads: const int) {\n  let y = mm(x, w)\n  var s = 0.0\n"
        "  for t in 0..A { s = s + y[t, 0] }\n  let z = y[1:, ::2]\n  let pair = (z, concat([x, x], axis=1))\n"
        "  return pair, s, heads\n}"
    )
    assert found["y"] == "f32[A, 8]" and found["z"] == "f32[A - 1, 4]" and found["s"] == "f32" and found["t"] == "i64"
    assert found["pair"] == "(f32[A - 1, 4], f32[A, 2*B])"


def test_definitions_of_names() -> None:
    analysis = analyse(load_file(MATMUL + "fn f(x: f32[2, 2]) {\n  let y = mm(x, x)\n  return y\n}"))
    places = {(n.span.line, n.span.column): (d.span.line, d.span.column) for n, d in analysis.definitions.items()}
    assert places[3, 11] == (1, 4) and places[3, 14] == (2, 6) and places[4, 10] == (3, 7)


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b.lam").write_text("const TWO = 2\nfn twice(x: f32) = TWO * x")
    (tmp_path / "a.lam").write_text('import "below/b.lam" as b\nfn four(x: f32) = b.twice(b.twice(x))')
    main = tmp_path / "main.lam"
    main.write_text(
        'import "a.lam"\nimport "below/b.lam" as c\nfn f(x: f32) = four(x) + c.TWO\n'
        "fn g(x: f32) = b.twice(x), c.twin(x)"
    )
    problems = check(load_file(main)).found
    assert [(p.code, p.span.line, p.span.column, p.hint) for p in problems] == [
        ("E102", 4, 16, "did you mean 'c.twice'?"),
        ("E102", 4, 28, "did you mean 'twice'?"),
    ]


def test_circles_of_imports(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.lam").write_text(f'import "{other}.lam" as o\nfn {name}(x: f32) = o.{other}(x)')
    found = check(load_file(tmp_path / "a.lam")).found
    assert [(p.code, Path(p.span.file).name) for p in found] == [("E701", "c.lam")]
    assert found[0].message == "files import each other: 'a.lam' imports 'b.lam' imports 'c.lam' imports 'a.lam'"


def test_an_import_from_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.lam").write_text("fn f(x: f32) = x")
    (tmp_path / "in" / "main.lam").write_text('import "../out.lam" as o')
    assert [p.code for p in check(load_file(tmp_path / "in" / "main.lam")).found] == ["E702"]


def test_binding_says_what_does_not_fit() -> None:
    files = load_file(MATMUL)
    with pytest.raises(ProgramError, match="'mm' needs one K: 3 and 4"):
        bind(files, "mm", [("f32", (2, 3)), ("f32", (4, 5))])
    with pytest.raises(LaminaError, match="there is no function 'nm'"):
        bind(files, "nm", [])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("fn main[N](x: f32[N]) -> f32[N] = main(x)", "E508"),
        ("fn f(n: const int) -> i64 = f(n + 1)\nfn main() = f(0)", "E508"),
        ("fn main[N](x: f32[N]) -> f32[N] {\nvar y = x\nfor i in 0..3 { let z = main(x)\ny = x }\nreturn y }", "E508"),
        (
            "fn main[N](x: f32[N]) -> f32[N] {\nvar y = x\nwhile y[0] > 0.0 { let z = main(x)\ny = x }\nreturn y }",
            "E508",
        ),
        ("fn main[N](x: f32[N]) -> f32[N] {\nvar y = x\nif x[0] > 0.0 { let z = main(x)\ny = x }\nreturn y }", "E508"),
        ("fn main[N](x: f32[N]) -> f32[N] {\nlet y[i] = x[i] + main(x)[i]\nreturn y }", "E508"),
        ("fn main[N](x: f32[N]) = x[:5]", "E309"),
        ("fn main[N](x: f32[N]) -> f32[4] = x[: N // 2]", "E307"),
        ("fn main[N](x: f32[N]) = zeros(f32[4 // (N - 3)])", "E312"),
    ],
)
def test_what_only_an_instance_shows(text: str, code: str) -> None:
    files = load_file(text)
    assert not check(files).errors
    arguments = [] if "main()" in text else [("f32", (3,))]
    with pytest.raises(ProgramError) as caught:
        instantiate(files, bind(files, "main", arguments), new_context())
    assert [p.code for p in caught.value.problems.errors] == [code]
