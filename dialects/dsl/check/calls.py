"""To come: calls."""

from __future__ import annotations

from typing import Any


def call(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError


def apply(e: Any, function: Any, values: Any, node: Any) -> Any:
    raise NotImplementedError


def symbol_of(e: Any, function: Any, node: Any) -> Any:
    raise NotImplementedError
