"""The page of ONNX's operators is what the registry, the lowerings and the types that were tried say."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools" / "operators"))
import onnx_operators


def test_the_page_is_the_table() -> None:
    assert onnx_operators.PAGE.read_text() == onnx_operators.page(), "python test/tools/onnx_operators.py writes it"


def test_every_operator_runs() -> None:
    """But what differentiates a graph, and attention that is itself given by graphs."""
    missing = {name for _, name, how, _ in onnx_operators.rows() if "no" in how.replace("(no)", "no").split()}
    assert missing <= {"Gradient", "FlexAttention"}, missing
