"""What `onnx` itself can tell of a model: types of intermediate values, bodies of its functions, newer forms.

All work on a copy without the weights, so that models beyond protobuf's 2 GiB pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compiler.diagnostics import LaminaError
from .schemas import newest_opset

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TypeProto

_KEPT_ELEMENTS = 256  # smaller initialisers may be shapes, which inference reads


def infer_value_types(model: ModelProto, file: str) -> dict[str, TypeProto]:
    """The type of each named value, as declared or inferred; values nothing is known about are left out.

    Raises LaminaError when the declared types contradict each other.
    """
    from onnx import shape_inference

    try:
        inferred = shape_inference.infer_shapes(without_weights(model), data_prop=True)
    except (shape_inference.InferenceError, RuntimeError, ValueError) as error:
        raise LaminaError(f"shape inference failed: {str(error).strip()}", where=file) from error
    types: dict[str, TypeProto] = {}
    _collect(inferred.graph, types)
    return types


def inline_functions(model: ModelProto, file: str) -> ModelProto:
    """A copy of `model` without weights whose model-local functions are expanded where they are called."""
    from onnx import inliner

    try:
        return inliner.inline_local_functions(without_weights(model))
    except (RuntimeError, ValueError) as error:
        raise LaminaError(f"cannot expand the model's functions: {error}", where=file) from error


def upgraded(model: ModelProto, file: str) -> ModelProto:
    """`model` in the newest opset of ai.onnx; other domains stay as they are."""
    from onnx import version_converter

    try:
        result = version_converter.convert_version(without_weights(model), newest_opset())
    except (version_converter.ConvertError, RuntimeError, ValueError) as error:
        raise LaminaError(f"cannot be converted to opset {newest_opset()}: {str(error).strip()}", where=file) from error
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for tensor in result.graph.initializer:
        if tensor.data_location == tensor.EXTERNAL and tensor.name in weights:
            tensor.CopyFrom(weights[tensor.name])
    return result


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
