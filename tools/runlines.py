"""RUN lines of test files, executed in this process: about 10 ms each instead of half a second.

A test is IR text with its own command, as in MLIR:

    // RUN: lamina-opt %s -p cse | filecheck %s

A line made of `lamina-opt`, `lamina`, `filecheck` (or `FileCheck`), `mlir-opt`, `not`, `cat` and `diff`, joined by `|`,
with `2>&1`, `<` and `>`, runs here; any other goes to bash, where the same names work. `%s` is the file, `%S` its
folder, `%t` a path for scratch files. `// REQUIRES: mlir-opt` skips the file where a feature is missing. The pytest
plug-in in test/conftest.py and the lit format in lit_format.py both call `run_file`.
"""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from .main import main
from .opt import driver

_HERE = frozenset({"lamina", "lamina-opt", "mlir-opt", "filecheck", "FileCheck", "not", "cat", "diff"})
_TIMEOUT_SECONDS = 600


@dataclass
class Outcome:
    """What became of one file: `status` is pass, fail or skip; `report` says what failed, with the command."""

    status: str
    report: str = ""


@dataclass
class _Stage:
    """One command of a pipeline: its words and where its streams go."""

    words: list[str] = field(default_factory=list[str])
    read_from: str | None = None
    write_to: str | None = None
    errors_to: str | None = None
    merge_errors: bool = False


def run_lines(text: str) -> list[str]:
    """The RUN lines in `text`, continued lines joined.

    >>> run_lines("// RUN: a \\\\\\n// RUN: b\\n// RUN: c")
    ['a b', 'c']
    """
    lines: list[str] = []
    joined = ""
    for line in text.splitlines():
        _, found, command = line.partition("RUN:")
        if not found or line.lstrip()[:1] not in ("/", "#", ";"):
            continue
        command = command.strip()
        if command.endswith("\\"):
            joined += command[:-1].rstrip() + " "
        else:
            lines.append(joined + command)
            joined = ""
    return lines


def run_file(path: Path, scratch: Path) -> Outcome:
    """Runs every RUN line of the test `path`; `scratch` is what `%t` stands for. The first failure ends it."""
    text = path.read_text()
    missing = [name for name in _required(text) if name not in features()]
    if missing:
        return Outcome("skip", f"needs {', '.join(missing)}")
    for command in run_lines(text):
        command = _substitute(command, path, scratch)
        status, output = run_command(command)
        if status != 0:
            return Outcome("fail", f"exit code {status} from\n  {command}\n{output}")
    return Outcome("pass")


@cache
def features() -> dict[str, str]:
    """Optional programs that a test may require, by name, with their paths."""
    found = {name: shutil.which(name) for name in ("mlir-opt-22", "mlir-opt", "cc")}
    known = {name: path for name, path in found.items() if path}
    if "mlir-opt-22" in known:
        known["mlir-opt"] = known["mlir-opt-22"]
    return known


def _required(text: str) -> list[str]:
    names: list[str] = []
    for line in text.splitlines():
        _, found, rest = line.partition("REQUIRES:")
        if found:
            names += [name.strip() for name in rest.split(",")]
    return names


def _substitute(command: str, path: Path, scratch: Path) -> str:
    values = {"%s": str(path), "%S": str(path.parent), "%p": str(path.parent), "%T": str(scratch.parent)}
    for name, value in {**values, "%t": str(scratch)}.items():
        command = command.replace(name, shlex.quote(value))
    return command


def run_command(command: str) -> tuple[int, str]:
    """Runs one command line: its exit code and what it printed. As in bash with pipefail, any stage may fail it."""
    stages = _parse(command)
    return _in_bash(command) if stages is None else _in_process(stages)


