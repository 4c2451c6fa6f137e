"""Constants of StableHLO as NumPy arrays and back: small ones in the IR, large ones in the weight store."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...compiler.dtypes import dense_array, dense_attribute, dtype_of, element_type_of
from ...compiler.folding import constant_of
from ...compiler.weights import Array, WeightStore, missing_weight
from .ops_creation import ConstantOp

INLINE_ELEMENTS = 64
"""Constants of up to so many elements are written into the IR."""

__all__ = [
    "INLINE_ELEMENTS",
    "constant_attr",
    "constant_value",
    "dtype_of",
    "element_type_of",
    "integer_of",
    "make_constant",
]


def constant_value(value: SSAValue | Operation | Attribute, weights: WeightStore) -> Array | None:
    """The elements of a constant, None where `value` is none.

    Takes a value, the op that defines it, or the attribute itself; of any op whose `value` is one, so that
    `arith.constant` is read too. The array is shared: do not write to it. Its strides may be zero.

    Raises LaminaError where the weight store lacks the handle.
    """
    op = None
    if isinstance(value, SSAValue):
        if not isinstance(value.owner, Operation):
            return None
        value = value.owner
    if isinstance(value, Operation):
        op = value
        attr = value.properties.get("value")
        if attr is None or len(value.results) != 1 or value.operands:
            return None
        value = attr
    if isinstance(value, DenseResourceAttr):
        if (key := value.resource_handle.data) not in weights:
            raise missing_weight(key, op)
        return weights.get(key)
    if isinstance(value, DenseIntOrFPElementsAttr) and isinstance(value.type, TensorType):
        return dense_array(value)
    return None


def constant_attr(array: Array, weights: WeightStore, name: str = "weight") -> Attribute:
    """`dense<..>` for small arrays and scalars, else `dense_resource<key>` with the array put into the store."""
    if array.size <= INLINE_ELEMENTS:
        return dense_attribute(array)
    kind = TensorType(element_type_of(array.dtype), array.shape)
    return DenseResourceAttr.from_params(weights.add_equal(array, name), kind)


def make_constant(array: Array, weights: WeightStore, name: str = "weight") -> ConstantOp:
    """A constant op with the array's elements; large arrays go into the store under a key made from `name`."""
    # a mapped file must stay the object it is, or the store would take it for another array
    attr = constant_attr(np.asanyarray(array), weights, name)
    assert isinstance(attr, DenseIntOrFPElementsAttr | DenseResourceAttr)
    return ConstantOp(attr)


def integer_of(value: SSAValue) -> int | None:
    """The integer that `value`, a constant without dimensions, holds; None where it is none."""
    constant = constant_of(value)
    if not isinstance(constant, DenseIntOrFPElementsAttr) or constant.get_shape():
        return None
    array = dense_array(constant)
    return int(array) if np.issubdtype(array.dtype, np.integer) else None
