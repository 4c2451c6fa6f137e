"""From text to tokens: the words and signs of `grammar.lark`, with newlines only where they end a statement.

Brackets leave here in pairs: what is not closed is closed where that shows, so that the parser need not guess.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .problems import Label, Problems
from .tables import END, tables
from .tree import Identifier, Span

OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = {close: open for open, close in OPENING.items()}

# After these a line goes on, and before these the line above does: no statement begins or ends with them.
_ARITHMETIC = ("+", "-", "*", "/", "//", "%", "@", "**", "|", "^", "&", "<<", ">>")
_TESTS = ("==", "!=", "<", "<=", ">", ">=", "~=", "and", "or")
_BETWEEN = (*_ARITHMETIC, *_TESTS, "=", "+=", "-=", "*=", "/=", "=>", "->", ",", ":", "..", "?", "where", "else")
CONTINUED_AFTER = frozenset((*_BETWEEN, "~", "not", "{", "[]"))
CONTINUES_BEFORE = frozenset((*_BETWEEN, "}"))

# Words that are names as well, wherever a name may stand.
ALSO_NAMES = frozenset(("as", "from", "import", "in", "key", "model", "param", "step", "test", "within"))

# A line that begins with one of these is a statement, and with one of those a definition: an open bracket ends here.
STATEMENTS = frozenset(("let", "var", "return", "for", "while", "expect"))
DEFINITIONS = frozenset(("fn", "const", "test", "import", "param", "model"))

# What people type, or paste, for a sign of the language.
_MEANT = {
    "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "−": "-", "–": "-", "≤": "<=", "≥": ">=", "≠": "!=", "∧": "and",
    "∨": "or", "¬": "not", "→": "->", "⇒": "=>", "…": "..", "；": ";", "，": ",", "：": ":", "（": "(", "）": ")",
    "&&": "and", "||": "or", "!": "not", "===": "==", "!==": "!=", "<>": "!=", ":=": "=",
}  # fmt: skip
# What surely begins a definition, not a statement with a variable of that name.
_DEFINITION = re.compile(r'(?:import|test)[ \t]*"|(?:fn|const|param|model)[ \t]+[^\W\d]')
_SPACES = re.compile(r"[^\S\n]+")


# Brackets inside each other, and nodes of the tree: what reads the tree may be recursive.
DEEPEST = 200
MOST = 100  # mistakes that a file is told: with more it is no program


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


@cache
def _scanner() -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern for everything, a group per kind, and what the words of the language are."""
    patterns, literals = tables().patterns, tables().literals
    words = {word: word for word in literals if word.isidentifier()}
    words |= dict.fromkeys(tables().reducers, "REDUCER")
    signs = sorted(literals - words.keys(), key=len, reverse=True)
    parts = {
        **{name: patterns[name] for name in ("DOTTED", "NAME", "SEP", "STRING", "COMMENT")},
        "NUMBER": f"(?:{patterns['NUMBER']})(?!\\w)",
        "MEANT": "|".join(re.escape(sign) for sign in sorted(_MEANT, key=len, reverse=True) if sign != "!") + "|!(?!=)",
        "SIGN": "|".join(re.escape(sign) for sign in signs),
        "ITEM": patterns["ITEM"],
        "NO_NUMBER": r"\d\w*(?:\.\d\w*)?",
        "NO_STRING": r'"[^\n]*',
        "END": r"\Z",
        "UNKNOWN": r"(?s:.)",
    }
    groups = "|".join(f"(?P<{name}>{pattern})" for name, pattern in parts.items())
    return re.compile(f"(?:{patterns['SPACE']})?(?:{groups})"), words


def tokenize(text: str, file: str, problems: Problems) -> tuple[list[Token], list[Identifier]]:
    """The tokens of a text, the last of kind `$END`, and its comments."""
    return _Lexer(text, file, problems).run()


