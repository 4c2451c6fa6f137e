"""The bytes behind `dense_resource`, as MLIR writes them in the `dialect_resources` section of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    ContainerType,
    DenseResourceAttr,
    DictionaryAttr,
    IntegerType,
    ShapedType,
    Signedness,
    StringAttr,
)
from xdsl.ir import Attribute, Operation

from .diagnostics import LaminaError
from .dtypes import DType, dtype_of
from .weights import Array, WeightStore, missing_weight

# Blobs: MLIR writes 0x, the alignment as four little-endian bytes, then the data.


def bytes_from_hex(text: str) -> bytes:
    """The data of a blob as MLIR prints it. Raises ValueError when it is not one.

    >>> bytes_from_hex("0x040000000000803F")
    b'\\x00\\x00\\x80?'
    """
    if not text.startswith("0x") or len(text) < 10:
        raise ValueError(f"expected 0x and the hexadecimal digits of alignment and data, got '{text[:20]}'")
    return bytes.fromhex(text[10:])


def blob_to_array(key: str, blob: bytes, type_: ShapedType | None) -> Array:
    """The blob behind `dense_resource<key> : type_` as an array, or as bytes where no type is said.

    Raises LaminaError when its size is another.
    """
    if type_ is None:
        return np.frombuffer(blob, np.uint8)
    shape = type_.get_shape()
    assert isinstance(type_, Attribute)
    dtype = dtype_of(type_)
    expected = prod(shape) * dtype.itemsize
    if len(blob) != expected:
        raise LaminaError(f"resource '{key}' holds {len(blob)} bytes, but {type_} needs {expected}")
    return np.frombuffer(blob, dtype).reshape(shape)


def resource_keys(module: Operation) -> Iterator[str]:
    """The key of every weight that `module` refers to, in order, repeats included."""
    for op in module.walk():
        yield from _listed(op)
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attribute, DenseResourceAttr):
                yield attribute.resource_handle.data


def _listed(op: Operation) -> Iterator[str]:
    """The weights that an operation lists: on the level of buffers and below constants lie where `*.constants` says."""
    for name, attribute in op.attributes.items():
        if name.endswith(".constants") and isinstance(attribute, ArrayAttr):
            for entry in attribute.data:
                key = entry.data.get("key") if isinstance(entry, DictionaryAttr) else None
                if isinstance(key, StringAttr):
                    yield key.data


def check_resources(module: Operation, weights: WeightStore) -> None:
    """Raises LaminaError for weights that `module` refers to and that are not there, or are of another type."""
    for op in module.walk():
        for key in _listed(op):
            if key not in weights:
                raise missing_weight(key, op)
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if not isinstance(attribute, DenseResourceAttr):
                continue
            key, kind = attribute.resource_handle.data, attribute.type
            if key not in weights:
                raise missing_weight(key, op)
            array = weights.peek(key)
            if array.shape != kind.get_shape() or not _holds(array.dtype, kind):  # pyright: ignore[reportArgumentType]
                held = f"{array.dtype}{list(array.shape)}"
                raise LaminaError(f"resource '{key}' holds {held}, expected {kind}", where=op)


def _holds(dtype: DType, kind: Attribute) -> bool:
    """Whether arrays of `dtype` are of a type's elements. Signless integers are what unsigned ones became, too."""
    wanted = dtype_of(kind)
    element = kind.get_element_type() if isinstance(kind, ContainerType) else kind
    signless = isinstance(element, IntegerType) and element.signedness.data == Signedness.SIGNLESS
    return dtype == wanted or (
        signless and dtype.kind == "u" and wanted.kind == "i" and dtype.itemsize == wanted.itemsize
    )


def resource_section(weights: WeightStore, keys: Iterable[str]) -> str:
    """The `{-# dialect_resources ... #-}` text of the weights under `keys`; keys without bytes are left out."""
    entries = [f'      {quote_key(key)}: "{_hex(weights.get(key))}"' for key in keys if key in weights]
    if not entries:
        return ""
    return "{-#\n  dialect_resources: {\n    builtin: {\n" + ",\n".join(entries) + "\n    }\n  }\n#-}\n"


def _hex(array: Array) -> str:
    return f"0x{array.dtype.itemsize:02X}000000{array.tobytes().hex().upper()}"


def quote_key(key: str) -> str:
    """A resource key as IR text: bare where it is an identifier, else a string.

    >>> print(quote_key("w0"), quote_key("conv/w:0"))
    w0 "conv/w:0"
    """
    bare = key.replace("_", "a").replace(".", "a").replace("$", "a")
    if key.isascii() and bare.isalnum() and not key[0].isdigit():
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
