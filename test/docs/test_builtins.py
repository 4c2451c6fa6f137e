"""The page of built-in functions is what the table says, and its programs are right."""

import os
import re
from pathlib import Path

from lamina.dialects.dsl.check.builtins.reference import reference
from lamina.dialects.dsl.load import check, load_file

PAGE = Path(__file__).parents[2] / "docs" / "language" / "builtins.md"


def test_the_page_is_the_table() -> None:
    if os.environ.get("LAMINA_UPDATE"):
        PAGE.write_text(reference())
    assert PAGE.read_text() == reference()


def test_its_programs() -> None:
    for program in re.findall(r"```lam\n(.*?)```", reference(), re.S):
        assert not check(load_file(program)).found
