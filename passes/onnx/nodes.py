"""Making and reading nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...compiler.weights import Array, WeightStore
from ...dialects.onnx import OnnxOp, op_class
from ...dialects.onnx.attributes import constant_attribute, python_value
from ...dialects.onnx.ops import OPSETS

MICROSOFT = "com.microsoft"


def made(
    name: str, operands: Sequence[SSAValue], type_: Attribute, attributes: Mapping[str, Attribute] | None = None
) -> Operation:
    """A node with one result."""
    cls = op_class(name)
    assert cls is not None
    return cls.create(operands=operands, result_types=[type_], attributes=dict(attributes or {}))


def inserted(op: Operation, before: Operation) -> SSAValue:
    """The result of a node, put before another and located where that is."""
    assert before.parent is not None
    op.location = before.location
    before.parent.insert_op_before(op, before)
    return op.results[0]


def constant(array: Array, name: str, before: Operation, store: WeightStore) -> SSAValue:
    """An `onnx.Constant`; `name` is for the weight store."""
    attribute = constant_attribute(array, store, name)
    return inserted(made("onnx.Constant", [], attribute.type, {"value": attribute}), before)  # pyright: ignore


def constant_of(value: SSAValue, store: WeightStore) -> Array | None:
    """The elements of an `onnx.Constant`."""
    owner = value.owner
    if not isinstance(owner, OnnxOp) or owner.name != "onnx.Constant" or "value" not in owner.attributes:
        return None
    return np.asarray(python_value(owner.attributes["value"], store))


def attributes_of(op: OnnxOp, store: WeightStore) -> dict[str, object]:
    """What a node says, without what is ours."""
    return {name: python_value(attribute, store) for name, attribute in op.attributes.items() if "." not in name}


def import_microsoft(module: ModuleOp) -> None:
    """Notes that the graph uses operators of com.microsoft."""
    opsets = module.attributes.get(OPSETS)
    if isinstance(opsets, DictionaryAttr) and MICROSOFT not in opsets.data:
        module.attributes[OPSETS] = DictionaryAttr({**opsets.data, MICROSOFT: IntegerAttr(1, i64)})
