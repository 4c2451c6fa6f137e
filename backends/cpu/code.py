"""Linked images (image.py) in this process: mapped, given the addresses of libc, made executable."""

from __future__ import annotations

import ctypes
import json
import mmap
from collections.abc import Mapping
from typing import Any

from ...compiler.diagnostics import LaminaError
from .image import HEAD, MAGIC

_READ, _EXECUTE = 1, 4


class Code(Mapping[str, int]):
    """The exports of an image by name, as addresses; the code is there for as long as this object.

    Raises LaminaError for a damaged image, one that needs what this process lacks, and where code must not be mapped.
    """

    def __init__(self, image: bytes):
        magic, length = HEAD.unpack_from(image)
        if magic != MAGIC:
            raise LaminaError("not a linked image, or one of another version")
        told: dict[str, Any] = json.loads(image[HEAD.size : HEAD.size + length])
        size, text = told["bytes"], told["text"]
        self._memory = mmap.mmap(-1, size)
        self._memory[:] = image[HEAD.size + length :]
        self._view = ctypes.c_char.from_buffer(self._memory)
        self.base = ctypes.addressof(self._view)
        process = ctypes.CDLL(None)
        for offset, target in told["words"]:
            address = self.base + target if isinstance(target, int) else _address_of(process, target)
            self._memory[offset : offset + 8] = address.to_bytes(8, "little")
        self._exports: dict[str, int] = {name: self.base + offset for name, offset in told["exports"].items()}
        for start, length, rights in ((0, text, _READ | _EXECUTE), (text, size - text, _READ)):
            if process.mprotect(ctypes.c_void_p(self.base + start), ctypes.c_size_t(length), rights):
                raise LaminaError("the system does not let this process map code")

    def __getitem__(self, name: str) -> int:
        return self._exports[name]

    def __iter__(self):
        return iter(self._exports)

    def __len__(self) -> int:
        return len(self._exports)


def _address_of(process: ctypes.CDLL, name: str) -> int:
    try:
        function = getattr(process, name)
    except AttributeError as error:
        raise LaminaError(f"the compiled code needs '{name}', which this process lacks") from error
    return ctypes.cast(function, ctypes.c_void_p).value or 0
