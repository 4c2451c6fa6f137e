"""What stands between two tokens of a line in the canonical layout, and where such a line may be broken."""

from __future__ import annotations

from collections.abc import Sequence

from . import tree
from .layout import Doc, Group, Line, Nest
from .lexing import CLOSING, OPENING, Token

# Operators, loosest first, behind which a line may be broken.
_LEVELS = (
    ("=>",), ("or",), ("and",), ("==", "!=", "<", "<=", ">", ">=", "~="), ("|",), ("^",), ("&",), ("<<", ">>"),
    ("+", "-"), ("*", "/", "//", "%", "@"),
)  # fmt: skip
_LEVEL = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs}
_APART = frozenset(("=", "+=", "-=", "*=", "/=", "->", "where", "?", "..", ":", "in", "within", "step"))  # never broken
_TIGHT = frozenset(("*", "/", "//", "%", "**"))  # between `[` and `]`
_OPERANDS = frozenset(("NAME", "DOTTED", "REDUCER", "ITEM", ")", "]"))


class Spacing:
    """Knows the tokens of a file and what the tree says of them."""

    def __init__(self, file: tree.File, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.unary: set[int] = set()
        self.names: set[int] = set()
        self.blocks: set[int] = set()
        named: set[int] = set()  # names of arguments
        bound: set[int] = set()  # names in front of a range
        stack: list[tree.Node] = [file]
        while stack:
            node = stack.pop()
            stack += node.children()
            match node:
                case tree.Unary():
                    self.unary.add(node.span.start)
                case tree.Name() | tree.Identifier():
                    self.names.add(node.span.start)
                case tree.Block():
                    self.blocks.add(node.span.start)
                case tree.Argument() if node.name is not None:
                    named.add(node.name.span.start)
                case tree.Binder() | tree.DimParameter():
                    bound.add(node.name.span.start)
                case _:
                    pass
        self.partner = [-1] * len(tokens)  # the other bracket of a bracket
        self.inside = [""] * len(tokens)  # the kind of the bracket that a token is directly in
        self.close: set[int] = set()  # what is between `[` and `]`, or between plain parentheses in there
        self.tight: set[int] = set()  # the `:` of slices and the `=` of arguments
        self.after_reduction: set[int] = set()  # the `]` of `sum[k]`
        plain: set[int] = set()
        open: list[int] = []
        for number, token in enumerate(tokens):
            if token.kind in CLOSING and open:
                begin = open.pop()
                self.partner[begin], self.partner[number] = number, begin
                if begin and tokens[begin].kind == "[" and tokens[begin - 1].kind == "REDUCER":
                    self.after_reduction.add(number)
            self.inside[number] = tokens[open[-1]].kind if open else ""
            if self.inside[number] == "[" or (self.inside[number] == "(" and open[-1] in plain):
                self.close.add(number)
            before = tokens[number - 1].start if number else -1
            if token.kind == ":" and self.inside[number] == "[" and before not in bound:
                self.tight.add(number)
            if token.kind == "=" and before in named:
                self.tight.add(number)
            if token.kind in OPENING:
                if token.kind == "(" and number in self.close and self.kind(number - 1) not in _OPERANDS:
                    plain.add(number)
                open.append(number)

    def kind(self, number: int) -> str:
        """The kind of a token; words of the language that are used as names are names."""
        token = self.tokens[number]
        return (
            "NAME"
            if token.kind.isidentifier() and token.start in self.names and token.kind != "REDUCER"
            else token.kind
        )

    def gap(self, number: int) -> str:
        """What stands in front of a token on a line of its predecessor."""
        before, kind = self.kind(number - 1), self.kind(number)
        if self.tokens[number - 1].start in self.unary:
            return " " if before == "not" else ""
        if kind in (",", ")", "]", "ITEM") or before in ("(", "["):
            return ""
        if before == ",":
            return " "
        if kind == ":" or (before == ":" and number - 1 in self.tight):
            return ""
        if ".." in (kind, before):
            return "" if before != ":" else " "
        if number in self.tight or number - 1 in self.tight:
            return ""
        if kind == "=" and before == "REDUCER" and self.inside[number] in ("", "{"):
            return ""
        if number in self.close and (kind in _TIGHT or before in _TIGHT):
            return ""
        if kind in ("(", "[") and before in _OPERANDS and number - 1 not in self.after_reduction:
            return ""
        return " "

    # Documents -------------------------------------------------------------------------------------------------

    def document(self, begin: int, end: int) -> Doc:
        """The tokens from `begin` to before `end`, in brackets that match, with the places to break."""
        cuts: list[int] = []
        level = len(_LEVELS)
        if self._chooses(begin, end):
            return self._operand(begin, end)
        number = begin
        apart = False
        while number < end:
            kind = self.tokens[number].kind
            if kind in OPENING and self.partner[number] >= 0:
                number = self.partner[number] + 1
                continue
            if kind == "," or (kind in _APART and self.kind(number) != "NAME"):
                if not apart:
                    apart, cuts = True, []
                cuts.append(number)
            elif not apart and number > begin and kind in _LEVEL and self.tokens[number].start not in self.unary:
                if _LEVEL[kind] < level:
                    level, cuts = _LEVEL[kind], []
                if _LEVEL[kind] == level and not (level == 0 and cuts):
                    cuts.append(number)
            number += 1
        if not cuts:
            return self._operand(begin, end)
        parts: list[Doc] = []
        start = begin
        for cut in (*cuts, end):
            if start < cut:
                part = self.document(start, cut)
                gap = self.gap(start) if start > begin else ""
                if apart and start > begin and self.tokens[start - 1].kind == "=" and self.tokens[begin].kind == "fn":
                    parts.append(Group(Nest((Line(gap), part))))  # the body of `fn f(x: f32) -> f32 = body`
                else:
                    parts.append(Group((Line(gap), part)) if gap and not apart else (gap, part))
            if cut < end:
                parts.append((self.gap(cut) if cut > begin else "") + self.tokens[cut].text)
            start = cut + 1
        return tuple(parts) if apart else Group((parts[0], Nest(tuple(parts[1:]))))

    def _chooses(self, begin: int, end: int) -> bool:
        """Whether this is `if c { a } else { b }` as an expression."""
        braces = (t.start for t in self.tokens[begin:end] if t.kind == "{")
        return self.tokens[begin].kind == "if" and next(braces, -1) not in {-1, *self.blocks}

    def _operand(self, begin: int, end: int) -> Doc:
        """Tokens without a place to break but inside of their brackets, and behind `sum[k]`."""
        parts: list[Doc] = []
        number = begin
        while number < end:
            gap = self.gap(number) if number > begin else ""
            if number - 1 in self.after_reduction and number > begin:
                parts.append(Nest((Line(), self._operand(number, end))))
                return Group(tuple(parts))
            close = self.partner[number]
            if self.tokens[number].kind in OPENING and number < close < end:
                parts += [gap, self.bracket(number, close)]
                number = close + 1
            else:
                parts.append(gap + self.tokens[number].text)
                number += 1
        return tuple(parts)

    def bracket(self, begin: int, end: int) -> Doc:
        """A pair of brackets and what is in it."""
        opened, closed = self.tokens[begin].text, self.tokens[end].text
        space = " " if opened == "{" else ""
        if end == begin + 1:
            return opened + space + closed
        items: list[int] = []
        number = begin + 1
        while number < end:
            if self.tokens[number].kind == ",":
                items.append(number)
            number = self.partner[number] + 1 if self.tokens[number].kind in OPENING else number + 1
        only = (
            items == [end - 1]
            and opened == "("
            and not (begin and self.kind(begin - 1) in _OPERANDS and begin - 1 not in self.after_reduction)
        )
        if items[-1:] == [end - 1] and not only:
            items.pop()  # a comma before the bracket closes says nothing, but in `(a,)`
            stop = end - 1
        else:
            stop = end
        parts: list[Doc] = []
        start = begin + 1
        for cut in (*items, stop):
            if start < cut:
                item = self.document(start, cut)
                parts.append(Group((Line(), item)) if parts else item)
            if cut < stop:
                parts.append(",")
            start = cut + 1
        return Group((opened, Nest((Line(space), *parts)), Line(space), closed))
