"""`lamina explain CODE`: what a code of a program's problem means; and the pages in docs/errors, made from the same."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path

from ...compiler.artefact import written_whole
from ...compiler.diagnostics import LaminaError
from ...dialects.dsl.language.codes import CODES

_CHAPTERS = {
    "E0": "reading",
    "E1": "names",
    "E2": "dtypes",
    "E3": "dimensions and shapes",
    "E4": "index notation",
    "E5": "calls and functions",
    "E6": "control flow",
    "E7": "imports and files",
    "E8": "tests",
    "W9": "warnings",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("code", nargs="?", help="a code such as E301; without one, all are listed")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write a page for each code into a folder")


def main(args: argparse.Namespace) -> int:
    """Prints one page, the list of all codes, or writes all pages."""
    if args.write:
        write(args.write)
    elif args.code:
        print(page(known(args.code.upper())), end="")
    else:
        for code in sorted(CODES):
            print(f"{code}  {CODES[code].title}")
    return 0


def known(code: str) -> str:
    """`code`, if it is one. Raises LaminaError."""
    if code not in CODES:
        close = get_close_matches(code, CODES, 3)
        raise LaminaError(f"there is no code '{code}'", hint=f"did you mean {', '.join(close)}?" if close else None)
    return code


def page(code: str) -> str:
    """The page of a code, as Markdown."""
    told = CODES[code]
    return (
        f"# {code}: {told.title}\n\n{told.explanation}\n\n"
        f"Wrong:\n\n```lamina\n{told.wrong.strip()}\n```\n\nRight:\n\n```lamina\n{told.right.strip()}\n```\n"
    )


def index() -> str:
    """The page that lists all codes, by chapter."""
    lines = ["# Errors of programs\n", "`lamina explain CODE` shows the same pages.\n"]
    for prefix, chapter in _CHAPTERS.items():
        codes = [code for code in sorted(CODES) if code.startswith(prefix)]
        if codes:
            lines.append(f"## {chapter.capitalize()}\n")
            lines.append("\n".join(f"- [{code}]({code}.md) {CODES[code].title}" for code in codes) + "\n")
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every file of the folder by name."""
    return {"README.md": index(), **{f"{code}.md": page(code) for code in sorted(CODES)}}


def write(folder: Path) -> None:
    """Writes the folder; pages of codes that are no more go."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for old in folder.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        with written_whole(folder / name) as file:
            file.write(text.encode())
