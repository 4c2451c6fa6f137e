"""Writes the onnx level back as a model without its large weights: what ONNX's own tools can reason about."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NoneType,
    TensorType,
    UnrankedTensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, SSAValue

from ...compiler.diagnostics import LaminaError
from ...compiler.weights import WeightStore
from .attributes import python_value
from .ops import OPSETS, NoValueOp, OnnxOp, YieldOp
from .schemas import DEFAULT_DOMAIN, newest_opset
from .types import OptionalType, SequenceType, UnknownType, element_code

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TypeProto

_KEPT_ELEMENTS = 256


def save_skeleton(
    module: ModuleOp, function: FuncOp, weights: WeightStore
) -> tuple[ModelProto, Mapping[SSAValue, str]]:
    """`function` as a model, and the name each value has there.

    Tensors of more than 256 elements keep type and shape only. Raises LaminaError for ops of other dialects.
    """
    from onnx import helper

    writer = GraphWriter(weights)
    graph = writer.graph(function.body.block, function.sym_name.data)
    model = helper.make_model(graph, opset_imports=opset_imports(module))
    return model, writer.names


def opset_imports(module: ModuleOp) -> list[object]:
    """The version of each domain that the module says it is written in."""
    from onnx import helper

    opsets = module.attributes.get(OPSETS)
    if not isinstance(opsets, DictionaryAttr):
        return [helper.make_opsetid("", newest_opset())]
    return [
        helper.make_opsetid("" if domain == DEFAULT_DOMAIN else domain, version.value.data)
        for domain, version in opsets.data.items()
        if isinstance(version, IntegerAttr)
    ]


class GraphWriter:
    """Writes blocks as graphs; large tensors keep type and shape only."""

    def __init__(self, weights: WeightStore):
        self.weights = weights
        self.names: dict[SSAValue, str] = {}
        self.fresh = count()

    def name(self, value: SSAValue) -> str:
        """The value's name in the model; absent inputs are called ""."""
        if value.type == NoneType():
            return ""
        if value not in self.names:
            self.names[value] = f"v{next(self.fresh)}"
        return self.names[value]

    def node_name(self, op: OnnxOp) -> str:
        """What the node that stands for `op` is called."""
        return ""

    def output_type(self, kind: Attribute) -> TypeProto:
        """The type of an output, its symbolic dimensions left to inference."""
        if isinstance(kind, TensorType) and not kind.has_static_shape():
            return type_proto(UnrankedTensorType(kind.element_type))
        return type_proto(kind)

    def graph(self, block: Block, name: str) -> GraphProto:
        """The ops of `block`, its arguments and what it returns. Raises LaminaError for ops of other dialects."""
        from onnx import GraphProto

        graph = GraphProto(name=name)
        for arg in block.args:
            graph.input.add(name=self.name(arg)).type.CopyFrom(type_proto(arg.type))
        for op in block.ops:
            if isinstance(op, OnnxOp):
                self._op(op, graph)
            elif isinstance(op, ReturnOp | YieldOp):
                for operand in op.operands:
                    graph.output.add(name=self.name(operand)).type.CopyFrom(
                        # what is also an input keeps its type: inference would take the open one for both
                        type_proto(operand.type) if operand in block.args else self.output_type(operand.type)
                    )
            elif not isinstance(op, NoValueOp):
                raise LaminaError(f"'{op.name}' is no ONNX operator", where=op)
        return graph

    def _op(self, op: OnnxOp, graph: GraphProto) -> None:
        if op.name == "onnx.Constant" and "value" in op.attributes:
            self.constant(op, graph)
            return
        node: NodeProto = graph.node.add(op_type=op.operator)
        node.domain = "" if op.domain == DEFAULT_DOMAIN else op.domain
        node.name = self.node_name(op)
        node.input.extend(self.name(operand) for operand in op.operands)
        node.output.extend(self.name(result) for result in op.results)
        for name, attribute in op.attributes.items():
            if "." not in name:
                self._attribute(node, name, attribute)
        for name, region in zip(op.region_names, op.regions, strict=True):
            entry = node.attribute.add(name=name, type=5)  # GRAPH
            entry.g.CopyFrom(self.graph(region.block, name))

    def constant(self, op: OnnxOp, graph: GraphProto) -> None:
        """Writes the tensor of an `onnx.Constant` as an initialiser."""
        from onnx import TensorProto, numpy_helper

        array = python_value(op.attributes["value"], self.weights)
        name = self.name(op.results[0])
        if array.size <= _KEPT_ELEMENTS and array.dtype != object:
            graph.initializer.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
            return
        kind = op.results[0].type
        assert isinstance(kind, TensorType)
        stripped = graph.initializer.add(name=name, data_type=element_code(kind.element_type))
        stripped.dims.extend(array.shape)
        stripped.data_location = TensorProto.EXTERNAL
        stripped.external_data.add(key="location", value="stripped")

    def _attribute(self, node: NodeProto, name: str, attribute: Attribute) -> None:
        from onnx import AttributeProto, helper, numpy_helper

        value = python_value(attribute, self.weights)
        if isinstance(attribute, DenseArrayBase) and value:  # `make_attribute` looks at each of millions
            if isinstance(attribute.elt_type, IntegerType):
                node.attribute.add(name=name, type=AttributeProto.INTS).ints.extend(value)
            else:
                node.attribute.add(name=name, type=AttributeProto.FLOATS).floats.extend(value)
            return
        if isinstance(value, np.ndarray):
            value = numpy_helper.from_array(np.asarray(value, order="C"))
        elif isinstance(value, Attribute):
            value = type_proto(value)
        if not (isinstance(value, list) and not value):
            node.attribute.append(helper.make_attribute(name, value))


def type_proto(kind: Attribute) -> TypeProto:
    """The type as ONNX writes it; symbolic dimensions are left open."""
    from onnx import TypeProto

    proto = TypeProto()
    match kind:
        case TensorType():
            proto.tensor_type.elem_type = element_code(kind.element_type)
            proto.tensor_type.shape.SetInParent()
            for n in kind.get_shape():
                dim = proto.tensor_type.shape.dim.add()
                if n != DYNAMIC_INDEX:
                    dim.dim_value = n
        case UnrankedTensorType():
            proto.tensor_type.elem_type = element_code(kind.element_type)
        case SequenceType():
            proto.sequence_type.elem_type.CopyFrom(type_proto(kind.element_type))
        case OptionalType():
            proto.optional_type.elem_type.CopyFrom(type_proto(kind.element_type))
        case UnknownType():
            pass
        case _:
            raise LaminaError(f"type {kind} cannot be written to a model")
    return proto
