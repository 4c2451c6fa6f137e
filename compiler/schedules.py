"""Schedules given by a person, a lock-file or the tuning database: numbers by name of the computation they are for.

The file is TOML, one line for each computation, so that it can be edited by hand and an error can name its line:

    [contractions]
    "matmul f32 m196 n256 k1024" = "lanes=16 rows=6 panels=1"  # anything behind the # is for people

What the names and the numbers mean is the passes' business; nothing here depends on it.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import StringAttr

from .diagnostics import LaminaError

if TYPE_CHECKING:
    from .program import Program

SECTION = "contractions"
PROBLEM = "lamina.problem"  # on a kernel: what it computes, by name
SCHEDULE = "lamina.schedule"  # on a kernel: how
LANES = "lanes"  # in an entry of a CPU: the width of panels of the right operand
_NUMBER = re.compile(r"([a-z_]+)=(?:([0-9]{1,9})|([a-z][a-z0-9]*))")
_LINE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)')\s*=""")


@dataclass(frozen=True)
class Entry:
    """The numbers for one computation, or words for what is none, and where they stand (`file:line`)."""

    values: Mapping[str, int | str]
    where: str = ""

    @staticmethod
    def parse(text: str, where: str = "") -> Entry:
        """`lanes=16 rows=6` as numbers, by name.

        >>> Entry.parse("lanes=16 rows=6").values
        {'lanes': 16, 'rows': 6}

        Raises LaminaError for anything else than names with numbers or words, and for a name given twice.
        """
        values: dict[str, int | str] = {}
        for word in text.split():
            found = _NUMBER.fullmatch(word)
            if found is None:
                raise LaminaError(
                    f"'{word}' is not a name with a number or a word", where=where, hint="for example rows=6"
                )
            if found[1] in values:
                raise LaminaError(f"'{found[1]}' is given twice", where=where)
            values[found[1]] = found[3] or int(found[2])
        return Entry(values, where)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values.items())

    def number(self, name: str) -> int:
        """One of the numbers. Raises LaminaError at the entry's line for a word."""
        value = self.values[name]
        if not isinstance(value, int):
            raise LaminaError(f"'{name}={value}' is not a name with a number", where=self.where, hint=f"as {name}=4")
        return value

    def without(self, name: str) -> Entry:
        """The entry less one of its numbers."""
        return Entry({key: value for key, value in self.values.items() if key != name}, self.where)


@dataclass(frozen=True)
class Schedules:
    """Entries by the name of what they schedule.

    `strict` ones were asked for: a wrong entry is an error; of others, passes leave out what they do not understand.
    """

    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    strict: bool = True

    def get(self, name: str) -> Entry | None:
        """What is given for the computation called `name`."""
        return self.entries.get(name)

    @property
    def digest(self) -> str:
        """Changes with any entry, not with comments or their order; empty when there is none."""
        if not self.entries:
            return ""
        return hashlib.sha256(repr(sorted((n, str(e)) for n, e in self.entries.items())).encode()).hexdigest()

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Schedules:
        """The schedules in a file. Raises LaminaError, with file and line, for one that cannot be read."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise LaminaError(f"cannot read the schedules: {reason}", where=os.fspath(path)) from error
        return Schedules.parse(text, os.fspath(path))

    @staticmethod
    def parse(text: str, file: str) -> Schedules:
        """The schedules in `text`, which came from `file`. Raises LaminaError with file and line."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            at = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
            message = str(error)[: at.start()] if at else str(error)
            place = f"{file}:{at[1]}:{at[2]}" if at else f"{file}:{len(text.splitlines())}"
            raise LaminaError(f"not TOML: {message}", where=place) from error
        lines = _lines(text)
        for name in data:
            if name != SECTION:
                line = next((i for i, t in enumerate(text.splitlines(), 1) if name in t), 1)
                raise LaminaError(f"unknown section '{name}'", where=f"{file}:{line}", hint=f"expected [{SECTION}]")
        section = data.get(SECTION, {})
        if not isinstance(section, dict):
            raise LaminaError(f"'{SECTION}' is not a section", where=f"{file}:1", hint=f"expected [{SECTION}]")
        entries: dict[str, Entry] = {}
        for name, value in cast("dict[str, object]", section).items():
            where = f"{file}:{lines[name]}" if name in lines else file
            if not isinstance(value, str):
                raise LaminaError(f"the schedule of '{name}' is not text", where=where, hint='for example "rows=6"')
            entries[name] = Entry.parse(value, where)
        return Schedules(entries)

    def format(self, remarks: Mapping[str, str] | None = None, head: str = "") -> str:
        """The text of a file: `head` as comment lines, then an entry a line with its remark behind it."""
        lines = [f"# {line}".rstrip() for line in head.splitlines()]
        lines.append(f"[{SECTION}]")
        for name, entry in self.entries.items():
            remark = (remarks or {}).get(name, "")
            lines.append(f'"{name}" = "{entry}"' + (f"  # {remark}" if remark else ""))
        return "\n".join(lines) + "\n"

    def merged(self, other: Schedules) -> Schedules:
        """Both; where both have an entry, that of `other`."""
        return Schedules({**self.entries, **other.entries}, self.strict)


def tell_unused(schedules: Schedules, program: Program) -> None:
    """Warns of the entries that are for no kernel of `program`, which passes have named."""
    names = {function.attributes.get(PROBLEM) for function in program.module.ops}
    for name, entry in schedules.entries.items():
        if StringAttr(name) not in names:
            program.context.diagnostics.emit("warning", f"the model has no kernel '{name}'", entry.where)


def _lines(text: str) -> dict[str, int]:
    """The line of each quoted key."""
    found = ((number, _LINE.match(line)) for number, line in enumerate(text.splitlines(), 1))
    return {m[1] if m[1] is not None else m[2]: number for number, m in found if m}