def _parse(command: str) -> list[_Stage] | None:
    """The pipeline `command` is, None when it is more than this module runs itself."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|<>;&()")
    lexer.whitespace_split = True
    words = list(lexer)
    stages = [_Stage()]
    position = 0
    while position < len(words):
        word, following = words[position], words[position + 1 : position + 3]
        stage = stages[-1]
        position += 1
        if word == "|":
            stages.append(_Stage())
        elif word == "2" and following == [">&", "1"]:
            stage.merge_errors = True
            position += 2
        elif word == "2" and following[:1] == [">"]:
            stage.errors_to = following[1]
            position += 2
        elif word in ("<", ">") and following:
            setattr(stage, "read_from" if word == "<" else "write_to", following[0])
            position += 1
        elif set(word) <= set("|<>;&()"):
            return None
        else:
            stage.words.append(word)
    return stages if all(stage.words and _runs_here(stage.words) for stage in stages) else None


def _runs_here(words: list[str]) -> bool:
    return words[0] in _HERE and (words[0] != "not" or (len(words) > 1 and _runs_here(words[1:])))


def _in_process(stages: list[_Stage]) -> tuple[int, str]:
    data, failed, errors = "", 0, ""
    for stage in stages:
        if stage.read_from is not None:
            data = Path(stage.read_from).read_text()
        status, output, error = _command(stage.words, data)
        data = error + output if stage.merge_errors else output
        if stage.errors_to is not None:
            Path(stage.errors_to).write_text(error)
        elif not stage.merge_errors:
            errors += error
        if stage.write_to is not None:
            Path(stage.write_to).write_text(data)
            data = ""
        failed = status or failed
    return failed, errors + data


def _command(words: list[str], stdin: str) -> tuple[int, str, str]:
    """Runs one command in this process: exit code, stdout, stderr."""
    name, *arguments = words
    out, err = StringIO(), StringIO()
    match name:
        case "not":
            status, output, error = _command(arguments, stdin)
            return int(status == 0), output, error
        case "lamina-opt":
            status = driver().run(arguments, StringIO(stdin), out, err)
        case "lamina":
            with redirect_stdout(out), redirect_stderr(err):
                status = _lamina(arguments)
        case "filecheck" | "FileCheck":
            with redirect_stderr(err):
                options = parse_argv_options([name, *arguments])
                status = Matcher(options, FInput("-", stdin), Parser.from_opts(options)).run()
            if status:
                err.write(f"the input was:\n{stdin}")
        case "mlir-opt":
            program = features().get("mlir-opt")
            if program is None:
                return 127, "", "mlir-opt is not installed; say // REQUIRES: mlir-opt"
            command = [program, *arguments]
            done = subprocess.run(
                command, input=stdin, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
            )
            return done.returncode, done.stdout, done.stderr
        case "cat":
            files = arguments or ["-"]
            out.writelines(stdin if file == "-" else Path(file).read_text() for file in files)
            status = 0
        case _:
            left, right = (stdin if f == "-" else Path(f).read_text() for f in arguments if f == "-" or f[0] != "-")
            difference = list(difflib.unified_diff(left.splitlines(True), right.splitlines(True)))
            out.writelines(difference)
            status = int(bool(difference))
    return status, out.getvalue(), err.getvalue()


def _lamina(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as end:  # argparse on bad usage
        return end.code if isinstance(end.code, int) else 2


def _in_bash(command: str) -> tuple[int, str]:
    python = shlex.quote(sys.executable)
    prelude = (
        "set -o pipefail\n"
        f'lamina-opt() {{ {python} -m lamina.tools.opt "$@"; }}\n'
        f'lamina() {{ {python} -m lamina.tools.main "$@"; }}\n'
        f'filecheck() {{ {python} -m filecheck "$@"; }}\n'
        'FileCheck() { filecheck "$@"; }\n'
        'not() { ! "$@"; }\n'
    )
    if "mlir-opt" in features():
        prelude += f'mlir-opt() {{ {shlex.quote(features()["mlir-opt"])} "$@"; }}\n'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        ["bash", "-c", prelude + command],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        env=environment,
        check=False,
    )
    return done.returncode, done.stderr + done.stdout
