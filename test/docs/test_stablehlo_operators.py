"""The page of the hub's ops says what was tried, and some of it is tried again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools" / "operators"))
import stablehlo_operators  # pyright: ignore[reportMissingImports]
from stablehlo_programs import programs  # pyright: ignore[reportMissingImports]


def test_the_page_is_the_table() -> None:
    written = stablehlo_operators.PAGE.read_text()
    assert written == stablehlo_operators.page(), "python test/tools/operators/stablehlo_operators.py writes it"


def test_a_sample_is_as_the_table_says() -> None:
    found = json.loads(stablehlo_operators.TYPES.read_text())
    every = programs()
    assert set(found) == set(every)
    assert {cell for kinds in found.values() for cell in kinds.values()} <= {"cpu", "reference", "print"}
    sample = {"add": "quantized", "reduce": "signed", "chlo.scan": "float", "fft": "complex", "chlo.top_k": "signed"}
    for name, kind in sample.items():
        assert stablehlo_operators.attempt(every[name][kind]) == found[name][kind], name
