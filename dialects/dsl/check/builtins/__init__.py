"""To come: built-in functions."""

from __future__ import annotations

from typing import Any


def is_builtin(name: str) -> bool:
    """Whether a call of `name` is one of a built-in function, hub op or ONNX operator."""
    return False


def call(elaborator: Any, node: Any, scope: Any) -> Any:
    """The call of a built-in function."""
    raise NotImplementedError
