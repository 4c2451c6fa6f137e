"""The tuning database: schedules that won, a file for each machine and number of threads, or for each GPU.

`lamina tune` writes it; compiling reads it, unless a file of schedules is given. It is a file of schedules like any
other (compiler/schedules.py), so it can be read, edited and deleted.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

from ..compiler.artefact import written_whole
from ..compiler.diagnostics import LaminaError
from ..compiler.folders import cache_folder
from ..compiler.schedules import Schedules
from .kernel_cache import CacheWarning

SUFFIX = ".schedules"


def tuning_folder() -> Path:
    """Where all of them lie."""
    return cache_folder() / "tuning"


class TuningDatabase:
    """The schedules kept in the file of a name, which won on what `of` says."""

    def __init__(self, name: str, of: str):
        self.path = tuning_folder() / f"{name}{SUFFIX}"
        self._head = f"Schedules that won on {of}; written by lamina tune."

    def read(self) -> Schedules:
        """What is kept: not strict, since another version of the compiler may have written it.

        A file that cannot be read is a warning: compiling without it is only slower code.
        """
        if not self.path.exists():
            return Schedules(strict=False)
        try:
            return replace(Schedules.read(self.path), strict=False)
        except LaminaError as error:
            warnings.warn(f"the tuning database is not used: {error}", CacheWarning, stacklevel=2)
            return Schedules(strict=False)

    def update(self, won: Schedules, lost: set[str]) -> None:
        """Keeps the schedules of `won` and forgets those of the names in `lost`; the file appears whole."""
        kept = {name: entry for name, entry in self.read().entries.items() if name not in lost}
        merged = Schedules(kept).merged(won)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with written_whole(self.path) as file:
            file.write(merged.format(head=self._head).encode())
