"""From an instruction to what executes it: a table by the first part of the opcode."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from ....compiler.diagnostics import LaminaError
from .agent import Step
from .ptx import Instruction, Kernel

Decoder: TypeAlias = Callable[[Instruction], Step]

TYPES: dict[str, Any] = {
    "pred": np.bool_,
    "b8": np.uint8, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "tf32": np.float32,
}  # fmt: skip
PAIRS: dict[str, Any] = {
    "f16x2": np.float16, "bf16x2": ml_dtypes.bfloat16, "s16x2": np.int16, "u16x2": np.uint16,
}  # fmt: skip

_TABLE: dict[str, Decoder] = {}
_CHAPTERS = ("arithmetic", "logic", "convert", "transfer", "warp", "tensor", "asynchronous")


def decodes(*names: str) -> Callable[[Decoder], Decoder]:
    """Registers what decodes the instructions of these names."""

    def register(function: Decoder) -> Decoder:
        for name in names:
            _TABLE[name] = function
        return function

    return register


@cache
def _table() -> dict[str, Decoder]:
    """What decodes each instruction, all chapters read."""
    for chapter in _CHAPTERS:
        import_module(f".{chapter}", __package__)
    return _TABLE


def decode(instruction: Instruction, kernel: Kernel) -> Step:
    """What executes the instruction. Raises LaminaError, with the line, for one that is not known."""
    decoder = _table().get(instruction.opcode[0])
    where = f"{kernel.name}, line {instruction.line}"
    if decoder is None:
        raise LaminaError(f"the emulator does not know '{instruction.name}'", where=where)
    try:
        return decoder(instruction)
    except (KeyError, IndexError, AssertionError, ValueError) as error:
        raise LaminaError(
            f"the emulator does not know this form of '{instruction.text}': {error}", where=where
        ) from error


def type_of(instruction: Instruction) -> Any:
    """The dtype that the last part of the opcode names."""
    return TYPES[instruction.opcode[-1]]
