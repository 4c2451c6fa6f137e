"""Weights live here, not in the IR: the IR holds `dense_resource<key>`, this store the bytes behind the key."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .diagnostics import LaminaError
from .signature import dtype_named

if TYPE_CHECKING:
    from xdsl.ir import Operation

Array = np.ndarray[Any, np.dtype[Any]]


BLOCK_BYTES = 4 << 20
"""How much of an array is made or copied at a time: what stays in the cache of a core."""


@dataclass(frozen=True, eq=False)
class Deferred:
    """An array that is made where it is wanted: `rows(a, b)` gives its part `[a:b]` along the first axis.

    A packed weight goes straight into the file it is kept in, without ever being whole in memory.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    rows: Callable[[int, int], Array]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        return prod(self.shape) * self.dtype.itemsize


def missing_weight(key: str, where: Operation | None = None) -> LaminaError:
    """The error of a module that refers to a weight which nobody has."""
    hint = "weights lie in a file beside the module, which its attribute lamina.weights names"
    return LaminaError(f"weight '{key}' is not there", where=where, hint=hint)


class WeightStore:
    """Arrays by key. Arrays are shared, never copied: memory-mapped files and zero-stride splats stay as they are."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array | Deferred] = {}
        self._alike: dict[tuple[str, tuple[int, ...], tuple[bool, ...], bytes], list[str]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def get(self, key: str) -> Array:
        """The array behind `key`, made now if it was deferred. Raises LaminaError when there is none."""
        array = self.peek(key)
        if isinstance(array, Deferred):
            array = self._arrays[key] = array.rows(0, array.shape[0])
        return array

    def peek(self, key: str) -> Array | Deferred:
        """What is behind `key` as it is kept: a deferred array is not made. Raises LaminaError when there is none."""
        try:
            return self._arrays[key]
        except KeyError:
            raise missing_weight(key) from None

    def nbytes(self, key: str) -> int:
        """Bytes of the array behind `key`."""
        return self.peek(key).nbytes

    def blocks(self, key: str) -> Iterator[Array]:
        """The elements behind `key` as contiguous arrays, in order; a deferred array is not kept."""
        array = self.peek(key)
        if not array.nbytes:
            return
        if isinstance(array, np.ndarray) and (array.ndim == 0 or array.flags.c_contiguous):
            yield np.ascontiguousarray(array)
            return
        step = max(1, BLOCK_BYTES * array.shape[0] // array.nbytes)
        for start in range(0, array.shape[0], step):
            stop = min(start + step, array.shape[0])
            part = array.rows(start, stop) if isinstance(array, Deferred) else array[start:stop]
            yield np.ascontiguousarray(part)

    def mapped_files(self) -> set[str]:
        """The files that arrays are mapped from."""
        return {str(a.filename) for a in self._arrays.values() if isinstance(a, np.memmap) and a.filename}

    def add(self, array: Array | Deferred, name: str = "weight") -> str:
        """Takes `array` in under a fresh key made from `name`; the same object twice gives the same key."""
        known = self._arrays.get(name)
        if known is array:
            return name
        key, n = name, 0
        while key in self._arrays:
            if self._arrays[key] is array:
                return key
            n += 1
            key = f"{name}_{n}"
        self._arrays[key] = array
        return key

    def add_equal(self, array: Array, name: str = "weight") -> str:
        """The key of an array that is equal in type and every bit, else as `add`: tied weights may be exported twice.

        Of arrays that differ in a few places that are looked at nothing else is read.
        """
        stored = _stored(array)
        size = stored.size
        some = stored.flat[[0, size // 3, size // 2, size - 1]].tobytes() if size else b""
        repeated = tuple(stride == 0 for stride in array.strides)
        alike = self._alike.setdefault((array.dtype.name, array.shape, repeated, some), [])
        for key in alike:
            other = self._arrays[key]
            if isinstance(other, np.ndarray) and _same_bits(_stored(other), stored):
                return key
        key = self.add(array, name)
        alike.append(key)
        return key

    def digest(self, key: str) -> str:
        """What changes when the array does: its dtype, shape and bytes, or for a mapped one, the file's identity."""
        array = self.get(key)
        told = f"{array.dtype}{array.shape}{array.strides}"
        if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap) and array.filename is not None:
            file = os.stat(array.filename)
            return f"{told}{array.filename}:{file.st_ino}:{file.st_size}:{file.st_mtime_ns}:{array.offset}"
        return told + hashlib.sha256(np.ascontiguousarray(_stored(array)).tobytes()).hexdigest()

    def save(self, path: Path, keys: Iterable[str]) -> None:
        """Writes the arrays behind `keys` in the safetensors format (header length, JSON header, bytes)."""
        header: dict[str, Any] = {}
        offset = 0
        chosen = [(key, self.peek(key)) for key in keys]
        for key, array in chosen:
            end = offset + array.nbytes
            header[key] = {"dtype": _CODES[array.dtype.name], "shape": array.shape, "data_offsets": [offset, end]}
            offset = end
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        try:
            with open(path, "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text)
                for key, _ in chosen:
                    for block in self.blocks(key):
                        block.tofile(file)
        except OSError as error:
            raise LaminaError(f"cannot write: {error.strerror}", where=str(path)) from error

    def load(self, path: Path) -> None:
        """Takes in every array of a safetensors file, memory-mapped. Raises LaminaError for a damaged one."""
        self._arrays |= mapped_arrays(path)


def is_splat_view(array: Array) -> bool:
    """Whether the strides alone say that all elements are one."""
    return all(size == 1 or stride == 0 for size, stride in zip(array.shape, array.strides, strict=True))


def _stored(array: Array) -> Array:
    """What is there of an array of which a stride of zero repeats the rest."""
    return array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]


