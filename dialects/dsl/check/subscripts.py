"""To come: subscripts."""

from __future__ import annotations

from typing import Any


def subscript(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError
