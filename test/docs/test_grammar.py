"""The page of the grammar is what the grammar says."""

import os
from pathlib import Path

from lamina.dialects.dsl.language.grammar_page import page
from lamina.dialects.dsl.language.tables import tables

PAGE = Path(__file__).parents[2] / "docs" / "language" / "grammar.md"


def test_the_page_is_the_grammar() -> None:
    if os.environ.get("LAMINA_UPDATE"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()


def test_it_has_every_rule_and_word() -> None:
    text = page()
    rules = {rule.origin.removesuffix("_") for rule in tables().rules if not rule.origin.startswith("__")}
    assert not [rule for rule in rules if f"\n{rule} = " not in text]
    assert not [word for word in (*tables().literals, *tables().reducers) if f'"{word}"' not in text]
    assert not [name for name in tables().patterns if f"| `{name}` |" not in text]
