"""`lamina fmt`: programs in the one layout. A file is rewritten whole, and only if that changes it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...compiler.artefact import written_whole
from ...dialects.dsl.language.formatting import format_text
from ...dialects.dsl.language.problems import Problems
from ...dialects.dsl.language.rendering import render
from ...dialects.dsl.load import read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE.lam", help="programs to format; - reads standard input")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file would change")


def main(args: argparse.Namespace) -> int:
    """Formats every file; 2 if one cannot be parsed (it stays as it is), 1 if --check found one to change."""
    changed = broken = False
    for name in args.files:
        problems = Problems()
        text = sys.stdin.read() if name == "-" else read(Path(name), problems)
        formatted = format_text(text, name, problems)
        if problems.errors:
            print(render(problems.errors, {name: text}, sys.stderr.isatty()), file=sys.stderr)
            broken = True
        elif name == "-" and not args.check:
            print(formatted, end="")
        elif formatted != text:
            changed = True
            print(f"{'would change' if args.check else 'formatted'} {name}", file=sys.stderr)
            if not args.check:
                with written_whole(name) as file:
                    file.write(formatted.encode())
    return 2 if broken else 1 if args.check and changed else 0
