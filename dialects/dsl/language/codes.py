"""Every kind of mistake has a code that never changes, with a page of its own made from this table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """A kind of mistake: what it is called, why it is one, a program that makes it and the same one put right."""

    title: str
    explanation: str
    wrong: str
    right: str


# 0xx reading, 1xx names, 2xx dtypes, 3xx dimensions and shapes, 4xx index notation, 5xx calls and functions,
# 6xx control flow, 7xx imports and files, 8xx tests, W9xx warnings.
CODES: dict[str, Code] = {
    "E001": Code(
        "unknown character",
        "The character does not belong to the language outside of strings and comments.",
        "let y = x $ 2",
        "let y = x * 2",
    ),
    "E002": Code(
        "not what was expected here",
        "At this place the language allows other words or signs; the message names them.",
        "fn f(x f32[N]) = x",
        "fn f[N](x: f32[N]) = x",
    ),
}
