"""The parser of `.lam` files: walks the LALR tables of `grammar.lark` and makes the tree as it goes.

>>> from .problems import Problems
>>> file = parse("fn twice(x: f32) -> f32 = 2 * x", "twice.lam", Problems())
>>> file.items[0].name.text
'twice'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, get_args

from ....compiler.collector import collector_paused
from . import tree
from .building import Builder
from .lexing import ALSO_NAMES, DEEPEST, Token, tokenize
from .problems import Problems
from .recovery import Recovery
from .tables import END, Rule, tables
from .tree import File, Hole, Span

# Actions whose result is no node but what a node is made of.
_PARTS = frozenset(
    ("values", "expressions", "elements", "items", "dims", "arguments", "generics", "parameters", "targets", "update")
)
_CAN_BE_HOLES = (*get_args(tree.Expression), *get_args(tree.Statement))


def decode(data: bytes, file: str, problems: Problems) -> str:
    """The text of a file: UTF-8, with or without a byte order mark. Bytes that are none are reported."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig")
        line_start = before.rfind("\n") + 1
        span = Span(file, len(before), len(before) + 1, before.count("\n") + 1, len(before) - line_start + 1)
        message = f"the file is not UTF-8: byte 0x{data[error.start]:02x} begins no character"
        problems.add("E016", message, span, hint="save it as UTF-8")
        return data.decode("utf-8-sig", errors="replace").replace("\N{REPLACEMENT CHARACTER}", " ")


def parse(text: str, file: str, problems: Problems) -> File:
    """The tree of a text; `file` is the name that spans carry. What is wrong is added to `problems`.

    Where the text makes no sense the tree has a `Hole`.
    """
    with collector_paused():
        tokens, comments = tokenize(text, file, problems)
        return _Parser(file, tokens, Builder(file, text, problems, comments), problems).run()


@dataclass(frozen=True, slots=True)
class _Step:
    """A rule made ready: how its children become the arguments of the method of `Builder` that is called `action`."""

    rule: Rule
    size: int
    origin: str
    action: str
    pick: Callable[[list[Any]], tuple[Any, ...]]
    weight: int


@cache
def _steps() -> tuple[_Step, ...]:
    return tuple(
        _Step(rule, rule.size, rule.origin, rule.action, _picker(rule), int(rule.action not in _PARTS))
        for rule in tables().rules
    )


def _picker(rule: Rule) -> Callable[[list[Any]], tuple[Any, ...]]:
    """A function from the children of a rule to those its layout names; a None is appended to the children before."""
    layout = [-1 if index is None else index for index in rule.layout]
    if any(index is not None and index < 0 for index in rule.layout):

        def spliced(children: list[Any]) -> tuple[Any, ...]:
            taken: list[Any] = []
            for index in rule.layout:
                if index is None or index >= 0:
                    taken.append(None if index is None else children[index])
                else:
                    taken.extend(children[~index])
            return tuple(taken)

        return spliced
    if len(layout) == 1:
        only = layout[0]
        return lambda children: (children[only],)
    return itemgetter(*layout) if layout else lambda children: ()


class _Parser:
    """The state of a parse: a stack of table states and, above the first, what each stands for.

    `firsts` has the token that each begins with, `ends` the offset where each ends, `depths` how many nodes are inside
    each other below it.
    """

    def __init__(self, file: str, tokens: list[Token], builder: Builder, problems: Problems) -> None:
        self.file, self.tokens, self.problems = file, tokens, problems
        self.tables = tables()
        self.makers: list[Callable[..., Any]] = [
            getattr(builder, step.action) if step.action not in ("", "*") else Builder.one for step in _steps()
        ]
        self.states = [self.tables.start]
        self.values: list[Any] = []
        self.firsts: list[Token] = []
        self.ends: list[int] = []
        self.depths: list[int] = []
        self.too_deep = False

    def run(self) -> File:
        tables, steps = self.tables, _steps()
        actions, gotos, end = tables.actions, tables.gotos, tables.end
        states, values, firsts, ends, depths = self.states, self.values, self.firsts, self.ends, self.depths
        recovery: Recovery | None = None
        shortcuts: dict[tuple[int, int, str], int] = {}
        number = 0
        tokens = self.tokens
        while True:
            token = tokens[number]
            kind = token.kind
            state = states[-1]
            while True:
                action = actions[state].get(kind)
                if action is None:
                    if kind in ALSO_NAMES and "NAME" in actions[state]:
                        kind = "NAME"
                        continue
                    if state == end and kind == END:
                        return values[0]
                    recovery = recovery or Recovery(self.file, self.problems, tokens, self)
                    number = recovery.recover(number)
                    break
                if action >= 0:
                    states.append(action)
                    values.append(token)
                    firsts.append(token)
                    ends.append(token.end)
                    depths.append(0)
                    number += 1
                    break
                step = steps[~action]
                if step.size == 1 and not step.action:
                    # Rules that only hand on, of which an operand passes a dozen, taken as one.
                    below = states[-2]
                    target = shortcuts.get((below, state, kind))
                    if target is None:
                        target = state
                        while action is not None and action < 0:
                            step = steps[~action]
                            if step.size != 1 or step.action:
                                break
                            target = gotos[below][step.origin]
                            action = actions[target].get(kind)
                        shortcuts[below, state, kind] = target
                    states[-1] = state = target
                    continue
                state = self.reduce(step, ~action, token)

    def reduce(self, step: _Step, number: int, token: Token) -> int:
        """Replaces the children of a rule by what it makes of them; the state after that."""
        size = step.size
        states, values, firsts, ends, depths = self.states, self.values, self.firsts, self.ends, self.depths
        if not size:
            firsts.append(token)
            ends.append(token.start)
            depths.append(0)
            children, end, depth = [], token.start, 0
        elif size == 1:
            children, end, depth = [values.pop()], ends[-1], depths[-1]
            states.pop()
        else:
            children = values[-size:]
            end = ends[-1]
            depth = max(depths[-size:])
            del states[-size:], values[-size:], firsts[1 - size :], ends[1 - size :], depths[1 - size :]
        if step.action == "*":
            made = self.collect(step, children)
        elif step.action == "":
            made = step.pick(children)[0]
        else:
            first = firsts[-1]
            span = Span(self.file, first.start, end, first.line, first.column)
            children.append(None)
            made = self.makers[number](span, *step.pick(children))
            depth += step.weight
            if depth > DEEPEST and isinstance(made, _CAN_BE_HOLES):
                if not self.too_deep:
                    message = f"more than {DEEPEST} levels inside each other"
                    self.problems.add("E015", message, span, hint="give parts of it a name by `let`")
                self.too_deep = True
                made, depth = Hole(span=span), 0
        ends[-1] = end
        depths[-1] = depth
        state = self.tables.gotos[states[-1]][step.origin]
        states.append(state)
        values.append(made)
        return state

    def settle(self, token: Token) -> None:
        """Reduces what is complete whatever follows: the tables do so only before tokens that can follow."""
        while True:
            possible = set(self.tables.actions[self.states[-1]].values())
            if len(possible) != 1 or (rule := ~possible.pop()) < 0:
                return
            self.reduce(_steps()[rule], rule, token)

    def collect(self, step: _Step, children: list[Any]) -> list[Any]:
        """The list of a repeated part: a new one or, in place, a longer one."""
        first, *rest = step.rule.layout
        assert first is not None
        if first >= 0:
            return [children[first]]
        longer = children[~first]
        longer.extend(children[index] for index in rest if index is not None)
        return longer
