"""Runs the functions of programs on the interpreter, and finds what is wrong with programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina import interpret
from lamina.compiler.program import Program
from lamina.compiler.verifier import verify
from lamina.dialects.dsl.check.types import dtype_name
from lamina.dialects.dsl.language.problems import Problem
from lamina.dialects.dsl.load import Files, ProgramError, bind, check, instantiate, load_file
from lamina.tools.sources import new_context

Evaluate = Callable[..., list[Any]]
ProblemOf = Callable[..., Problem]


def load(text: str, base: Path | None) -> Files:
    if base is None:
        return load_file(text)
    path = base / "program.lam"
    path.write_text(text)
    return load_file(path)


def compiled(files: Files, inputs: tuple[Any, ...]) -> Program:
    context = new_context()
    kinds = [(dtype_name(np.asarray(x).dtype), np.shape(x)) for x in inputs]
    return Program(instantiate(files, bind(files, "main", kinds), context), context)


@pytest.fixture
def evaluate() -> Evaluate:
    """`evaluate(text, x, y)`: what `main` gives for these inputs; with `run=False` it is only compiled."""

    def run(text: str, *inputs: Any, base: Path | None = None, run: bool = True) -> list[Any]:
        files = load(text, base)
        assert not check(files).errors, check(files).errors
        try:
            program = compiled(files, inputs)
        except ProgramError as error:
            raise AssertionError(error.problems.errors) from error
        verify(program.module)
        return interpret(program, [np.asarray(x) for x in inputs]) if run else []

    return run


@pytest.fixture
def problem_of() -> ProblemOf:
    """`problem_of(text, x)`: the first error of a program, found by checking it or by binding it to these inputs."""

    def find(text: str, *inputs: Any, base: Path | None = None) -> Problem:
        files = load(text, base)
        found = check(files).errors
        if not found:
            with pytest.raises(ProgramError) as caught:
                compiled(files, inputs)
            found = caught.value.problems.errors
        return found[0]

    return find
