"""To come: literals."""

from __future__ import annotations

from typing import Any


def number(node: Any) -> Any:
    raise NotImplementedError


def array(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError


def tuple_(e: Any, node: Any, scope: Any, expected: Any) -> Any:
    raise NotImplementedError


def item(e: Any, node: Any, scope: Any) -> Any:
    raise NotImplementedError
