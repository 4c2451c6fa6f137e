"""The parse tables of `grammar.lark`, made by lark (LALR) and kept in a form that is quick to walk and to load."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

GRAMMAR = Path(__file__).with_name("grammar.lark")
END = "$END"


@dataclass(frozen=True)
class Rule:
    """One alternative of a rule: `action` makes a node of the children that `layout` names.

    An empty action hands its only child on; "*" collects a list. In the layout a number takes a child, `~number`
    the items of a list, None stands for an optional part that is left out.
    """

    origin: str
    action: str
    size: int
    layout: tuple[int | None, ...]


@dataclass(frozen=True)
class Tables:
    """What the parser does: `actions[state][kind]` shifts to a state when not negative, else reduces rule `~action`.

    The kind of a word or a sign is its text; other tokens have the name of their terminal.
    """

    rules: tuple[Rule, ...]
    actions: tuple[dict[str, int], ...]
    gotos: tuple[dict[str, int], ...]
    start: int
    end: int
    patterns: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def literals(self) -> frozenset[str]:
        """The words and signs of the language that mean themselves."""
        return frozenset(kind for row in self.actions for kind in row if kind != END and kind not in self.patterns)

    @property
    def reducers(self) -> tuple[str, ...]:
        """`sum`, `max` and the like."""
        return tuple(re.findall(r"\w+", self.patterns["REDUCER"]))


@cache
def tables() -> Tables:
    """The tables of the language; made once for each grammar and version of lark, then read from the cache folder."""
    grammar = GRAMMAR.read_text()
    version = f"{importlib.metadata.version('lark')}\n{Path(__file__).read_text()}"
    key = hashlib.sha256(f"{version}\n{grammar}".encode()).hexdigest()
    path = _cache_folder() / f"{key[:32]}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        return _loaded(path.read_text(), key)
    made = build(grammar)
    with suppress(OSError):  # a folder that cannot be written only costs time
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(_saved(made, key))
        os.replace(temporary, path)
    return made


def _cache_folder() -> Path:
    """`$LAMINA_CACHE`, or `lamina` below the user's cache folder."""
    told = os.environ.get("LAMINA_CACHE")
    root = Path(told) if told else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lamina"
    return root / "grammar"


def _saved(made: Tables, key: str) -> str:
    """The tables as text, with their own checksum: what cannot be trusted is made again."""
    text = json.dumps({**asdict(made), "key": key}, separators=(",", ":"))
    return f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def _loaded(text: str, key: str) -> Tables:
    """The tables that a text of `_saved` holds. Raises ValueError when it is damaged or of another grammar."""
    checksum, _, body = text.partition("\n")
    data = json.loads(body)
    if hashlib.sha256(body.encode()).hexdigest() != checksum or data.pop("key") != key:
        raise ValueError("not these tables")
    rules = tuple(
        Rule(rule["origin"], rule["action"], rule["size"], tuple(rule["layout"])) for rule in data.pop("rules")
    )
    return Tables(rules, tuple(data.pop("actions")), tuple(data.pop("gotos")), **data)


def build(grammar: str) -> Tables:
    """Has lark make the tables of a grammar."""
    from lark import Lark  # slow to load
    from lark.grammar import NonTerminal, Terminal
    from lark.grammar import Rule as LarkRule
    from lark.lexer import PatternStr
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(grammar, parser="lalr", lexer="basic", start="file")
    parsing = lark.parser.parser._parse_table  # type: ignore[reportPrivateUsage]
    kinds = {t.name: t.pattern.value if isinstance(t.pattern, PatternStr) else t.name for t in lark.terminals}
    kinds[END] = END
    numbers = {state: number for number, state in enumerate(parsing.states)}
    rules: dict[LarkRule, int] = {}
    actions: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    for row in parsing.states.values():
        actions.append({})
        gotos.append({})
        for symbol, (action, target) in row.items():
            if action is not Shift:
                actions[-1][kinds[symbol]] = ~rules.setdefault(target, len(rules))
            elif symbol in kinds:
                actions[-1][kinds[symbol]] = numbers[target]
            else:
                gotos[-1][str(symbol)] = numbers[target]

    def rule(of: LarkRule) -> Rule:
        taken: list[int | None] = []
        keep_all = of.options.keep_all_tokens
        symbols = iter(enumerate(of.expansion))
        for empty in of.options.empty_indices or (False,) * len(of.expansion):
            if empty:
                taken.append(None)
                continue
            number, symbol = next(symbols)
            if isinstance(symbol, NonTerminal):
                taken.append(~number if symbol.name.startswith("__") else number)
            elif isinstance(symbol, Terminal) and symbol.name != "SEP" and (keep_all or not symbol.filter_out):
                taken.append(number)
        name = str(of.origin.name)
        action = "*" if name.startswith("__") else str(of.alias or name)
        if of.options.expand1 and not of.alias and len(taken) == 1:
            action = ""
        return Rule(name, action, len(of.expansion), tuple(taken))

    return Tables(
        tuple(rule(each) for each in rules),
        tuple(actions),
        tuple(gotos),
        numbers[parsing.start_states["file"]],
        numbers[parsing.end_states["file"]],
        {t.name: t.pattern.to_regexp() for t in lark.terminals if not isinstance(t.pattern, PatternStr)},
    )
