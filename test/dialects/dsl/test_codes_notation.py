"""Every code of index notation is what its wrong example gives when bound, and its right one gives no problem."""

import pytest

from lamina.dialects.dsl.check.types import TensorType
from lamina.dialects.dsl.language.codes import CODES
from lamina.dialects.dsl.language.codes_notation import NOTATION
from lamina.dialects.dsl.language.problems import Problems
from lamina.dialects.dsl.load import ProgramError, bind, check, instantiate, load_file, overloads
from lamina.tools.sources import new_context


def problems(text: str) -> list[str]:
    """The codes of a program that has one function `f` without symbols, checked and bound."""
    files = load_file(text)
    found: Problems = check(files)
    if not found.errors:
        own = overloads(files, "f")[0]
        kinds = [(p.type.dtype, p.type.shape) for p in own.parameters if isinstance(p.type, TensorType)]
        try:
            instantiate(files, bind(files, "f", kinds), new_context())
        except ProgramError as error:
            found = error.problems
    return [p.code for p in found.errors]


@pytest.mark.parametrize("code", sorted(NOTATION))
def test_examples(code: str) -> None:
    assert set(problems(CODES[code].wrong)) == {code}
    assert problems(CODES[code].right) == []
