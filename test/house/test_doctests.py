"""The examples in docstrings give what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("compiler", "dialects", "passes", "backends", "tools")
WITH_EXAMPLES = sorted(
    ".".join(("lamina", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for floor in FLOORS
    for path in (ROOT / floor).rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
