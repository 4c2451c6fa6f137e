"""The `.lamx` file: one relocatable artefact that holds code, constants, signature and manifest.

Layout: the magic, the length of a JSON header (8 bytes, little endian), the header, then the sections named in
it at 4096-byte aligned offsets. Constants are memory-mapped on load, so that processes share them.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .diagnostics import LaminaError
from .signature import Array, Signature

MAGIC = b"LAMX0001"
PAGE = 4096


@dataclass
class Artefact:
    """A compiled model before it is loaded into a process.

    `constants` is a flat uint8 array (often a memory map) that the code addresses; `arena_bytes` the scratch each
    call needs; `manifest` facts for people: target, compiler version, kernels with their origins.
    """

    target: str
    triple: str
    cpu: str
    features: str
    signature: Signature
    objects: list[bytes]
    constants: Array
    arena_bytes: int
    entry: str = "lamina_main"
    manifest: dict[str, Any] = field(default_factory=dict[str, Any])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artefact; the file appears whole or not at all. Raises LaminaError when it cannot be written."""
        sections = [*self.objects, self.constants.data]
        header: dict[str, Any] = {
            "target": self.target,
            "triple": self.triple,
            "cpu": self.cpu,
            "features": self.features,
            "signature": self.signature.to_json(),
            "arena_bytes": self.arena_bytes,
            "entry": self.entry,
            "manifest": self.manifest,
            "sizes": [memoryview(s).nbytes for s in sections],
            "digest": _digest(self.objects),
        }
        text = json.dumps(header).encode()
        with written_whole(path) as file:
            file.write(MAGIC + struct.pack("<Q", len(text)) + text)
            for section in sections:
                file.write(b"\0" * (-file.tell() % PAGE))
                file.write(section)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Artefact:
        """Reads an artefact; constants stay on disk behind a memory map. Raises LaminaError on a damaged file."""
        name = os.fspath(path)
        try:
            size = os.path.getsize(path)
            with open(path, "rb") as file:
                if file.read(8) != MAGIC:
                    raise LaminaError("not a lamina artefact, or one of another version", where=name)
                (length,) = struct.unpack("<Q", file.read(8))
                if length > size:
                    raise LaminaError("damaged artefact: its header is longer than the file", where=name)
                header: Mapping[str, Any] = json.loads(file.read(length))
                offset = 16 + length
                objects: list[bytes] = []
                for nbytes in header["sizes"]:
                    offset += -offset % PAGE
                    if offset + nbytes > size:
                        raise LaminaError(
                            f"the file is cut short: {size} bytes, {offset + nbytes} expected", where=name
                        )
                    file.seek(offset)
                    if len(objects) < len(header["sizes"]) - 1:
                        objects.append(file.read(nbytes))
                        offset += nbytes
            if _digest(objects) != header["digest"]:
                raise LaminaError("damaged artefact: the code is not what was written", where=name)
            nbytes = header["sizes"][-1]
            constants: Array = np.memmap(path, np.uint8, "r", offset, (nbytes,)) if nbytes else np.zeros(0, np.uint8)
            return Artefact(
                target=header["target"],
                triple=header["triple"],
                cpu=header["cpu"],
                features=header["features"],
                signature=Signature.from_json(header["signature"]),
                objects=objects,
                constants=constants,
                arena_bytes=header["arena_bytes"],
                entry=header["entry"],
                manifest=header["manifest"],
            )
        except OSError as error:
            raise LaminaError(f"cannot read: {error.strerror}", where=name) from error
        except (ValueError, KeyError, struct.error) as error:
            raise LaminaError(f"damaged artefact: {error}", where=name) from error


def _digest(objects: Sequence[bytes]) -> str:
    return hashlib.sha256(b"".join(objects)).hexdigest()


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Generator[BinaryIO]:
    """A file to write that takes `path`'s place only when all went well; nothing is left behind otherwise."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise LaminaError(f"cannot write: {error.strerror}", where=str(target)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except OSError as error:
        raise LaminaError(f"cannot write: {error.strerror}", where=str(target)) from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
