"""Operators without a lowering of their own, through the bodies that ONNX itself gives for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, NameLoc, StringAttr
from xdsl.ir import Block, SSAValue

from ....compiler.places import describe_location
from ....compiler.weights import WeightStore
from ....dialects.onnx import OnnxOp
from ....dialects.onnx.attributes import python_value
from ....dialects.onnx.load import import_function
from ....dialects.onnx.ops import is_absent
from ....dialects.onnx.schemas import DEFAULT_DOMAIN
from ....dialects.onnx.types import element_code
from .builder import element_of, shape_of

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto


def has_body(op: OnnxOp) -> bool:
    """Whether ONNX defines the operator by simpler ones; bodies that call a subgraph are not supported."""
    if op.regions:
        return False
    schema: Any = op.schema  # the package's stubs lack its functions
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def expand(
    op: OnnxOp, operands: Sequence[SSAValue | None], weights: WeightStore
) -> tuple[Block, list[SSAValue]] | None:
    """The operator's body as a block of simpler ops over block arguments (one per operand), and its outputs.

    `operands` are hub values, whose types the body may depend on. None when ONNX has no body for these types.
    """
    from onnx import AttributeProto, FunctionProto

    schema: Any = op.schema
    if schema is None:
        return None
    node = node_proto(op, weights)
    body = _body(schema, op, node, operands)
    if not body:
        return None
    function = FunctionProto.FromString(body)
    given = {a.name: a for a in node.attribute}
    for name, declared in schema.attributes.items():
        if name not in given and declared.default_value.type != AttributeProto.UNDEFINED:
            given[name] = declared.default_value
    _substitute(function, given)
    names = list(function.input)[: len(operands)]
    block = Block(arg_types=[operand.type for operand in op.operands])
    arguments = [block.args[i] if operand is not None else None for i, operand in enumerate(operands) if i < len(names)]
    location = op.location if isinstance(op.location, NameLoc) else _named(op)
    return block, import_function(function, arguments, block, weights, location)


def _named(op: OnnxOp) -> NameLoc:
    text = describe_location(op.location) or op.operator
    return NameLoc(StringAttr(text), FileLineColLoc(StringAttr(""), IntAttr(0), IntAttr(0)))


def node_proto(op: OnnxOp, weights: WeightStore) -> NodeProto:
    """A node as ONNX writes it, its inputs called in0, in1, ...; those left out are ""."""
    from onnx import helper

    attributes: dict[str, Any] = {}
    for name, attribute in op.attributes.items():
        if "." in name:
            continue
        value = python_value(attribute, weights)
        if isinstance(value, np.ndarray):
            from onnx import numpy_helper

            value = numpy_helper.from_array(value)
        attributes[name] = value
    inputs = ["" if is_absent(operand) else f"in{i}" for i, operand in enumerate(op.operands)]
    outputs = [f"out{i}" for i in range(len(op.results))]
    domain = "" if op.domain == DEFAULT_DOMAIN else op.domain
    node = helper.make_node(op.operator, inputs, outputs, domain=domain)
    for name, value in attributes.items():
        if not (isinstance(value, list) and not value):
            node.attribute.append(helper.make_attribute(name, value))
    return node


def _body(schema: Any, op: OnnxOp, node: NodeProto, operands: Sequence[SSAValue | None]) -> bytes | None:
    from onnx import helper

    def newest(versions: Sequence[int]) -> int:
        return max((v for v in versions if v <= op.opset), default=max(versions))

    if schema.has_context_dependent_function:
        types = [
            b""
            if operand is None
            else helper.make_tensor_type_proto(
                element_code(element_of(operand)), list(shape_of(operand))
            ).SerializeToString()
            for operand in operands
        ]
        version = newest(schema.context_dependent_function_opset_versions)
        return schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
    if schema.has_function:
        return schema.get_function_with_opset_version(newest(schema.function_opset_versions))
    return None


def _substitute(container: FunctionProto | GraphProto, given: dict[str, AttributeProto]) -> None:
    """Puts the caller's attributes where the body refers to them; references to absent ones go away."""
    for node in container.node:
        kept: list[AttributeProto] = []
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                source = given.get(attribute.ref_attr_name)
                if source is None:
                    continue
                name = attribute.name
                attribute.CopyFrom(source)
                attribute.name = name
            elif attribute.HasField("g"):
                _substitute(attribute.g, given)
            kept.append(type(attribute).FromString(attribute.SerializeToString()))
        del node.attribute[:]
        node.attribute.extend(kept)
