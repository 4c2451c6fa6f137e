"""`lamina fmt`: the layout, and that it changes neither meaning nor comments and is its own result."""

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lamina.dialects.dsl.language import tree
from lamina.dialects.dsl.language.formatting import format_text
from lamina.dialects.dsl.language.parsing import parse
from lamina.dialects.dsl.language.problems import Problems

ROOT = Path(__file__).resolve().parents[4]
PROGRAMS = sorted(
    path for folder in ("dialects", "test") for path in (ROOT / folder).rglob("*.lam") if "wrong" not in path.parts
)


def meaning(value: object) -> object:
    """A tree without places and texts, for comparison."""
    if isinstance(value, tree.Node):
        left_out = ("span", "comments") if not isinstance(value, tree.File) else ("span", "text", "comments")
        return type(value).__name__, *(meaning(getattr(value, f.name)) for f in fields(value) if f.name not in left_out)
    return tuple(meaning(item) for item in value) if isinstance(value, tuple) else repr(value)


def check(text: str) -> None:
    problems = Problems()
    before = parse(text, "t.lam", problems)
    assert not problems.found, problems.found[0]
    formatted = format_text(text, "t.lam")
    after = parse(formatted, "t.lam", problems)
    assert not problems.found, f"{problems.found[0]}\n{formatted}"
    assert meaning(after) == meaning(before), formatted
    assert [c.text for c in after.comments] == [c.text for c in before.comments], formatted
    assert format_text(formatted, "t.lam") == formatted
    assert not any(line != line.rstrip() for line in formatted.split("\n"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs(path: Path) -> None:
    check(path.read_text())


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("", ""),
        ("\n\n# only\n\n\n\n# comments", "# only\n\n# comments\n"),
        ("const A=1;const B:f32=-2.0 **-A", "const A = 1\nconst B: f32 = -2.0 ** -A\n"),
        ("fn f(x:f32)=x\nfn g(y : f32 , n:const int=3)->f32=y", None),
        ("fn f(x: f32[2*K, ..B]) -> f32[(K+1)*2] where K%2==0 { return x[ 1 : , ::2,i *2 ? 0 ] }", None),
        ("fn f() { }", "fn f() { }\n"),
        ("fn f() {\n\n\n  let a = 1\n\n\n  # why\n\n  let b = not  a # so\n\n}", None),
        ("fn f(x: f32) {\n  y[idx[i]] max= sum [k, j:0..N where k<j] (a)*b\n}", None),
        ("fn f() { if a { x = 1 } else if b { x = 2 } }\nfn g() { for t in 0..N { let y = 1; x = y } }", None),
        ("fn f() {\n  let x = if a { b } else { c }\n}", None),
        ("fn f(\n  x: f32, # the one\n  # between\n  y: f32\n) = x", None),
        ("fn f() {\n  if a { # one\n  x = 1 } # two\n  # three\n else { x = 2\n # four\n } }", None),
        ('test "a"{expect a==b\nexpect f[N=4](a , axis = 1)~=b within 1e-5}', None),
        ("const A = (1,)\nconst B = (1, 2,)\nconst C = [1, 2,]\nconst D = f(1,)", None),
    ],
)
def test_layout(text: str, formatted: str | None) -> None:
    check(text)
    if formatted is not None:
        assert format_text(text, "t.lam") == formatted


def test_layout_in_full() -> None:
    text = """
import "a.lam"  as a
# doc
fn conv[N,C,H](x:f32[N,C,H], weights: f32[C, C, 3], stride: const int = 1, padding: const int = 0, more: f32)
  ->f32[N, C, (H + 2*padding)/stride] {  # head
  return [n, c, p] => sum[d, r: 3] x[n, d, p*stride + r - padding ? 0]*weights[c, d, r] + more * a.scale(x, weights)
}
fn short(x: f32) -> f32 = x
fn g(x: f32) { while x<1 { x=x+1 }
   let key,step = x.0 , [i]=>i
}
"""
    assert (
        format_text(text, "t.lam")
        == """\
import "a.lam" as a

# doc
fn conv[N, C, H](
  x: f32[N, C, H], weights: f32[C, C, 3], stride: const int = 1, padding: const int = 0, more: f32
) -> f32[N, C, (H + 2*padding)/stride] {  # head
  return [n, c, p] =>
    sum[d, r: 3] x[n, d, p*stride + r - padding ? 0] * weights[c, d, r] + more * a.scale(x, weights)
}

fn short(x: f32) -> f32 = x

fn g(x: f32) {
  while x < 1 { x = x + 1 }
  let key, step = x.0, [i] => i
}
"""
    )


