"""`lamina check`: everything that is wrong with programs, in one run. Exit 2 if anything is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...dialects.dsl.language.problems import Problem
from ...dialects.dsl.language.rendering import render, to_json
from ...dialects.dsl.load import check, load_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.lam", help="programs to check")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="for people, or for other programs")


def main(args: argparse.Namespace) -> int:
    """Checks every file; warnings are shown and change nothing."""
    found: list[Problem] = []
    texts: dict[str, str] = {}
    for path in args.files:
        files = load_file(path)
        problems = check(files).found
        texts |= files.texts
        found += sorted(problems, key=lambda p: (p.span.file != str(path), p.span.file, p.span.start))
    errors = sum(problem.severity == "error" for problem in found)
    if args.format == "json":
        print(to_json(found))
    elif found:
        print(render(found, texts, sys.stderr.isatty()), file=sys.stderr)
        print(f"\n{count(errors, 'error')}, {count(len(found) - errors, 'warning')}", file=sys.stderr)
    return 2 if errors else 0


def count(number: int, what: str) -> str:
    """
    >>> count(1, "error"), count(2, "error")
    ('1 error', '2 errors')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"
