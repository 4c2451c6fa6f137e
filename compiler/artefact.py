"""The `.lamx` file: one relocatable artefact that holds code, constants, signature and manifest.

Layout: the magic, where the header begins and its length (8 bytes each, little endian) and its SHA-256, the constants,
the objects, the linked image, all at 4096-byte aligned offsets, and a JSON header that names them. What takes longest
to write comes first, so that it can be written while the code is still being compiled. Constants are memory-mapped on
load, so that processes share them. The header tells how much memory the code will use: it is read only when it is what
was written, which finds damage; it is no protection from those who mean harm, for an artefact is a program.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from .diagnostics import LaminaError
from .signature import Array, Signature, dtype_named
from .weights import Section

MAGIC = b"LAMX0005"
PAGE = 4096
LARGE_PAGE = 2 << 20
_WHERE = struct.Struct("<8sQQ32s")  # magic, offset, length and digest of the header

ArrayPlace: TypeAlias = tuple[str, tuple[int, ...], int]
"""Dtype, shape and offset in bytes of an array among the constants."""


@dataclass
class Artefact:
    """A compiled model before it is loaded into a process.

    `image` is the code of `objects` linked, with a runtime whose digest is `runtime`; empty where there is none.
    `constants` are the bytes that the code addresses: a flat uint8 array (often a memory map), or weights yet to be
    laid out; `arena_bytes` the scratch that each call needs; `manifest` facts for people: target, compiler version,
    kernels with their origins. An open artefact has `arrays`, its constants by name, and as its only object the text of
    the program that names them: shapes that come with the inputs are compiled for where it is loaded.
    """

    target: str
    triple: str
    cpu: str
    features: str
    signature: Signature
    objects: list[bytes]
    constants: Array | Section
    arena_bytes: int
    entry: str = "lamina_main"
    image: bytes = b""
    runtime: str = ""
    manifest: dict[str, Any] = field(default_factory=dict[str, Any])
    arrays: Mapping[str, ArrayPlace] | None = None

    def mapped_arrays(self) -> dict[str, Array]:
        """The constants of a loaded open artefact by name, as memory maps of its file."""
        found: dict[str, Array] = {}
        for key, (dtype, shape, offset) in (self.arrays or {}).items():
            file = self.constants.filename if isinstance(self.constants, np.memmap) else None
            if file is not None and 0 not in shape:
                found[key] = np.memmap(file, dtype_named(dtype), "r", PAGE + offset, shape)
            else:
                found[key] = np.zeros(shape, dtype_named(dtype))
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artefact; the file appears whole or not at all. Raises LaminaError when it cannot be written."""
        with written_whole(path) as file:
            write_constants(file, self.constants)
            self.write_rest(file)

    def write_rest(self, file: BinaryIO) -> None:
        """Writes all but the constants, which are there already."""
        header: dict[str, Any] = {
            "target": self.target,
            "triple": self.triple,
            "cpu": self.cpu,
            "features": self.features,
            "signature": self.signature.to_json(),
            "arena_bytes": self.arena_bytes,
            "entry": self.entry,
            "manifest": self.manifest,
            "runtime": self.runtime,
            "sizes": [self.constants.nbytes, *map(len, self.objects), len(self.image)],
            "digest": _digest([*self.objects, self.image]),
            "arrays": self.arrays,
        }
        text = json.dumps(header).encode()
        offset = PAGE + self.constants.nbytes
        for data in (*self.objects, self.image):
            offset += -offset % PAGE
            file.seek(offset)
            file.write(data)
            offset += len(data)
        file.seek(offset)
        file.write(text)
        file.truncate()
        file.seek(0)
        file.write(_WHERE.pack(MAGIC, offset, len(text), hashlib.sha256(text).digest()))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Artefact:
        """Reads an artefact; constants stay on disk behind a memory map. Raises LaminaError on a damaged file."""
        name = os.fspath(path)
        try:
            size = os.path.getsize(path)
            with open(path, "rb") as file:
                start = file.read(_WHERE.size)
                magic, where, length, digest = _WHERE.unpack(start.ljust(_WHERE.size, b"\0"))
                if magic != MAGIC:
                    raise LaminaError("not a lamina artefact, or one of another version", where=name)
                if where + length > size:
                    raise LaminaError(f"damaged or cut short: {size} bytes, {where + length} expected", where=name)
                file.seek(where)
                text = file.read(length)
                if hashlib.sha256(text).digest() != digest:
                    raise LaminaError("damaged artefact: the header is not what was written", where=name)
                header: Mapping[str, Any] = json.loads(text)
                nbytes, *sizes = header["sizes"]
                if PAGE + nbytes > where:
                    raise LaminaError("damaged artefact: its constants overlap its header", where=name)
                code: list[bytes] = []
                offset = PAGE + nbytes
                for code_bytes in sizes:
                    offset += -offset % PAGE
                    file.seek(offset)
                    code.append(file.read(code_bytes))
                    offset += code_bytes
            if _digest(code) != header["digest"]:
                raise LaminaError("damaged artefact: the code is not what was written", where=name)
            arrays = None if header["arrays"] is None else dict(_places(header["arrays"], nbytes))
            signature = Signature.from_json(header["signature"])
            if arrays is None and signature.symbols:
                raise ValueError(f"code for shapes that are not known: {', '.join(signature.symbols)}")
            constants: Array = np.memmap(path, np.uint8, "r", PAGE, (nbytes,)) if nbytes else np.zeros(0, np.uint8)
            return Artefact(
                target=header["target"],
                triple=header["triple"],
                cpu=header["cpu"],
                features=header["features"],
                signature=signature,
                objects=code[:-1],
                constants=constants,
                arena_bytes=header["arena_bytes"],
                entry=header["entry"],
                image=code[-1],
                runtime=header["runtime"],
                manifest=header["manifest"],
                arrays=arrays,
            )
        except OSError as error:
            raise LaminaError(f"cannot read: {error.strerror}", where=name) from error
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error) as error:
            raise LaminaError(f"damaged artefact: {error}", where=name) from error


