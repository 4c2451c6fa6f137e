"""Reading programs for people: a path or a text in, problems told with the lines they speak of."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ...backends import target as find_target
from ...compiler.diagnostics import LaminaError
from ...dialects.dsl.language.formatting import format_text
from ...dialects.dsl.language.problems import Problem, Problems
from ...dialects.dsl.language.rendering import render
from ...dialects.dsl.load import Files, ProgramError, analyse, load_file

SUFFIX = ".lam"


class WrongProgram(LaminaError):
    """A program that cannot be used: the text is every problem with its lines; `problems` are the problems."""

    def __init__(self, problems: Problems, files: Files):
        errors = problems.errors
        super().__init__(errors[0].message)
        self.problems: tuple[Problem, ...] = tuple(errors)
        self.text = render(errors, files.texts)

    def __str__(self) -> str:
        return self.text


def load(source: str | os.PathLike[str], *, checked: bool = True) -> Files:
    """The program in a file, or in a text: a `str` with a newline or a brace in it is one.

    Raises WrongProgram for all that is wrong with it unless `checked` is False, LaminaError for a missing file.
    """
    files = load_file(source if _is_text(source) else Path(source))  # pyright: ignore[reportArgumentType]
    if checked:
        problems = analyse(files).problems
        if problems.errors:
            raise WrongProgram(problems, files)
    return files


def _is_text(source: str | os.PathLike[str]) -> bool:
    return isinstance(source, str) and ("\n" in source or "{" in source or "=" in source)


def check(source: str | os.PathLike[str]) -> list[Problem]:
    """All that is wrong with a program, warnings included, in the order of the text.

    Raises LaminaError for a missing file.
    """
    found = analyse(load(source, checked=False)).problems.found
    return sorted(found, key=lambda problem: (problem.span.file, problem.span.start))


def format(text: str) -> str:
    """A program's text in the canonical layout. Raises WrongProgram for a text that cannot be parsed."""
    files = load_file(text)
    if files.problems.errors:
        raise WrongProgram(files.problems, files)
    return format_text(text, "program.lam")


@dataclass(frozen=True)
class Result:
    """How a test went: nothing in `failures`, each with the lines it speaks of, if it passed."""

    name: str
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every expectation held."""
        return not self.failures


def test(source: str | os.PathLike[str], target: str = "interpret") -> list[Result]:
    """Runs the `test` blocks of a program. Raises WrongProgram, LaminaError as `load` does."""
    from ..programs.test import run

    files, chosen = load(source), find_target(target)
    return [
        Result(each.name.value, tuple(render([problem], files.texts) for problem in run(files, each, chosen)))
        for each in files.main.tests
    ]


def told(error: ProgramError, files: Files) -> WrongProgram:
    """The error of an instance with the lines it speaks of."""
    return WrongProgram(error.problems, files)
