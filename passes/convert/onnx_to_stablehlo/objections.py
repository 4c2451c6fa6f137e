"""What ONNX itself says against a node, from its schemas and its inference of types and shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ....compiler.diagnostics import LaminaError
from ....dialects.onnx import OnnxOp, is_absent
from ....dialects.onnx.inference import check_node
from ....dialects.onnx.schemas import DEFAULT_DOMAIN, accepted_types
from ....dialects.onnx.types import element_code, type_name
from .builder import GraphBuilder, element_of, shape_of
from .functions import node_proto
from .table import Entry

_KEPT_ELEMENTS = 256  # of a known input that may be a shape, axes or the like


def check_types(b: GraphBuilder, op: OnnxOp) -> None:
    """Raises LaminaError for an element type that ONNX gives the operator in no version."""
    accepted = accepted_types(op.domain, op.operator)
    for place, operand in enumerate(op.operands):
        if not accepted or is_absent(operand):
            continue
        types = accepted[min(place, len(accepted) - 1)]
        kind = type_name(element_of(b.values[operand]))
        if f"tensor({kind})" not in types:
            names = ", ".join(sorted(name[7:-1] for name in types if name.startswith("tensor(")))
            raise LaminaError(
                f"input {place} is {kind}, which ONNX does not define", where=op, hint=f"it takes {names}"
            )


def check_arguments(
    op: OnnxOp, entry: Entry, operands: Sequence[SSAValue | None], attributes: Mapping[str, object]
) -> None:
    """Raises LaminaError for inputs and attributes that the signature of the operator's rule does not take."""
    if len(operands) > entry.inputs and not entry.variadic and any(x is not None for x in operands[entry.inputs :]):
        raise LaminaError(f"at most {entry.inputs} inputs are supported, got {len(operands)}", where=op)
    for place, name in enumerate(entry.required):
        if name and (place >= len(operands) or operands[place] is None):
            raise LaminaError(f"input '{name}' is required", where=op)
    if entry.variadic and any(x is None for x in operands[entry.inputs :]):
        raise LaminaError(f"input {entry.inputs + operands[entry.inputs :].index(None)} is required", where=op)
    if missing := entry.required_attributes - attributes.keys():
        raise LaminaError(f"attribute '{min(missing)}' is required", where=op)
    unknown = attributes.keys() - entry.attributes.keys()
    if unknown and not entry.takes_any_attribute:
        raise LaminaError(f"attribute '{min(unknown)}' is not supported", where=op)
    for name, value in attributes.items():
        kind = entry.attributes.get(name, "").removesuffix(" | None")
        if kind in _KINDS and not _KINDS[kind](value):
            raise LaminaError(f"attribute '{name}' must be {kind}, got {value!r}"[:200], where=op)


def _sequence(of: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(x, of) for x in cast(list[object], value))


_KINDS: dict[str, Callable[[object], bool]] = {
    "int": lambda value: isinstance(value, int),
    "float": lambda value: isinstance(value, float),
    "str": lambda value: isinstance(value, str),
    "Array": lambda value: isinstance(value, np.ndarray),
    "Sequence[int]": _sequence(int),
    "Sequence[float]": _sequence(float),
    "Sequence[str]": _sequence(str),
}


def objection(b: GraphBuilder, op: OnnxOp, operands: Sequence[SSAValue | None]) -> str | None:
    """Why ONNX does not admit a node with these inputs and attributes; None when its inference finds nothing wrong."""
    from onnx import helper, numpy_helper

    schema: Any = op.schema
    if schema is None or op.regions or not schema.has_type_and_shape_inference_function:
        return None
    node = node_proto(op, b.weights)
    types: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for name, operand in zip(node.input, operands, strict=False):
        if operand is None:
            continue
        types[name] = helper.make_tensor_type_proto(element_code(element_of(operand)), shape_of(operand))
        known = b.constant_value(operand)
        if known is not None and known.size <= _KEPT_ELEMENTS:
            values[name] = numpy_helper.from_array(known, name)
    opsets = [helper.make_opsetid("" if op.domain == DEFAULT_DOMAIN else op.domain, op.opset)]
    try:
        check_node(schema, node, types, values, opsets)
    except LaminaError as error:
        return error.message
    return None
