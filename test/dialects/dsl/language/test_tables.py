"""The parse tables are kept between runs, and made again when what is kept cannot be trusted."""

from pathlib import Path

import pytest

from lamina.dialects.dsl.language import tables as module
from lamina.dialects.dsl.language.tables import GRAMMAR, tables


def test_kept_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    made = tables.__wrapped__()
    (kept,) = (tmp_path / "grammar").iterdir()
    again: list[str] = []
    monkeypatch.setattr(module, "build", lambda grammar: again.append(grammar) or made)
    assert tables.__wrapped__() == made
    assert not again
    whole = kept.read_text()
    for damaged in ("", "{}", whole.replace('"start":', '"start":1'), whole[:-9]):
        again.clear()
        kept.write_text(damaged)
        assert tables.__wrapped__() == made
        assert again


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "file"))
    assert tables.__wrapped__().literals == tables().literals


def test_every_choice_of_the_grammar_is_made() -> None:
    """No conflict is resolved silently: each pair of state and token has one action, which lark logs otherwise."""
    import logging

    from lark import Lark, logger

    messages: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    handler, level = Keep(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        Lark(GRAMMAR.read_text(), parser="lalr", lexer="basic", start="file", debug=True)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert not [message for message in messages if "conflict" in message]
