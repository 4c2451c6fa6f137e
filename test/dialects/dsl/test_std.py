"""The standard library: every function has a comment, and the tests in its files pass."""

from pathlib import Path

import pytest

import lamina.dialects.dsl
from lamina import dsl
from lamina.dialects.dsl.language.parsing import parse
from lamina.dialects.dsl.language.problems import Problems
from lamina.dialects.dsl.language.tree import Function, Test

FILES = sorted((Path(lamina.dialects.dsl.__file__).parent / "std").glob("*.lam"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_documented_and_tested(path):
    problems = Problems()
    file = parse(path.read_text(), path.name, problems)
    assert not problems.found
    functions = [item for item in file.items if isinstance(item, Function)]
    tests = "\n".join(
        path.read_text()[item.span.start : item.span.end] for item in file.items if isinstance(item, Test)
    )
    assert functions and not [f.name.text for f in functions if not f.doc]
    assert not [f.name.text for f in functions if f"{f.name.text}(" not in tests and f"{f.name.text}[" not in tests]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_passes(path):
    results = dsl.test(path)
    assert results and not [result for result in results if not result.passed]
