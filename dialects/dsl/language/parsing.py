"""The parser of `.lam` files: walks the LALR tables of `grammar.lark` and makes the tree as it goes.

>>> from .problems import Problems
>>> file = parse("fn twice(x: f32) -> f32 = 2 * x", "twice.lam", Problems())
>>> file.items[0].name.text
'twice'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .building import Builder
from .lexing import ALSO_NAMES, Token, tokenize
from .problems import Problems
from .tables import END, tables
from .tree import File, Span


def parse(text: str, file: str, problems: Problems) -> File:
    """The tree of a text; `file` is the name that spans carry. What is wrong is added to `problems`."""
    lexed = tokenize(text, file, problems)
    return _Parser(file, Builder(file, text, problems, lexed.comments), problems).run(lexed.tokens)


class _Parser:
    """The state of a parse: a stack of table states and, above the first, what each stands for.

    `firsts` has the token that each begins with and `ends` the offset where each ends.
    """

    def __init__(self, file: str, builder: Builder, problems: Problems) -> None:
        self.file, self.problems = file, problems
        self.tables = tables()
        self.makers: list[Callable[..., Any] | None] = [
            getattr(builder, rule.action) if rule.action not in ("", "*") else None for rule in self.tables.rules
        ]
        self.states = [self.tables.start]
        self.values: list[Any] = []
        self.firsts: list[Token] = []
        self.ends: list[int] = []

    def run(self, tokens: list[Token]) -> File:
        actions, gotos, rules = self.tables.actions, self.tables.gotos, self.tables.rules
        states, values, firsts, ends = self.states, self.values, self.firsts, self.ends
        for token in tokens:
            kind = token.kind
            while True:
                if states[-1] == self.tables.end and kind == END:
                    return values[0]
                action = actions[states[-1]].get(kind)
                if action is None:
                    if kind in ALSO_NAMES and "NAME" in actions[states[-1]]:
                        kind = "NAME"
                        continue
                    self.problems.add("E002", f"unexpected {token.text!r}", token.span(self.file))
                    return File(span=Span(self.file, 0, 0, 1, 1), text="", items=())
                if action >= 0:
                    states.append(action)
                    values.append(token)
                    firsts.append(token)
                    ends.append(token.end)
                    break
                rule = rules[~action]
                if rule.size == 1 and not rule.action:
                    states[-1] = gotos[states[-2]][rule.origin]
                else:
                    self.reduce(~action, token)
        raise AssertionError("the tokens end with $END")

    def reduce(self, number: int, token: Token) -> None:
        """Replaces the children of a rule by what it makes of them."""
        rule = self.tables.rules[number]
        size = rule.size
        states, values, firsts, ends = self.states, self.values, self.firsts, self.ends
        first, end = (firsts[-size], ends[-1]) if size else (token, token.start)
        children: list[Any] = []
        below = len(values) - size
        for index in rule.layout:
            if index is None:
                children.append(None)
            elif index >= 0:
                children.append(values[below + index])
            elif rule.action == "*" and not children:
                children = values[below + ~index]
            else:
                children.extend(values[below + ~index])
        if rule.action == "":
            made = children[0]
        elif rule.action == "*":
            made = children
        else:
            maker = self.makers[number]
            assert maker is not None
            made = maker(Span(self.file, first.start, end, first.line, first.column), *children)
        if size:
            del states[-size:], values[below:], firsts[below:], ends[below:]
        states.append(self.tables.gotos[states[-1]][rule.origin])
        values.append(made)
        firsts.append(first)
        ends.append(end)
