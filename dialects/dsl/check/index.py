"""To come: index."""

from __future__ import annotations

from typing import Any


def comprehension(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError


def reduction(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError


def subscript(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError


def define(e: Any, node: Any, scope: Any) -> Any:
    raise NotImplementedError


def update(e: Any, node: Any, scope: Any) -> Any:
    raise NotImplementedError
