"""Which file a model is. Needs no compiler."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..backends import Source
from ..compiler.diagnostics import LaminaError
from . import light_models

FUNCTION = "::"  # between a .lam file and the function that is meant


def source_of(model: Any, shapes: Mapping[str, int], aliases: Mapping[str, str]) -> Source | None:
    """The file that an ONNX model comes from; None for anything else that can be compiled."""
    if not isinstance(model, str | os.PathLike) or FUNCTION in os.fspath(model) or is_text(model):
        return None
    path = resolve(model)
    return Source(path, shapes, aliases) if path.suffix == ".onnx" else None


def is_text(model: str | os.PathLike[str]) -> bool:
    """Whether a string is the text of a program and not a path."""
    return isinstance(model, str) and ("\n" in model or "{" in model)


def resolve(model: str | os.PathLike[str]) -> Path:
    """The path of a model; `onnx:NAME` names a light model inside the onnx package."""
    text = os.fspath(model)
    if text.startswith(light_models.SCHEME):
        return light_models.path_of(text.removeprefix(light_models.SCHEME))
    path = Path(text)
    if path.is_dir():
        raise LaminaError("is a directory, expected a model file", where=text)
    if not path.exists():
        raise LaminaError("no such file", where=text)
    return path
