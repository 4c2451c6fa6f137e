"""Colours for editors: the TextMate grammar of `.lam` files, made from the words and signs of `grammar.lark`."""

from __future__ import annotations

import json
import re
from typing import Any

from .lexing import DEFINITIONS, OPENING, STATEMENTS
from .tables import tables

_CONSTANTS = ("true", "false", "inf", "nan")
_LOGIC = ("and", "or", "not")
_DTYPES = r"\b(bool|[iu](4|8|16|32|64)|bf16|f(16|32|64)|f8e\w+|c(64|128)|int|float)\b(?!\s*:)"


def textmate() -> str:
    """The file that editors read, as JSON."""
    literals, reducers = tables().literals, tables().reducers
    words = sorted(word for word in literals if word.isidentifier())
    definitions = [word for word in words if word in DEFINITIONS or word in ("let", "var")]
    control = [word for word in words if word not in (*definitions, *_CONSTANTS, *_LOGIC)]
    assert {*definitions, *control} >= STATEMENTS
    brackets = {*OPENING, *OPENING.values()}
    signs = sorted((s for s in literals if not s.isidentifier() and s not in brackets), key=lambda s: (-len(s), s))
    patterns: list[dict[str, Any]] = [
        {"name": "comment.line.number-sign.lamina", "match": tables().patterns["COMMENT"]},
        {
            "name": "string.quoted.double.lamina",
            "begin": '"',
            "end": '"|$',
            "patterns": [{"name": "constant.character.escape.lamina", "match": r"\\."}],
        },
        {
            "match": r"\b(fn)\s+([^\W\d]\w*)",
            "captures": {"1": {"name": "storage.type.lamina"}, "2": {"name": "entity.name.function.lamina"}},
        },
        {"name": "storage.type.lamina", "match": _any(definitions)},
        {"name": "keyword.control.lamina", "match": _any(control)},
        {"name": "keyword.operator.word.lamina", "match": _any(_LOGIC)},
        {"name": "constant.language.lamina", "match": _any(_CONSTANTS)},
        {"name": "support.function.reduction.lamina", "match": f"{_any(reducers)}(?=\\s*[\\[(=])"},
        {"name": "support.type.lamina", "match": _DTYPES},
        {"name": "constant.numeric.lamina", "match": f"\\b(?:{tables().patterns['NUMBER']})"},
        {"name": "entity.name.function.call.lamina", "match": r"[^\W\d][\w.]*(?=\s*\()"},
        {"name": "keyword.operator.lamina", "match": "|".join(re.escape(sign) for sign in signs)},
    ]
    grammar = {"name": "Lamina", "scopeName": "source.lamina", "fileTypes": ["lam"], "patterns": patterns}
    return json.dumps(grammar, indent=2, ensure_ascii=False) + "\n"


def _any(words: Any) -> str:
    return f"\\b({'|'.join(words)})\\b"
