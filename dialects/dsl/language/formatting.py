"""`lamina fmt`: one layout for all. Tokens, comments and meaning stay; spaces, line ends and indentation are ours.

    >>> print(format_text("fn f( x:f32 )->f32{ let y=x*2 ; return y }", "f.lam"), end="")
    fn f(x: f32) -> f32 {
      let y = x * 2
      return y
    }

A statement in braces stays on one line if it was, is alone, and fits; single empty lines stay; a statement with
comments inside keeps its lines.
"""

from __future__ import annotations

from .layout import INDENT, flat_text, layout
from .lexing import CLOSING, OPENING, Token, tokenize
from .parsing import parse
from .problems import Problems
from .spacing import Spacing
from .tables import END
from .tree import Identifier

WIDTH = 100
_DEEP = 40  # brackets inside each other: beyond, lines stay as they are


def format_text(text: str, file: str, problems: Problems | None = None) -> str:
    """The text in canonical layout. A text that is no program is given back as it is, and why is in `problems`."""
    found = Problems() if problems is None else problems
    before = len(found.errors)
    parsed = parse(text, file, found)
    if len(found.errors) > before:
        return text
    tokens, comments = tokenize(text, file, Problems())
    return "\n".join(_Formatter(tokens, comments, Spacing(parsed, tokens)).file()).strip("\n") + "\n" * bool(
        text.strip()
    )


