"""What a program on the level of buffers tells of its memory: the arena, and where constants lie."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp

from ..compiler.program import Program
from ..compiler.weights import Section


def arena_bytes(module: ModuleOp) -> int:
    """The scratch memory that a call needs."""
    value = module.attributes.get("lamina.arena_bytes")
    return value.value.data if isinstance(value, IntegerAttr) else 0


def constants_of(program: Program) -> Section:
    """The constants of a program on the level of buffers or below, laid out as `lamina.constants` says."""
    listed = program.module.attributes.get("lamina.constants")
    parts: list[tuple[str, int, int]] = []
    for entry in listed if isinstance(listed, ArrayAttr) else ():
        assert isinstance(entry, DictionaryAttr)
        told: dict[str, Any] = dict(entry.data)
        parts.append((told["key"].data, told["offset"].value.data, told["bytes"].value.data))
    return Section(parts, program.context.weights)
