"""The page of the grammar, made from `grammar.lark`: `docs/language/grammar.md`."""

from __future__ import annotations

import re

from .lexing import ALSO_NAMES
from .tables import GRAMMAR, tables

_HEAD = """# The grammar

What the parser reads, chapter by chapter. `"x"` stands for itself, `[a]` may be left out, `(a)*` is there any number
of times, `a | b` is one of the two; what is in capitals is in the table of the last chapter. What a program means is in
the [tutorial](../tutorial.md).

<!-- made from dialects/dsl/language/grammar.lark; LAMINA_UPDATE=1 pytest test/docs/test_grammar.py writes it anew -->
"""
_CHAPTER = re.compile(r"// (.+?) -{4,}$")
_RULE = re.compile(r"[!?]*([a-z_]+): (.*)")
_TERMINAL = re.compile(r"([A-Z]+): (?:/(.*)/|(.*))$")
_OPERATOR = re.compile(r'"([^"]+)"')


def page() -> str:
    """The text of the page."""
    text = GRAMMAR.read_text()
    parts = [_HEAD]
    rules: list[str] = []
    remarks: list[str] = []
    terminals: list[tuple[str, str, str]] = []

    def finish() -> None:
        if told := "\n".join(rules).strip():
            parts.append(f"```ebnf\n{told}\n```\n")
        rules.clear()

    begun = False
    for line in text.split("\n"):
        chapter, rule, terminal = _CHAPTER.match(line), _RULE.match(line), _TERMINAL.match(line)
        if chapter:
            finish()
            parts.append(f"## {chapter[1]}\n")
            if chapter[1].startswith("Expressions"):
                parts.append(_precedence(text))
            begun = True
        elif line == "//" and not begun:
            remarks.clear()  # what the file says of itself
        elif line.startswith("//"):
            remarks.append(line.removeprefix("//").strip())
        elif terminal:
            terminals.append((terminal[1], terminal[2] or terminal[3], " ".join(remarks)))
            remarks.clear()
        elif begun and not line.startswith("%"):
            if remarks:
                finish()
                parts.append("\n".join(remarks) + "\n")
                remarks.clear()
            rules.append(f"{_named(rule[1])} = {_plain(rule[2])}" if rule else _plain(line))
    finish()
    return "\n".join([*parts, _terminals(terminals)])


def _named(text: str) -> str:
    return text.removesuffix("_")


def _plain(text: str) -> str:
    """The right side of a rule without what the parser makes of it."""
    text = re.sub(r" -> [a-z_]+$", "", text)
    return re.sub(r'"[^"]*"|[a-z_]+', lambda hit: hit[0] if hit[0][0] == '"' else _named(hit[0]), text)


def _precedence(text: str) -> str:
    """The table of operators, from the rules that are one operator each."""
    rows = ["| operators | |", "|---|---|"]
    for line in text.split("\n"):
        rule = _RULE.match(line)
        if rule is None or "reduction" in rule[1] or not rule[2].endswith(("-> binary", "-> unary")):
            continue
        name, body = rule[1], rule[2].partition(" | ")[2] if rule[2].endswith("binary") else rule[2]
        signs = " ".join(_cell(sign) for sign in _OPERATOR.findall(body))
        if rule[2].endswith("unary"):
            way = "in front"
        else:
            way = "from the left" if body.startswith(f"{name} ") else "from the right" if "**" in body else "only once"
        rows.append(f"| {signs} | {way} |")
    rows.append("| `f(x)` `x[i]` `x.0` | behind |")
    return "\n".join(rows) + "\n"


def _terminals(terminals: list[tuple[str, str, str]]) -> str:
    literals = tables().literals
    words = sorted(word for word in literals if word.isidentifier())
    signs = sorted(literals - set(words))
    rows = [f"| `{name}` | {what} | {_cell(pattern)} |" for name, pattern, what in terminals]
    return "\n".join(
        [
            f"Words: {_listed(words)}; of these, {_listed(sorted(ALSO_NAMES))} are names as well.\n",
            f"Signs: {_listed(signs)}.\n",
            "| | | pattern |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def _listed(codes: list[str]) -> str:
    return " ".join(f"`{code}`" for code in codes)


def _cell(code: str) -> str:
    return "`" + code.replace("|", "\\|") + "`"
