"""The page of ONNX's operators is what the registry, the lowerings and the types that were tried say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools" / "operators"))
import onnx_operators
import onnx_random


def test_the_page_is_the_table() -> None:
    assert onnx_operators.PAGE.read_text() == onnx_operators.page(), "onnx_operators.py writes it"


def test_every_operator_runs() -> None:
    """But what differentiates a graph, and attention that is itself given by graphs."""
    missing = {name for _, name, how, _, _ in onnx_operators.rows() if how == "no"}
    assert missing <= {"Gradient", "FlexAttention"}, missing


def test_some_are_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {case.name: case for name in ("abs", "clip") for case in onnx_random.cases_of(name)}
    cases = [case for case in known.values() if case.name.startswith(("test_abs", "test_clip"))]
    monkeypatch.setattr(onnx_random, "cases", lambda: iter(cases))
    assert not onnx_operators.check(["Abs", "Clip"])
