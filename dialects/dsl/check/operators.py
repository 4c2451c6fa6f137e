"""To come: operators."""

from __future__ import annotations

from typing import Any


def binary(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError


def unary(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError
