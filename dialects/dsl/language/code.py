"""What is known of a kind of mistake."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """A kind of mistake: what it is called, why it is one, a program that makes it and the same one put right."""

    title: str
    explanation: str
    wrong: str
    right: str
