"""Bytes outside the IR text: element types as NumPy dtypes, blobs of `dialect_resources`, and weight files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ComplexType, IndexType, IntegerType, ShapedType, Signedness
from xdsl.ir import Attribute

from .diagnostics import LaminaError
from .weights import Array, WeightStore

_FLOATS: dict[type[Attribute], np.dtype[np.generic]] = {
    builtin.Float16Type: np.dtype(np.float16),
    builtin.Float32Type: np.dtype(np.float32),
    builtin.Float64Type: np.dtype(np.float64),
    builtin.BFloat16Type: np.dtype(ml_dtypes.bfloat16),
    builtin.Float8E4M3FNType: np.dtype(ml_dtypes.float8_e4m3fn),
    builtin.Float8E5M2Type: np.dtype(ml_dtypes.float8_e5m2),
    builtin.Float8E4M3FNUZType: np.dtype(ml_dtypes.float8_e4m3fnuz),
    builtin.Float8E5M2FNUZType: np.dtype(ml_dtypes.float8_e5m2fnuz),
}
_SMALL_INTEGERS = {
    (4, False): np.dtype(ml_dtypes.int4),
    (4, True): np.dtype(ml_dtypes.uint4),
    (2, False): np.dtype(ml_dtypes.int2),
    (2, True): np.dtype(ml_dtypes.uint2),
}


def dtype_of(element_type: Attribute) -> np.dtype[np.generic]:
    """The NumPy dtype that holds values of an element type; signless integers are signed, i1 is bool.

    Raises LaminaError for types that NumPy and ml_dtypes cannot hold.

    >>> dtype_of(builtin.f32), dtype_of(builtin.i1)
    (dtype('float32'), dtype('bool'))
    """
    match element_type:
        case IndexType():
            return np.dtype(np.int64)
        case IntegerType():
            width, unsigned = element_type.width.data, element_type.signedness.data is Signedness.UNSIGNED
            if width == 1:
                return np.dtype(np.bool_)
            if (width, unsigned) in _SMALL_INTEGERS:
                return _SMALL_INTEGERS[width, unsigned]
            if width in (8, 16, 32, 64):
                return np.dtype(f"{'u' if unsigned else 'i'}{width // 8}")
        case ComplexType():
            return np.dtype(np.complex64 if element_type.element_type == builtin.f32 else np.complex128)
        case _:
            if type(element_type) in _FLOATS:
                return _FLOATS[type(element_type)]
    raise LaminaError(f"element type {element_type} has no NumPy counterpart")


# Blobs: MLIR writes 0x, the alignment as four little-endian bytes, then the data.


def bytes_from_hex(text: str) -> bytes:
    """The data of a blob as MLIR prints it. Raises ValueError when it is not one.

    >>> bytes_from_hex("0x040000000000803F")
    b'\\x00\\x00\\x80?'
    """
    if not text.startswith("0x") or len(text) < 10:
        raise ValueError(f"expected 0x and the hexadecimal digits of alignment and data, got '{text[:20]}'")
    return bytes.fromhex(text[10:])


def blob_to_array(key: str, blob: bytes, type_: ShapedType) -> Array:
    """The blob behind `dense_resource<key> : type_` as an array. Raises LaminaError when its size is another."""
    shape = type_.get_shape()
    dtype = dtype_of(type_.get_element_type())  # pyright: ignore[reportAttributeAccessIssue]
    expected = int(np.prod(shape)) * dtype.itemsize
    if len(blob) != expected:
        raise LaminaError(f"resource '{key}' holds {len(blob)} bytes, but {type_} needs {expected}")
    return np.frombuffer(blob, dtype).reshape(shape)


def resource_section(weights: WeightStore, keys: Iterable[str]) -> str:
    """The `{-# dialect_resources ... #-}` text of the weights under `keys`; keys without bytes are left out."""
    entries = [
        f'      {quote_key(key)}: "0x{weights.get(key).dtype.itemsize:02X}000000{weights.get(key).tobytes().hex().upper()}"'
        for key in keys
        if key in weights
    ]
    if not entries:
        return ""
    return "{-#\n  dialect_resources: {\n    builtin: {\n" + ",\n".join(entries) + "\n    }\n  }\n#-}\n"


def quote_key(key: str) -> str:
    """A resource key as IR text: bare where it is an identifier, else a string.

    >>> print(quote_key("w0"), quote_key("conv/w:0"))
    w0 "conv/w:0"
    """
    bare = key.replace("_", "a").replace(".", "a").replace("$", "a")
    if key.isascii() and bare.isalnum() and not key[0].isdigit():
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Weight files: an .npz; types NumPy has no name for are kept as raw bytes with the type in the entry's name.


def save_weights(weights: WeightStore, path: Path, keys: Iterable[str]) -> None:
    """Writes the arrays under `keys` to `path`, an .npz file."""
    arrays: dict[str, Array] = {}
    for key in keys:
        array = weights.get(key)
        native = array.dtype.isbuiltin == 1
        raw = array if native else np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
        arrays[f"{key}|{array.dtype.name}"] = raw
    with path.open("wb") as file:
        np.savez(file, **arrays)


def load_weights(weights: WeightStore, path: Path) -> None:
    """Adds the arrays of an .npz file to the store. Raises LaminaError when it is not one."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            for name in archive.files:
                key, _, dtype = name.partition("|")
                array = archive[name]
                if key not in weights:
                    weights.add(array.view(np.dtype(dtype)) if dtype else array, key)
    except (OSError, ValueError, TypeError) as error:
        raise LaminaError(f"cannot read weights: {error}", where=str(path)) from error
