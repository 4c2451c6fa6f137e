"""`lamina test`: runs the `test` blocks of programs. Exit 1 if an expectation fails, 2 if a program is wrong."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...backends import Options, Target
from ...backends import target as find_target
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from ...compiler.signature import Array
from ...dialects.dsl.language.problems import Label, Problem
from ...dialects.dsl.language.rendering import render
from ...dialects.dsl.language.tree import Expect, Test
from ...dialects.dsl.load import Files, ProgramError, TestModule, check, instantiate_test, load_file
from ..sources import new_context
from .check import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.lam", help="programs whose tests are run")
    parser.add_argument("--target", default="cpu", help="cpu (default) or interpret")
    parser.add_argument("--only", metavar="TEXT", default="", help="run the tests whose name has TEXT in it")


def main(args: argparse.Namespace) -> int:
    """Runs the tests of every file."""
    target = find_target(args.target)
    ran = failed = 0
    wrong = False
    for path in args.files:
        files = load_file(path)
        problems = check(files).errors
        if problems:
            print(render(problems, files.texts, sys.stderr.isatty()), file=sys.stderr)
            wrong = True
            continue
        for test in files.main.tests:
            if args.only not in test.name.value:
                continue
            ran += 1
            failures = list(run(files, test, target))
            failed += bool(failures)
            print(f"{'FAILED' if failures else 'ok    '} {path}: {test.name.value}")
            if failures:
                print(render(failures, files.texts, sys.stderr.isatty()), file=sys.stderr)
    print(f"{count(ran, 'test')}, {failed} failed")
    return 2 if wrong else 1 if failed else 0


def run(files: Files, test: Test, target: Target) -> Iterator[Problem]:
    """What fails in a test, one problem for each expectation that does not hold."""
    context = new_context()
    try:
        made: TestModule = instantiate_test(files, test, context)
        outputs = target.compile(Program(made.module, context), Options()).run([]) if made.expectations else []
    except ProgramError as error:
        yield from error.problems.errors
        return
    except LaminaError as error:
        yield Problem("E801", str(error), (Label(test.name.span, "in this test"),))
        return
    for each in made.expectations:
        left, right = outputs[each.left], None if each.right is None else outputs[each.right]
        message = disagreement(left, right, each.node, each.within)
        if message:
            yield Problem("E801", "the expectation fails", (Label(each.node.span, message),))


def disagreement(left: Array, right: Array | None, node: Expect, within: float) -> str:
    """How an expectation fails, or nothing. NaN equals NaN; `~=` is relative to the right side, or absolute near 0."""
    if right is None:
        return "" if bool(np.all(left)) else _first(~np.asarray(left, bool), "false")
    left, right = np.broadcast_arrays(left, right)
    with np.errstate(all="ignore"):
        same = (left == right) | ((left != left) & (right != right))
        if node.operator == "~=":
            kind = np.complex128 if np.iscomplexobj(left) else np.float64
            a, b = left.astype(kind), right.astype(kind)
            same |= np.abs(a - b) <= within * np.maximum(np.abs(b), 1)
    if same.all():
        return ""
    place = tuple(np.argwhere(~same)[0])
    return _first(~same, f"{_shown(left[place])}, expected {_shown(right[place])}")


def _first(wrong: Array, told: str) -> str:
    if wrong.ndim == 0:
        return f"is {told}"
    place = ", ".join(str(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} elements differ, the first at [{place}]: {told}"


def _shown(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, np.floating) else str(value)
