"""The lexer of IR text: xDSL's, with the common tokens found by one regular expression instead of several.

xDSL's own pattern for strings takes exponential time on a quote that is never closed; the one here is linear.
"""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Position, Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
    StringLiteral,
)

_BLANK = r"(?:[ \t\n\r\f\v]++|//[^\n]*+\n?+)*+"  # possessive: a comment is never read again as slashes
_BARE = r"([A-Za-z_][A-Za-z0-9_$.]*)"
_PREFIXED = r"([%^!#](?!-\})(?:[0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*))"
_PUNCTUATION = r"(->|[:,()}\[\]<>=+*?|/]|\{(?!-#))"
_COMMON = re.compile(f"{_BLANK}(?:{_BARE}|{_PREFIXED}|{_PUNCTUATION})")
_STRING = re.compile(r'"[^"\\\n\v\f]*(?:\\(?:["nt\\]|[0-9A-Fa-f]{2})[^"\\\n\v\f]*)*"')
_PREFIXES = {
    "%": MLIRTokenKind.PERCENT_IDENT,
    "^": MLIRTokenKind.CARET_IDENT,
    "!": MLIRTokenKind.EXCLAMATION_IDENT,
    "#": MLIRTokenKind.HASH_IDENT,
}


class Lexer(MLIRLexer):
    """Tokens of IR text, in time linear in its length."""

    def lex(self) -> MLIRToken:
        content = self.input.content
        match = _COMMON.match(content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex
        start, end = match.span(group or 0)
        self.pos = end
        if group == 1:
            kind = MLIRTokenKind.BARE_IDENT
        elif group == 2:
            kind = _PREFIXES[content[start]]
        else:
            kind = KIND_BY_PUNCTUATION_SPELLING[content[start:end]]
        return Token(kind, Span(start, end, self.input))

    def _lex_string_literal(self, start_pos: Position) -> MLIRToken:
        match = _STRING.match(self.input.content, start_pos)
        if match is None:
            raise ParseError(Span(start_pos, start_pos + 1, self.input), "this string is not closed on its line")
        self.pos = match.end()
        literal = StringLiteral(start_pos, self.pos, self.input)
        if "\\" in literal.text and not literal.bytes_contents.isascii():
            return Token(MLIRTokenKind.BYTES_LIT, literal)
        return Token(MLIRTokenKind.STRING_LIT, literal)
