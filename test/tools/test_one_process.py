"""The processes of commands look for no garbage: what they made goes with them."""

from __future__ import annotations

import gc
import sys

import pytest

from lamina.compiler.collector import without_collector
from lamina.tools import main as tool


def test_none_is_collected_in_the_end() -> None:
    frozen = gc.get_freeze_count()
    try:
        assert without_collector(lambda: int(gc.isenabled())) == 0
        assert not gc.isenabled() and gc.get_freeze_count() > frozen
    finally:
        gc.enable()


def test_neither_when_it_fails() -> None:
    def fail() -> int:
        raise KeyError("x")

    try:
        with pytest.raises(KeyError):
            without_collector(fail)
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(("arguments", "collects"), [(["--debug", "compile"], False), (["run"], True), ([], True)])
def test_only_where_what_is_made_stays(arguments: list[str], collects: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["lamina", *arguments])
    monkeypatch.setattr(tool, "main", lambda: int(gc.isenabled()))
    try:
        assert tool.run() == collects
    finally:
        gc.enable()