class _Lexer:
    """The tokens so far; `brackets` are those that are open."""

    def __init__(self, text: str, file: str, problems: Problems) -> None:
        self.text, self.file, self.problems = text, file, problems
        self.tokens: list[Token] = []
        self.comments: list[Identifier] = []
        self.brackets: list[Token] = []
        self.reductions: set[int] = set()  # where the brackets of `sum[...]` open: a line goes on behind them
        self.closed = -1  # where the bracket opened that was closed last
        self.unknown_end = -1

    def run(self) -> tuple[list[Token], list[Identifier]]:
        pattern, words = _scanner()
        line, line_start = 1, 0
        pending: Token | None = None
        brackets, push = self.brackets, self.tokens.append
        last = "{"
        for hit in pattern.finditer(self.text):
            kind = hit.lastgroup or ""
            start, end = hit.span(kind)
            word = hit.group(kind)
            if kind == "NAME":
                kind = words.get(word, kind)
            elif kind == "SIGN":
                kind = word
            elif kind == "SEP":
                if pending is None or (word == ";" and pending.text != ";"):
                    pending = Token(kind, word, start, end, line, start - line_start + 1)
                if word == "\n":
                    line, line_start = line + 1, end
                continue
            elif kind == "COMMENT":
                span = Span(self.file, start, end, line, start - line_start + 1)
                self.comments.append(Identifier(span=span, text=word.rstrip()))
                continue
            elif kind == "END":
                self.close_down_to(0, Token("}", "", start, end, line, start - line_start + 1))
                push(Token(END, "", start, end, line, start - line_start + 1))
                break
            elif kind in ("MEANT", "NO_NUMBER", "NO_STRING", "UNKNOWN"):
                token = self.mend(Token(kind, word, start, end, line, start - line_start + 1))
                if token is None:
                    continue
                kind, word = token.kind, token.text
            token = Token(kind, word, start, end, line, start - line_start + 1)
            if pending is not None:
                if brackets and (kind in STATEMENTS or kind in DEFINITIONS):
                    self.close_before(token, pending)
                    last = self.tokens[-1].kind if self.tokens else last
                if not brackets or brackets[-1].kind == "{":
                    inside = last in CONTINUED_AFTER or kind in CONTINUES_BEFORE
                    if not inside or (pending.text == ";" and last != "{" and kind != "}"):
                        push(pending)
                pending = None
            if kind in OPENING:
                brackets.append(token)
                if last == "REDUCER" and kind == "[":
                    self.reductions.add(start)
                if len(brackets) > DEEPEST:
                    message = f"more than {DEEPEST} brackets inside each other"
                    self.report("E015", message, token.span(self.file))
                    self.abandon(token)
                    break
            elif kind in CLOSING and not self.close(token):
                last = self.tokens[-1].kind if self.tokens else last
                continue
            push(token)
            last = "[]" if kind == "]" and self.closed in self.reductions else kind
        return self.tokens, self.comments

    def report(self, code: str, message: str, where: Span, *labels: Label, hint: str = "") -> None:
        """Adds a problem, up to as many as anybody would read."""
        if len(self.problems.found) < MOST:
            self.problems.add(code, message, where, *labels, hint=hint)

    # Brackets --------------------------------------------------------------------------------------------------

    def close(self, token: Token) -> bool:
        """Closes the bracket that a token ends; False if there is none."""
        wanted = CLOSING[token.kind]
        for number in range(len(self.brackets) - 1, -1, -1):
            if self.brackets[number].kind == wanted:
                self.close_down_to(number + 1, token)
                self.closed = self.brackets.pop().start
                return True
            if self.brackets[number].kind == "{":
                break
        if self.brackets and token.kind != "}":
            opened = self.brackets[-1]
            if opened.kind != "{":
                # `(a]`: the wrong kind of the two; taken for the right one.
                self.brackets.pop()
                message = f"`{token.text}` does not close `{opened.text}`"
                label = Label(opened.span(self.file), "opened here")
                here = Label(token.span(self.file), f"expected `{OPENING[opened.kind]}`")
                self.report("E003", message, token.span(self.file), here, label)
                self.tokens.append(token._replace(kind=OPENING[opened.kind]))
                return False
        self.report("E003", f"`{token.text}` closes nothing", token.span(self.file))
        return False

    def close_down_to(self, number: int, where: Token) -> None:
        """Reports all but the first `number` open brackets as not closed, and closes them before `where`."""
        while len(self.brackets) > number:
            opened = self.brackets.pop()
            close = OPENING[opened.kind]
            here = Span(self.file, where.start, max(where.end, where.start), where.line, where.column)
            message = f"`{opened.text}` is never closed"
            self.report(
                "E003", message, opened.span(self.file), Label(opened.span(self.file), "opened here"),
                Label(here, f"expected `{close}` before this"),
            )  # fmt: skip
            self.tokens.append(Token(close, "", where.start, where.start, where.line, where.column))

    def abandon(self, where: Token) -> None:
        """Closes all brackets without a word and ends the file here."""
        while self.brackets:
            close = OPENING[self.brackets.pop().kind]
            if self.brackets:
                self.tokens.append(Token(close, "", where.start, where.start, where.line, where.column))
        self.tokens.append(Token(END, "", where.start, where.start, where.line, where.column))

    def close_before(self, token: Token, newline: Token) -> None:
        """A line that begins with a statement or a definition cannot be inside of parentheses, a definition not in
        braces either if it is not indented. What is open is closed at the end of the line above."""
        definition = token.kind in DEFINITIONS
        if definition and (
            token.column > 1 or self.tokens[-1].kind == ":" or not _DEFINITION.match(self.text, token.start)
        ):
            return
        keep = 0
        if not definition:
            keep = max((n for n, b in enumerate(self.brackets, 1) if b.kind == "{"), default=0)
        self.close_down_to(keep, newline)

    # Text that is no token -------------------------------------------------------------------------------------

    def mend(self, token: Token) -> Token | None:
        """Reports what is no token of the language, and gives the one that was meant if that is clear."""
        span = token.span(self.file)
        text = token.text
        if token.kind == "MEANT":
            self.report("E001", f"`{text}` is written `{_MEANT[text]}`", span)
            return token._replace(kind=_MEANT[text]) if _MEANT[text] != ";" else None
        if token.kind == "NO_NUMBER":
            number = re.match(r"\d+(\.\d+)?", text)
            rest = text[number.end() :] if number else ""
            hint = f"a product is written `{text[: -len(rest)]} * {rest}`" if rest.isalpha() and text[0] != "0" else ""
            self.report("E006", f"{_shown(text)} is not a number", span, hint=hint)
            return token._replace(kind="NUMBER", text="0")
        if token.kind == "NO_STRING":
            self.report("E005", "this string has no end on its line", span, hint='it ends with `"`')
            return token._replace(kind="STRING", text='""')
        if _SPACES.fullmatch(text):
            self.report("E001", f"unusual space {_shown(text)}", span, hint="use a plain one")
            return None
        if self.unknown_end == token.start:  # one report for a run of them
            self.unknown_end = token.end
            return None
        self.unknown_end = token.end
        hint = {
            "'": 'strings are written in `"`',
            "`": 'strings are written in `"`',
            "“": 'strings are written in `"`',
            ".": "numbers are written `1.0` and `0.5`, ranges `a..b`",
            "\\": "a line goes on after an operator, a comma or inside brackets",
            "$": "",
        }.get(text, "")
        self.report("E001", f"unknown character {_shown(text)}", span, hint=hint)
        return None


def _shown(text: str) -> str:
    """A text in a message: quoted, what cannot be seen by its number, not too long."""
    short = text if len(text) <= 30 else text[:27] + "…"
    return f"`{short}`" if short.isprintable() and not short.isspace() else " ".join(f"U+{ord(c):04X}" for c in short)
