"""Whole models on disk: a program compiled before, with the same weights for the same machine, is only loaded."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from ...compiler.artefact import Artefact, make_room, write_constants, written_whole
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from ...compiler.resources import resource_keys
from ...compiler.workers import alongside
from .. import Source
from ..buffers import constants_of
from ..kernel_cache import CacheWarning, compiler_fingerprint, worth_a_look
from .emit import llvm_version
from .recall import kept, models_folder, note_of, path_of, state_of

_T = TypeVar("_T")
_Lower = Callable[[], Program]
_Build = Callable[[Program], Artefact]

LIMIT_BYTES = 8 << 30
WORTH_A_PROCESS = 16 << 20  # bytes of constants that take longer to write than a process to start


class _Refused(Exception):
    """What is wrong with the program, and not with the cache."""

    def __init__(self, error: LaminaError):
        super().__init__(str(error))
        self.error = error


def _of_the_program(step: Callable[[], _T]) -> _T:
    try:
        return step()
    except LaminaError as error:
        raise _Refused(error) from error


def _beside(nbytes: int, work: Callable[[], None], name: str, *, needed: bool = True) -> AbstractContextManager[None]:
    """Writes so many bytes while something else is done, or first if they are few."""
    if nbytes >= WORTH_A_PROCESS:
        return alongside(work, name, needed=needed)
    return nullcontext(work() if needed else None)


class ModelCache:
    """Artefacts by content of the program; the ones used longest ago make room for new ones."""

    def __init__(self, folder: Path | None = None, limit_bytes: int = LIMIT_BYTES):
        self.folder = models_folder(folder)
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
        return kept(self.folder, key)

    def make(self, key: str, program: Program, lower: _Lower, build: _Build) -> Artefact:
        """Compiles in two steps and keeps the artefact; gives it back with its constants mapped from the file.

        Room for about as many bytes of constants as the program has is made while `lower` runs; they are written
        while `build` does. A failure to write is a warning.
        """
        lowered, made = None, None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with written_whole(path_of(self.folder, key)) as file:
                expected = sum(map(program.context.weights.nbytes, set(resource_keys(program.module))))
                with _beside(expected, partial(make_room, file, expected), "make room", needed=False):
                    lowered = _of_the_program(lower)
                constants = constants_of(lowered)
                with _beside(constants.nbytes, partial(write_constants, file, constants), "write the constants"):
                    made = _of_the_program(partial(build, lowered))
                made.write_rest(file)
                written = file.tell()
            if worth_a_look(written, self.limit_bytes):
                self._trim()
        except _Refused as refused:
            raise refused.error from None
        except (LaminaError, OSError) as error:
            warnings.warn(f"the model is not cached: {error}", CacheWarning, stacklevel=2)
            return made or build(lowered or lower())
        return self.get(key) or made

    def remember(self, source: Source, identity: str, key: str, program: Program) -> None:
        """Notes that the files behind `program` compile to the artefact under `key`."""
        weights = program.context.weights
        files = {str(source.path), *weights.mapped_files()}
        note = json.dumps({"key": key, "files": {file: state_of(file) for file in sorted(files)}})
        with suppress(LaminaError), written_whole(note_of(self.folder, source, identity)) as file:
            file.write(note.encode())

    def _trim(self) -> None:
        entries: list[tuple[float, int, Path]] = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):  # what another process was writing has its own name by now
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
        entries.sort()
        excess = sum(size for _, size, _ in entries) - self.limit_bytes
        for _, size, path in entries:
            if excess > 0:
                path.unlink(missing_ok=True)
                excess -= size
