"""Element types of the IR and NumPy dtypes, one to one, and the arrays that attributes hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ComplexType,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    ShapedType,
    Signedness,
)
from xdsl.ir import Attribute, TypeAttribute

from .diagnostics import LaminaError
from .weights import Array

DType = np.dtype[Any]


class StoredType(TypeAttribute, ABC):
    """An element type whose arrays hold elements of another: quantised numbers are integers in memory."""

    @property
    @abstractmethod
    def storage_type(self) -> Attribute:
        """The element type of the arrays."""


_FLOATS: dict[type[Attribute], Any] = {
    builtin.Float16Type: np.float16,
    builtin.Float32Type: np.float32,
    builtin.Float64Type: np.float64,
    builtin.BFloat16Type: ml_dtypes.bfloat16,
    builtin.Float8E3M4Type: ml_dtypes.float8_e3m4,
    builtin.Float8E4M3Type: ml_dtypes.float8_e4m3,
    builtin.Float8E4M3FNType: ml_dtypes.float8_e4m3fn,
    builtin.Float8E4M3FNUZType: ml_dtypes.float8_e4m3fnuz,
    builtin.Float8E4M3B11FNUZType: ml_dtypes.float8_e4m3b11fnuz,
    builtin.Float8E5M2Type: ml_dtypes.float8_e5m2,
    builtin.Float8E5M2FNUZType: ml_dtypes.float8_e5m2fnuz,
    builtin.Float8E8M0FNUType: ml_dtypes.float8_e8m0fnu,
    builtin.Float6E2M3FNType: ml_dtypes.float6_e2m3fn,
    builtin.Float6E3M2FNType: ml_dtypes.float6_e3m2fn,
    builtin.Float4E2M1FNType: ml_dtypes.float4_e2m1fn,
}
_SIGNED: dict[int, Any] = {
    1: np.bool_,
    2: ml_dtypes.int2,
    4: ml_dtypes.int4,
    8: np.int8,
    16: np.int16,
    32: np.int32,
    64: np.int64,
}
_UNSIGNED: dict[int, Any] = {
    2: ml_dtypes.uint2,
    4: ml_dtypes.uint4,
    8: np.uint8,
    16: np.uint16,
    32: np.uint32,
    64: np.uint64,
}


def dtype_of(type_: Attribute) -> DType:
    """The NumPy dtype of an element type, or of a shaped type's elements. i1 is bool, signless is signed.

    >>> dtype_of(builtin.i32), dtype_of(builtin.TensorType(builtin.bf16, [2]))
    (dtype('int32'), dtype(bfloat16))

    Raises LaminaError for a type that has no array form (tokens, f80).
    """
    if isinstance(type_, ShapedType):
        type_ = cast(Any, type_).element_type
    if isinstance(type_, StoredType):
        type_ = type_.storage_type
    scalar: Any = None
    match type_:
        case IntegerType():
            table = _UNSIGNED if type_.signedness.data == Signedness.UNSIGNED else _SIGNED
            scalar = table.get(type_.width.data)
        case IndexType():
            scalar = np.int64
        case ComplexType():
            scalar = {"f32": np.complex64, "f64": np.complex128}.get(cast(Any, type_.element_type).name)
        case _:
            scalar = _FLOATS.get(type(type_))
    if scalar is None:
        raise LaminaError(f"element type '{type_}' has no array form")
    return np.dtype(scalar)


def element_type_of(dtype: DType | type[Any]) -> Attribute:
    """The element type whose arrays have `dtype`; the inverse of `dtype_of` (int64 gives i64, not index).

    >>> str(element_type_of(np.dtype("uint8"))), str(element_type_of(np.bool_))
    ('ui8', 'i1')

    Raises LaminaError for a dtype the IR cannot hold (strings, objects, records).
    """
    dtype = np.dtype(dtype)
    for width, scalar in _SIGNED.items():
        if dtype == scalar:
            return IntegerType(width)
    for width, scalar in _UNSIGNED.items():
        if dtype == scalar:
            return IntegerType(width, Signedness.UNSIGNED)
    for class_, scalar in _FLOATS.items():
        if dtype == scalar:
            return class_()
    if dtype == np.complex64:
        return ComplexType(builtin.Float32Type())
    if dtype == np.complex128:
        return ComplexType(builtin.Float64Type())
    raise LaminaError(f"arrays of dtype {dtype} have no element type in the IR")


def dense_array(attr: DenseIntOrFPElementsAttr[Any]) -> Array:
    """The elements of a `dense<...>` attribute in its shape, read-only, without a copy where widths allow."""
    dtype = dtype_of(attr.type)
    raw = attr.data.data
    shape = attr.get_shape()
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.zeros(shape, dtype)
    width = len(raw) // count
    if dtype == np.bool_:
        return np.frombuffer(raw, f"u{width}").astype(bool).reshape(shape)
    if dtype.itemsize == width and "int" not in dtype.name:
        return np.frombuffer(raw, np.uint8).view(dtype).reshape(shape)
    return np.frombuffer(raw, f"i{width}").astype(dtype).reshape(shape)


def dense_attribute(array: Array) -> DenseIntOrFPElementsAttr[Any]:
    """`dense<...>` with the elements of `array`, each written out: the inverse of `dense_array`, for small arrays.

    >>> str(dense_attribute(np.array([1, 2], np.int8)))
    'dense<[1, 2]> : tensor<2xi8>'
    """
    element = cast(Any, element_type_of(array.dtype))
    type_ = builtin.TensorType(element, array.shape)
    if array.dtype == np.bool_ or array.dtype.itemsize != element.compile_time_size:
        return DenseIntOrFPElementsAttr.from_list(cast(Any, type_), [int(v) for v in array.reshape(-1)])
    return DenseIntOrFPElementsAttr(cast(Any, type_), builtin.BytesAttr(np.ascontiguousarray(array).tobytes()))
