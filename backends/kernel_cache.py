"""Object code of kernels on disk, found by content: a hash of the kernel's IR, the machine and the compiler.

A cache that cannot be read or written is only slower: the first failure warns, then nothing is kept.
Entries carry a checksum, so that a file cut short by a full disk is a miss and not a crash.
"""

from __future__ import annotations

import hashlib
import os
import random
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..compiler.folders import cache_folder

MAGIC = b"LAMK0001"
LIMIT_BYTES = 1 << 30
LOOK_AT = 32  # times while as much is written as may be kept
_ROOT = Path(__file__).resolve().parents[1]
_SOURCES = (".py", ".ll", ".toml")


class CacheWarning(UserWarning):
    """The on-disk cache is not usable; compilation goes on without it."""


@cache
def compiler_fingerprint() -> str:
    """Changes whenever a source file of this package does: path, size and time of each."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(_ROOT):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "__")) and f not in ("test", "docs"))
        for name in sorted(files):
            if name.endswith(_SOURCES):
                path = os.path.join(folder, name)
                status = os.stat(path)
                digest.update(f"{path}:{status.st_size}:{status.st_mtime_ns};".encode())
    return digest.hexdigest()


def worth_a_look(written: int, limit: int) -> bool:
    """Whether a folder that holds so many bytes at most should be looked through, after so many were written to it.

    It may hold many thousands of small entries, so that is once for each `LOOK_AT`-th of the limit, on the average: by
    chance, since processes do not know of what others write.
    """
    return random.random() * limit < written * LOOK_AT


class KernelCache:
    """Bytes by hexadecimal key. Several processes may share one folder: files appear whole, by rename."""

    def __init__(self, folder: Path | None = None, limit_bytes: int = LIMIT_BYTES):
        self.folder = (folder or cache_folder()) / "kernels"
        self.limit_bytes = limit_bytes
        self.usable = True
        self._written = 0

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.o"

    def get(self, key: str) -> bytes | None:
        """The bytes under `key`, or None when there are none that can be trusted."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._give_up("read", error)
            return None
        head, payload = data[: len(MAGIC) + 32], data[len(MAGIC) + 32 :]
        if head != MAGIC + hashlib.sha256(payload).digest():
            self._remove(path)
            return None
        with suppress(OSError):
            os.utime(path)  # recently used: the last to be dropped
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keeps `payload` under `key`; a failure to write warns once and turns the cache off."""
        if not self.usable:
            return
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(MAGIC + hashlib.sha256(payload).digest() + payload)
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            self._give_up("write", error)
            return
        self._written += len(payload)

    def trim(self) -> None:
        """Drops the entries used longest ago where the folder is above its limit. Call after a build that wrote."""
        written, self._written = self._written, 0
        if not worth_a_look(written, self.limit_bytes):
            return
        entries = list(self._entries())
        excess = sum(size for _, size, _ in entries) - self.limit_bytes
        for _, size, path in sorted(entries) if excess > 0 else ():
            if excess <= 0:
                return
            self._remove(Path(path))
            excess -= size

    def _entries(self) -> Iterator[tuple[float, int, str]]:
        """When each entry was used last, its bytes and its path."""
        for folder in _listed(self.folder):
            for entry in _listed(folder.path):
                with suppress(OSError):  # another process may have removed it
                    status = entry.stat()
                    yield status.st_mtime, status.st_size, entry.path

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            self._give_up("write", error)

    def _give_up(self, what: str, error: OSError) -> None:
        if self.usable:
            warnings.warn(
                f"the kernel cache is off: cannot {what} {self.folder}: {error.strerror} "
                "(set LAMINA_CACHE to another folder)",
                CacheWarning,
                stacklevel=3,
            )
        self.usable = False


def _listed(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
