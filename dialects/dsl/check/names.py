"""To come: names."""

from __future__ import annotations

from typing import Any


def name(e: Any, node: Any, scope: Any) -> Any:
    raise NotImplementedError


def hint_for(value: Any) -> Any:
    raise NotImplementedError
