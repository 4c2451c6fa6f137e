"""`lamina`: the command line. Exit codes: 0 good, 1 a comparison failed, 2 bad input or usage."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

from ..compiler.collector import collector_paused, without_collector


class Command(NamedTuple):
    """A row of the table below."""

    module: str  # has `add_arguments(parser)` and `main(args) -> int`
    line: str  # in the help
    ends: bool = False  # soon: its process looks for no garbage


COMMANDS = {
    "run": Command(".run", "compile a model and run it on given or random inputs"),
    "compile": Command(".compile", "compile a model to an artefact, object, assembly or the IR of a level", ends=True),
    "import": Command(".import_model", "read a model into textual IR, with its weights beside it", ends=True),
    "bench": Command(".bench.command", "time models and kernels against other systems in one run"),
    "tune": Command(".tune.command", "search faster schedules for a model by measuring, within a budget"),
    "quantize": Command(".quantize.command", "a float ONNX model in bytes, by the ranges its values take on samples"),
    "check": Command(".programs.check", "everything that is wrong with .lam programs", ends=True),
    "fmt": Command(".programs.fmt", "lay out .lam programs", ends=True),
    "test": Command(".programs.test", "run the tests of .lam programs"),
    "explain": Command(".programs.explain", "what an error code of a .lam program means", ends=True),
    "fuzz": Command(".fuzz.command", "feed changed files to everything that reads files, and tell what breaks"),
    "systolic": Command(".systolic.command", "assemble, check, run programs of systolic arrays; make their hardware"),
    "lsp": Command(".lsp", "serve an editor: diagnostics, types, definitions of .lam files"),
    "targets": Command(".targets", "list the targets and what is known of this machine"),
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def build_parser(command: str | None) -> argparse.ArgumentParser:
    """The parser; only the chosen command's module is imported, so that `--help` stays quick."""
    parser = _Parser(prog="lamina", description="A multi-level IR compiler for machine learning.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name, row in COMMANDS.items():
        sub = commands.add_parser(name, help=row.line, description=row.line[0].upper() + row.line[1:] + ".")
        sub.add_argument("--debug", action="store_true", help="show Python tracebacks of errors")
        if name == command:
            with collector_paused():  # what is imported stays
                found = importlib.import_module(row.module, __package__)
            found.add_arguments(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; errors of the user's making never show a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["--version"]:
        from .. import __version__

        print(f"lamina {__version__}")
        return 0
    command = _command_of(arguments)
    parser = build_parser(command)
    args = parser.parse_args(arguments)
    if args.command is None:
        parser.print_help()
        return 2
    from ..compiler.diagnostics import LaminaError

    try:
        return importlib.import_module(COMMANDS[args.command].module, __package__).main(args)
    except LaminaError as error:
        if args.debug:
            raise
        print(f"lamina {args.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # a defect of ours: still no traceback for the user
        if args.debug:
            raise
        print(
            f"lamina {args.command}: internal error: {type(error).__name__}: {error} "
            "(this is a defect of lamina; --debug shows where)",
            file=sys.stderr,
        )
        return 2


def run() -> int:
    """`main` as all that a process does."""
    row = COMMANDS.get(_command_of(sys.argv[1:]) or "")
    return without_collector(main) if row and row.ends else main()


def _command_of(arguments: Sequence[str]) -> str | None:
    return next((a for a in arguments if not a.startswith("-")), None)


if __name__ == "__main__":
    sys.exit(run())
