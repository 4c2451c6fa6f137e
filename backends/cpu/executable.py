"""A model's machine code in this process, and the artefact it came from."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.artefact import Artefact
from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array
from .code import Code
from .native_model import NativeModel


class NativeExecutable:
    """An artefact made callable: by mapping its image, or where it has none, by LLVM's linker."""

    def __init__(self, artefact: Artefact, threads: int | None):
        self._native = _linked(artefact, threads)
        self._signature = signature = artefact.signature
        self.artefact: Artefact | None = artefact
        direct = None if signature.random or signature.extents else self._native.direct
        self.direct_call = None if direct is None else direct.call

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference on checked inputs; safe from several threads."""
        return self._signature.trimmed(self._native.run(self._signature.completed(inputs)))


def _linked(artefact: Artefact, threads: int | None) -> NativeModel:
    if "+amx-tile" in artefact.features.split(","):
        _ask_for_tiles()
    if artefact.image:
        return NativeModel(
            Code(artefact.image),
            artefact.signature,
            artefact.constants,
            artefact.arena_bytes,
            entry=artefact.entry,
            runtime=artefact.runtime,
            threads=threads,
        )
    from ...compiler.machine import Machine
    from .jit import native_model  # heavy

    return native_model(
        artefact.objects,
        artefact.signature,
        artefact.constants,
        artefact.arena_bytes,
        Machine.host(),
        entry=artefact.entry,
        threads=threads,
    )


def _ask_for_tiles() -> None:
    from ...compiler.tile_permission import ask_for_tiles  # few machines have them

    if not ask_for_tiles():
        raise LaminaError(
            "the kernel refuses this process the tiles of AMX, which the code was compiled for",
            hint="compile it here again, or for a machine without them (--target cpu:x86-64-avx512)",
        )
