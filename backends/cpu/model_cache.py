"""Whole models on disk: a program compiled before, with the same weights for the same machine, is only loaded."""

from __future__ import annotations

import hashlib
import os
import warnings
from contextlib import suppress
from pathlib import Path

from ...compiler.artefact import Artefact
from ...compiler.diagnostics import LaminaError
from ...compiler.printing import resource_keys
from ...compiler.program import Program
from .emit import llvm_version
from .kernel_cache import CacheWarning, cache_folder, compiler_fingerprint

LIMIT_BYTES = 8 << 30


class ModelCache:
    """Artefacts by content of the program; the ones used longest ago make room for new ones."""

    def __init__(self, folder: Path | None = None, limit_bytes: int = LIMIT_BYTES):
        self.folder = (folder or cache_folder()) / "models"
        self.limit_bytes = limit_bytes

    def key(self, program: Program, target: str) -> str:
        """Changes with the IR, the weights it refers to, the target and the compiler."""
        weights = program.context.weights
        digest = hashlib.sha256(f"{target}|{compiler_fingerprint()}|{llvm_version()}|{program}".encode())
        for name in dict.fromkeys(resource_keys(program.module)):
            digest.update(f"{name}:{weights.digest(name)};".encode())
        return digest.hexdigest()

    def get(self, key: str) -> Artefact | None:
        """The artefact under `key`, its constants memory-mapped; None when there is none that is whole."""
        path = self._path(key)
        try:
            found = Artefact.load(path)
        except LaminaError:
            return None
        with suppress(OSError):
            os.utime(path)  # recently used: the last to be dropped
        return found

    def put(self, key: str, artefact: Artefact) -> None:
        """Keeps an artefact; a failure to write is a warning."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            artefact.save(self._path(key))
            self._trim()
        except (LaminaError, OSError) as error:
            warnings.warn(f"the model is not cached: {error}", CacheWarning, stacklevel=2)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.lamx"

    def _trim(self) -> None:
        entries = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in self.folder.glob("*.lamx"))
        excess = sum(size for _, size, _ in entries) - self.limit_bytes
        for _, size, path in entries:
            if excess > 0:
                path.unlink(missing_ok=True)
                excess -= size
