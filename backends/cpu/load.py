"""A saved artefact made callable, without the compiler: importing that takes longer than loading."""

from __future__ import annotations

from ...compiler.artefact import Artefact
from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from .executable import NativeExecutable


def load(artefact: Artefact, threads: int | None = None) -> NativeExecutable:
    """The code of an artefact for `cpu`. Raises LaminaError when this machine cannot run it."""
    host = Machine.host()
    wanted = [f.removeprefix("+") for f in artefact.features.split(",") if f.startswith("+")]
    missing = [feature for feature in wanted if feature not in host.features]
    if artefact.triple.partition("-")[0] != host.triple.partition("-")[0]:
        raise LaminaError(f"the artefact is for {artefact.triple}, this machine is {host.triple}")
    if missing:
        raise LaminaError(
            f"this machine lacks {', '.join(missing)}, which the artefact was compiled for",
            hint="compile the model on this machine, or for a triple without those features",
        )
    return NativeExecutable(artefact, threads)
