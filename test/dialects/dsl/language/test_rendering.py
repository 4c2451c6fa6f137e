"""Problems as people read them: the characters that are marked are the ones that are meant."""

import json

import pytest

from lamina.dialects.dsl.language.problems import Label, Problem
from lamina.dialects.dsl.language.rendering import LONGEST, render, to_json
from lamina.dialects.dsl.language.tree import Span


def span(text: str, part: str, file: str = "a.lam", nth: int = 0) -> Span:
    start = -1
    for _ in range(nth + 1):
        start = text.index(part, start + 1)
    before = text[:start]
    return Span(file, start, start + len(part), before.count("\n") + 1, start - before.rfind("\n"))


def lines(text: str) -> str:
    return text.strip("\n")


def test_one_place():
    text = "fn f(x: f32) -> f32 {\n  return y\n}\n"
    problem = Problem("E101", "there is no 'y' here", (Label(span(text, "y"), ""),), "did you mean 'x'?")
    assert render([problem], {"a.lam": text}) == lines("""
a.lam:2:10: error[E101]: there is no 'y' here
  |
2 |   return y
  |          ^
  = did you mean 'x'?
""")


def test_two_places_in_one_line():
    text = "fn f(x: f32, w: f32) = x @ w\n"
    places = (Label(span(text, "x @ w"), ""), Label(span(text, "x", nth=1), "K = 64 from x here"))
    problem = Problem("E301", "K differs", (*places, Label(span(text, "w", nth=1), "K = 128 from w here")))
    assert render([problem], {"a.lam": text}) == lines("""
a.lam:1:24: error[E301]: K differs
  |
1 | fn f(x: f32, w: f32) = x @ w
  |                        ^^^^^ K = 128 from w here
  |                        |
  |                        K = 64 from x here
""")


def test_places_in_two_lines_and_two_files():
    text = "one two\nthree\nfour five\n"
    other = "\nsix\n"
    labels = (Label(span(text, "five"), "here"), Label(span(text, "two"), "there"))
    problem = Problem("E104", "twice", (*labels, Label(span(other, "six", "b.lam"), "and there")), severity="warning")
    assert render([problem], {"a.lam": text, "b.lam": other}) == lines("""
a.lam:3:6: warning[E104]: twice
  |
1 | one two
  |     --- there
… |
3 | four five
  |      ^^^^ here
  > b.lam
2 | six
  | --- and there
""")


@pytest.mark.parametrize(
    ("text", "part", "shown", "marks"),
    [
        ("\tx = y\n", "y", "    x = y", "        ^"),
        ("漢字 = y\n", "y", "漢字 = y", "       ^"),
        ("e\N{COMBINING ACUTE ACCENT} = y\n", "y", "e\N{COMBINING ACUTE ACCENT} = y", "    ^"),
        ("let y\r\n", "y", "let y", "    ^"),
        ("a (b\nc) d", "(b\nc)", "a (b", "  ^^"),
    ],
)
def test_columns(text, part, shown, marks):
    rendered = render([Problem("E1", "m", (Label(span(text, part), ""),))], {"a.lam": text})
    assert rendered.split("\n")[2:] == [f"1 | {shown}", f"  | {marks}"]


def test_the_end_of_a_file_and_files_that_are_gone():
    end = Span("a.lam", 4, 4, 2, 1)
    assert render([Problem("E1", "m", (Label(end, "here"),))], {"a.lam": "let\n"}).endswith("2 |\n  | ^ here")
    assert render([Problem("E1", "m", (Label(end, "here"),))], {}) == "a.lam:2:1: error[E1]: m"


def test_a_very_long_line_is_cut_around_the_place():
    text = "x" * 1000 + "y" + "z" * 1000
    source, mark = render([Problem("E1", "m", (Label(span(text, "y"), ""),))], {"a.lam": text}).split("\n")[2:]
    assert source[mark.index("^")] == "y" and len(source) < LONGEST + 10
    assert source.startswith("1 | …x") and source.endswith("z…")


def test_colours_change_nothing_else():
    import re

    text = "fn f(x: f32) = y + z\n"
    problem = Problem("E101", "m", (Label(span(text, "y"), "here"), Label(span(text, "z"), "there")))
    colored = render([problem], {"a.lam": text}, color=True)
    assert "\x1b[1;31m^\x1b[0m" in colored
    assert re.sub("\x1b\\[[0-9;]*m", "", colored) == render([problem], {"a.lam": text})


def test_json():
    text = "fn f(x: f32) = y\n"
    problem = Problem("E101", "there is no 'y'", (Label(span(text, "y"), "here"),), "look")
    assert json.loads(to_json([problem])) == [
        {
            "code": "E101",
            "severity": "error",
            "message": "there is no 'y'",
            "hint": "look",
            "labels": [{"file": "a.lam", "start": 15, "end": 16, "line": 1, "column": 16, "text": "here"}],
        }
    ]
