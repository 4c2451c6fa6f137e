"""What `onnx` itself can tell of a model: types of intermediate values, bodies of its functions, newer forms.

All work on a copy without the weights, so that models beyond protobuf's 2 GiB pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compiler.diagnostics import LaminaError
from .schemas import newest_opset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import GraphProto, ModelProto, NodeProto, TypeProto

_KEPT_ELEMENTS = 256  # smaller initialisers may be shapes, which inference reads
_HIDDEN = "lamina.hidden"  # the domain of nodes that inference is not to look at
# Operators whose inference in `onnx` 1.23 ends the process where the type of their input is not known: all that do
_FRAGILE = frozenset(
    {
        *(("ai.onnx.ml", name) for name in ("LabelEncoder", "DictVectorizer", "TreeEnsemble")),
        *(("", name) for name in ("EyeLike", "RegexFullMatch")),
    }
)


def infer_value_types(model: ModelProto, file: str) -> dict[str, TypeProto]:
    """The type of each named value, as declared or inferred; values nothing is known about are left out.

    Raises LaminaError when the declared types contradict each other.
    """
    return _infer(without_weights(model), file)[0]


def _infer(copy: ModelProto, file: str) -> tuple[dict[str, TypeProto], list[NodeProto]]:
    """The types in `copy`, and the fragile nodes that inference was not shown."""
    from onnx import shape_inference

    _check_attributes(copy.graph, file)
    hidden = [node for node in _nodes(copy.graph) if (node.domain, node.op_type) in _FRAGILE]
    domains = [node.domain for node in hidden]
    for node in hidden:
        node.domain = _HIDDEN
    if hidden:
        copy.opset_import.add(domain=_HIDDEN, version=1)
    while True:
        try:
            inferred = shape_inference.infer_shapes(copy, data_prop=True)
        except _refusals() as error:
            raise LaminaError(f"shape inference failed: {str(error).strip() or 'no memory'}", where=file) from error
        types: dict[str, TypeProto] = {}
        _collect(inferred.graph, types)
        known = types.keys() | {tensor.name for tensor in copy.graph.initializer}
        safe = [i for i, node in enumerate(hidden) if node.input and all(name in known for name in node.input)]
        if not safe:
            return types, hidden
        for i in reversed(safe):
            hidden.pop(i).domain = domains.pop(i)


def _check_attributes(graph: GraphProto, file: str) -> None:
    """Raises LaminaError for attributes that make inference read what is not there.

    A GatherND whose `batch_dims` is negative, a Split with more outputs than its `num_outputs`.
    """
    for node in _nodes(graph):
        if node.op_type == "Split" and any(a.name == "num_outputs" and a.i < len(node.output) for a in node.attribute):
            raise LaminaError("more outputs than 'num_outputs'", where=f"{file}: Split '{node.output[0]}'")
        if node.op_type == "GatherND" and any(a.name == "batch_dims" and a.i < 0 for a in node.attribute):
            raise LaminaError("'batch_dims' is negative", where=f"{file}: GatherND '{next(iter(node.output), '')}'")


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """The nodes of a graph and of those inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def inline_functions(model: ModelProto, file: str) -> ModelProto:
    """A copy of `model` without weights whose model-local functions are expanded where they are called."""
    from onnx import inliner

    try:
        return inliner.inline_local_functions(without_weights(model))
    except _refusals() as error:
        raise LaminaError(f"cannot expand the model's functions: {error}", where=file) from error


def upgraded(model: ModelProto, file: str) -> ModelProto:
    """`model` in the newest opset of ai.onnx; other domains stay as they are."""
    from onnx import version_converter

    fragile = any((node.domain, node.op_type) in _FRAGILE for node in _nodes(model.graph))
    if fragile and (hidden := _infer(without_weights(model), file)[1]):  # conversion infers, too
        raise LaminaError(f"the type of an input of {hidden[0].op_type} is not known", where=file)
    try:
        result = version_converter.convert_version(without_weights(model), newest_opset())
    except _refusals() as error:
        raise LaminaError(f"cannot be converted to opset {newest_opset()}: {str(error).strip()}", where=file) from error
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for tensor in result.graph.initializer:
        if tensor.data_location == tensor.EXTERNAL and tensor.name in weights:
            tensor.CopyFrom(weights[tensor.name])
    return result


def _refusals() -> tuple[type[Exception], ...]:
    """What the functions of `onnx` raise on models that are not right; each of them knows them all."""
    from google.protobuf.message import DecodeError, EncodeError
    from onnx import checker, shape_inference, version_converter

    known = (checker.ValidationError, shape_inference.InferenceError, version_converter.ConvertError)
    return (*known, DecodeError, EncodeError, RuntimeError, ValueError, LookupError, MemoryError)


def without_weights(model: ModelProto) -> ModelProto:
    """A copy whose large initialisers keep name, type and shape only."""
    from onnx import ModelProto, TensorProto

    copy = ModelProto()
    for field, value in model.ListFields():
        if field.name == "graph":
            continue
        if field.is_repeated:
            getattr(copy, field.name).extend(value)
        else:
            setattr(copy, field.name, value)
    for field, value in model.graph.ListFields():
        if field.name == "initializer":
            continue
        if field.is_repeated:
            getattr(copy.graph, field.name).extend(value)
        else:
            setattr(copy.graph, field.name, value)
    for tensor in model.graph.initializer:
        count = 1
        for dim in tensor.dims:
            count *= dim
        if count <= _KEPT_ELEMENTS and tensor.data_location != TensorProto.EXTERNAL:
            copy.graph.initializer.append(tensor)
            continue
        stripped = copy.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        stripped.data_location = TensorProto.EXTERNAL
        stripped.external_data.add(key="location", value="stripped")
    return copy


def _collect(graph: GraphProto, types: dict[str, TypeProto]) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info):
        # an output that is an input, too, is often declared without its shape
        if info.type.WhichOneof("value") and (info.name not in types or info.type.tensor_type.HasField("shape")):
            types[info.name] = info.type
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _collect(attribute.g, types)
