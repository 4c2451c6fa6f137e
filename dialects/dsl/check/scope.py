"""Names: what each stands for where it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ..language.tree import Expression, Identifier
from .dims import Extent
from .modules import Module
from .values import AnyValue


@dataclass(frozen=True, eq=False)
class Condition:
    """What holds in a scope: an expression, or its opposite, with the names of `scope`."""

    node: Expression
    holds: bool
    scope: Scope


@dataclass(eq=False)
class Entry:
    """One name. `kind` is let, var, parameter, dim, index, loop, const, param, model or function.

    `kind` is also type (a type parameter) or pack. `value` of a `var` is what it holds at this point of the walk.
    """

    name: str
    value: AnyValue
    kind: str
    where: Identifier | None = None
    used: bool = False
    extents: tuple[Extent, ...] | None = None  # of a pack: the dimensions it stands for


class Scope:
    """Names of a block, then those of the blocks around it.

    `module` is the file whose names come last; `log` has every entry that was made in the function, for what is unused.
    `conditions` is what is known to hold; it is used to prove that subscripts stay within their bounds.
    `index` is what `check/index.py` keeps of the index notation that this scope is inside of, None outside of any.
    """

    def __init__(self, parent: Scope | None = None, index: Any = None, module: Module | None = None):
        self.parent = parent
        self.module: Module | None = module or (parent.module if parent else None)
        self.nested = parent.nested if parent else False  # a block of a loop or `if`
        self.log: list[Entry] = parent.log if parent else []
        self.entries: dict[str, Entry] = {}
        self.conditions: tuple[Condition, ...] = parent.conditions if parent else ()
        self.index: Any = index if index is not None or parent is None else parent.index

    def child(self, index: Any = None) -> Scope:
        """A scope inside this one."""
        return Scope(self, index)

    def block(self) -> Scope:
        """The scope of a block of a loop or `if` inside this one."""
        inner = Scope(self)
        inner.nested = True
        return inner

    def assuming(self, node: Expression, holds: bool) -> Scope:
        """A scope inside this one in which a condition holds, or does not."""
        inner = self.child()
        inner.conditions = (*self.conditions, Condition(node, holds, self))
        return inner

    def find(self, name: str) -> Entry | None:
        """The nearest entry of this name."""
        scope: Scope | None = self
        while scope is not None:
            entry = scope.entries.get(name)
            if entry is not None:
                return entry
            scope = scope.parent
        return None

    def define(self, name: str | Identifier, value: AnyValue, kind: str, *, used: bool = False) -> Entry:
        """Makes a new entry in this scope; one of the same name is shadowed."""
        where = name if isinstance(name, Identifier) else None
        text = name if isinstance(name, str) else name.text
        entry = Entry(text, value, kind, where, used or text.startswith("_"))
        self.entries[text] = entry
        self.log.append(entry)
        return entry

    def all_names(self) -> Iterator[str]:
        """Every name that can be used here."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.entries
            scope = scope.parent


def similar(name: str, names: Iterator[str] | list[str] | set[str]) -> str:
    """A hint if one of the names is nearly this one, else ''."""
    close = get_close_matches(name, set(names), 1, 0.6)
    return f"did you mean '{close[0]}'?" if close else ""
