"""Every block of the tutorial runs, and the messages it shows are the ones that are given."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from lamina import dsl

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
UPDATE = bool(os.environ.get("LAMINA_UPDATE"))  # writes the messages into the page instead
BLOCKS = [(match[1], match[2].strip(), match[3]) for match in BLOCK.finditer(PAGE.read_text())]
PROGRAMS = [text for language, kind, text in BLOCKS if language == "lam" and not kind]
WRONG = [
    (kind.removeprefix("wrong").strip(), text, BLOCKS[i + 1][2])
    for i, (language, kind, text) in enumerate(BLOCKS)
    if language == "lam" and kind
]


@pytest.mark.parametrize("text", PROGRAMS, ids=lambda text: re.search(r"fn (\w+)", text)[1])
def test_programs(text):
    results = dsl.test(text)
    assert results or "test " not in text
    assert not [result for result in results if not result.passed]


def test_python():
    names: dict[str, object] = {}
    for language, _, text in BLOCKS:
        if language == "python":
            exec(text, names)


def message(call: str, text: str) -> str:
    """What is said about a program, or about an instance of it: `slope(f32[5])`."""
    try:
        program = dsl.compile(text, target="interpret")
        name, _, types = call.partition("(")
        shapes = re.findall(r"f32\[([\d, ]*)\]", types)
        program[name](*(np.zeros([int(n) for n in shape.split(",")], np.float32) for shape in shapes))
    except dsl.WrongProgram as error:
        return f"{error}\n"
    return ""


@pytest.mark.parametrize(("call", "text", "shown"), WRONG)
def test_messages(call, text, shown):
    got = message(call, text)
    if UPDATE:
        page = PAGE.read_text()
        PAGE.write_text(page.replace(f"{text}```\n\n```text\n{shown}", f"{text}```\n\n```text\n{got}"))
    else:
        assert got == shown
