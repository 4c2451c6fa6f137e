"""To come: annotations."""

from __future__ import annotations

from typing import Any


def dim(e: Any, node: Any, scope: Any) -> Any:
    raise NotImplementedError


def type_(e: Any, node: Any, scope: Any) -> Any:
    raise NotImplementedError