def _places(told: Mapping[str, Any], nbytes: int) -> Iterator[tuple[str, ArrayPlace]]:
    """The places of arrays in a file. Raises ValueError for one that reaches beyond the `nbytes` of constants."""
    for key, (dtype, shape, offset) in told.items():
        size = dtype_named(dtype).itemsize * math.prod(shape)
        if offset < 0 or min(shape, default=1) < 0 or offset + size > nbytes:
            raise ValueError(f"array '{key}' lies outside the file")
        yield key, (dtype, tuple(shape), offset)


def make_room(file: BinaryIO, nbytes: int) -> None:
    """Fills the place of the constants with zeros: writing over pages that are there takes a tenth of the time."""
    block = bytes(LARGE_PAGE)
    file.seek(0)
    for _ in range(0, PAGE + nbytes, LARGE_PAGE):
        file.write(block)
    file.flush()


def write_constants(file: BinaryIO, constants: Array | Section) -> None:
    """Writes the constants where they belong in an artefact's file.

    Linux keeps and maps a file by large pages where it was written so: one at a time, from memory that is at hand. By
    small ones, of which the processor knows few addresses at once, BERT-base in bfloat16 takes 43 ms instead of 31;
    measured on Sapphire Rapids.
    """
    file.seek(0)
    page, filled = bytearray(LARGE_PAGE), PAGE
    for block in constants.blocks() if isinstance(constants, Section) else (constants,):
        rest = block.reshape(-1).view(np.uint8).data
        while len(rest):
            taken = min(len(rest), LARGE_PAGE - filled)
            page[filled : filled + taken] = rest[:taken]
            filled, rest = filled + taken, rest[taken:]
            if filled == LARGE_PAGE:
                file.write(page)
                filled = 0
    file.write(page[:filled])
    file.flush()


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
