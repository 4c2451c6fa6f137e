"""Files with what they define and import: where names end that are not local."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ..language.tree import Const, File, Function, Import, Model, Param, Test

Global: TypeAlias = Const | Param | Model | Function


@dataclass(eq=False)
class Module:
    """One file. `names` are its own definitions (functions of one name are overloads)."""

    path: str
    folder: Path | None
    tree: File
    names: dict[str, list[Global]] = field(default_factory=dict[str, list[Global]])
    imports: list[tuple[Import, Module]] = field(default_factory=list["tuple[Import, Module]"])
    broken: set[str] = field(default_factory=set[str])  # imports that failed, by alias or "", and words of bad lines
    prelude: Mapping[str, tuple[Module, list[Global]]] = field(default_factory=dict[str, "tuple[Module, list[Global]]"])

    @property
    def tests(self) -> list[Test]:
        """The test blocks, in order."""
        return [item for item in self.tree.items if isinstance(item, Test)]

    def find(self, name: str) -> tuple[Module, list[Global]] | None:
        """What a name stands for: own definitions, then imported ones, then the standard library."""
        own = self.names.get(name)
        if own is not None:
            return self, own
        alias, _, member = name.partition(".")
        for node, module in self.imports:
            wanted = name if node.alias is None else member if node.alias.text == alias and member else None
            if wanted is not None and (found := module.names.get(wanted)) is not None:
                return module, found
        return self.prelude.get(name)

    def excuses(self, name: str) -> bool:
        """Whether a name may be missing because of what has been reported already: a failed import, a bad line."""
        return "" in self.broken or name in self.broken or ("." in name and name.partition(".")[0] in self.broken)

    def has_alias(self, name: str) -> Module | None:
        """The module that is imported under this name."""
        return next((module for node, module in self.imports if node.alias and node.alias.text == name), None)

    def all_names(self) -> Iterator[str]:
        """Every name that can be used in this file."""
        yield from self.names
        for node, module in self.imports:
            prefix = f"{node.alias.text}." if node.alias else ""
            for name in module.names:
                yield prefix + name
        yield from self.prelude
