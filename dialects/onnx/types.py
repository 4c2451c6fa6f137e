"""Types of the onnx level: tensors are MLIR's, what MLIR has no type for is named here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, Signedness, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """A string, as an element of a tensor: `tensor<2x!onnx.string>`."""

    name = "onnx.string"


@irdl_attr_definition
class UnknownType(ParametrizedAttribute, TypeAttribute):
    """The type of a value about which neither the file nor shape inference says anything."""

    name = "onnx.unknown"


@irdl_attr_definition
class SequenceType(ParametrizedAttribute, TypeAttribute):
    """A sequence of values of one type: `!onnx.seq<tensor<?xf32>>`."""

    name = "onnx.seq"
    element_type: Attribute


@irdl_attr_definition
class OptionalType(ParametrizedAttribute, TypeAttribute):
    """A value or nothing: `!onnx.optional<tensor<f32>>`."""

    name = "onnx.optional"
    element_type: Attribute


@irdl_attr_definition
class MapType(ParametrizedAttribute, TypeAttribute):
    """A map from keys to values of one type each: `!onnx.map<i64, tensor<f32>>`."""

    name = "onnx.map"
    key_type: Attribute
    value_type: Attribute


def _unsigned(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


@cache
def _elements() -> dict[int, tuple[Attribute, np.dtype[Any]]]:
    """TensorProto.DataType -> (element type, dtype). Signed integers are signless, as in StableHLO."""
    table: dict[int, tuple[Attribute, Any]] = {
        1: (builtin.f32, np.float32),
        2: (_unsigned(8), np.uint8),
        3: (IntegerType(8), np.int8),
        4: (_unsigned(16), np.uint16),
        5: (IntegerType(16), np.int16),
        6: (builtin.i32, np.int32),
        7: (builtin.i64, np.int64),
        8: (StringType(), np.object_),
        9: (builtin.i1, np.bool_),
        10: (builtin.f16, np.float16),
        11: (builtin.f64, np.float64),
        12: (_unsigned(32), np.uint32),
        13: (_unsigned(64), np.uint64),
        14: (builtin.ComplexType(builtin.f32), np.complex64),
        15: (builtin.ComplexType(builtin.f64), np.complex128),
        16: (builtin.bf16, ml_dtypes.bfloat16),
        17: (builtin.Float8E4M3FNType(), ml_dtypes.float8_e4m3fn),
        18: (builtin.Float8E4M3FNUZType(), ml_dtypes.float8_e4m3fnuz),
        19: (builtin.Float8E5M2Type(), ml_dtypes.float8_e5m2),
        20: (builtin.Float8E5M2FNUZType(), ml_dtypes.float8_e5m2fnuz),
        21: (_unsigned(4), ml_dtypes.uint4),
        22: (IntegerType(4), ml_dtypes.int4),
        23: (builtin.Float4E2M1FNType(), ml_dtypes.float4_e2m1fn),
        24: (builtin.Float8E8M0FNUType(), ml_dtypes.float8_e8m0fnu),
        25: (_unsigned(2), ml_dtypes.uint2),
        26: (IntegerType(2), ml_dtypes.int2),
    }
    return {code: (type_, np.dtype(dtype)) for code, (type_, dtype) in table.items()}


def element_type(code: int) -> Attribute | None:
    """The element type of a TensorProto.DataType, None when there is no such code."""
    entry = _elements().get(code)
    return entry[0] if entry else None


def numpy_dtype(code: int) -> np.dtype[Any]:
    """NumPy's dtype of a TensorProto.DataType. Raises KeyError when there is no such code."""
    return _elements()[code][1]


@cache
def _codes() -> dict[Attribute, int]:
    return {type_: code for code, (type_, _) in _elements().items()}


@cache
def _codes_of_dtypes() -> dict[np.dtype[Any], int]:
    return {dtype: code for code, (_, dtype) in _elements().items()}


def element_code(type_: Attribute) -> int:
    """The TensorProto.DataType of an element type. Raises KeyError when ONNX has none."""
    return _codes()[type_]


def type_name(type_: Attribute) -> str:
    """What ONNX calls an element type: float, int64, float8e4m3fn, ...

    >>> type_name(builtin.f32)
    'float'
    """
    from onnx import TensorProto

    return TensorProto.DataType.Name(element_code(type_)).lower()


def type_of_dtype(dtype: np.dtype[Any]) -> Attribute:
    """The element type of a NumPy dtype. Raises KeyError when ONNX has none."""
    return _elements()[_codes_of_dtypes()[dtype]][0]


def tensor_type(element: Attribute, shape: Sequence[int | None] | None) -> Attribute:
    """A tensor type; None for a dimension or for the whole shape means unknown.

    >>> print(tensor_type(builtin.f32, [2, None]), tensor_type(builtin.f32, None))
    tensor<2x?xf32> tensor<*xf32>
    """
    if shape is None:
        return UnrankedTensorType(element)
    return TensorType(element, [DYNAMIC_INDEX if dim is None else dim for dim in shape])