def _same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays of one type and shape are the same, NaN and the sign of zero included; neither is copied."""
    if a.strides == b.strides and a.__array_interface__["data"] == b.__array_interface__["data"]:
        return True  # one initializer, met again
    step = max(1, BLOCK_BYTES // a.itemsize)
    first, second = (each.reshape(-1) if each.flags.c_contiguous else each.flat for each in (a, b))
    return all(first[i : i + step].tobytes() == second[i : i + step].tobytes() for i in range(0, a.size, step))


def mapped_arrays(path: Path) -> dict[str, Array]:
    """Every array of a safetensors file by its key, memory-mapped. Raises LaminaError for a damaged one."""
    arrays: dict[str, Array] = {}
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > size:
                raise LaminaError("damaged weights file: the header is longer than the file", where=str(path))
            header = json.loads(file.read(length))
        for key, entry in header.items():
            if key == "__metadata__":
                continue
            begin, end = (8 + length + o for o in entry["data_offsets"])
            dtype, shape = _dtype(entry["dtype"]), tuple(entry["shape"])
            if end > size or end - begin != dtype.itemsize * prod(shape):
                raise LaminaError(f"array '{key}' does not fit the file", where=str(path))
            arrays[key] = np.memmap(path, dtype, "r", begin, shape) if end > begin else np.zeros(shape, dtype)
    except OSError as error:
        raise LaminaError(f"cannot read the weights: {error.strerror}", where=str(path)) from error
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, StopIteration) as error:
        raise LaminaError(f"damaged weights file: {error}", where=str(path)) from error
    return arrays


@dataclass(frozen=True)
class Section:
    """Weights laid out in one stretch of memory, made where it is wanted: (key, offset, bytes) in rising order."""

    parts: Sequence[tuple[str, int, int]]
    weights: WeightStore

    @property
    def nbytes(self) -> int:
        """Bytes of the whole stretch."""
        return max((offset + nbytes for _, offset, nbytes in self.parts), default=0)

    def blocks(self) -> Iterator[Array]:
        """The bytes, in order, a block at a time. Raises LaminaError where a weight does not fit its place."""
        here = 0
        for key, offset, nbytes in self.parts:
            if (found := self.weights.nbytes(key)) != nbytes:
                raise LaminaError(f"weight '{key}' has {found} bytes, its place {nbytes}")
            if offset > here:
                yield np.zeros(offset - here, np.uint8)
            for block in self.weights.blocks(key):
                yield block.reshape(-1).view(np.uint8)
            here = offset + nbytes

    def write(self, memory: Array) -> None:
        """Fills `memory`, as many bytes."""
        here = 0
        for block in self.blocks():
            memory[here : here + block.nbytes] = block
            here += block.nbytes


# The dtype names of the safetensors format.
_CODES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
    "complex64": "C64",
    "complex128": "C128",
}


def _dtype(code: str) -> np.dtype[Any]:
    name = next(name for name, known in _CODES.items() if known == code)
    return dtype_named(name)
