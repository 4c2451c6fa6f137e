"""Element types and NumPy dtypes: the one table between them, and dense attributes to and from arrays."""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    BFloat16Type,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute

Array = np.ndarray[Any, np.dtype[Any]]

_FLOATS: dict[type[Attribute], Any] = {
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
    BFloat16Type: ml_dtypes.bfloat16,
}
for _name, _dtype in {
    "Float8E4M3Type": "float8_e4m3",
    "Float8E4M3FNType": "float8_e4m3fn",
    "Float8E4M3FNUZType": "float8_e4m3fnuz",
    "Float8E4M3B11FNUZType": "float8_e4m3b11fnuz",
    "Float8E5M2Type": "float8_e5m2",
    "Float8E5M2FNUZType": "float8_e5m2fnuz",
    "Float8E3M4Type": "float8_e3m4",
    "Float8E8M0FNUType": "float8_e8m0fnu",
    "Float4E2M1FNType": "float4_e2m1fn",
    "Float6E2M3FNType": "float6_e2m3fn",
    "Float6E3M2FNType": "float6_e3m2fn",
}.items():
    if hasattr(builtin, _name) and hasattr(ml_dtypes, _dtype):
        _FLOATS[getattr(builtin, _name)] = getattr(ml_dtypes, _dtype)

_ODD_INTEGERS = {
    (2, False): ml_dtypes.int2,
    (4, False): ml_dtypes.int4,
    (2, True): ml_dtypes.uint2,
    (4, True): ml_dtypes.uint4,
}


def dtype_of(element_type: Attribute) -> np.dtype[Any]:
    """The NumPy dtype that holds elements of this type; raises ValueError where there is none.

    >>> str(dtype_of(IntegerType(8, Signedness.UNSIGNED))), str(dtype_of(IntegerType(1)))
    ('uint8', 'bool')
    """
    if isinstance(element_type, IntegerType):
        width, unsigned = element_type.width.data, element_type.signedness.data is Signedness.UNSIGNED
        if width == 1:
            return np.dtype(np.bool_)
        if width in (8, 16, 32, 64):
            return np.dtype(f"{'u' if unsigned else ''}int{width}")
        if (width, unsigned) in _ODD_INTEGERS:
            return np.dtype(_ODD_INTEGERS[width, unsigned])
    elif isinstance(element_type, IndexType):
        return np.dtype(np.int64)
    elif isinstance(element_type, ComplexType):
        part = element_type.element_type
        if isinstance(part, Float32Type | Float64Type):
            return np.dtype(np.complex64 if isinstance(part, Float32Type) else np.complex128)
    elif type(element_type) in _FLOATS:
        return np.dtype(_FLOATS[type(element_type)])
    raise ValueError(f"no NumPy dtype for element type {element_type}")


def _known_types() -> dict[np.dtype[Any], Attribute]:
    table: dict[np.dtype[Any], Attribute] = {np.dtype(np.bool_): builtin.i1}
    for width in (8, 16, 32, 64):
        table[np.dtype(f"int{width}")] = IntegerType(width)
        table[np.dtype(f"uint{width}")] = IntegerType(width, Signedness.UNSIGNED)
    for (width, unsigned), dtype in _ODD_INTEGERS.items():
        table[np.dtype(dtype)] = IntegerType(width, Signedness.UNSIGNED if unsigned else Signedness.SIGNLESS)
    for kind, dtype in _FLOATS.items():
        table[np.dtype(dtype)] = kind()
    table[np.dtype(np.complex64)] = ComplexType(builtin.f32)
    table[np.dtype(np.complex128)] = ComplexType(builtin.f64)
    return table


_TYPES = _known_types()


def element_type_of(dtype: np.dtype[Any]) -> Attribute:
    """The element type of arrays of this dtype; raises ValueError where there is none."""
    dtype = np.dtype(dtype)
    if dtype not in _TYPES:
        raise ValueError(f"no element type for NumPy dtype {dtype}")
    return _TYPES[dtype]


def tensor_type(array: Array) -> TensorType:
    """The type of an array as a tensor."""
    return TensorType(element_type_of(array.dtype), array.shape)


def dense_attr(array: Array) -> DenseIntOrFPElementsAttr:
    """`dense<...>` with the array's elements, all of them written out: for small arrays."""
    kind = tensor_type(array)
    element = kind.element_type
    if isinstance(element, IntegerType):
        return DenseIntOrFPElementsAttr.from_list(cast(Any, kind), [int(v) for v in array.reshape(-1)])
    if isinstance(element, ComplexType) or type(element) in (Float16Type, Float32Type, Float64Type):
        data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        return DenseIntOrFPElementsAttr(cast(Any, kind), BytesAttr(data))
    return DenseIntOrFPElementsAttr.from_list(cast(Any, kind), [float(v) for v in array.reshape(-1)])


def dense_array(attr: DenseIntOrFPElementsAttr) -> Array:
    """The elements of `dense<...>` as a read-only array of its shape."""
    kind = cast(TensorType, attr.type)
    element, shape = kind.element_type, kind.get_shape()
    dtype = dtype_of(element)
    if isinstance(element, ComplexType) or type(element) in (Float16Type, Float32Type, Float64Type):
        return (
            np.frombuffer(attr.data.data, dtype=dtype.newbyteorder("<"))
            .astype(dtype, copy=False)
            .reshape(shape)
        )
    if isinstance(element, IntegerType) and element.width.data in (8, 16, 32, 64):
        return np.frombuffer(attr.data.data, dtype=dtype).reshape(shape)
    array = np.array(list(attr.get_values()), dtype=dtype).reshape(shape)
    array.flags.writeable = False
    return array


def unsigned64(value: int) -> IntegerAttr:
    """`value : ui64`."""
    return IntegerAttr(value, IntegerType(64, Signedness.UNSIGNED))
