"""To come: statements."""

from __future__ import annotations

from typing import Any

Outcome = Any


def conditional(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError


def statement(e: Any, node: Any, scope: Any) -> Any:
    raise NotImplementedError
