"""The command line of `lamina-opt`, after MLIR's conventions."""

from __future__ import annotations

import argparse
from typing import NoReturn, TextIO

from .diagnostics import LaminaError


class _Parser(argparse.ArgumentParser):
    """argparse that raises instead of leaving the process: the driver decides."""

    def error(self, message: str) -> NoReturn:
        raise LaminaError(message, where=self.prog, hint="see --help")


def option_parser(program: str) -> argparse.ArgumentParser:
    """Every option but the passes' own flags, which the driver takes from what this leaves."""
    p = _Parser(prog=program, add_help=False, allow_abbrev=False)
    add = p.add_argument
    add("input", nargs="?", default="-", help="the IR to read; - or nothing is stdin")
    add("-o", dest="output", default="-", metavar="FILE", help="where the IR goes (default: stdout)")

    g = p.add_argument_group("passes")
    add = g.add_argument
    add("-p", "--pass-pipeline", metavar="PIPELINE", help="a,b{option=1} or builtin.module(a,b)")
    add("--verify-each", action=argparse.BooleanOptionalAction, default=True, help="verify after every pass")
    add("--machine", metavar="NAME", help="the CPU or GPU that passes ask about (`lamina targets` lists them)")
    add("--schedules", metavar="FILE", help="schedules of contractions by name (docs/tuning.md)")
    add("--plugin", action="append", default=[], metavar="MODULE:NAME", help="a plug-in's Universe to load")

    g = p.add_argument_group("input")
    add = g.add_argument
    add("--split-input-file", action="store_true", help="treat parts between lines of // ----- one by one")
    add("--verify-diagnostics", action="store_true", help="match diagnostics with // expected-error@+1 {{...}}")
    add("--allow-unregistered-dialect", action="store_true", help="accept ops of dialects nobody knows")
    add("--weights", metavar="FILE", help="the arrays behind dense_resource, in safetensors format")
    add("--save-weights", metavar="FILE", help="write the arrays that the result refers to")
    add("--run-reproducer", action="store_true", help="run the pipeline that a crash reproducer carries")

    g = p.add_argument_group("printing")
    add = g.add_argument
    add("--mlir-print-op-generic", action="store_true", help="print every op in the generic form")
    add("--mlir-print-debuginfo", action="store_true", help="print locations")
    add("--mlir-elide-elementsattrs-if-larger", type=int, metavar="N", help="elide dense<> above N elements")
    add("--print-large-constants", action="store_true", help="print the bytes behind dense_resource")
    for when in ("before", "after"):
        add(f"--mlir-print-ir-{when}-all", f"--print-ir-{when}-all", action="store_true", help=f"dump {when} each pass")
        add(
            f"--mlir-print-ir-{when}",
            f"--print-ir-{when}",
            action="append",
            metavar="PASSES",
            help=f"dump {when} these passes",
        )
    add(
        "--mlir-print-ir-after-change",
        "--print-ir-after-change",
        action="store_true",
        help="dump where a pass changed IR",
    )
    add(
        "--mlir-print-ir-after-failure",
        "--print-ir-after-failure",
        action="store_true",
        help="dump where a pass failed",
    )

    g = p.add_argument_group("about the run")
    add = g.add_argument
    add("--timing", "--mlir-timing", action="store_true", help="a table of times on stderr")
    add("--mlir-pass-pipeline-crash-reproducer", metavar="FILE", help="what to write when a pass fails")
    add("--debug", action="store_true", help="show the Python traceback of a failure")
    add("--list-passes", action="store_true", help="names of all passes")
    add("--show-dialects", action="store_true", help="names of all dialects")
    add("--version", action="store_true", help="the version")
    add("-h", "--help", action="store_true", help="this text")
    return p


def print_help(parser: argparse.ArgumentParser, passes: str, out: TextIO) -> None:
    """The options, then the passes under their headings."""
    parser.print_help(out)
    out.write(f"\npasses:\n{passes}")
