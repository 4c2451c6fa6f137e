"""The examples of every code about built-in functions and operators: the wrong one gives it, the right one none."""

from __future__ import annotations

import pytest

from lamina.dialects.dsl.check.types import TensorType
from lamina.dialects.dsl.language.codes import CODES
from lamina.dialects.dsl.load import ProgramError, bind, check, instantiate, load_file, overloads
from lamina.tools.sources import new_context

OWN = sorted(code for code in CODES if code[:3] in ("E25", "E35", "E55"))


def found(text: str) -> list[str]:
    files = load_file(text)
    problems = check(files).errors
    if problems:
        return [problem.code for problem in problems]
    (signature,) = overloads(files, "f")
    kinds = [p.type for p in signature.parameters]
    arguments = [1 if p.const else (k.dtype, k.shape) for p, k in zip(signature.parameters, kinds, strict=True)
                 if isinstance(k, TensorType)]  # fmt: skip
    try:
        instantiate(files, bind(files, "f", [0 if a == 1 else a for a in arguments]), new_context())
    except ProgramError as error:
        return [problem.code for problem in error.problems.errors]
    return []


@pytest.mark.parametrize("code", OWN)
def test_examples(code: str) -> None:
    assert found(CODES[code].wrong) == [code]
    assert found(CODES[code].right) == []
