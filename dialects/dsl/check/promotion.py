"""To come: promotion."""

from __future__ import annotations

from typing import Any


def settle(e: Any, value: Any, prefer_float: Any) -> Any:
    raise NotImplementedError


def coerce(e: Any, value: Any, dtype: Any, node: Any, what: Any) -> Any:
    raise NotImplementedError


def broadcast_together(e: Any, values: Any, node: Any) -> Any:
    raise NotImplementedError


def broadcast(e: Any, value: Any, shape: Any, node: Any) -> Any:
    raise NotImplementedError


def cast(e: Any, value: Any, dtype: Any, node: Any) -> Any:
    raise NotImplementedError
