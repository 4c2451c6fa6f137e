"""From text to tokens: the words and signs of `grammar.lark`, with newlines only where they end a statement."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from .problems import Problems
from .tables import END, tables
from .tree import Identifier, Span

OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = {close: open for open, close in OPENING.items()}

# After these a line goes on, and before these the line above does: no statement begins or ends with them.
_ARITHMETIC = ("+", "-", "*", "/", "//", "%", "@", "**", "|", "^", "&", "<<", ">>")
_TESTS = ("==", "!=", "<", "<=", ">", ">=", "~=", "and", "or")
_BETWEEN = (*_ARITHMETIC, *_TESTS, "=", "+=", "-=", "*=", "/=", "=>", "->", ",", ":", "..", "?", "where", "else")
CONTINUED_AFTER = frozenset((*_BETWEEN, "~", "not", "{"))
CONTINUES_BEFORE = frozenset((*_BETWEEN, "}"))

# Words that are names as well, wherever a name may stand.
ALSO_NAMES = frozenset(("as", "from", "import", "in", "key", "model", "param", "step", "test", "within"))


class Token(NamedTuple):
    """A word, sign, number or the like; `kind` is the text itself for words and signs of the language."""

    kind: str
    text: str
    start: int
    end: int
    line: int
    column: int

    def span(self, file: str) -> Span:
        """Where it is."""
        return Span(file, self.start, self.end, self.line, self.column)


@dataclass
class Tokens:
    """The tokens of a file, closed by one of kind `$END`, and its comments."""

    tokens: list[Token] = field(default_factory=list[Token])
    comments: list[Identifier] = field(default_factory=list[Identifier])


@cache
def _scanner() -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern for everything, a group per kind, and what the words of the language are."""
    patterns, literals = tables().patterns, tables().literals
    words = {word: word for word in literals if word.isidentifier()}
    words |= dict.fromkeys(tables().reducers, "REDUCER")
    signs = sorted(literals - words.keys(), key=len, reverse=True)
    parts = {name: patterns[name] for name in ("SPACE", "DOTTED", "NAME", "NUMBER", "STRING", "COMMENT", "SEP")}
    parts["SIGN"] = "|".join(re.escape(sign) for sign in signs)
    parts["ITEM"] = patterns["ITEM"]
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in parts.items())), words


def tokenize(text: str, file: str, problems: Problems) -> Tokens:
    """The tokens of a text; characters that begin none are reported and left out."""
    found = Tokens()
    pattern, words = _scanner()
    line, line_start = 1, 0
    brackets: list[str] = []
    pending: Token | None = None
    last = "{"
    position = 0
    match = pattern.match
    push = found.tokens.append
    while position < len(text):
        hit = match(text, position)
        if hit is None:
            span = Span(file, position, position + 1, line, position - line_start + 1)
            problems.add("E001", f"unexpected character {text[position]!r}", span)
            position += 1
            continue
        kind = hit.lastgroup or ""
        start, position = position, hit.end()
        if kind == "SPACE":
            continue
        word = hit.group()
        if kind == "SEP":
            if pending is None:
                pending = Token(kind, word, start, position, line, start - line_start + 1)
            if word == "\n":
                line, line_start = line + 1, position
            continue
        column = start - line_start + 1
        if kind == "COMMENT":
            found.comments.append(Identifier(span=Span(file, start, position, line, column), text=word))
            continue
        if kind == "NAME":
            kind = words.get(word, kind)
        elif kind == "SIGN":
            kind = word
        if pending is not None:
            within_line = brackets and brackets[-1] != "{"
            if not within_line and last not in CONTINUED_AFTER and kind not in CONTINUES_BEFORE:
                push(pending)
            pending = None
        if kind in OPENING:
            brackets.append(kind)
        elif kind in CLOSING and brackets:
            brackets.pop()
        push(Token(kind, word, start, position, line, column))
        last = kind
    push(Token(END, "", len(text), len(text), line, len(text) - line_start + 1))
    return found
