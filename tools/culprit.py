"""What `--verify-numerics` found."""

from __future__ import annotations

from dataclasses import dataclass

from .compare import Comparison


@dataclass(frozen=True)
class Culprit:
    """The pass after which the result was wrong, and the op or kernel, with its origin, where it shows first."""

    pass_name: str
    where: str
    comparison: Comparison

    def __str__(self) -> str:
        return f"pass '{self.pass_name}' changes the result: {self.where}; {self.comparison}"
