"""Attributes of ONNX nodes as attributes of ops, and back to plain Python values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute

from ...compiler.diagnostics import LaminaError
from ...compiler.weights import Array, WeightStore
from .tensors import sparse_array, tensor_array
from .types import (
    MapType,
    OptionalType,
    SequenceType,
    element_code,
    element_type,
    numpy_dtype,
    tensor_type,
    type_of_dtype,
)

if TYPE_CHECKING:
    from onnx import AttributeProto, TypeProto

_INLINE_ELEMENTS = 64  # tensors up to this size are in the IR as text, larger ones in the weight store
_INLINE_DTYPES = frozenset(map(np.dtype, ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")))


def constant_attribute(array: Array, weights: WeightStore, name: str) -> Attribute:
    """`array` as a `dense` attribute when small, else as `dense_resource` with the array in `weights`."""
    type_ = TensorType(type_of_dtype(array.dtype), array.shape)
    if 0 < array.size <= _INLINE_ELEMENTS and array.dtype in _INLINE_DTYPES:
        return DenseIntOrFPElementsAttr.from_list(type_, array.reshape(-1).tolist())  # pyright: ignore
    return DenseResourceAttr.from_params(weights.add_equal(array, resource_key(name)), type_)


def resource_key(name: str) -> str:
    """`name` as a resource key, which must be an identifier.

    >>> resource_key("conv1/w:0"), resource_key("")
    ('conv1_w_0', 'weight')
    """
    key = re.sub(r"[^A-Za-z0-9_$]", "_", name)
    return key if key[:1].isalpha() or key[:1] == "_" else f"_{key}" if key else "weight"


def import_attribute(a: AttributeProto, weights: WeightStore, base: Path | None, place: str) -> Attribute:
    """The attribute that stands for `a`; graphs are regions instead. Raises LaminaError when malformed."""
    from onnx import AttributeProto as A

    match a.type:
        case A.INT:
            return IntegerAttr(a.i, i64)
        case A.FLOAT:
            return FloatAttr(a.f, f32)
        case A.STRING:
            return StringAttr(a.s.decode("utf-8", "replace"))
        case A.INTS:
            return DenseArrayBase(i64, BytesAttr(np.array(a.ints, "<i8").tobytes()))  # forests have millions
        case A.FLOATS:
            return DenseArrayBase(f32, BytesAttr(np.array(a.floats, "<f4").tobytes()))
        case A.STRINGS:
            return ArrayAttr([StringAttr(s.decode("utf-8", "replace")) for s in a.strings])
        case A.TENSOR:
            return constant_attribute(tensor_array(a.t, base, place), weights, a.t.name or a.name)
        case A.TENSORS:
            return ArrayAttr([constant_attribute(tensor_array(t, base, place), weights, t.name) for t in a.tensors])
        case A.SPARSE_TENSOR:
            return constant_attribute(sparse_array(a.sparse_tensor, base, place), weights, a.name)
        case A.TYPE_PROTO:
            return import_type(a.tp, place)
        case A.TYPE_PROTOS:
            return ArrayAttr([import_type(t, place) for t in a.type_protos])
        case _:
            raise LaminaError(f"attribute '{a.name}' has unknown type {a.type}", where=place)


def import_type(proto: TypeProto, place: str) -> Attribute:
    """The type that stands for `proto`. Raises LaminaError for an unknown element type or kind."""
    match proto.WhichOneof("value"):
        case "tensor_type" | "sparse_tensor_type" as kind:
            tensor = proto.tensor_type if kind == "tensor_type" else proto.sparse_tensor_type
            element = element_type(tensor.elem_type)
            if element is None:
                raise LaminaError(f"unknown data type {tensor.elem_type}", where=place)
            if not tensor.HasField("shape"):
                return tensor_type(element, None)
            dims = tensor.shape.dim
            return tensor_type(
                element, [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None for d in dims]
            )
        case "sequence_type":
            return SequenceType(import_type(proto.sequence_type.elem_type, place))
        case "optional_type":
            return OptionalType(import_type(proto.optional_type.elem_type, place))
        case "map_type":
            key = element_type(proto.map_type.key_type)
            if key is None:
                raise LaminaError(f"unknown key type {proto.map_type.key_type}", where=place)
            return MapType(key, import_type(proto.map_type.value_type, place))
        case kind:
            raise LaminaError(f"no type, or one of unknown kind {kind}", where=place)


def python_value(attribute: Attribute, weights: WeightStore) -> Any:
    """An attribute as int, float, str, a list of these, or an array; types stay as they are.

    >>> python_value(DenseArrayBase.from_list(i64, [1, 2]), WeightStore())
    [1, 2]
    """
    match attribute:
        case IntegerAttr():
            return attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return list(attribute.get_values())  # pyright: ignore[reportAttributeAccessIssue]
        case ArrayAttr():
            return [python_value(a, weights) for a in attribute]
        case DenseResourceAttr():
            return weights.get(attribute.resource_handle.data)
        case DenseIntOrFPElementsAttr():
            return dense_array(attribute)
        case TypeAttribute():
            return attribute
        case _:
            raise TypeError(f"no Python value for {attribute}")


def dense_array(attribute: DenseIntOrFPElementsAttr) -> Array:
    """The array of a `dense` attribute."""
    dtype = numpy_dtype(element_code(attribute.get_element_type()))
    return np.array(list(attribute.get_values()), dtype=dtype).reshape(attribute.get_shape())