def test_what_is_no_program_stays() -> None:
    problems = Problems()
    assert format_text("fn  f( = 3", "t.lam", problems) == "fn  f( = 3"
    assert problems.errors


# Random programs: tokens of well-formed statements with any spaces, line ends and comments that may stand between them.

names = st.sampled_from(["x", "y", "idx", "key", "step", "αβ", "a.b", "long_name_of_a_tensor"])
plain = names.filter(lambda name: "." not in name)
space = st.sampled_from(["", " ", "  ", "\t"])
line = st.sampled_from([" ", " ", "\n", "\n\n\n", " # why\n", "\n # alone\n\n"])


def spaced(*parts: object) -> st.SearchStrategy[str]:
    """The parts one after the other with a space of any width between them."""
    each = [part if isinstance(part, st.SearchStrategy) else st.just(part) for part in parts]
    return st.tuples(*(st.tuples(part, space) for part in each)).map(lambda t: " ".join(a + b for a, b in t))


def listed(item: st.SearchStrategy[str], least: int = 0) -> st.SearchStrategy[str]:
    """Items with commas, and any line ends, as between brackets."""
    return st.lists(st.tuples(line, item), min_size=least, max_size=4).map(lambda t: ",".join(a + b for a, b in t))


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "@", "**", "|", "^", "&", "<<", ">>", "and", "or"])
    binders = listed(st.one_of(plain, spaced(plain, ":", "3"), spaced(plain, ":", "1", "..", "n"), st.just("..b")), 1)
    items = listed(st.one_of(inner, spaced(inner, ":"), spaced(":", inner), spaced("::", inner), st.just("..b")))
    return st.one_of(
        spaced("(", inner, binary, inner, ")"),
        st.tuples(inner, binary, line, inner).map(" ".join).map(lambda t: f"({t})"),
        spaced("(", inner, st.sampled_from(["<", "==", ">="]), inner, ")"),
        spaced("(", st.sampled_from(["-", "~", "not"]), inner, ")"),
        spaced(names, "[", items, "]"),
        spaced(names, "[", listed(inner, 1), "?", inner, "]"),
        spaced(names, "(", listed(inner), ")"),
        spaced("f", "[", "N", "=", inner, "]", "(", "axis", "=", inner, ")"),
        spaced("(", "sum", "[", binders, "where", inner, "]", inner, "*", inner, ")"),
        spaced("(", "argmax", "[", binders, "]", line, inner, ")"),
        spaced("(", "[", binders, "]", "=>", line, inner, ")"),
        spaced("(if", inner, "{", inner, "}", "else", "{", line, inner, line, "}", ")"),
        spaced("[", listed(inner), "]"),
        spaced("(", inner, ",", ")"),
        spaced("(", inner, ",", inner, ")", ".0"),
    )


expressions = st.recursive(st.one_of(names, st.sampled_from(["1", "0.5", "true", "inf", '"s"'])), larger, max_leaves=12)
simple = st.one_of(
    spaced(st.sampled_from(["let", "var", ""]), plain, "=", expressions),
    spaced("let", plain, ",", plain, ":" * 0, "=", expressions, ",", expressions),
    spaced(plain, "[", listed(expressions, 1), "]", st.sampled_from(["+=", "max=", "="]), expressions),
    spaced("let", "y", "[i, j:", expressions, "]", "=", line, expressions),
    spaced("return", expressions),
    spaced("expect", expressions, "~=", expressions, "within", "0.1"),
)


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(st.tuples(inner, st.sampled_from([";", "\n", "\n\n", " # c\n", "\n# c\n"])), max_size=3).map(
        lambda t: "{" + "".join(a + b for a, b in t) + "}"
    )
    return st.one_of(
        spaced("if", expressions, body),
        spaced("if", expressions, body, st.sampled_from(["else", "\nelse"]), body),
        spaced("for", plain, "in", expressions, "..", expressions, "step", "2", body),
        spaced("while", expressions, body),
    )


statements = st.recursive(simple, blocks, max_leaves=5)


WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking these takes minutes


@settings(max_examples=60, deadline=None, phases=WITHOUT_SHRINKING)
@given(st.lists(st.tuples(statements, st.sampled_from(["\n", ";", "\n\n", " # c\n"])), max_size=4))
def test_random_programs(body: list[tuple[str, str]]) -> None:
    check("# doc\nfn f(x: f32) {" + "".join(a + b for a, b in body) + "}\n# end")


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None, phases=WITHOUT_SHRINKING)
@given(st.lists(st.tuples(statements, st.sampled_from(["\n", ";", "\n\n", " # c\n"])), max_size=4))
def test_many_random_programs(body: list[tuple[str, str]]) -> None:
    check("# doc\nfn f(x: f32) {" + "".join(a + b for a, b in body) + "}\n# end")
