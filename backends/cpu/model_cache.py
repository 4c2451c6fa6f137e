"""Whole models on disk: a program compiled before, with the same weights for the same machine, is only loaded."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

from ...compiler.artefact import Artefact, write_constants, written_whole
from ...compiler.diagnostics import LaminaError
from ...compiler.printing import resource_keys
from ...compiler.program import Program
from ...compiler.weights import Section
from .. import Source
from .emit import llvm_version
from .kernel_cache import CacheWarning, cache_folder, compiler_fingerprint
from .workers import alongside

LIMIT_BYTES = 8 << 30
WORTH_A_PROCESS = 16 << 20  # bytes of constants that take longer to write than a process to start


def _identity(file: str) -> list[int]:
    """Changes when the file is written to or replaced."""
    status = os.stat(file)
    return [status.st_ino, status.st_size, status.st_mtime_ns]


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

    def put(self, key: str, constants: Section, build: Callable[[], Artefact]) -> Artefact:
        """Keeps the artefact that `build` makes, and gives it back with its constants mapped from the file.

        Large `constants` are written while `build` runs. A failure to write is a warning.
        """
        large = constants.nbytes >= WORTH_A_PROCESS
        began, made = False, None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with written_whole(self._path(key)) as file:
                write = partial(write_constants, file, constants)
                with alongside(write, "write the constants") if large else nullcontext(write()):
                    began = True
                    made = build()
                made.write_rest(file)
            self._trim()
        except (LaminaError, OSError) as error:
            if began and made is None:
                raise  # the program's fault, not the disk's
            warnings.warn(f"the model is not cached: {error}", CacheWarning, stacklevel=2)
            return made or build()
        return self.get(key) or made

    def recall(self, source: Source, target: str) -> Artefact | None:
        """What was compiled from the same files before, found without reading them; None when one has changed."""
        try:
            told = json.loads(self._note(source, target).read_text())
            unchanged = all(_identity(file) == identity for file, identity in told["files"].items())
        except (OSError, ValueError, KeyError):
            return None
        return self.get(told["key"]) if unchanged else None

    def remember(self, source: Source, target: str, key: str, program: Program) -> None:
        """Notes that the files behind `program` compile to the artefact under `key`."""
        weights = program.context.weights
        files = {str(source.path), *weights.mapped_files()}
        note = json.dumps({"key": key, "files": {file: _identity(file) for file in sorted(files)}})
        with suppress(LaminaError), written_whole(self._note(source, target)) as file:
            file.write(note.encode())

    def _note(self, source: Source, target: str) -> Path:
        shapes = sorted(source.shapes.items())
        told = f"{source.path.resolve()}|{shapes}|{target}|{compiler_fingerprint()}|{llvm_version()}"
        return self.folder / f"{hashlib.sha256(told.encode()).hexdigest()}.json"

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.lamx"

    def _trim(self) -> None:
        entries = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in self.folder.iterdir())
        excess = sum(size for _, size, _ in entries) - self.limit_bytes
        for _, size, path in entries:
            if excess > 0:
                path.unlink(missing_ok=True)
                excess -= size
