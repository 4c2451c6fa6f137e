"""Where a line is broken that is too long: documents of groups that are written flat if they fit, else broken.

After Wadler, "A prettier printer"; a group is only broken when what comes up to the next possible break does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Line:
    """A place to break: `flat` is what stands there otherwise."""

    flat: str = " "


@dataclass(frozen=True)
class Nest:
    """A document whose lines, but the first, are further in."""

    content: Doc


@dataclass(frozen=True)
class Group:
    """A document whose own `Line`s are all broken or none."""

    content: Doc


Doc: TypeAlias = str | Line | Nest | Group | tuple["Doc", ...]

INDENT = 2


def layout(document: Doc, width: int, indent: int) -> list[str]:
    """The lines of a document, without the `indent` of its first line but with it in front of the others."""
    lines: list[str] = [""]
    column = indent
    stack: list[tuple[int, bool, Doc]] = [(indent, False, document)]
    while stack:
        nest, flat, doc = stack.pop()
        match doc:
            case str():
                lines[-1] += doc
                column += len(doc)
            case tuple():
                stack += [(nest, flat, part) for part in reversed(doc)]
            case Nest():
                stack.append((nest + INDENT, flat, doc.content))
            case Line():
                if flat:
                    lines[-1] += doc.flat
                    column += len(doc.flat)
                else:
                    lines[-1] = lines[-1].rstrip()
                    lines.append(" " * nest)
                    column = nest
            case Group():
                flat = flat or _fits(doc.content, stack, width - column)
                stack.append((nest, flat, doc.content))
    return lines


def _fits(document: Doc, rest: list[tuple[int, bool, Doc]], room: int) -> bool:
    """Whether a document fits flat, with what follows it up to the next place to break."""
    stack: list[tuple[bool, Doc]] = [(True, document)]
    behind = len(rest)
    while room >= 0:
        if not stack:
            if not behind:
                return True
            behind -= 1
            _, flat, doc = rest[behind]
        else:
            flat, doc = stack.pop()
        match doc:
            case str():
                room -= len(doc)
            case tuple():
                stack += [(flat, part) for part in reversed(doc)]
            case Nest() | Group():
                stack.append((flat, doc.content))
            case Line():
                if not flat:
                    return True
                room -= len(doc.flat)
    return False


def flat_text(document: Doc) -> str:
    """A document on one line."""
    parts: list[str] = []
    stack: list[Doc] = [document]
    while stack:
        match stack.pop():
            case str() as text:
                parts.append(text)
            case tuple() as docs:
                stack += reversed(docs)
            case Nest() | Group() as doc:
                stack.append(doc.content)
            case Line() as line:
                parts.append(line.flat)
    return "".join(parts)