class _Formatter:
    """Writes lines; `comment` is the number of the next comment, `line` where the text was last."""

    def __init__(self, tokens: list[Token], comments: list[Identifier], spacing: Spacing) -> None:
        self.tokens, self.comments, self.spacing = tokens, comments, spacing
        self.comment = 0
        self.line = 0

    def file(self) -> list[str]:
        end = len(self.tokens) - 1
        return self.statements(0, end, 0, self.tokens[end].start + 1)

    # Statements ------------------------------------------------------------------------------------------------

    def statements(self, begin: int, end: int, indent: int, stop: int) -> list[str]:
        """The statements that the tokens from `begin` to before `end` are; comments up to the offset `stop`."""
        lines: list[str] = []
        apart = False  # whether the last one is a function of several lines
        first = True
        while begin < end:
            if self.tokens[begin].kind == "SEP":
                begin += 1
                continue
            after = self.statement_end(begin, end)
            token = self.tokens[begin]
            heading = self.remarks(token.start, indent, first)
            gap = not first and not heading and token.line > self.line + 1
            gap_below = bool(heading) and token.line > self.line + 1
            self.line = token.line
            written = self.statement(begin, after, indent)
            tall = token.kind in ("fn", "test") and len(written) > 1
            if lines and lines[-1] and (heading or [written[0]])[0] and (apart or tall or gap):
                lines.append("")
            lines += heading
            if gap_below:
                lines.append("")
            lines += written
            apart, first, begin = tall, False, after
        rest = self.remarks(stop, indent, first)
        if apart and rest and rest[0]:
            lines.append("")
        return lines + rest

    def statement_end(self, begin: int, end: int) -> int:
        """The number of the token that ends a statement."""
        while begin < end and self.tokens[begin].kind != "SEP":
            begin = self.spacing.partner[begin] + 1 if self.tokens[begin].kind in OPENING else begin + 1
        return begin

    def remarks(self, stop: int, indent: int, first: bool) -> list[str]:
        """The comments up to an offset, a line each, with the empty lines between them."""
        lines: list[str] = []
        while self.comment < len(self.comments) and self.comments[self.comment].span.start < stop:
            comment = self.comments[self.comment]
            if comment.span.line > self.line + 1 and not first:
                lines.append("")
            lines.append(" " * indent + comment.text)
            self.line, first = comment.span.line, False
            self.comment += 1
        return lines

    def statement(self, begin: int, end: int, indent: int) -> list[str]:
        """A statement: its lines, with what comes in its braces."""
        braces = self.braces(begin, end)
        last = self.tokens[end - 1]
        if braces and self.on_one_line(begin, end):
            text = " " * indent + flat_text(self.spacing.document(begin, end))
            if len(text) <= WIDTH:
                self.line = last.line
                return [self.remarked(text, end)]
        lines: list[str] = []
        for brace in braces:
            lines += self.piece(begin, brace + 1, indent)
            close = self.spacing.partner[brace]
            lines += self.statements(brace + 1, close, indent + INDENT, self.tokens[close].start)
            begin = close
        return lines + self.piece(begin, end, indent)

    def braces(self, begin: int, end: int) -> list[int]:
        """Where the blocks of a statement open, those that have something in them."""
        found: list[int] = []
        while begin < end:
            kind = self.tokens[begin].kind
            close = self.spacing.partner[begin]
            if kind == "{" and self.tokens[begin].start in self.spacing.blocks:
                stop = self.tokens[close].start
                if close > begin + 1 or any(self.tokens[begin].start < c.span.start < stop for c in self.ahead()):
                    found.append(begin)
            begin = close + 1 if kind in OPENING else begin + 1
        return found

    def ahead(self) -> list[Identifier]:
        """The comments not yet written."""
        return self.comments[self.comment :]

    def on_one_line(self, begin: int, end: int) -> bool:
        """Whether a statement with braces may stay on the one line on which it is."""
        return (
            self.tokens[begin].line == self.tokens[end - 1].line
            and not any(token.kind == "SEP" for token in self.tokens[begin:end])
            and self.depth(begin, end) <= _DEEP
        )

    def remarked(self, text: str, end: int) -> str:
        """A line with the comment that followed its last token."""
        if self.comment < len(self.comments):
            comment = self.comments[self.comment]
            before = self.tokens[end - 1]
            if comment.span.line == before.line and before.start < comment.span.start:
                following = next((t for t in self.tokens[end:] if t.kind != "SEP"), None)
                if following is None or comment.span.start < following.start or following.kind == END:
                    self.comment += 1
                    return f"{text}  {comment.text}"
        return text

    # Lines -----------------------------------------------------------------------------------------------------

    def piece(self, begin: int, end: int, indent: int) -> list[str]:
        """Tokens without blocks inside: on one line, or broken where they may be."""
        last = self.tokens[end - 1]
        inner = self.comment < len(self.comments) and self.comments[self.comment].span.start < last.start
        if inner or self.depth(begin, end) > _DEEP:
            lines = self.as_it_was(begin, end, indent)
        else:
            lines = layout(self.spacing.document(begin, end), WIDTH, indent)
            lines[0] = " " * indent + lines[0]
        self.line = last.line
        lines[-1] = self.remarked(lines[-1], end)
        return lines

    def depth(self, begin: int, end: int) -> int:
        """How many brackets are inside each other."""
        depth = deepest = 0
        for token in self.tokens[begin:end]:
            depth += (token.kind in OPENING) - (token.kind in CLOSING)
            deepest = max(deepest, depth)
        return deepest

    def as_it_was(self, begin: int, end: int, indent: int) -> list[str]:
        """Tokens on the lines on which they were, with the comments between them."""
        lines: list[str] = []
        depth = 0
        number = begin
        while number < end:
            token = self.tokens[number]
            for text in self.remarks(token.start, 0, True):
                if text:
                    lines.append(" " * (indent + INDENT * max(depth, 1)) + text)
            inner = depth - (token.kind in CLOSING)
            row, text = token.line, ""
            while number < end and self.tokens[number].line == row:
                token = self.tokens[number]
                text += (self.spacing.gap(number) if text else "") + token.text
                depth = max(0, depth + (token.kind in OPENING) - (token.kind in CLOSING))
                number += 1
            first = number == end or not lines
            inwards = 0 if first and not lines else max(inner, 0 if text[0] in ")]}" or text.startswith("else") else 1)
            text = " " * (indent + INDENT * inwards) + text
            lines.append(text if number == end else self.remarked(text, number))
        return lines
