"""Portable artefacts of StableHLO: bytecode whose ops are of the versioned dialect VHLO (`docs/vhlo.md`).

What `stablehlo.serialize_portable_artifact` and `jax.export` write is read straight as StableHLO; there is no VHLO in
between. An op of an older version is the newer one with attributes left out, which have their defaults then.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ....compiler.bytecode import MAGIC, read_bytecode
from ....compiler.context import LaminaContext
from .codec import VhloCodec

__all__ = ["MAGIC", "read_portable_artifact"]


def read_portable_artifact(data: bytes | memoryview, name: str, context: LaminaContext) -> ModuleOp:
    """The module of an artefact; not verified. Raises LaminaError where it is not sound."""
    return read_bytecode(data, name, context, {"vhlo": VhloCodec()})
