"""Programs as ONNX models: what was imported as it is, anything else by way of the hub."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compiler.descent import level_of
from ..compiler.diagnostics import LaminaError
from ..compiler.program import Program
from ..dialects.onnx.export import LARGEST_INSIDE, export_model, write_model
from ..passes import all_passes
from . import api
from .sources import read_program, whole

if TYPE_CHECKING:
    from onnx import ModelProto

_BEFORE = ("inline", "stablehlo-inline-composites", "canonicalize", "cse")


def export_onnx(
    program: Any, path: str | os.PathLike[str] | None = None, *, largest_inside: int = LARGEST_INSIDE
) -> ModelProto | None:
    """A program as an ONNX model, written to `path` where one is given.

    `program`: anything `lamina.compile` takes whose shapes are known, or a `Program` at the level onnx, dsl or
    stablehlo. What came from ONNX keeps its operators; other programs are written in operators of opset 21. Weights of
    more than `largest_inside` bytes in all go to `path` with `.data` added. Raises LaminaError naming each op that ONNX
    has no operator for.
    """
    source = at_onnx(whole(read_program(program)))
    if path is None:
        return export_model(source.module, source.context.weights)
    write_model(source.module, source.context.weights, Path(path), largest_inside)
    return None


def at_onnx(program: Program) -> Program:
    """A program at the level onnx: itself, or what its form at the hub becomes there."""
    level, passes = level_of(program), all_passes()
    if level == "onnx" and not any(op.name.startswith(("dsl.", "stablehlo.")) for op in program.module.walk()):
        known = program.clone()
        passes["onnx-infer-shapes"]()().apply(known.context, known.module)
        return known
    hub = api.lower(program, "stablehlo") if level in ("dsl", "onnx") else program.clone()
    if level_of(hub) != "stablehlo":
        raise LaminaError(f"a program at the level {level} cannot become an ONNX model", hint="take it at stablehlo")
    for name in (*_BEFORE, "convert-stablehlo-to-onnx"):
        passes[name]()().apply(hub.context, hub.module)
    return hub
