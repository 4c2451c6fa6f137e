"""The file for editors is what the grammar says."""

import json
import os
import re
from pathlib import Path

from lamina.dialects.dsl.check.annotations import CONST_DTYPES
from lamina.dialects.dsl.check.types import dtype_names
from lamina.dialects.dsl.language.highlighting import textmate
from lamina.dialects.dsl.language.lexing import OPENING
from lamina.dialects.dsl.language.tables import tables

FILE = Path(__file__).parents[4] / "tools" / "editors" / "lamina.tmLanguage.json"


def test_the_file_is_current() -> None:
    if os.environ.get("LAMINA_UPDATE"):
        FILE.write_text(textmate())
    assert FILE.read_text() == textmate(), "LAMINA_UPDATE=1 pytest writes it anew"


def test_it_colours_every_word_and_sign() -> None:
    patterns = [p for p in json.loads(FILE.read_text())["patterns"] if "match" in p]

    def scope(text: str, behind: str = "") -> str:
        for pattern in patterns:
            if (hit := re.match(pattern["match"], text + behind)) and hit.end() == len(text):
                return pattern.get("name", "")
        return ""

    brackets = {*OPENING, *OPENING.values()}
    for literal in tables().literals - brackets:
        assert scope(literal, " x").startswith(("keyword", "storage", "constant")), literal
    for reducer in tables().reducers:
        assert scope(reducer, "[k]") == "support.function.reduction.lamina"
    assert scope("0xff") == scope("1.5e-3") == "constant.numeric.lamina"
    assert scope("f32", "[N]") == scope("f8e4m3fn") == "support.type.lamina"
    for dtype in (*dtype_names(), *CONST_DTYPES):
        assert scope(dtype) == "support.type.lamina", dtype
    assert not [name for name in ("i2", "u128", "f80", "c32", "f8") if scope(name) == "support.type.lamina"]
    assert scope("onnx.Gemm", "(x)") == "entity.name.function.call.lamina"
    assert scope("# words") == "comment.line.number-sign.lamina"
