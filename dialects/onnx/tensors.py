"""Reads the tensors of an ONNX file: weights are mapped or viewed, not copied; sizes are checked first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.confined import file_below
from ...compiler.diagnostics import LaminaError
from ...compiler.weights import Array
from .types import element_type, numpy_dtype
from .wire import SELF

if TYPE_CHECKING:
    from onnx import SparseTensorProto, TensorProto

STRING = 8
_LARGEST_SPARSE = 1 << 30  # bytes of a sparse tensor once it is dense
_PACKED_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}  # DataType -> bits, for types that share bytes


def tensor_array(tensor: TensorProto, base: Path | None, place: str) -> Array:
    """The array of `tensor`; `base` is the folder external data may come from, None when there is none.

    Raises LaminaError for an unknown data type, a size that does not fit the shape, and external data that is
    missing, too short or outside `base`.
    """
    where = f"{place}: tensor '{tensor.name}'"
    dims = tuple(tensor.dims)
    if element_type(tensor.data_type) is None:
        raise LaminaError(f"unknown data type {tensor.data_type}", where=where)
    if any(dim < 0 for dim in dims):
        raise LaminaError(f"negative dimension in shape {list(dims)}", where=where)
    if tensor.data_location == 1:
        return _external(tensor, dims, base, place, where)
    if tensor.HasField("raw_data"):
        return _from_bytes(tensor.raw_data, tensor.data_type, dims, where)
    return _from_fields(tensor, dims, where)


def sparse_array(sparse: SparseTensorProto, base: Path | None, place: str) -> Array:
    """The dense array that `sparse` stands for. Raises LaminaError for what does not fit and what is too large."""
    values = tensor_array(sparse.values, base, place)
    indices = tensor_array(sparse.indices, base, place)
    where = f"{place}: tensor '{sparse.values.name}'"
    dims = tuple(sparse.dims)
    if any(dim < 0 for dim in dims):
        raise LaminaError(f"negative dimension in shape {list(dims)}", where=where)
    if math.prod(dims) * values.itemsize > _LARGEST_SPARSE:
        raise LaminaError(f"a sparse tensor of shape {list(dims)} is too large to write out", where=where)
    flat = indices.ndim == 1
    limits = np.array([math.prod(dims)] if flat else dims, np.int64)
    wanted = (values.size,) if flat else (values.size, len(dims))
    fits = values.ndim == 1 and indices.dtype == np.int64 and indices.shape == wanted
    if not fits or (indices < 0).any() or (indices >= limits).any():
        raise LaminaError(f"the indices of a sparse tensor are not places in shape {list(dims)}", where=where)
    dense = np.zeros(dims, values.dtype)
    if flat:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense


def _byte_count(code: int, dims: tuple[int, ...]) -> int:
    count = math.prod(dims)
    bits = _PACKED_BITS.get(code)
    return -(-count * bits // 8) if bits else count * numpy_dtype(code).itemsize


def _from_bytes(raw: Any, code: int, dims: tuple[int, ...], where: str) -> Array:
    expected, got = _byte_count(code, dims), len(raw)
    if code == STRING:
        raise LaminaError("strings cannot be raw data", where=where)
    if expected != got:
        shape = "x".join(map(str, dims)) or "scalar"
        raise LaminaError(f"shape {shape} needs {expected} bytes of data, the file has {got}", where=where)
    if code in _PACKED_BITS:
        return _unpack(np.frombuffer(raw, np.uint8), code, dims)
    return np.frombuffer(raw, numpy_dtype(code)).reshape(dims)  # little-endian, as the targets are


def _unpack(data: Array, code: int, dims: tuple[int, ...]) -> Array:
    """Elements of 2 or 4 bits, the first in the lowest bits, one per array element."""
    bits = _PACKED_BITS[code]
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = ((data[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[: math.prod(dims)].reshape(dims)
    dtype = numpy_dtype(code)
    if code == 23:  # a float: the bits are the value's encoding
        return parts.astype(np.uint8).view(dtype)
    if code in (22, 26):  # two's complement
        signed = parts.astype(np.int8)
        return np.where(signed >= 1 << (bits - 1), signed - (1 << bits), signed).astype(dtype)
    return parts.astype(dtype)


def _from_fields(tensor: TensorProto, dims: tuple[int, ...], where: str) -> Array:
    """The typed fields (float_data and so on), where each element is a number of its own."""
    from onnx import numpy_helper

    count = math.prod(dims)
    if tensor.data_type == STRING:
        got = len(tensor.string_data)
        if got != count:
            raise LaminaError(f"shape {list(dims)} needs {count} elements, the file has {got}", where=where)
        strings = np.empty(count, dtype=object)
        strings[:] = [s.decode("utf-8", "replace") for s in tensor.string_data]
        return strings.reshape(dims)
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise LaminaError(f"data does not fit shape {list(dims)}: {error}", where=where) from error
    return np.asarray(array).reshape(dims)


def _external(tensor: TensorProto, dims: tuple[int, ...], base: Path | None, file: str, where: str) -> Array:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    path = (
        Path(file)
        if location == SELF and base
        else file_below(location, base, f"external data '{location}'", "model", where)
    )
    expected = _byte_count(tensor.data_type, dims)
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", expected))
    except ValueError:
        raise LaminaError("offset and length of external data must be integers", where=where) from None
    if tensor.data_type == STRING or length != expected or offset < 0:
        raise LaminaError(f"shape {list(dims)} needs {expected} bytes, not {length}", where=where)
    size = path.stat().st_size
    if offset + length > size:
        raise LaminaError(
            f"external data '{location}' has {size} bytes, bytes {offset} to {offset + length} are wanted",
            where=where,
        )
    if expected == 0:
        return np.zeros(dims, numpy_dtype(tensor.data_type))
    if tensor.data_type in _PACKED_BITS:
        return _unpack(np.memmap(path, np.uint8, "r", offset, (length,)), tensor.data_type, dims)
    return np.memmap(path, numpy_dtype(tensor.data_type), "r", offset, dims)
