"""What is said about texts that are no programs, and that all of it is said in one run."""

import pytest

from lamina.dialects.dsl.language import tree
from lamina.dialects.dsl.language.codes import CODES
from lamina.dialects.dsl.language.parsing import decode, parse
from lamina.dialects.dsl.language.problems import Problem, Problems


def found(text: str) -> list[Problem]:
    problems = Problems()
    parse(text, "t.lam", problems)
    return problems.errors


def places(text: str) -> list[str]:
    return [f"{p.code} {p.span.line}:{p.span.column}" for p in found(text)]


SYNTAX = sorted(code for code in CODES if code.startswith("E0") and code not in ("E016",))


@pytest.mark.parametrize("code", SYNTAX)
def test_examples_of_the_codes(code: str) -> None:
    assert [p.code for p in found(CODES[code].wrong)] == [code]
    assert not found(CODES[code].right)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("fn f(x f32) = x", "expected `:`, found `f32`", "a parameter is a name and its type: `x: f32[3]`"),
        ("fn f(x: f32) = x +", "expected an expression, found the end of the file", ""),
        (
            "fn f(x: f32) = x 3",
            "expected an operator, the end of the line, the end of the file or `,`, found `3`",
            None,
        ),
        ("fn f(x: f32) { retrun x }", "`retrun` should be `return`", "did you mean `return`?"),
        ("fn f(x: bool) { if x { } elif x { } }", None, "write `else if`"),
        ("fn f(x: bool) { if x = true { } }", None, "equality is written `==`"),
        ("fn f(x: f32) { for t in 10 { } }", "expected `..`, found `{`", "a loop runs over a range: `for t in 0..N`"),
        ("fn f(x: f32) = x && x", "`&&` is written `and`", ""),
        ("fn f(x: f32) = x ? 1 : 2", None, "a choice is written `if c { a } else { b }`"),
        ("import numpy", "expected a string, found `numpy`", 'a file is imported by its path: `import "numpy.lam"`'),
        ("fn f() = .5", None, "a number begins with a digit: `0.5`"),
        ("fn f() = 'a'", "unknown character `'`", 'strings are written in `"`'),
        ("fn f() = 1\x00", "unknown character U+0000", ""),
        ("fn f() =\N{NO-BREAK SPACE}1", "unusual space U+00A0", "use a plain one"),
        ("let x = 3", "expected a definition, found `let`: statements stand inside of functions", None),
        ("fn f(x: f32) {\n f(x)\n}", "this line has no effect: its value is neither named nor returned", None),
    ],
)
def test_messages(text: str, message: str | None, hint: str | None) -> None:
    problem = found(text)[0]
    assert message is None or problem.message == message
    assert hint is None or problem.hint == hint


def test_every_error_of_a_file_in_one_run() -> None:
    text = """\
fn f(x: f32) {
  let y = x $ 2
  let = 3
  let z = (x + 1
  let w = x +
  let v = w w
  for t in 0.. { let a = ; let b = 3 3 }
  return w
}
fn g(x: f32) = x +
fn h(x f32) {
  while { x = = 3 }
}
const A 3
"""
    assert places(text) == [
        "E001 2:13", "E002 3:7", "E003 4:11", "E002 5:14", "E002 6:13", "E002 7:16", "E002 7:26", "E002 7:38",
        "E002 10:19", "E002 11:8", "E002 12:9", "E002 12:15", "E002 14:9",
    ]  # fmt: skip


def test_brackets_name_both_places() -> None:
    (problem,) = found("fn f(x: f32) {\n  let y = max(x,\n    [1, 2\n  return y\n}")[:1]
    assert problem.message == "`(` is never closed"
    assert [(label.span.line, label.span.column, label.text) for label in problem.labels] == [
        (2, 14, "opened here"),
        (3, 10, "expected `)` before this"),
    ]
    (problem,) = found("fn f(x: f32) = (x]")
    assert problem.message == "`]` does not close `(`"
    assert [(label.span.column, label.text) for label in problem.labels] == [(18, "expected `)`"), (16, "opened here")]
    assert [p.message for p in found("fn f(x: f32)) = x }")] == ["`)` closes nothing", "`}` closes nothing"]


def test_a_brace_too_few_does_not_swallow_the_next_function() -> None:
    text = "fn f(x: bool) {\n  if x {\n    let y = 1\n\nfn g() = 1\nfn h() = 2\n"
    problems = Problems()
    file = parse(text, "t.lam", problems)
    assert [type(item).__name__ for item in file.items] == ["Function"] * 3
    assert [p.code for p in problems.found] == ["E003", "E003"]


def test_what_is_right_is_kept() -> None:
    problems = Problems()
    file = parse("fn f(x: $, y: f32) -> f32 {\n let a = 1 + + * 2\n return a\n}\nfn g = 3\nfn h() = 1", "t", problems)
    assert [type(item).__name__ for item in file.items] == ["Function", "Hole", "Function"]
    function = file.items[0]
    assert isinstance(function, tree.Function)
    assert [p.name.text for p in function.parameters] == ["x", "y"]
    assert [type(s).__name__ for s in function.body.statements] == ["Let", "Return"]


@pytest.mark.parametrize(
    "text",
    [
        "const A = " + "(" * 5000 + "1" + ")" * 5000,
        "const A = " + "[" * 100_000,
        "const A = " + "-" * 50_000 + "1",
        "const A = " + "not " * 5_000 + "1",
        "const A = " + " ** ".join(["2"] * 5_000),
        "const A = " + " + ".join(["1"] * 5_000),
        "fn f() " + "{ if a " * 5_000,
        "fn f() { " + "if a { } else " * 5_000 + "{ } }",
        "const A = a" + "[0]" * 5_000,
        "const A = " + "f(" * 5_000,
        "const A = " + "sum[i] " * 5_000 + "1",
        "const A = " + "[i] => " * 5_000 + "1",
        "}" * 20_000,
        ") (" * 20_000,
        "fn " * 20_000,
        '"' * 20_001,
        "const A = " + "9" * 100_000,
        "const A = 1." + "9" * 100_000 + "e" + "9" * 1000,
        "0x" * 10_000,
    ],
    ids=lambda text: f"{text[8:24]!r}",
)
def test_large_nonsense_is_said_quickly(text: str) -> None:
    problems = found(text)
    assert problems
    assert len(problems) <= 202
    assert all(p.code in CODES for p in problems)


def test_a_tree_is_never_deeper_than_its_readers_can_go() -> None:
    problems = Problems()
    file = parse("const A = " + " + ".join(["1"] * 5_000), "t", problems)
    assert [p.code for p in problems.found] == ["E015"]
    assert sum(1 for _ in file.walk()) > 100


def test_bytes() -> None:
    problems = Problems()
    assert decode("\N{BYTE ORDER MARK}a\r\nβ".encode(), "t", problems) == "a\r\nβ"
    assert not problems.found
    text = decode(b"ab\n c\xff\xfed", "t", problems)
    assert text == "ab\n c  d"
    (problem,) = problems.found
    assert (problem.code, problem.span.line, problem.span.column, problem.span.start) == ("E016", 2, 3, 5)


def test_line_ends_and_tabs() -> None:
    for text in (
        "fn f() = 1\r\nfn g() = 2\r\n",
        "\N{BYTE ORDER MARK}fn f() =\t1\n\tfn g() = 2",
        "fn f() = 1;;\n;fn g() = 2",
    ):
        assert not found(text)
