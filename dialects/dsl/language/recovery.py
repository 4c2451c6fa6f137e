"""What the parser does where the text is wrong: says so in words, then goes on as near as it can.

In this order: a word or sign put right (`fucn` for `fn`, `=` for `==`), one put in (the `:` of `x f32`), one left out,
and at last a `Hole` for the smallest part of the tree behind which the text makes sense again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from . import tree
from .expected import advice, expectation, near_word, shown
from .lexing import ALSO_NAMES, CLOSING, DEFINITIONS, MOST, OPENING, STATEMENTS, Token
from .problems import Problems
from .tables import END, Tables
from .tree import Span

_TRIES = 8  # at one place
_ENOUGH = 3  # tokens that must follow for a repair to be believed
_INSERTED = ("SEP", ",", ":", "=", "->", "in", "from", "..")
_SWAPPED = {"=": ("==",), "==": ("=",), "->": ("=>", "="), "=>": ("->", "="), ":": (",", "=", ".."), ";": (",",)}
_HOLES = ("expression", "type", "statement", "item")
_RESUMING = frozenset((",", ")", "]", "}", "{", "=", "=>", "->", "where", "..", ":", "SEP", END, "else"))
_STARTS = STATEMENTS | DEFINITIONS | {"if"}


class Stacks(Protocol):
    """The parser, as far as it is repaired here."""

    tables: Tables
    states: list[int]
    values: list[Any]
    firsts: list[Token]
    ends: list[int]
    depths: list[int]

    def settle(self, token: Token) -> None:
        """Reduces what is complete whatever follows."""
        ...


class Recovery:
    """Repairs the parse of one file."""

    def __init__(self, file: str, problems: Problems, tokens: list[Token], parser: Stacks) -> None:
        self.file, self.problems, self.tokens, self.parser = file, problems, tokens, parser
        self.at, self.tries = -1, 0  # where the last repair was, and how many there were at that place
        self.reports = 0
        self.lexed: dict[int, int] = {}  # lines with text that is no token, and where: it was reported
        for problem in reversed(problems.found):
            for label in problem.labels:
                if label.span.file == file:
                    self.lexed[label.span.line] = label.span.start
        self.silent_until = -1  # no report before this token: it would only follow from the last one

    def recover(self, number: int) -> int:
        """Repairs the parse at a token that cannot stand where it does; the number of the token to go on with."""
        self.parser.settle(self.tokens[number])
        self._line_end(number)
        self.tries = self.tries + 1 if number == self.at else 0
        self.at = number
        if self.tries > _TRIES:
            return self._skip(number)
        expected = self.expected()
        token = self.tokens[number]
        silent = number < self.silent_until or self.lexed.get(token.line, token.end) < token.end or self.reports > MOST
        go_on = self._misspelt(number, expected, silent)
        if go_on is None:
            code = "" if silent else self._report(number, expected)
            go_on = self._hole(number) if code == "E017" else self._repair(number, expected)
        near = range(go_on, min(go_on + _ENOUGH, len(self.tokens)))
        ends = (n + 1 for n in near if self.tokens[n].kind in ("SEP", END))
        self.silent_until = next(ends, go_on + _ENOUGH)
        return go_on

    def _skip(self, number: int) -> int:
        """Where all repairs lead back to: goes on behind it; at the end of the file with nothing but a hole."""
        if self.tokens[number].kind != END:
            return number + 1
        base, state = next((base, state) for base, state in self._places(whole=True) if base == 1)
        return self._put_hole(base, state, number, number)

    def _repair(self, number: int, expected: set[str]) -> int:
        for way in (self._swap, self._insert, self._leave_out):
            go_on = way(number, expected)
            if go_on is not None:
                return go_on
        return self._hole(number)

    # What the tables say ---------------------------------------------------------------------------------------

    def shifts(self, kinds: Sequence[str], base: int | None = None, pushed: Sequence[int] = ()) -> int:
        """How many of the kinds could follow on the lowest `base` states and those pushed on them."""
        actions, gotos = self.parser.tables.actions, self.parser.tables.gotos
        rules, states = self.parser.tables.rules, self.parser.states
        base = len(states) if base is None else base
        own = list(pushed)
        for count, kind in enumerate(kinds):
            while True:
                state = own[-1] if own else states[base - 1]
                action = actions[state].get(kind)
                if action is None and kind in ALSO_NAMES:
                    action = actions[state].get("NAME")
                if action is None:
                    return count + (state == self.parser.tables.end and kind == END)
                if action >= 0:
                    own.append(action)
                    break
                rule = rules[~action]
                taken = min(rule.size, len(own))
                del own[len(own) - taken :]
                base -= rule.size - taken
                own.append(gotos[own[-1] if own else states[base - 1]][rule.origin])
        return len(kinds)

    def expected(self) -> set[str]:
        """The kinds of token that could stand here."""
        return {kind for kind in self.parser.tables.actions[self.parser.states[-1]] if self.shifts([kind])}

    def _kinds(self, number: int) -> list[str]:
        """The next kinds, enough of them to tell a good repair, not beyond the end of the statement."""
        kinds: list[str] = []
        for token in self.tokens[number : number + _ENOUGH]:
            kinds.append(token.kind)
            if token.kind in ("SEP", END):
                break
        return kinds

    def _fits(self, kinds: list[str], number: int) -> bool:
        """Whether the kinds and then the tokens from `number` on can follow."""
        wanted = [*kinds, *self._kinds(number)]
        return self.shifts(wanted) == len(wanted)

    def _line_end(self, number: int) -> tuple[int, Token]:
        """Where a line ends in the middle of a statement, and the next begins one, it is the end that is wrong."""
        token, last = self.tokens[number], self.tokens[number - 1]
        if number and token.kind in _STARTS and last.line < token.line and last.kind not in ("SEP", "{"):
            self.tokens.insert(number, Token("SEP", "\n", last.end, last.end, last.line, last.column + len(last.text)))
        return number, self.tokens[number]

    # Words put right, put in, left out --------------------------------------------------------------------------

    def _report(self, number: int, expected: set[str]) -> str:
        """Says what is wrong; the code of it."""
        self.reports += 1
        token = self.tokens[number]
        begin = number
        while begin and self.tokens[begin - 1].kind not in ("SEP", "{", "}"):
            begin -= 1
        before = self.tokens[begin:number]
        code, message, hint = advice(token, before, expected)
        span = token.span(self.file)
        if code == "E017" and before:
            span = Span(self.file, before[0].start, before[-1].end, before[0].line, before[0].column)
        if token.kind in ("SEP", END) or not token.text:
            span = span._replace(end=span.start)
        if before and before[-1].line < token.line:  # what is missing is missing behind what came last
            last = before[-1]
            span = Span(self.file, last.end, last.end, last.line, last.column + last.end - last.start)
        message = message or f"expected {expectation(expected)}, found {shown(token)}"
        self.problems.add(code, message, span, hint=hint)
        return code

    def _misspelt(self, number: int, expected: set[str], silent: bool) -> int | None:
        """`retrun x`, `def f(x)`: the word before, or this one, was meant to be a word of the language."""
        parser = self.parser
        for at in (number - 1, number):
            token = self.tokens[at] if at >= 0 else None
            if token is None or token.kind != "NAME":
                continue
            before = at < number
            if before and (parser.firsts[-1] is not token or isinstance(parser.values[-1], tree.Call)):
                continue
            base = len(parser.states) - before
            kinds = self._kinds(at + 1)
            words = [kind for kind in parser.tables.literals if kind.isidentifier()]
            allowed = [kind for kind in words if self.shifts([kind, *kinds], base) > len(kinds)]
            word = near_word(token.text, allowed)
            if word is None:
                continue
            if not silent:
                span = token.span(self.file)
                self.problems.add("E004", f"`{token.text}` should be `{word}`", span, hint=f"did you mean `{word}`?")
            if before:
                self._pop(1)
            self.tokens[at] = token._replace(kind=word)
            return at
        return None

    def _swap(self, number: int, expected: set[str]) -> int | None:
        token = self.tokens[number]
        if token.kind == "REDUCER" and "NAME" in expected and self._fits(["NAME"], number + 1):
            self.tokens[number] = token._replace(kind="NAME")
            return number
        for kind in _SWAPPED.get(token.kind, ()):
            if self._fits([kind], number + 1):
                self.tokens[number] = token._replace(kind=kind, text=kind)
                return number
        return None

    def _insert(self, number: int, expected: set[str]) -> int | None:
        token = self.tokens[number]
        for kind in _INSERTED:
            if kind in expected and self._fits([kind], number):
                self.tokens.insert(number, Token(kind, "", token.start, token.start, token.line, token.column))
                return number
        return None

    def _leave_out(self, number: int, expected: set[str]) -> int | None:
        token = self.tokens[number]
        if token.kind in OPENING or token.kind in CLOSING or token.kind in ("SEP", END):
            return None
        return number + 1 if self._fits([], number + 1) else None

    # Holes -----------------------------------------------------------------------------------------------------

    def _pop(self, count: int) -> None:
        parser = self.parser
        for stack in (parser.states, parser.values, parser.firsts, parser.ends, parser.depths):
            del stack[len(stack) - count :]

    def _places(self, whole: bool = False) -> Iterator[tuple[int, int]]:
        """Where a hole could go: how many states stay and the state after it; from inside to a whole statement."""
        gotos, states = self.parser.tables.gotos, self.parser.states
        for base in range(len(states), 0, -1):
            row = gotos[states[base - 1]]
            for what in _HOLES:
                if what in row:
                    yield base, row[what]
                    if what in ("statement", "item") and not whole:
                        return

    def _hole(self, number: int) -> int:
        """Puts a hole for what ends before the next place where the text makes sense again."""
        places = list(self._places())
        outer = places[-1]
        opened = sum(
            isinstance(value, Token) and value.kind == "{" for value in self.parser.values[outer[0] - 1 :]
        )  # braces that the outermost hole would swallow: their ends are not the end of the statement
        end = number
        while True:
            token = self.tokens[end]
            if token.kind in _STARTS and end > number and self.tokens[end - 1].line < token.line:
                end, token = self._line_end(end)
            if token.kind in _RESUMING:
                kinds = self._kinds(end)[:2]
                for base, state in (*places[:40], outer):
                    if self.shifts(kinds, base, (state,)) == len(kinds):
                        return self._put_hole(base, state, number, end)
                if token.kind == END or (not opened and token.kind in ("SEP", "}")):
                    return self._put_hole(*outer, number, end)
                if token.kind == "}":
                    opened -= 1
                if token.kind == "{" and not opened:
                    return self._head(outer[0], number, end)
            end = self._behind(end)

    def _behind(self, number: int) -> int:
        """The token after this one, or after what this one opens."""
        depth = 0
        while True:
            kind = self.tokens[number].kind
            depth += (kind in OPENING) - (kind in CLOSING)
            if kind == END:
                return number
            number += 1
            if depth <= 0:
                return number

    def _put_hole(self, base: int, state: int, number: int, end: int) -> int:
        parser = self.parser
        removed = len(parser.states) - base
        first = parser.firsts[-removed] if removed else self.tokens[number]
        stop = self.tokens[end - 1].end if end > number else self.tokens[number].start
        self._pop(removed)
        span = Span(self.file, first.start, max(stop, first.start), first.line, first.column)
        parser.states.append(state)
        parser.values.append(tree.Hole(span=span))
        parser.firsts.append(first)
        parser.ends.append(span.end)
        parser.depths.append(0)
        return end

    def _head(self, base: int, number: int, end: int) -> int:
        """Before a block whose head makes no sense: a head of our own, so that the block is read for its errors.

        `building.py` makes a hole of it, as it has no text.
        """
        item = "item" in self.parser.tables.gotos[self.parser.states[base - 1]]
        removed = len(self.parser.states) - base
        first = self.parser.firsts[-removed] if removed else self.tokens[number]
        self._pop(removed)
        words = (("test", ""), ("STRING", '""')) if item else (("while", ""), ("true", "true"))
        head = [Token(kind, text, first.start, first.start, first.line, first.column) for kind, text in words]
        self.tokens[end:end] = head
        return end
